"""Separability of rows in partitions: the verdict of a local run, and every word of it exact."""

import math
from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from bank import BANK
from maxmargin.core.parameters import Deadline
from maxmargin.estimators.separability import Options, answered, asked, judge_machines, provable
from maxmargin.rows.survey import survey
from maxmargin.solvers.exact import objections
from partitions import blocks, noisy
from separation import check_verdict, decide, signed
from simulated import Serial

FEW = replace(objections.SETTINGS, max_numbers_here=0, max_first_numbers=0, min_first_rows=2)


@pytest.fixture
def few_rows_here(monkeypatch):
    """Nothing is gathered as a whole, and a pool begins with next to nothing."""
    monkeypatch.setattr(objections, "SETTINGS", FEW)


def decided(X, y, cuts, names=None, sides=None, **options):
    """The verdict, and the rounds it took."""
    data = provable(survey(Serial(blocks(X, y, cuts))))
    features = tuple(names or [f"x{j}" for j in range(data.rows.d)])
    machines = asked(data, sides)
    return answered(machines, judge_machines(data, machines, features, Options(**options))), data.rows


def cut(n, parts):
    return np.linspace(0, n, parts + 1).astype(int)[1:-1].tolist()


def test_time_may_end_first(few_rows_here):
    X, y = noisy(300, 5, seed=3)
    cuts = cut(len(X), 3)
    for labels in (y, np.where(X[:, 0] > 0, 1, -1)):
        verdict, _ = decided(X, labels, cuts, deadline=Deadline(0.0))
        assert verdict.kind == "undecided" and verdict.proof is None
    whole, _ = decided(X, y, cuts, deadline=Deadline())
    assert whole.kind == mm.separability(X, y).kind


def assert_alike(verdict, local):
    """Two verdicts on the same data; planes, witnesses and bounds may differ."""
    assert verdict.kind == local.kind and verdict.rank == local.rank
    assert verdict.on_plane.tolist() == local.on_plane.tolist()
    assert (verdict.positive, verdict.negative) == (local.positive, local.negative)
    assert verdict.proof.to_dict()["data"] == local.proof.to_dict()["data"]
    if local.margin is not None:
        assert verdict.margin[0] <= local.margin[1] and local.margin[0] <= verdict.margin[1]


@pytest.mark.parametrize("problem", BANK, ids=lambda p: p.name)
def test_the_bank_of_problems(problem, few_rows_here):
    n = len(problem.y)
    rng = np.random.default_rng(n)
    for intercept, form in ((True, np.asarray), (False, np.asarray), (True, sparse.csr_array)):
        X = form(problem.X)
        cuts = rng.integers(0, n + 1, rng.integers(0, 7)).tolist()  # some partitions are empty
        verdict, _ = decided(X, problem.y, cuts, fit_intercept=intercept)
        assert_alike(verdict, mm.separability(X, problem.y, fit_intercept=intercept))
        check_verdict(verdict, X, problem.y, intercept, tight=False)
        if intercept:
            assert verdict.separable == problem.separable


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=3, max_size=14),
    sides=st.integers(1, 2**14 - 2),
    cuts=st.lists(st.integers(0, 14), max_size=6),
    intercept=st.booleans(),
    scale=st.sampled_from([1.0, 1e-300, 1e300, 0.1]),
)
def test_small_data_against_enumeration(rows, sides, cuts, intercept, scale):
    X = np.array(rows) * np.array([1.0, scale, 1.0])
    y = np.array([sides >> i & 1 for i in range(len(rows))])
    if len(set(y.tolist())) < 2:
        y[0] = 1 - y[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objections, "SETTINGS", FEW)
        cuts = [min(c, len(y)) for c in cuts]
        verdict, _ = decided(X, y, cuts, fit_intercept=intercept)
    answer = decide(signed(X, np.where(y == 1, 1, -1), intercept))
    assert verdict.kind == answer.kind
    if answer.kind == "touching":
        assert verdict.on_plane.tolist() == answer.on
    if answer.kind == "overlapping":
        assert verdict.rank == answer.rank
    check_verdict(verdict, X, y, intercept, tight=False)


