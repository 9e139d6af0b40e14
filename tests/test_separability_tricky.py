"""Separability on data made to mislead floating point, on every kind of input, and on bad input."""

import math
import subprocess
import sys
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

import maxmargin as mm
from maxmargin.solvers.exact import verdict as ladder
from separation import check_verdict, decide, signed, write_table
from thorough import THOROUGH, further

TINY = 5e-324
HUGE = sys.float_info.max
UP = np.nextafter(1.0, 2.0)


def judge(X, y, kind=None, intercept=True, **options):
    """The verdict, after all that can be said of it has been checked."""
    X = X if sparse.issparse(X) else np.asarray(X)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert kind is None or verdict.kind == kind
    check_verdict(verdict, X, y, intercept, **options)
    return verdict


@pytest.fixture(params=["usual", "floating"])
def path(request, monkeypatch):
    """Once as it comes, and once with small data sent to the hard-margin machine first."""
    if request.param == "floating":
        monkeypatch.setattr(ladder, "SMALL", 0)


both = pytest.mark.usefixtures("path")

SHAPES = {
    "two points": ([[0, 0], [3, 4]], [0, 1], "separable"),
    "all points equal": ([[2, 3]] * 4, [0, 1, 0, 1], "overlapping"),
    "all points zero": ([[0, 0]] * 3, [0, 1, 1], "overlapping"),
    "contradictory copies": ([[0, 0], [0, 0], [1, 1], [1, 1]], [0, 1, 0, 1], "overlapping"),
    "one contradictory copy": ([[0, 0], [1, 1], [1, 1], [2, 2]], [0, 0, 1, 1], "touching"),
    "exclusive or": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], "overlapping"),
    "collinear apart": ([[0, 0], [1, 2], [2, 4], [3, 6]], [0, 0, 1, 1], "separable"),
    "collinear between": ([[0, 0], [1, 2], [2, 4], [3, 6]], [0, 1, 1, 0], "overlapping"),
    "collinear touching": ([[0, 0], [1, 2], [1, 2], [3, 6]], [0, 0, 1, 1], "touching"),
    "a shared corner": ([[0, 0], [1, 0], [0, 1], [1, 1], [1, 2], [1, 0]], [0, 0, 0, 1, 1, 1], None),
    "a point on an edge": ([[0, 0], [2, 0], [1, 0], [1, 1]], [0, 0, 1, 1], "touching"),
    "edges on one line": (
        [[0, 0], [2, 0], [1, -1], [1, 0], [3, 0], [2, 1]],
        [0, 0, 0, 1, 1, 1],
        "touching",
    ),
    "edges end to end": (
        [[0, 0], [1, 0], [1, 0], [2, 0], [0, -1], [2, 1]],
        [0, 0, 1, 1, 0, 1],
        "touching",
    ),
    "squares with a shared corner": (
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 2], [2, 1], [2, 2]],
        [0, 0, 0, 0, 1, 1, 1, 1],
        "touching",
    ),
    "squares with a shared edge": (
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [1, 1], [2, 0], [2, 1]],
        [0, 0, 0, 0, 1, 1, 1, 1],
        "touching",
    ),
    "a cube's face": (
        [*product((0, 1), repeat=3), *product((1, 2), (0, 1), (0, 1))],
        [0] * 8 + [1] * 8,
        "touching",
    ),
    "a point inside": ([[0, 0], [3, 0], [0, 3], [1, 1]], [0, 0, 0, 1], "overlapping"),
    "a constant column": ([[7, 0], [7, 1], [7, 2]], [0, 0, 1], "separable"),
    "a constant column, touching": ([[7, 0], [7, 1], [7, 1]], [0, 0, 1], "touching"),
    "a zero column": ([[0, 0], [0, 1], [0, 0.5]], [0, 0, 1], "overlapping"),
    "only constant columns": ([[7, 0], [7, 0], [7, 0]], [0, 0, 1], "overlapping"),
    "copied columns": ([[1, 1, 1], [2, 2, 2], [3, 3, 3]], [0, 1, 1], "separable"),
    "copied columns, between": ([[1, 1, 1], [2, 2, 2], [3, 3, 3]], [0, 1, 0], "overlapping"),
    "more features than rows": (np.eye(9)[:4] + 0.25, [0, 1, 0, 1], "separable"),
    "more features, dependent": (
        np.outer([1, 2, 3, 4], np.arange(9)),
        [0, 1, 0, 1],
        "overlapping",
    ),
}
SCALES = [1.0, 1e16, TINY, *([1e-300, 1e-10, 1e300] if THOROUGH else [])]


