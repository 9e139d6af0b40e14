"""``max_seconds`` of a cross-validation is for the whole of it."""

import warnings

import numpy as np
import pytest

import maxmargin as mm
from clocks import HOUR
from clocks import clock as clock
from maxmargin.estimators import soft_margin_cv as softmargincv

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_000, 30)) * np.logspace(0, 2, 30)
Y = np.where(X @ RNG.normal(size=30) + 200 * RNG.normal(size=4_000) > 0, 1, -1)


def fitted(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return mm.SoftMarginSVCCV(**options).fit(X, Y)


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_budget_ends_the_whole(jobs, clock):
    hasty = fitted(max_seconds=1e-9, n_jobs=jobs)
    first = clock.hours  # of each fold one machine, and the last
    whole = fitted(max_seconds=800 * HOUR, n_jobs=jobs)
    assert clock.hours - first <= 800 + first  # half of what it would take without a budget
    assert np.ptp(whole.scores_, axis=1).max() > 0.0
    assert hasty.Cs_[0] == hasty.C_ and np.ptp(hasty.scores_, axis=1).max() == 0.0
    assert hasty.scores_.shape == whole.scores_.shape == (5, 10)
    assert hasty.max_seconds == 1e-9 and whole.max_seconds == 800 * HOUR  # parameters stay as they were


def test_enough_time_is_no_budget():
    options = {"Cs": [0.001, 0.1], "cv": 2}
    free, timed = fitted(**options), fitted(**options, max_seconds=1000.0)
    np.testing.assert_array_equal(free.scores_, timed.scores_)
    np.testing.assert_array_equal(free.coef_, timed.coef_)


@pytest.mark.parametrize(("jobs", "ends"), [(1, [2, 4, 6, 8]), (2, [4, 4, 8, 8]), (9, [6, 6, 6, 6])])
def test_folds_share_the_time(monkeypatch, jobs, ends):
    now = 0.0
    monkeypatch.setattr(softmargincv.time, "perf_counter", lambda: now)
    total = {1: 10.0, 2: 12.0, 9: 12.0}[jobs]
    clock = softmargincv._Clock(total, 4, jobs)
    found = []
    for k in range(4):
        now = 0.0 if k < jobs else found[k - jobs]  # a fold begins when another one has ended
        found.append(clock.next_end())
    assert found == pytest.approx(ends)
    now = found[-1]
    assert clock.seconds_to(clock.deadline) == pytest.approx(total - now)
    assert not clock.is_over(clock.deadline)


def test_without_a_budget_nothing_ends():
    clock = softmargincv._Clock(None, 3, 1)
    end = clock.next_end()
    assert clock.seconds_to(end) is None and not clock.is_over(end)
