"""Hard margins judged by bounds that need no solver."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm

__all__ = ["EITHER", "assert_nearly_optimal", "assert_optimal", "assert_refused", "bounds", "cloud"]

EITHER = pytest.mark.parametrize("intercept", [True, False], ids=["free bias", "origin"])


def bounds(w, b, alpha, X, y, intercept=True):
    """Two bounds on the largest margin: what a plane attains, and half the way between two hull points.

    Both hold for any plane and any multipliers that are positive in both classes.
    """
    X, y = np.asarray(X, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble)
    w = np.asarray(w, dtype=np.longdouble)
    lower = np.min(y * (X @ w + b)) / np.sqrt(w @ w)
    weights = np.asarray(alpha, dtype=np.longdouble) / np.sum(alpha, dtype=np.longdouble)
    if intercept:
        for side in (y > 0, y < 0):
            weights[side] /= 2 * weights[side].sum()
    v = (weights * y) @ X
    return lower, np.sqrt(v @ v)


def assert_optimal(model, X, y, tol=1e-9):
    """No plane has a margin larger than the model's by more than ``tol``; return its margin."""
    signs = np.where(np.asarray(y) == model.classes_[1], 1, -1)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    plane = model.coef_[0], model.intercept_[0]
    lower, upper = bounds(*plane, model.dual_, X, signs, model.fit_intercept)
    assert 0 < lower <= upper * (1 + 1e-12)
    assert upper - lower <= tol * lower
    said = model.certificate_.margin
    np.testing.assert_allclose([*said, model.margin_], float(lower), rtol=tol)
    assert model.certificate_.relative_gap <= 2 * tol  # values go with the square of the margin
    assert np.all(model.predict(X) == y)
    return float(lower)


def assert_nearly_optimal(model, X, y):
    """Fit data whose features differ by a factor of 1e12, for which doubles may just not do.

    The last bit of a multiplier, times a feature of 1e6, is 1e-4 of the weight of a feature of 1e-6, and
    several multipliers are rounded. So a margin to within 1e-3 is asked for, and a warning if the gap is
    not ``tol``.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y)
    gap = model.certificate_.relative_gap
    assert [w.category for w in said] == [mm.BudgetWarning] * (gap > model.tol)
    assert_optimal(model, X, y, tol=1e-3)


def assert_refused(X, y, intercept=True, **options):
    """Fitting says that no plane separates, and its witness is right; return the error."""
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(fit_intercept=intercept, **options).fit(X, y)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    witness = caught.value.witness
    assert len(witness.positive) + len(witness.negative) <= dense.shape[1] + (2 if intercept else 1)
    gap = witness.positive_weights @ dense[witness.positive]
    gap -= witness.negative_weights @ dense[witness.negative]
    assert np.all(np.abs(gap) <= 1e-9 * np.ptp(np.vstack([dense, 0 * dense[:1]]), axis=0))
    larger = max(np.unique(y).tolist())
    assert np.all(np.asarray(y)[witness.positive] == larger)
    assert np.all(np.asarray(y)[witness.negative] != larger)
    return caught.value


def cloud(n, d, gap=0.3, seed=0):
    """Gaussian rows on both sides of a plane, none nearer than ``gap``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, d))
    w = rng.standard_normal(d)
    side = X @ w / np.linalg.norm(w)
    keep = np.flatnonzero(np.abs(side) > gap)[:n]
    return X[keep], np.where(side[keep] > 0, 1, -1)