@both
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
def test_known_shapes_at_every_scale(name, intercept, tmp_path):
    X, y, kind = SHAPES[name]
    X = np.asarray(X, dtype=float)
    for scale in SCALES:
        Z = X * scale
        side = np.where(np.array(y) == 1, 1, -1)
        expected = decide(signed(Z, side, intercept))
        verdict = judge(Z, y, expected.kind, intercept, folder=tmp_path)
        assert kind is None or not intercept or scale != 1.0 or expected.kind == kind
        assert verdict.kind != "touching" or verdict.on_plane.tolist() == expected.on


@both
@pytest.mark.parametrize(
    "factor", [1e12, TINY, 2.0**1015, further(1e-10), further(1e-300), further(1e300)]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_one_feature_of_another_size(factor, intercept):
    for k, (X, y, _) in enumerate(SHAPES.values()):
        Z = np.array(X, dtype=float)
        Z[:, k % Z.shape[1]] *= factor
        side = np.where(np.array(y) == 1, 1, -1)
        judge(Z, y, decide(signed(Z, side, intercept)).kind, intercept)


@both
def test_one_dimension_in_every_order():
    for n in (2, 3, 4):
        every = product((-1, 0, 2), repeat=n)
        for places in every if n < 4 else combinations_with_replacement((-1, 0, 2), n):
            for y in set(permutations([0, 1] * 2, n)):
                if len(set(y)) < 2:
                    continue
                a, b = ([p for p, s in zip(places, y, strict=True) if s == k] for k in (0, 1))
                gap = max(min(b) - max(a), min(a) - max(b))
                flat = len(set(places)) == 1
                kind = "separable" if gap > 0 else "touching" if gap == 0 and not flat else "overlapping"
                X = [[p] for p in places]
                assert (
                    judge(X, y).kind == kind == decide(signed(X, [1 if s else -1 for s in y], True)).kind
                )


NEIGHBOURS = {
    "0 and 1e-10": ([[0.0], [1e-10]], [0, 1], "separable"),
    "0 and the least double": ([[0.0], [TINY]], [0, 1], "separable"),
    "neighbours around zero": ([[-TINY], [0.0], [TINY]], [0, 0, 1], "separable"),
    "one ulp": ([[1.0], [UP]], [0, 1], "separable"),
    "one ulp, huge": ([[HUGE], [np.nextafter(HUGE, 0)]], [0, 1], "separable"),
    "one ulp between": ([[1.0], [UP], [np.nextafter(UP, 2)]], [0, 1, 0], "overlapping"),
    "one ulp each": ([[1.0], [UP], [UP], [np.nextafter(UP, 2)]], [0, 0, 1, 1], "touching"),
    "ends of the range": ([[-HUGE], [HUGE], [0.0]], [0, 1, 1], "separable"),
    "ends and middle": ([[-HUGE], [HUGE], [0.0]], [0, 0, 1], "overlapping"),
    "ends and middle, touching": ([[-HUGE], [HUGE], [HUGE]], [0, 0, 1], "touching"),
    "minus zero": ([[-0.0], [0.0]], [0, 1], "overlapping"),
    "minus zero, touching": ([[-0.0], [0.0], [TINY]], [0, 1, 1], "touching"),
    "beyond 2^53": ([[2.0**53], [2.0**53 + 2], [2.0**53 + 4]], [0, 1, 1], "separable"),
    "beyond 2^53, between": ([[2.0**60], [2.0**60 + 256], [2.0**60 + 512]], [0, 1, 0], "overlapping"),
    "diagonal, one ulp": ([[0, 0], [1, 1], [0.5, np.nextafter(0.5, 1)]], [0, 0, 1], "separable"),
    "diagonal, on it": ([[0, 0], [1, 1], [0.5, 0.5], [0, 1]], [0, 0, 1, 1], "touching"),
    "thirds": ([[0, 0], [0.3, 0.1], [0.9, 0.3]], [0, 1, 0], None),
    "tenths": ([[0.1, 0.3], [0.2, 0.6], [0.3, 0.9]], [0, 1, 0], None),
    "a tiny and a huge feature": ([[TINY, 1e308], [0, 1e308]], [0, 1], "separable"),
    "a tiny step along a huge diagonal": (
        [[1e308, 1e308], [-1e308, -1e308], [0, TINY]],
        [0, 0, 1],
        "separable",
    ),
    "a tiny step, back and forth": (
        [[1e308, 1e308], [-1e308, -1e308], [0, TINY], [0, -TINY]],
        [0, 0, 1, 1],
        "overlapping",
    ),
    "a tiny touch": (
        [[1e308, 1e308], [-1e308, -1e308], [0, TINY], [0, 0]],
        [0, 0, 1, 1],
        "touching",
    ),
    "all sizes in a row": (
        [[1e308, 1.0, TINY], [1e308, 1.0, 0], [-1e308, 1.0, 0], [1e308, 0.5, TINY]],
        [0, 1, 1, 0],
        "separable",
    ),
}


@both
@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_as_near_as_doubles_can_be(name, intercept, tmp_path):
    X, y, kind = NEIGHBOURS[name]
    expected = decide(signed(X, [1 if s else -1 for s in y], intercept))
    assert kind is None or not intercept or expected.kind == kind
    verdict = judge(X, y, expected.kind, intercept, folder=tmp_path)
    assert verdict.kind != "touching" or verdict.on_plane.tolist() == expected.on


@both
@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_ulp_from_touching(d):
    """A point moved by an ulp from a simplex of the other class: out, on it, or in."""
    rng = np.random.default_rng(d)
    for _ in range(6):
        corners = rng.integers(1, 60, (d + 1, d)) / 64
        weights = rng.permutation([0, *([1] * (d - 1)), 16 - (d - 1)]) / 16
        point = weights @ corners
        for step in (-1, 0, 1):
            moved = point.copy()
            j = int(rng.integers(d))
            moved[j] = np.nextafter(point[j], step * 9.0) if step else point[j]
            X, y = np.vstack([corners, moved]), np.array([0] * (d + 1) + [1])
            for intercept in (True, False):
                judge(X, y, decide(signed(X, 2 * y - 1, intercept)).kind, intercept)


@pytest.mark.parametrize("d", [5, 30])
@pytest.mark.parametrize("shift", [1, 0, -1])
def test_a_margin_of_a_millionth_of_a_millionth(d, shift):
    """Rows on a plane of whole numbers, moved off it to either side, or across it."""
    rng = np.random.default_rng([d, shift + 1])
    n = 2000
    w = rng.integers(1, 8, d)
    w[-1] = 1
    X = rng.integers(-(2**20), 2**20, (n, d))
    X[:, -1] = -(X[:, :-1] @ w[:-1])  # on the plane
    X = X.astype(float) * 2.0**-26
    y = np.where(np.arange(n) % 2, 1, -1)
    X[:, -1] += (shift != 0) * y * 2.0**-40
    if shift < 0:
        X[:9, -1] -= y[:9] * 2.0**-39
    verdict = judge(X, y, "separable" if shift == 1 else None, tight=False)
    if shift == 1:
        lower, upper = verdict.margin
        true = 2.0**-40 / math.sqrt(float(w @ w))
        assert upper < true * (1 + 1e-6) + 2.0**-40 and lower > 0
    else:
        assert verdict.kind == "overlapping"
        assert verdict.rank == d + (0 if shift == 0 else 1)


def test_many_copies_at_a_tiny_margin():
    """The margin is what the plane attains, also if thousands of rows are nearest to it."""
    X = np.array([[0.0, 0.3]] * 1500 + [[1e-13, 0.3]] * 1500 + [[1, 0.3], [-1, 0.3], [0, 1], [0, -1]])
    y = np.array([0] * 1500 + [1] * 1501 + [0] * 3)
    verdict = judge(X, y, "separable", tight=False)
    lower, upper = verdict.margin
    assert upper == pytest.approx(5e-14, rel=1e-6) and lower > 0
    assert lower == pytest.approx(upper, rel=1e-6)


DENORMAL = {
    "beyond": ([[0.0], [0.0], [2.0], [TINY]], [0, 1, 0, 1], True, "overlapping"),
    "beyond, no intercept": ([[1.0], [0.0], [TINY]], [1, 0, 0], False, "overlapping"),
    "not on the plane": ([[0.0], [0.0], [0.0], [-TINY], [1.0]], [0, 1, 1, 1, 0], True, "touching"),
    "on one side": ([[0.0], [1.0], [-TINY]], [0, 1, 0], False, "touching"),
    "two features": ([[2, 0], [0, -TINY], [2, 2], [2, 0], [0, -TINY]], [0, 1, 1, 1, 0], False, None),
    "copies": ([[TINY], [TINY], [-1e308]], [0, 1, 1], True, "touching"),
    "copies, upwards": ([[TINY], [TINY], [1e16]], [0, 1, 1], True, "touching"),
    "copies at 1": ([[0.3], [UP], [UP], [-1e308], [UP]], [0, 1, 0, 0, 0], True, "touching"),
    "copies in space": (
        [[0, 0, 0], [TINY, 0.1, 0.1], [1, 0, 0], [TINY, 0.1, 0.1]],
        [0, 1, 0, 0],
        False,
        "touching",
    ),
    "corners": ([[1e308, TINY], [UP, 1e308], [UP, 1e308], [1e308, UP]], [0, 1, 0, 1], True, None),
    "few on the plane": (
        [[UP, 0, 0], [0.2, 0, 0.2], [-TINY, 0, 0], [-TINY, -TINY, 0], [0, UP, 0.2]],
        [0, 1, 0, 1, 1],
        False,
        "touching",
    ),
    "few on the plane, huge": (
        [[1 / 3, 1e-10], [1 / 3, 1 / 3], [1 / 3, 1 / 3], [1 / 3, 1 / 3], [1, 1e-10], [1, HUGE]],
        [0, 1, 0, 1, 0, 0],
        True,
        "touching",
    ),
}


@both
@pytest.mark.parametrize("name", DENORMAL)
def test_the_least_doubles_beside_large_ones(name):
    X, y, intercept, kind = DENORMAL[name]
    expected = decide(signed(X, [1 if s else -1 for s in y], intercept))
    assert kind is None or kind == expected.kind
    verdict = judge(X, y, expected.kind, intercept)
    assert verdict.kind != "touching" or verdict.on_plane.tolist() == expected.on


@pytest.mark.parametrize("name", ["beyond", "beyond, no intercept", "not on the plane", "on one side"])
def test_the_least_doubles_among_many_rows(name):
    """So many rows that the checker does not go through all of them unasked."""
    X, y, intercept, kind = DENORMAL[name]
    X, y = np.asarray(X), np.asarray(y)
    far = int(np.argmax(np.abs(X)))
    X = np.vstack([np.repeat(X[[far]], 70_000, axis=0), X])
    y = np.append(np.full(70_000, y[far]), y)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.kind == kind
    assert verdict.proof.verify(X, y)


@pytest.mark.parametrize(
    "scale",
    [1.7e308, 1e160, TINY, further(1e308), further(1e300), further(1e-160), further(1e-300)],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_extreme_sizes_in_many_features(scale, intercept):
    rng = np.random.default_rng(3)
    X = rng.integers(-1, 2, (200, 13)).astype(float)
    X[:, 0] = rng.choice([-1, 0, 1], 200)
    weak = np.where(X[:, 0] == 0, rng.random(200) < 0.5, X[:, 0] > 0)
    labels = {"overlapping": rng.random(200) < 0.5, "touching": weak}
    one = X.copy()
    one[:, 1] *= scale
    first = X.copy()
    first[0, 0] *= scale
    for Z in (X * scale, one):
        for kind, y in labels.items():
            judge(Z, y, kind, intercept)
        rows = Z[:, 0] != 0
        judge(Z[rows], weak[rows], "separable", intercept)
    small = np.eye(13)
    small[0, 0] = scale
    judge(small, np.arange(13) % 2, "separable", intercept, tight=intercept)
    judge(first, weak, "touching", intercept)


@pytest.mark.parametrize("d", [3, 6])
def test_features_of_all_sizes_at_once(d):
    rng = np.random.default_rng(d)
    X = 10.0 ** rng.uniform(-320, 308, (40, d))
    judge(X, X[:, 0] > 1e-10, "separable", tight=False)
    judge(X, rng.random(40) < 0.5)


@both
def test_single_precision_is_taken_as_it_is():
    X = np.array([[0.1, 0.2], [0.2, 0.4], [0.3, 0.6], [0.1, 0.7]], dtype=np.float32)
    for y in product((0, 1), repeat=4):
        if len(set(y)) == 2:
            kind = decide(signed(X, [1 if s else -1 for s in y], True)).kind
            verdict = judge(X, y, kind)
            assert verdict.proof.verify(X.astype(float), y)
    step = np.array([[1], [np.nextafter(np.float32(1), np.float32(2))]], dtype=np.float32)
    judge(step, [0, 1], "separable")
    small = np.array([[0.0], [1e-45]], dtype=np.float32)
    judge(small, [0, 1], "separable")


def test_many_rows_in_single_precision():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 20)).astype(np.float32)
    y = (X @ np.arange(20, dtype=np.float32) > 0.5).astype(int)
    judge(X, y, tight=False)
    judge(sparse.csr_array(X), y, tight=False)
    whole = rng.integers(-3, 4, (3000, 20)).astype(np.float32)
    judge(whole, np.where(whole[:, 0] == 0, y, whole[:, 0] > 0), "touching")


