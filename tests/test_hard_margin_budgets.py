"""The hard margin of larger data, within budgets, and where gaps are thin."""

import math
import warnings

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from exact import hard_margin
from hardmargins import assert_optimal, assert_refused, bounds, cloud
from maxmargin.core.parameters import Deadline, OutOfTimeError
from thorough import further


@pytest.fixture(scope="module")
def large():
    return cloud(50_000, 20, gap=0.1)


@pytest.fixture(scope="module")
def middling():
    return cloud(20_000, 20, gap=0.1)


def test_a_larger_problem_is_optimal(large):
    X, y = large
    model = mm.HardMarginSVC().fit(X, y)
    assert assert_optimal(model, X, y) >= 0.1
    assert len(model.support_) <= 200


def test_a_larger_problem_with_one_row_astray_is_refused(large):
    X, y = large
    y = y.copy()
    y[np.argmax(np.abs(X @ np.linalg.lstsq(X, y, rcond=None)[0]))] *= -1
    assert_refused(X, y)


def test_budgets_of_passes_give_honest_bounds_and_a_percentage(middling):
    X, y = middling
    best = mm.HardMarginSVC().fit(X, y).margin_
    seen = []
    for passes in range(1, 12):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = mm.HardMarginSVC(max_passes=passes).fit(X, y)
        proof = model.certificate_
        lower, upper = proof.margin
        assert lower <= best * (1 + 1e-9) and best <= upper * (1 + 1e-9)
        mine = bounds(model.coef_[0], model.intercept_[0], model.dual_, X, y)
        np.testing.assert_allclose([lower, upper], np.array(mine, dtype=float), rtol=1e-6)
        assert [w.category for w in said] == [mm.BudgetWarning] * (proof.relative_gap > 1e-9)
        if not said:
            break
        text = str(said[0].message)
        assert "max_passes" in text
        if math.isfinite(proof.relative_gap):
            assert f"at most {100 * proof.gap / proof.dual:.3g} %" in text
            seen.append(proof.relative_gap)
        else:
            assert "no plane that separates the classes was found, nor a proof" in text
    assert seen and sorted(seen, reverse=True) == seen
    assert not said


def test_a_loose_tolerance_is_kept(middling):
    X, y = middling
    best = mm.HardMarginSVC().fit(X, y)
    for tol in (1e-1, 1e-3, 1e-6):
        model = mm.HardMarginSVC(tol=tol).fit(X, y)
        assert model.certificate_.relative_gap <= tol
        assert best.margin_ * (1 - tol) <= model.margin_ <= best.margin_ * (1 + 1e-9)
        assert model.n_passes_ <= best.n_passes_


@pytest.mark.parametrize("width", [3, 5, 8, further(4), further(6), further(7)])
def test_thin_gaps_between_wide_classes(width):
    """A row beside the middle of a long segment: by one unit it is separable, on it not."""
    K = 10**width
    for along, across in [((1, 0), (0, 1)), ((3, 1), (1, 2)), ((-5, 7), (2, 3))]:
        along, across = np.array(along), np.array(across)
        ends = [-K * along, K * along]
        y = [-1, -1, 1]
        best = hard_margin([*map(np.ndarray.tolist, [*ends, across])], y)
        with warnings.catch_warnings():
            if width > 4:
                warnings.simplefilter("ignore", mm.BudgetWarning)
            model = mm.HardMarginSVC().fit(np.array([*ends, across], dtype=float), y)
        assert model.margin_ == pytest.approx(best.margin, rel=max(1e-9, 1e-13 * K))
        assert_refused(np.array([*ends, 0 * across], dtype=float), y)


def scattered(n, d, seed=0):
    """Rows whose labels are drawn by lot: no plane separates them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def touching(n, d):
    """Classes on two sides of a plane that share points on it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    X[:, 0] = (np.abs(X[:, 0]) + 0.1) * np.where(y > 0, 1.0, -1.0)
    shared = rng.integers(-3, 4, size=(d // 2, d)) * np.append(0.0, np.ones(d - 1))
    return np.vstack([X, shared, shared]), np.append(y, np.repeat([0, 1], d // 2))


HOPELESS = {
    "floating point finds the witness": lambda: scattered(300, 40),
    "simplex method": lambda: scattered(40, 3),
    "touching": lambda: touching(200, 10),
    "sparse": lambda: (sparse.csr_array(touching(200, 10)[0]), touching(200, 10)[1]),
}
NOTHING_KNOWN = "no plane that separates the classes was found, nor a proof that there is none"


@pytest.mark.parametrize("kind", HOPELESS)
def test_the_time_may_end_anywhere_in_exact_arithmetic(kind, monkeypatch):
    """The clock is a counter: the time ends at the k-th look at it."""
    X, y = HOPELESS[kind]()
    looks, last = [0], [math.inf]

    def check(self, doing=""):
        looks[0] += 1
        if self.end < math.inf and looks[0] > last[0]:
            raise OutOfTimeError

    monkeypatch.setattr(Deadline, "check", check)
    with pytest.raises(mm.NotSeparableError):
        mm.HardMarginSVC(max_seconds=1e6).fit(X, y)
    total = looks[0]
    assert total > 20
    for last[0] in (0, 1, 2, total // 3, total // 2, total - 1):
        looks[0] = 0
        with pytest.warns(mm.BudgetWarning, match=NOTHING_KNOWN):
            model = mm.HardMarginSVC(max_seconds=1e6).fit(X, y)
        assert looks[0] == last[0] + 1
        assert model.certificate_.primal == math.inf
        assert model.predict(X).shape == (X.shape[0],)


def test_without_time_nothing_is_claimed():
    X, y = scattered(300, 40)
    for given, labels in ((X, y), (X, y + 2 * (X[:, 0] > 0))):
        with pytest.warns(mm.BudgetWarning, match=NOTHING_KNOWN):
            model = mm.HardMarginSVC(max_seconds=1e-9).fit(given, labels)
        assert model.certificate_.primal == math.inf
    blocks = da.from_array(X, chunks=(100, 40)), da.from_array(y, chunks=100)
    with pytest.warns(mm.BudgetWarning, match=NOTHING_KNOWN):
        assert mm.HardMarginSVC(max_seconds=1e-9).fit(*blocks).certificate_.primal == math.inf
