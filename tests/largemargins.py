"""Sparse problems for margin machines of every solver; and what their answers have to be."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
import planes
from texts import one_hot, text

__all__ = [
    "MANY",
    "SETS",
    "SMALL",
    "assert_near",
    "assert_optimal",
    "bits",
    "each_set",
    "each_solver",
    "hard",
    "only",
    "soft",
]

SETS = {
    "separable": text(200, 600),
    "noisy": text(400, 150, 10, seed=1, flips=0.1),
    "one-hot": one_hot(300),
}
SMALL = text(120, 300, 10, seed=4, flips=0.1)
MANY = text(400, 800, 12, seed=5, flips=0.02, classes=12)
each_set = pytest.mark.parametrize("name", SETS)
each_solver = pytest.mark.parametrize("solver", ["newton", "mixed", "descent"])


def soft(C=1.0, **options):
    return mm.SoftMarginSVC(C=C, **{"solver": "descent", "max_seconds": 120.0, **options})


def hard(**options):
    return mm.HardMarginSVC(**{"solver": "descent", "max_seconds": 120.0, **options})


def only(model):
    (machine,) = model.machines_.values()
    return machine


def bits(model):
    machines = model.machines_.values()
    return [
        (m.coef_.tobytes(), m.intercept_, m.dual_.tobytes(), m.n_passes_, m.progress_, m.solver_)
        for m in machines
    ]


def assert_optimal(model, X, y, C):
    """Certified, and in plain NumPy: bounds, balance and complementarity."""
    X = X.toarray() if sparse.issparse(X) else X
    assert model.certificate_.relative_gap <= model.tol
    planes.check_kkt(only(model), X, y, C, gap=model.tol, bias=model.fit_intercept)


def assert_near(model, other, X, y, C):
    """Both values are within their gaps; the distance of the planes follows from strong convexity."""
    one, two = model.certificate_, other.certificate_
    room = one.gap + two.gap + 1e-12 * abs(two.primal)
    assert abs(one.primal - two.primal) <= room
    difference = float(np.linalg.norm(model.coef_ - other.coef_))
    assert difference <= np.sqrt(2 * one.gap) + np.sqrt(2 * two.gap) + 1e-6 * (
        1e-9 + float(np.linalg.norm(other.coef_))
    )
