"""Separability of data made to mislead floating point: tiny, huge, and one ulp apart."""

import math
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

import maxmargin as mm
from separation import decide, signed
from thorough import THOROUGH, further
from verdicts import HUGE, SHAPES, TINY, UP, both, judge
from verdicts import path as path

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
