"""Problems for the soft margin: pairs of classes, tiny ones, noise; and what an optimum has to be."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from planes import check_kkt, exact, primal_value, signs

__all__ = [
    "CANCER_X",
    "CANCER_Y",
    "IRIS_X",
    "IRIS_Y",
    "PAIRS",
    "TINY",
    "assert_optimal",
    "assert_same_plane",
    "compare_exactly",
    "noisy",
    "plane",
    "value",
]


def _pairs():
    found = {}
    sets = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    for name, load in sets.items():
        X, y = load(return_X_y=True)
        for a, b in combinations(sorted(set(y.tolist())), 2):
            mine = (y == a) | (y == b)
            found[f"{name} {a}-{b}"] = StandardScaler().fit_transform(X[mine]), signs(y[mine])
    X, y = load_digits(return_X_y=True)
    for a, b in [(0, 1), (1, 8), (3, 5), (3, 8), (4, 7), (8, 9)]:
        mine = (y == a) | (y == b)
        found[f"digits {a}-{b}"] = StandardScaler().fit_transform(X[mine]), signs(y[mine])
    return found


PAIRS = _pairs()
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
CANCER_X, CANCER_Y = PAIRS["breast cancer 0-1"]


def plane(model):
    return model.coef_[0], float(model.intercept_[0])


def value(model, X, y, C):
    return primal_value(X, y, C, *plane(model))


def noisy(n, d, seed=0, noise=1.0, flips=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    y[rng.random(n) < flips] *= -1.0
    return X, y


def assert_optimal(model, X, y, C=1.0, gap=None, bias=True):
    (machine,) = model.machines_.values()
    gap = model.tol if gap is None else gap
    assert model.certificate_.relative_gap <= gap
    check_kkt(machine, X, y, C, gap=gap, bias=bias)


def assert_same_plane(one, two, X, y, C, rtol=1e-4):
    """The same value to 2e-9, and the same w: it is unique."""
    a, b = value(one, X, y, C), value(two, X, y, C)
    assert a == pytest.approx(b, rel=2e-9)
    size = float(np.linalg.norm(two.coef_)) + 1e-12
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0, atol=rtol * size)


def _tiny():
    rng = np.random.default_rng(5)
    for n, d in [(2, 1), (3, 2), (5, 1), (6, 2), (6, 3), (7, 2), (8, 2)]:
        X = rng.integers(-4, 5, (n, d)) / 2
        y = rng.choice([-1, 1], n)
        y[:2] = -1, 1
        yield f"random {n} x {d}", X, y
    yield "n = 2", [[0, 0], [3, 4]], [-1, 1]
    yield "n = 2, one point", [[1, 2], [1, 2]], [-1, 1]
    yield "contradiction", [[0], [1], [1], [1], [2]], [-1, -1, 1, 1, 1]
    yield "only contradictions", [[0, 1], [0, 1], [2, 0], [2, 0]], [-1, 1, -1, 1]
    yield "all rows equal", [[3, 1]] * 5, [1, -1, -1, 1, -1]
    yield "all rows equal, a tie", [[3, 1]] * 4, [1, -1, -1, 1]
    yield "all rows zero", [[0, 0]] * 3, [1, -1, -1]
    yield "one against many", [[0], [1], [2], [3], [4], [5], [6]], [-1, -1, -1, 1, -1, -1, -1]
    yield "one apart from many", [[0], [1], [2], [3], [4], [9]], [-1, -1, -1, -1, -1, 1]
    yield "constant features", [[7, 0, -2], [7, 1, -2], [7, 3, -2], [7, 2, -2]], [-1, -1, 1, 1]
    yield "wide", np.rint(3 * rng.standard_normal((4, 30))), [1, -1, -1, 1]
    yield "wide, a row twice", np.rint(3 * rng.standard_normal((3, 30)))[[0, 1, 2, 0]], [1, -1, 1, -1]
    yield "far from the origin", [[1001, 5], [1002, 3], [1004, 4], [1003, 9]], [-1, -1, 1, 1]
    yield "collinear", [[k, 2 * k] for k in range(6)], [-1, -1, 1, -1, 1, 1]


TINY = {name: (np.array(X, dtype=float), np.array(y, dtype=float)) for name, X, y in _tiny()}


def compare_exactly(X, y, C, bias=True, **options):
    reference = exact(X, y, C, bias)
    unit = float(np.max(C))
    weight = None if np.ndim(C) == 0 else np.asarray(C) / unit
    model = mm.SoftMarginSVC(C=unit, fit_intercept=bias, **options).fit(X, y, weight)
    w, b = plane(model)
    proof = model.certificate_
    assert proof.relative_gap <= model.tol
    assert proof.primal == pytest.approx(reference.value, rel=2 * model.tol, abs=0)
    assert proof.dual <= reference.value * (1 + 1e-12) <= proof.primal * (1 + 2e-12)
    assert primal_value(X, y, C, w, b) == pytest.approx(reference.value, rel=2 * model.tol, abs=0)
    apart = np.sqrt(2 * model.tol * reference.value)  # ½‖w − w*‖² ≤ primal − optimum
    assert np.linalg.norm(w - reference.w) <= apart + 1e-12
    return model, reference