@both
def test_sparse_rows_with_zeros_copies_and_disorder():
    data = np.array([0.0, 1.0, 2.0, 3.0, -3.0, 1.0, 1.0])
    indices, indptr = np.array([2, 1, 0, 0, 0, 1, 2]), np.array([0, 2, 3, 5, 7, 7])
    y = np.array([0, 1, 0, 1, 0])
    for form in (sparse.csr_matrix, sparse.csr_array):
        X = form((data.copy(), indices.copy(), indptr.copy()), shape=(5, 3))
        dense = X.toarray()
        packed, plain = judge(X, y), judge(dense, y)
        assert packed.kind == plain.kind
        assert packed.proof.to_dict()["data"] == plain.proof.to_dict()["data"]
        assert packed.proof.verify(dense, y) and plain.proof.verify(X, y)
        assert np.array_equal(X.data, data) and np.array_equal(X.indices, indices)
        for other in (X.tocsc(), X.tocoo()):
            assert mm.separability(other, y).kind == plain.kind
            assert plain.proof.verify(other, y)
    empty = sparse.csr_array((4, 3))
    judge(empty, [0, 1, 0, 1], "overlapping")
    judge(empty, [0, 1, 0, 1], "overlapping", intercept=False)
    for scale in (1e300, 1e-300, TINY):
        judge(sparse.csr_array(dense * scale), y, plain.kind)