def quasi(n):
    """A truth value that one class alone has: quasi-complete separation."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (n, 6)).astype(float), rng.integers(0, 2, n)
    some = rng.random(n) < 0.1
    y[some] = 1
    return np.column_stack([X, some]), y


def deficient(n):
    """Classes that overlap, with a column that is the sum of two others, one of ones, and a rare one."""
    X, y = noisy(n, 4)
    X = np.round(64 * X)
    rare = np.zeros(n)
    rare[n // 2] = 1.0
    return np.column_stack([X, X[:, 0] + X[:, 1], np.ones(n), rare]), y


LARGE = {
    "separable": lambda: noisy(20_000, 8, kind="separable"),
    "overlapping": lambda: noisy(20_000, 8),
    "touching": lambda: quasi(20_000),
    "rank": lambda: deficient(20_000),
}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, np.asarray) for name in LARGE),
        ("separable", sparse.csr_array),
        ("rank", sparse.csr_array),
    ],
)
def test_many_rows_of_which_few_travel(name, form, monkeypatch):
    some = replace(objections.SETTINGS, max_numbers_here=1 << 15, max_first_numbers=1 << 15)
    monkeypatch.setattr(objections, "SETTINGS", some)
    X, y = LARGE[name]()
    X = form(X)
    verdict, rows = decided(X, y, cut(20_000, 7))
    # The rows on the plane are listed; else a fifth of the numbers travels, at most. (All of them do for
    # the fingerprint of a proof that is saved, compared or verified.)
    assert rows.bytes_moved <= 0.2 * 8 * 20_000 * X.shape[1] + 8 * len(verdict.on_plane)
    local = mm.separability(X, y)
    assert_alike(verdict, local)
    assert verdict.work.rows_exact + verdict.work.rows_filtered in (0, 20_000)
    assert rows.rounds <= 12
    assert verdict.proof.verify(X, y)
    if local.margin is not None:
        lower, upper = verdict.margin
        assert upper <= 1.05 * lower


def test_data_of_few_numbers_has_the_very_proof_of_a_local_run():
    X, y = noisy(500, 3, kind="separable")
    verdict, rows = decided(X, y, cut(500, 4), names=["a", "b", "c"])
    local = mm.separability(X, y)
    assert verdict.proof == local.proof and verdict.margin == local.margin
    assert verdict.features == ("a", "b", "c")
    assert rows.rounds == 2


def test_several_classes_share_their_rounds(few_rows_here):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 4, 300)
    X = np.column_stack([10.0 * (y == 1) + rng.normal(size=300), 9.0 * y + rng.normal(size=300)])
    verdict, rows = decided(X, y, cut(300, 5))
    local = mm.separability(X, y)
    assert str(verdict) == str(local)
    for mine, other in ((verdict.rest, local.rest), (verdict.pairs, local.pairs)):
        assert mine.keys() == other.keys()
        for key in mine:
            assert_alike(mine[key], other[key])
            check_verdict(mine[key], X, y, tight=False)
    assert rows.rounds <= 20
    one, _ = decided(X, y, cut(300, 5), sides=(2, None))
    assert_alike(one, local.rest[2])


def test_what_cannot_be_decided_is_refused(few_rows_here, monkeypatch):
    X, y = noisy(200, 3, kind="separable")
    bad = X.copy()
    bad[70, 1] = math.inf
    big = np.full((4, 1), 2**53 + 1)
    cases = [
        (bad, y, "infinity in row 70, column 1"),
        (big, np.array([0, 1, 0, 1]), "numbers that doubles hold exactly"),
        (X, np.where(y == "yes", 1, 1.0 + (np.arange(200) > 100)).astype(object), None),
    ]
    for rows, labels, words in cases:
        if words is None:
            labels[0] = "1"
            words = "cannot be compared"
        with pytest.raises(mm.InputError, match=words):
            decided(rows, labels, cut(len(labels), 3))
    monkeypatch.setattr(objections, "SETTINGS", replace(FEW, max_pool_numbers=20))
    with pytest.raises(mm.InputError, match="decided by few of them"):
        decided(X, y, cut(200, 3))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_collections_may_hold_numbers_of_any_size(scale):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]) * scale, np.array([0, 0, 1, 1])
    verdict = mm.separability(da.from_array(X, chunks=(2, 1)), da.from_array(y, chunks=2))
    assert verdict.separable and verdict.proof == mm.separability(X, y).proof
    frame = dd.from_pandas(pd.DataFrame({"height": X[:, 0], "y": y}), npartitions=2)
    assert mm.separability(frame[["height"]], frame["y"]).features == ("height",)
