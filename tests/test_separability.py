"""Separability verdicts against enumeration in whole numbers, and in floating point first."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from exact import meeting_weights
from maxmargin.solvers.exact import separability as ladder
from separation import check_verdict, decide, exactly, signed
from thorough import THOROUGH, further

BLOCKS = 200 if THOROUGH else 6
CASES = 500 if THOROUGH else 75


def _small(rng):
    """A few rows with small whole numbers, both classes present."""
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    reach = int(rng.integers(1, 3))
    X = rng.integers(-reach, reach + 1, (n, d))
    if rng.random() < 0.3:  # labels by a plane: separable or touching
        side = np.sign(X @ rng.integers(-2, 3, d) + rng.integers(-1, 2))
        y = np.where(side == 0, rng.choice([-1, 1], n), side)
    else:
        y = rng.choice([-1, 1], n)
    y[0], y[1] = -1, 1
    return X, y


def _agree(X, y, intercept):
    answer = decide(signed(X, y, intercept))
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.kind == answer.kind
    check_verdict(verdict, X, y, intercept)
    if answer.kind == "touching":  # no weak plane has fewer rows on it
        assert verdict.on_plane.tolist() == answer.on
    if answer.kind == "overlapping":
        assert verdict.rank == answer.rank
    return answer.kind


@pytest.mark.parametrize("block", range(4))
def test_the_oracle_agrees_with_the_rational_simplex_method(block):
    rng = np.random.default_rng([1, block])
    for _ in range(50):
        X, y = _small(rng)
        for intercept in (True, False):
            strict = meeting_weights(X.tolist(), y.tolist(), intercept) is None
            assert strict == (decide(signed(X, y, intercept)).kind == "separable")


def test_the_oracle_tells_touching_from_overlapping():
    assert decide([[1, 1], [-1, -1]]).kind == "overlapping"
    assert decide([[1, 1], [-1, -1], [0, 1]]).kind == "touching"
    assert decide([[1, 1], [-1, -1], [0, 1], [0, -1]]).kind == "overlapping"
    assert decide([[1, 1], [0, 0]]).on == [1]
    assert decide([[0, 0], [0, 0]]).rank == 0
    assert decide([[1, 1], [0, 1]]).kind == "separable"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_small_whole_numbers_against_enumeration(block):
    rng = np.random.default_rng([2, block])
    seen = set()
    for k in range(CASES):
        X, y = _small(rng)
        seen.add(_agree(X, y, bool(k % 2)))
    assert seen == {"separable", "touching", "overlapping"}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_small_whole_numbers_in_floating_point_first(block, monkeypatch):
    monkeypatch.setattr(ladder, "SMALL_ENTRIES", 0)
    rng = np.random.default_rng([3, block])
    for k in range(CASES // 4):
        X, y = _small(rng)
        _agree(X, y, bool(k % 2))


def _hot(rng, n, sizes):
    """Categories as zeros and ones, one column for each."""
    parts = [np.eye(k)[rng.integers(0, k, n)] for k in sizes]
    return np.hstack(parts)


def _quasi_complete(rng, n, sizes):
    """Categories of which some occur in one class only."""
    X = _hot(rng, n, sizes)
    y = rng.choice([0, 1], n)
    y[X[:, 0] == 1] = 1
    y[X[:, sizes[0]] == 1] = 1
    return X, y


@pytest.mark.parametrize("small", [0, None])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "sizes"), [(300, (4, 6)), (2000, (10, 20, 10)), (700, (15, 2, 3))])
def test_categories_that_occur_in_one_class(n, sizes, intercept, small, monkeypatch):
    if small is not None:
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", small)
    rng = np.random.default_rng([4, n])
    X, y = _quasi_complete(rng, n, sizes)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.kind == "touching"
    check_verdict(verdict, X, y, intercept)
    marked = (X[:, 0] == 1) | (X[:, sizes[0]] == 1)
    assert verdict.on_plane.tolist() == np.flatnonzero(~marked).tolist()


def _nested(rng, levels, each, d):
    """Rows that touch on a hyperplane, in which they touch on a smaller one, and so on; then overlap."""
    parts, labels = [], []
    for level in range(levels):
        X = rng.integers(-9, 10, (each, d))
        X[:, :level] = 0
        X[:, level] = rng.integers(1, 9, each)
        y = rng.choice([-1, 1], each)
        parts.append(X * y[:, None])
        labels.append(y)
    X, y = np.vstack(parts), np.concatenate(labels)
    rest = np.zeros((4 * d, d), dtype=int)
    rest[:, levels:] = rng.integers(-9, 10, (4 * d, d - levels))
    X = np.vstack([X, rest, rest])
    y = np.concatenate([y, np.ones(4 * d, dtype=int), -np.ones(4 * d, dtype=int)])
    order = rng.permutation(len(X))
    return X[order], y[order]


@pytest.mark.parametrize("small", [0, None])
@pytest.mark.parametrize(
    ("levels", "each", "d"), [(1, 10, 3), (5, 40, 12), further(3, 20, 6), further(8, 100, 20)]
)
def test_faces_within_faces(levels, each, d, small, monkeypatch):
    """Every weak plane contains the last level, and one contains no more."""
    if small is not None:
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", small)
    X, y = _nested(np.random.default_rng([5, d]), levels, each, d)
    M = np.random.default_rng(6).integers(-2, 3, (d, d)) + 7 * np.eye(d, dtype=int)
    last = np.flatnonzero(~X[:, :levels].any(axis=1))
    for Z in (X, X @ M):
        for intercept in (False, True):
            verdict = mm.separability(Z, y, fit_intercept=intercept)
            assert verdict.kind == "touching"
            check_verdict(verdict, Z, y, intercept)
            assert verdict.on_plane.tolist() == last.tolist()


@pytest.mark.parametrize("small", [0, None])
@pytest.mark.parametrize(("n", "d"), [(60, 5), (400, 20), further(1500, 30)])
def test_contradictory_copies_of_generic_rows(n, d, small, monkeypatch):
    """Copies of k rows with both labels: touching as long as they do not span the space."""
    if small is not None:
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", small)
    rng = np.random.default_rng([7, d])
    base = rng.integers(-3, 4, (d - 1, d))
    w = rng.integers(-3, 4, d)
    for k in (1, d // 2, d - 1):
        # b and rows x of which w·x + b is known, with k rows on the plane
        on = base[:k].copy()
        on[:, 0] = 0
        normal = np.concatenate([[1], np.zeros(d - 1, dtype=int)])
        X = rng.integers(-9, 10, (n, d))
        X[:, 0] = rng.choice([-1, 1], n) * rng.integers(1, 5, n)
        y = np.sign(X @ normal)
        M = np.eye(d, dtype=int) * 5 + rng.integers(-1, 2, (d, d))
        Z = np.vstack([X, on, on]) @ M + w
        labels = np.concatenate([y, np.ones(k, dtype=int), -np.ones(k, dtype=int)])
        verdict = mm.separability(Z, labels)
        assert verdict.kind == "touching"
        check_verdict(verdict, Z, labels)
        assert set(range(n, n + 2 * k)) <= set(verdict.on_plane.tolist())
    k = d + 1
    base = np.vstack([np.eye(d), np.zeros(d)])
    y = np.sign(X[:, 0])
    Z, labels = np.vstack([X, base, base]), np.concatenate([y, np.ones(k, int), -np.ones(k, int)])
    verdict = mm.separability(Z, labels)
    assert verdict.kind == "overlapping" and verdict.rank == d + 1
    check_verdict(verdict, Z, labels)


@pytest.mark.parametrize("small", [0, None])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "d", "inner"), [(40, 8, 3), (500, 20, 6), (400, 40, 4)])
def test_rows_in_a_subspace_are_judged_inside_it(n, d, inner, intercept, small, monkeypatch):
    if small is not None:
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", small)
    rng = np.random.default_rng([8, n])
    B = rng.integers(-3, 4, (inner, d))
    U = rng.integers(-20, 21, (n, inner))
    X = U @ B
    noisy = rng.choice([-1, 1], n)
    verdict = mm.separability(X, noisy, fit_intercept=intercept)
    assert verdict.kind == "overlapping" and verdict.rank == inner + intercept
    check_verdict(verdict, X, noisy, intercept)
    assert "not unique" in str(verdict)
    value = U @ rng.integers(-4, 5, inner) + (3 if intercept else 0)
    side = np.where(value == 0, noisy, np.sign(value))
    apart = mm.separability(X[value != 0], side[value != 0], fit_intercept=intercept)
    assert apart.kind == "separable"
    check_verdict(apart, X[value != 0], side[value != 0], intercept)
    weak = mm.separability(X, side, fit_intercept=intercept)
    assert weak.kind in ("separable", "touching")
    check_verdict(weak, X, side, intercept, tight=False)


@pytest.mark.parametrize("small", [0, None])
@pytest.mark.parametrize("seed", range(6))
def test_generic_rows_with_one_row_moved_across(seed, small, monkeypatch):
    """Separable by construction; with one row at a point between rows of the other class, not."""
    if small is not None:
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", small)
    rng = np.random.default_rng([9, seed])
    n, d = int(rng.integers(20, 300)), int(rng.integers(2, 15))
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    y = np.where(X @ w > 0, "yes", "no")
    verdict = mm.separability(X, y)
    assert verdict.kind == "separable"
    check_verdict(verdict, X, y)
    ours = np.flatnonzero(y == "yes")[:2]
    inside = (X[ours[0]] + X[ours[1]]) / 2
    moved, labels = np.vstack([X, inside]), np.append(y, "no")
    crossed = mm.separability(moved, labels)
    check_verdict(crossed, moved, labels, tight=False)


def test_the_same_input_gives_the_same_proof():
    rng = np.random.default_rng(10)
    for n, d in ((6, 2), (50, 4), (900, 15)):
        X = rng.integers(-4, 5, (n, d)).astype(float)
        for y in (
            np.where(X[:, 0] > 0, 1, 0),
            rng.choice([0, 1], n),
            np.where(X[:, 0] + (X[:, 0] == 0) * X[:, 1] > 0, 1, 0),
        ):
            if len(set(y)) < 2:
                y[0] = 1 - y[0]
            first, second = mm.separability(X, y), mm.separability(X.copy(), y.copy())
            assert first.proof.to_dict() == second.proof.to_dict()
            assert first.margin == second.margin and str(first) == str(second)
            packed = mm.separability(sparse.csr_array(X), y)
            assert packed.kind == first.kind
            assert packed.proof.to_dict()["data"] == first.proof.to_dict()["data"]
            assert packed.proof.verify(X, y) and first.proof.verify(sparse.csr_array(X), y)
            check_verdict(packed, sparse.csr_array(X), y, tight=False)
            columns = mm.separability(np.asfortranarray(X), y)
            assert columns.kind == first.kind
            assert columns.proof.to_dict()["data"] == first.proof.to_dict()["data"]


def test_input_is_left_as_it_is():
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((300, 13)) * 1e200, rng.choice([0, 1], 300)
    before, labels = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    mm.separability(X, y).proof.verify(X, y)
    assert np.array_equal(X, before) and np.array_equal(y, labels)
    packed = sparse.csr_matrix(
        (np.array([1.0, 2.0, 0.0, 4.0]), [1, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2)
    )
    data, indices = packed.data.copy(), packed.indices.copy()
    mm.separability(packed, [0, 1, 0]).proof.verify(packed, [0, 1, 0])
    assert np.array_equal(packed.data, data) and np.array_equal(packed.indices, indices)


def test_exact_reads_doubles_as_they_are():
    rows, one = exactly([[0.1, 5e-324]])
    assert rows[0][0] / one == 0.1 and rows[0][1] == 1


def test_rows_whose_determinant_is_the_prime_of_the_checker():
    """2^31·2^30 − 1 = 2^61 − 1: the rows depend on each other modulo that prime only.

    In another process, so that a search without an end is ended; how long it takes is no matter.
    """
    X = [[2.0**31, 1], [2.0**31, 1], [1, 2.0**30], [1, 2.0**30]]
    code = (
        "import maxmargin as mm\n"
        f"print(mm.separability({X}, [0, 1] * 2, fit_intercept=False).kind)\n"
        f"print(mm.separability({X} + [[0.0, 0.0]] * 2, [0, 1] * 3).kind)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == ["overlapping"] * 2