def test_a_data_frame_gives_its_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2, 3, 3], "treated": [0, 0, 1, 1], "site": [1, 1, 1, 1]})
    verdict = mm.separability(frame, pandas.Series(["no", "no", "yes", "yes"]))
    assert verdict.features == ("age", "treated", "site")
    assert set(verdict.infinite) <= {"age", "treated", "site", "intercept"}
    assert verdict.infinite["age"] == 1 or verdict.infinite["treated"] == 1
    assert verdict.proof.verify(frame, ["no", "no", "yes", "yes"])
    weak = mm.separability(frame[["treated"]], ["no", "yes", "yes", "yes"])
    assert weak.kind == "touching" and weak.infinite == {"treated": 1}
    assert "treated (+∞)" in str(weak) and weak.on_plane.tolist() == [0, 1]


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (0, 1),
        (-1, 1),
        (0.0, 1.0),
        (2.0, 7.0),
        (10, 9),
        ("9", "10"),
        ("", " a"),
        ("ä", "ö"),
    ],
)
def test_labels_of_every_kind(labels, tmp_path):
    first, second = labels
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for pattern in ((0, 0, 1, 1), (0, 1, 0, 1), (1, 0, 0, 0)):
        y = np.array([labels[k] for k in pattern])
        verdict = judge(X, y, folder=tmp_path)
        assert verdict.positive == max(labels) and verdict.negative == min(labels)
        assert verdict.proof.verify(X, y.tolist())
        assert not verdict.proof.verify(X, y[::-1]) or pattern == (0, 1, 0, 1) or first == second


