"""``max_seconds`` of a cross-validation is for the whole of it."""

import time
import warnings

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.estimators import soft_margin_cv as softmargincv

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_000, 30)) * np.logspace(0, 2, 30)
Y = np.where(X @ RNG.normal(size=30) + 200 * RNG.normal(size=4_000) > 0, 1, -1)


def fitted(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return mm.SoftMarginSVCCV(**options).fit(X, Y)


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_budget_ends_the_whole(jobs):
    fitted(Cs=[1e-4], max_seconds=1e-9, n_jobs=jobs)  # compiles
    worked = time.process_time()
    hasty = fitted(max_seconds=1e-9, n_jobs=jobs)
    first = time.process_time() - worked  # of each fold one machine, and the last
    worked = time.process_time()
    whole = fitted(max_seconds=0.2, n_jobs=jobs)
    assert time.process_time() - worked < 0.2 * (jobs or 1) + 4 * first + 2.0
    assert hasty.Cs_[0] == hasty.C_ and np.ptp(hasty.scores_, axis=1).max() == 0.0
    assert hasty.scores_.shape == whole.scores_.shape == (5, 10)
    assert hasty.max_seconds == 1e-9 and whole.max_seconds == 0.2  # parameters stay as they were


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
