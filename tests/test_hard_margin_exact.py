"""The hard margin on thousands of small integer problems, against rational arithmetic."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import maxmargin as mm
from exact import hard_margin, meeting_weights
from thorough import THOROUGH

EACH, PAIRS = (800, 2000) if THOROUGH else (40, 60)  # problems
CLOSE = 1e-9  # relative gap that is asked for
THIN = 1e5  # size of the data against the margin, beyond which rounding may be in the way of it
ROUNDING = 1e-13  # gap that rounding may leave, for each unit of that ratio


def _labels(rng, n):
    y = rng.choice([-1, 1], n)
    y[:2] = [-1, 1]
    return y


def _side(rng, X):
    """Labels by the side of a random plane, rows on the plane left to chance."""
    w = rng.integers(-3, 4, X.shape[1])
    y = np.sign(X @ w - int(np.median(X @ w))).astype(int)
    y[y == 0] = rng.choice([-1, 1])
    if abs(y.sum()) == len(y):
        y[0] = -y[0]
    return y


def _mirrored(rng, X):
    """Integer rows reflected in a random plane and scaled: right angles stay right."""
    v = rng.integers(-3, 4, X.shape[1])
    return X @ (int(v @ v) * np.eye(len(v), dtype=int) - 2 * np.outer(v, v)) if v.any() else X


def grid(rng, n, d):
    """Few places, so that rows coincide and lie on common lines and planes."""
    return rng.integers(-2, 3, (n, d)), _labels(rng, n)


def one_sided(rng, n, d):
    """Labels by a plane."""
    X = rng.integers(-6, 7, (n, d))
    return X, _side(rng, X)


def thousands(rng, n, d):
    """The same with larger numbers."""
    X = rng.integers(-1000, 1001, (n, d))
    return X, _side(rng, X)


def collinear(rng, n, d):
    """All rows on one line, in or out of order."""
    t = rng.integers(-6, 7, n)
    X = rng.integers(-3, 4, d) + t[:, None] * rng.integers(-3, 4, d)
    return X, _side(rng, X) if rng.random() < 0.7 else _labels(rng, n)


def duplicates(rng, n, d):
    """A few rows, repeated, now and then in both classes."""
    few = max(2, n // 3)
    X, y = one_sided(rng, few, d)
    again = rng.integers(few, size=n)
    again[:few] = np.arange(few)
    X, y = X[again], y[again]
    if rng.random() < 0.2:
        y[-1] = -y[-1]
    if abs(y.sum()) == n:
        y[0] = -y[0]
    return X, y


def constant_feature(rng, n, d):
    """One feature is the same for all rows; with d = 1 all rows are the same."""
    X, y = one_sided(rng, n, d)
    X[:, rng.integers(d)] = rng.integers(-9, 10)
    return X, y if rng.random() < 0.5 else _side(rng, X)


def on_the_edges(rng, n, d):
    """Many rows on both edges of the slab."""
    X = rng.integers(-3, 4, (n, d))
    y = _labels(rng, n)
    X[:, 0] = y + rng.choice([0, 0, 0, 1], n) * y
    return _mirrored(rng, X) + rng.integers(-5, 6, d), y


def touching(rng, n, d):
    """A row of one class in the middle of two of the other, or a step away from it."""
    X = 2 * rng.integers(-5, 6, (n, d))
    y = _side(rng, X)
    up = np.flatnonzero(y == (1 if (y > 0).sum() > 1 else -1))
    other = np.flatnonzero(y != y[up[0]])
    X[other[0]] = (X[up[0]] + X[up[-1]]) // 2
    if rng.random() < 0.5:
        X[other[0], rng.integers(d)] += rng.choice([-1, 1])
    return X, y


def nearly_touching(rng, n, d):
    """The same with rows far apart: margins of one part in some thousands."""
    X, y = touching(rng, n, d)
    far = 1 + 200 * (np.abs(X) > 4)
    return X * far, y


FAMILIES = [
    grid,
    one_sided,
    thousands,
    collinear,
    duplicates,
    constant_feature,
    on_the_edges,
    touching,
    nearly_touching,
]


def check_witness(error, X, y, intercept):
    """The rows and weights rule out any plane, exactly."""
    witness = error.witness
    assert list(error.witnesses.values()) == [witness]
    up, down = witness.positive, witness.negative
    p, q = witness.positive_weights, witness.negative_weights
    assert len(up) == len(p) and len(down) == len(q)
    assert len(set(up.tolist())) == len(up) and len(set(down.tolist())) == len(down)
    assert np.all(y[up] == 1) and np.all(y[down] == -1)
    d = X.shape[1]
    assert len(up) + len(down) <= (d + 2 if intercept else d + 1), "rows of the witness"
    assert min([*p, *q]) > 0
    assert (p.sum() == q.sum() == 1) if intercept else sum([*p, *q]) == 1
    for j in range(d):
        one = sum((w * Fraction(X[i, j]) for i, w in zip(up, p, strict=True)), Fraction(0))
        two = sum((w * Fraction(X[i, j]) for i, w in zip(down, q, strict=True)), Fraction(0))
        assert one == two, "the means of the witness"
        np.testing.assert_allclose(witness.point[j], float(one), rtol=1e-9, atol=1e-9 * np.abs(X).max())


def check_optimum(model, X, y, best, intercept, tol):
    """Plane, multipliers and bounds are those of the rational solution, to a relative gap ``tol``.

    A feasible plane has ½‖w − w*‖² ≤ ½‖w‖² − ½‖w*‖², a feasible α has ½‖Σ α_i a_i − w*‖² and
    Σ α_i (m_i* − 1) below what is missing from its value: so closeness follows from the gap.
    """
    w, b, alpha, proof = model.coef_[0], model.intercept_[0], model.dual_, model.certificate_
    exact = np.array([float(v) for v in best.w])
    length, reach = 1 / best.margin, float(np.linalg.norm(X, axis=1).max())
    near = math.sqrt(tol) * length
    assert model.margin_**2 == pytest.approx(float(best.square), rel=tol)
    assert np.linalg.norm(w - exact) <= near
    assert abs(b - float(best.b)) <= near * reach + 1e-12
    assert intercept or b == 0.0

    lower, upper = proof.margin
    assert lower <= best.margin * (1 + tol) and best.margin <= upper * (1 + tol)
    assert upper - lower <= tol * best.margin
    half = 0.5 * length**2
    assert proof.dual <= half * (1 + tol) and half <= proof.primal * (1 + tol)
    assert proof.relative_gap <= tol
    assert proof.primal_infeasibility <= tol and proof.dual_infeasibility <= 1e-12
    assert proof.stationarity <= math.sqrt(tol) and proof.complementarity <= 2 * tol

    m = y * (X @ w + b)
    assert m.min() == pytest.approx(1.0, abs=tol)
    assert np.all(alpha >= 0.0) and alpha.sum() == pytest.approx(length**2, rel=tol)
    assert not intercept or abs(alpha @ y) <= 1e-12 * alpha.sum()
    assert np.linalg.norm((alpha * y) @ X - exact) <= near
    assert np.max(alpha * (m - 1.0)) <= tol * alpha.sum()
    assert model.support_.tolist() == np.flatnonzero(alpha).tolist()
    assert np.all(alpha * (margins(best, X, y) - 1.0) <= tol * alpha.sum()), "multipliers off the edges"


def margins(best, X, y):
    """y_i (w*·x_i + b*), rounded once."""
    values = []
    for x, s in zip(X.tolist(), y.tolist(), strict=True):
        f = sum((v * c for v, c in zip(x, best.w, strict=True)), best.b)
        values.append(float(s * f))
    return np.array(values)


def check(X, y, intercept):
    """Compare one problem with the rational answer; return whether a plane separates."""
    rows, labels = X.tolist(), y.tolist()
    model = mm.HardMarginSVC(fit_intercept=intercept)
    if meeting_weights(rows, labels, intercept) is not None:
        with pytest.raises(mm.NotSeparableError) as caught:
            model.fit(X.astype(float), y)
        check_witness(caught.value, X, y, intercept)
        return False
    best = hard_margin(rows, labels, intercept)
    centred = X - X.mean(axis=0) if intercept else X
    thin = float(np.linalg.norm(centred, axis=1).max()) / best.margin
    with warnings.catch_warnings():
        if thin > THIN:
            warnings.simplefilter("ignore", mm.BudgetWarning)
        model.fit(X.astype(float), y)
    check_optimum(model, X, y, best, intercept, max(CLOSE, ROUNDING * thin))
    return True


def failures(problems, intercept):
    """What went wrong on which problem, and how many were separable."""
    wrong, separable, count = [], 0, 0
    for X, y in problems:
        count += 1
        try:
            separable += check(X, y, intercept)
        except (Exception, pytest.fail.Exception) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            wrong.append(f"X={X.tolist()}, y={y.tolist()}, intercept={intercept}: {said}")
    return wrong, separable, count


@pytest.mark.parametrize("intercept", [True, False], ids=["free bias", "origin"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_small_integer_problems(family, d, intercept):
    rng = np.random.default_rng([FAMILIES.index(family), d, intercept])
    problems = (family(rng, int(rng.integers(2, 10)), d) for _ in range(EACH))
    wrong, separable, count = failures(problems, intercept)
    assert not wrong, f"{len(wrong)} of {count} problems:\n" + "\n".join(wrong[:5])
    assert separable < count or family in (one_sided, on_the_edges, thousands)
    assert separable > 0 or d == 1


# Problems on which the way to the answer is long: the gap is thin, or rounding blurs that hulls meet.
AWKWARD = [
    (
        [
            [-1608, -3, -4],
            [-2, -2010, 1206],
            [-1608, 4, 0],
            [-1608, 1206, 4],
            [1206, -2010, -1608],
            [1608, -2, 4],
            [-2, 0, -4],
            [-1608, -2010, -1206],
            [-2, -1608, 1206],
        ],
        [-1, -1, 1, 1, 1, -1, 1, 1, -1],
        True,
    ),
    ([[1005, 1608], [-2, 2010], [2010, 1206]], [1, -1, -1], True),
    ([[-3, 2], [0, 0], [1206, -2], [-1206, 2]], [-1, 1, 1, 1], True),
    ([[-1000, 0], [1000, 0], [0, 1]], [-1, -1, 1], True),
    ([[-1, 0], [-1608, 1206], [1608, -1206]], [1, -1, -1], False),
    ([[-1206, 2010], [-2, 3], [2, -4]], [-1, 1, -1], True),
    ([[-3, -5], [-6, -4], [6, -8], [0, -6]], [-1, 1, -1, 1], True),
    ([[1407, -1005, -2], [-4, 2, 2], [1608, -2010, -4], [1206, 2, 0]], [-1, -1, 1, 1], False),
    ([[5, -4], [3, -4], [0, -4], [5, -4], [1, -4], [-1, -4], [-1, -4]], [-1, -1, -1, 1, -1, 1, 1], True),
    ([[-1, -1], [9, -1], [13, -1], [-9, -1], [3, -1]], [-1, 1, -1, -1, 1], True),
    ([[-1608, -1], [-1608, -2], [-1608, -4], [-1608, 2]], [-1, 1, -1, 1], True),
    (
        [[-4, 5, 1], [-4, 5, 6], [0, 5, -2], [-3, 5, 3], [-3, 5, -1], [-5, 5, -2]],
        [1, 1, -1, -1, 1, -1],
        True,
    ),
]


@pytest.mark.parametrize(("X", "y", "intercept"), AWKWARD, ids=range(len(AWKWARD)))
def test_awkward_problems(X, y, intercept):
    check(np.array(X), np.array(y), intercept)


def test_the_two_rational_methods_agree():
    rng = np.random.default_rng(5)
    for k in range(PAIRS):
        X, y = FAMILIES[k % len(FAMILIES)](rng, int(rng.integers(2, 7)), 1 + k % 3)
        for intercept in (True, False):
            best = hard_margin(X.tolist(), y.tolist(), intercept)
            assert (best is None) == (meeting_weights(X.tolist(), y.tolist(), intercept) is not None)