@pytest.mark.parametrize("labels", [("1", "1.0"), ("a", " a"), ("1e3", "1000"), ("0", "-0")])
def test_labels_that_clash_are_refused_or_told_apart(labels):
    with pytest.raises(mm.InputError, match="told apart"):
        mm.separability([[0.0], [1.0]], list(labels))


@both
@pytest.mark.parametrize("intercept", [True, False])
def test_through_the_origin(intercept):
    kinds = {
        ((1.0, 1.0), (2.0, 2.0)): "overlapping",
        ((1.0, 1.0), (-2.0, -2.0)): "separable",
        ((0.0, 0.0), (1.0, 1.0)): "touching",
        ((1.0, 0.0), (1.0, 1.0)): "separable",
    }
    for points, kind in kinds.items():
        judge(points, [0, 1], "separable" if intercept else kind, intercept)
    both = [[1.0, 0], [0, 1], [0, 0], [0, 0]]
    verdict = judge(both, [0, 1, 0, 1], "touching", intercept)
    assert verdict.on_plane.tolist() == [2, 3]
    judge([[0.0], [0.0]], [0, 1], "overlapping", intercept)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    verdict = mm.separability(X, names)
    assert isinstance(verdict, mm.MulticlassVerdict)
    assert {k: v.kind for k, v in verdict.rest.items()} == {
        "setosa": "separable",
        "versicolor": "overlapping",
        "virginica": "overlapping",
    }
    assert [pair for pair, v in verdict.pairs.items() if not v.separable] == [
        ("versicolor", "virginica")
    ]
    assert not verdict.separable and not verdict.pairwise_separable
    for v in (*verdict.rest.values(), *verdict.pairs.values()):
        check_verdict(v, X, names)
    for label, v in verdict.rest.items():
        assert v.positive == label and v.negative is None
    for (a, b), v in verdict.pairs.items():
        assert (v.negative, v.positive) == (a, b)
        alone = mm.separability(X[(names == a) | (names == b)], names[(names == a) | (names == b)])
        assert alone.kind == v.kind
    assert "overlapping" in str(verdict)


