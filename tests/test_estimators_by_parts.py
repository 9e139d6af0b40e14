"""Rows that are fetched part by part: every estimator answers as it does in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

import maxmargin as mm
from maxmargin.core import memory
from maxmargin.rows import PartedRows, as_rows

PERCEPTRONS = [
    mm.Perceptron(),
    mm.Perceptron(order="shuffled", average=True, random_state=0),
    mm.Perceptron(order="random", normalize=True, multi_class="ovo", random_state=0),
    mm.Perceptron(record=True, max_iter=5),
    mm.BatchPerceptron(),
    mm.BatchPerceptron(step=0.1, multi_class="ovo", max_iter=20),
    mm.PocketPerceptron(max_updates=100, random_state=0),
    mm.PocketPerceptron(max_updates=50, polish=False, multi_class="ovo"),
]
MARGINS = [
    mm.SoftMarginSVC(),
    mm.SoftMarginSVC(C=0.1, multi_class="ovo"),
    mm.SoftMarginSVC(fit_intercept=False),
]
IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
KINDS: list[Callable[[np.ndarray], Any]] = [np.asarray, sparse.csr_array]


def parted(X: Any, largest: int = 100) -> PartedRows:
    """Rows in memory as if they were not."""
    rows = as_rows(X)
    return PartedRows(rows.between, (rows.n, rows.d), rows.entries, rows.is_sparse, largest=largest)


@pytest.fixture(params=["copies", "no room"])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without room for copies of the rows at hand."""
    if request.param == "no room":
        monkeypatch.setattr(memory, "allowance", lambda: 0)
        monkeypatch.setattr(memory, "MIN_COPY_ENTRIES", 8)


def fitted(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return type(model)(**model.get_params()).fit(X, y)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", PERCEPTRONS, ids=str)
def test_perceptrons_have_the_same_bits(model: Any, kind: Any) -> None:
    X, y = kind(IRIS[0]), IRIS[1]
    near, far = fitted(model, X, y), fitted(model, parted(X), y)
    assert np.array_equal(near.coef_, far.coef_)
    assert np.array_equal(near.intercept_, far.intercept_)
    assert near.n_mistakes_ == far.n_mistakes_
    assert np.array_equal(near.predict(X), far.predict(parted(X)))
    assert near.score(X, y) == far.score(parted(X), y)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MARGINS, ids=str)
def test_margin_machines_have_the_same_certificate(model: Any, kind: Any) -> None:
    X, y = kind(IRIS[0]), IRIS[1]
    near, far = fitted(model, X, y), fitted(model, parted(X), y)
    for label, machine in far.machines_.items():
        assert machine.certificate_.relative_gap <= model.tol
        assert machine.certificate_.primal == pytest.approx(near.machines_[label].certificate_.primal)
    np.testing.assert_allclose(near.coef_, far.coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("kind", KINDS)
def test_the_hard_margin_and_its_refusal(kind: Any) -> None:
    X, y = kind(IRIS[0]), IRIS[1]
    near, far = mm.HardMarginSVC().fit(X, y == 0), mm.HardMarginSVC().fit(parted(X), y == 0)
    assert far.margin_ == pytest.approx(near.margin_, rel=1e-9)
    with pytest.raises(mm.NotSeparableError) as refusal:
        mm.HardMarginSVC().fit(parted(X), y == 1)
    assert refusal.value.verdict.proof.verify(X, y == 1)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("data", "positive"), [(IRIS, 0), (IRIS, 1), (CANCER, 1)])
def test_verdicts_are_proven_on_the_whole(
    data: Any, positive: int, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if data is CANCER:
        monkeypatch.setattr(memory, "MIN_COPY_ENTRIES", 512)  # 33 parts
    X, y = kind(data[0]), data[1] == positive
    verdict = mm.separability(parted(X, 500), y)
    assert verdict.kind == mm.separability(X, y).kind
    assert verdict.proof.verify(X, y)
    assert verdict.proof.verify(parted(X), y)


def test_an_outside_model_is_audited() -> None:
    X, y = IRIS[0], IRIS[1] == 1
    model = mm.SoftMarginSVC().fit(X, y)
    assert mm.certify(model, parted(X), y).primal == pytest.approx(model.certificate_.primal)
    assert mm.certify((model.coef_[0], model.intercept_[0]), parted(X), y, C=1.0).relative_gap < 1e-6


def test_a_column_out_of_proportion_is_scaled_part_by_part() -> None:
    X = IRIS[0][:, :2] * np.array([1.0, 1e-200])
    assert mm.separability(parted(X), IRIS[1] == 0).kind == mm.separability(X, IRIS[1] == 0).kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_place_of_a_number_that_is_none_is_named(kind: Any, bad: float) -> None:
    X = np.ones((50, 3))
    X[37, 1] = bad
    with pytest.raises(mm.InputError, match="row 37, column 1"):
        mm.Perceptron().fit(parted(kind(X), 12), np.arange(50) % 2)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 30), st.booleans(), st.integers(0, 2**20))
def test_every_operation_agrees_with_memory(
    n: int, d: int, largest: int, is_sparse: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    rows = as_rows(sparse.csr_array(X)) if is_sparse else as_rows(X)
    far = parted(sparse.csr_array(X) if is_sparse else X, largest)
    some = rng.integers(n, size=rng.integers(0, 2 * n + 1))
    assert np.array_equal(far.take(some), rows.take(some))
    chosen = far.select(some)
    assert np.array_equal(chosen.take(np.arange(chosen.n)), X[some])
    V, C = rng.integers(-3, 4, (d, 2)).astype(float), rng.integers(-3, 4, (2, n)).astype(float)
    assert np.array_equal(far.times(V), X @ V)
    assert np.array_equal(far.combine(C), C @ X)
    assert np.array_equal(far.square_lengths(), (X**2).sum(axis=1))
    assert np.array_equal(far.column_reach, np.abs(X).max(axis=0))
    order = rng.permutation(n)
    seen = np.concatenate([first + local for _, _, local, first in far.stretches(order)])
    assert np.array_equal(seen, order)
    assert [where.start for where, _ in far.blocks()] == list(range(0, n, far.block_length()))


def test_there_are_no_arrays_for_all_rows() -> None:
    with pytest.raises(TypeError, match="blocks"):
        _ = parted(IRIS[0]).arrays