def test_digits_are_separable_pair_by_pair():
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 4][:300], y[y < 4][:300]
    verdict = mm.separability(X, y)
    assert list(verdict.rest) == [0, 1, 2, 3] and len(verdict.pairs) == 6
    assert verdict.separable and verdict.pairwise_separable
    for v in (*verdict.rest.values(), *verdict.pairs.values()):
        check_verdict(v, X, y)


@both
def test_whole_numbers_and_lists():
    X = [[0, 0], [1, 1], [0, 1], [1, 0]]
    judge(X, [0, 0, 1, 1], "overlapping")
    for kind in (np.int64, np.int8, np.uint8, np.int32, bool):
        judge(np.array(X, dtype=kind), [0, 0, 0, 1], "separable")
    judge(np.array([[2**53], [2**53 + 2]]), [0, 1], "separable")


def test_integers_that_are_no_doubles_are_not_rounded_in_silence():
    """2^53 and 2^53 + 1 are different numbers: judged as such, or refused."""
    X = np.array([[2**53], [2**53 + 1]])
    try:
        verdict = mm.separability(X, [0, 1])
    except mm.InputError:
        return
    assert verdict.kind == "separable"


BAD = {
    "nan": ([[0.0], [math.nan]], [0, 1], {}),
    "infinity": ([[0.0], [-math.inf]], [0, 1], {}),
    "one class": ([[0.0], [1.0]], [1, 1], {}),
    "no rows": (np.empty((0, 2)), [], {}),
    "no features": (np.empty((2, 0)), [0, 1], {}),
    "one row": ([[0.0]], [0], {}),
    "too few labels": ([[0.0], [1.0]], [0], {}),
    "a vector": ([0.0, 1.0], [0, 1], {}),
    "words": ([["a"], ["b"]], [0, 1], {}),
    "complex": (np.array([[1j], [0]]), [0, 1], {}),
    "missing label": ([[0.0], [1.0]], [0, math.nan], {}),
    "labels in a table": ([[0.0], [1.0]], [[0, 1], [1, 0]], {}),
    "no labels": ([[0.0], [1.0]], None, {}),
    "tol zero": ([[0.0], [1.0]], [0, 1], {"tol": 0}),
    "tol one": ([[0.0], [1.0]], [0, 1], {"tol": 1.0}),
    "tol negative": ([[0.0], [1.0]], [0, 1], {"tol": -1e-3}),
    "tol nan": ([[0.0], [1.0]], [0, 1], {"tol": math.nan}),
    "tol a word": ([[0.0], [1.0]], [0, 1], {"tol": "small"}),
    "intercept a word": ([[0.0], [1.0]], [0, 1], {"fit_intercept": "yes"}),
    "intercept a number": ([[0.0], [1.0]], [0, 1], {"fit_intercept": 2}),
    "sparse nan": (sparse.csr_array([[0.0], [math.nan]]), [0, 1], {}),
    "mixed labels": ([[0.0], [1.0]], np.array(["a", 1], dtype=object), {}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name):
    X, y, options = BAD[name]
    with pytest.raises(ValueError, match=r".{15}") as caught:
        mm.separability(X, y, **options)
    assert isinstance(caught.value, (mm.InputError, ValueError))


@pytest.mark.parametrize("name", ["exclusive or", "a cube's face", "two points", "copied columns"])
def test_the_checker_alone_confirms_the_proof(name, tmp_path):
    X, y, _ = SHAPES[name]
    for k, scale in enumerate((1.0, 0.1, 1e-300, 1e300)):
        Z = np.asarray(X, dtype=float) * scale
        judge(Z, y).proof.save(tmp_path / f"{k}.json")
        write_table(tmp_path / f"{k}.csv", Z, y)
        write_table(tmp_path / "other.csv", np.where(Z == 0, scale, Z), y)
        command = [sys.executable, "-m", "maxmargin.checker", str(tmp_path / f"{k}.json")]
        if k != 1:
            continue
        for file, status in ((f"{k}.csv", 0), ("other.csv", int(np.any(Z == 0)))):
            done = subprocess.run(
                [*command, str(tmp_path / file)], capture_output=True, text=True, check=False
            )
            assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["exclusive or", "a point on an edge", "two points"])
def test_a_changed_row_or_label_is_noticed(name):
    X, y, _ = SHAPES[name]
    X = np.asarray(X, dtype=float)
    proof = mm.separability(X, y).proof
    for i, j in product(range(X.shape[0]), range(X.shape[1])):
        Z = X.copy()
        Z[i, j] = np.nextafter(X[i, j], 9)
        assert not proof.verify(Z, y)
    for i in range(len(y)):
        labels = list(y)
        labels[i] = 1 - labels[i]
        assert not proof.verify(X, labels)
    assert not proof.verify(X[:-1], y[:-1])
    assert not proof.verify(X[:, :1], y)


# A failing case is not made smaller, which would take minutes.
bounded = settings(phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
fewer = settings(bounded, max_examples=bounded.max_examples // 3)  # each asks for many verdicts
numbers = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from(
        [0.1, 0.2, 0.3, 1 / 3, UP, 1e-10, 1e-200, TINY, -TINY, 1e308, -1e308, 1e16, HUGE, -HUGE]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def cases(draw):
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    return X, y, draw(st.booleans())


@both
@bounded
@given(cases())
def test_any_doubles(case):
    X, y, intercept = case
    expected = decide(signed(X, 2 * y - 1, intercept))
    verdict = judge(X, y, expected.kind, intercept)
    if expected.kind == "touching":
        assert verdict.on_plane.tolist() == expected.on


@both
@fewer
@given(cases(), st.randoms(use_true_random=False))
def test_what_does_not_matter_does_not_change_the_verdict(case, random):
    X, y, intercept = case
    n, d = X.shape
    kind = mm.separability(X, y, fit_intercept=intercept).kind

    def same(Z, labels):
        verdict = mm.separability(Z, labels, fit_intercept=intercept)
        assert verdict.kind == kind
        return verdict

    order = random.sample(range(n), n)
    same(X[order], y[order])
    same(X[:, random.sample(range(d), d)], y)
    again = [*range(n), *(random.randrange(n) for _ in range(4))]
    same(X[again], y[again])
    same(np.hstack([X, X[:, :1]]), y)
    same(np.hstack([X, np.zeros((n, 1))]), y)
    if intercept:
        same(np.hstack([X, np.full((n, 1), random.choice([1.0, -3.0, 1e300, TINY]))]), y)
    powers = 2.0 ** np.array([random.randint(-40, 40) for _ in range(d)])
    with np.errstate(over="ignore", under="ignore"):
        Z = X * powers
        if np.array_equal(Z / powers, X):
            same(Z, y)


@both
@fewer
@given(cases())
def test_flipping_the_labels_flips_the_plane(case):
    X, y, intercept = case
    one = mm.separability(X, y, fit_intercept=intercept)
    other = mm.separability(X, 1 - y, fit_intercept=intercept)
    assert one.kind == other.kind
    check_verdict(other, X, 1 - y, intercept)
    if one.kind == "touching":
        assert one.on_plane.tolist() == other.on_plane.tolist()
    if one.kind == "separable" and one.margin[0] > 0:
        for ours, theirs in zip(one.margin, other.margin, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-5)
        for a, b in zip(one.w.tolist(), other.w.tolist(), strict=True):
            assert not (a * b > 0 and min(abs(a), abs(b)) > 0.01 * np.max(np.abs(one.w)))


def test_a_determinant_that_many_primes_divide():
    """Four rows whose determinant is (2^61 − 1)(2^63 − 25)(2^64 − 59), and their mirror images."""
    goal = (2**61 - 1) * (2**63 - 25) * (2**64 - 59)
    base = 2**47
    digits = [goal // base**k % base for k in range(4)]
    digits[3] += goal // base**4 * base
    # A companion matrix: its determinant is the number with these digits.
    V = [[float(v) for v in digits]] + [
        [float(-base) if j == k else 1.0 if j == k + 1 else 0.0 for j in range(4)] for k in range(3)
    ]
    X, y = np.array(V + V), [0] * 4 + [1] * 4
    verdict = mm.separability(X, y, fit_intercept=False)
    assert verdict.kind == "overlapping" and verdict.rank == 4
    assert verdict.proof.verify(X, y)


def test_wide_rows_that_cancel_have_short_proofs():
    rng = np.random.default_rng(0)
    half = rng.integers(-3, 4, (15, 600)) * (rng.random((15, 600)) < 0.02)
    X, y = np.vstack([half, half]).astype(float), [0] * 15 + [1] * 15
    verdict = mm.separability(X, y)
    assert verdict.kind == "overlapping" and verdict.proof.verify(X, y)
    assert not verdict.proof.content["span"]["flat"]


def test_verdicts_keep_no_copies_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 8))
    y = np.arange(12_000) % 3
    verdict = mm.separability(X, y)
    assert not verdict.pairs[0, 1].separable
    assert verdict.pairs[0, 1].proof.verify(X, np.where(y == 2, -1, y))
    assert verdict.pairs[1, 2].proof.verify(X, y)
