"""Machines of several classes that are solved in a few calls: each is what its own rows ask for."""

import pickle
import threading
import warnings

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.estimators import small_machines
from planes import dual_value, primal_value


def classes(count=7, rows=9, d=6, apart=1.0, seed=0):
    """Rows of several classes in mixed order, some of them larger than others, with weights."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([np.full(rows + k, k) for k in range(count)]))
    X = rng.normal(size=(len(y), d)) + apart * rng.normal(size=(count, d))[y]
    weight = rng.uniform(0.5, 2.0, len(y))
    weight[::11] = 0.0
    return X, y, weight


def fit(model, X, y, weight=None):
    found = model.fit(X, y, sample_weight=weight)
    assert isinstance(found.machines_, small_machines.SmallMachines)
    return found


def bounds(model, label, y, weight, C):
    """Signs and C_i of a machine, by definition; 0 for rows that it does not see."""
    factor = model.class_weight or {}
    if model.multi_class == "ovr":
        return np.where(y == label, 1.0, -1.0), C * weight * np.where(
            y == label, factor.get(label, 1), 1
        )
    inside = np.isin(y, label)
    of_class = np.array([factor.get(one, 1.0) for one in y.tolist()])
    return np.where(y == label[1], 1.0, -1.0), C * weight * of_class * inside


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("apart", [0.3, 3.0])
@pytest.mark.parametrize("bias", [True, False])
def test_each_machine_is_the_optimum_of_its_own_problem(multi_class, apart, bias):
    X, y, weight = classes(apart=apart)
    model = mm.SoftMarginSVC(
        C=0.7, multi_class=multi_class, class_weight={0: 3.0, 4: 0.25}, fit_intercept=bias
    )
    fit(model, X, y, weight)
    assert len(model.machines_) == (21 if multi_class == "ovo" else 7)
    for k, (label, machine) in enumerate(model.machines_.items()):
        signs, C = bounds(model, label, y, weight, 0.7)
        alpha, slack, proof = machine.dual_, machine.slack_, machine.certificate_
        assert machine.label == label and np.all(alpha >= 0.0) and np.all(alpha <= C)
        np.testing.assert_array_equal(machine.coef_, model.coef_[k])
        assert machine.intercept_ == model.intercept_[k]
        primal = primal_value(X, signs, C, machine.coef_, machine.intercept_)
        assert proof.primal == pytest.approx(primal, rel=1e-9)
        assert proof.dual == pytest.approx(dual_value(X, signs, alpha), rel=1e-9)
        assert proof.relative_gap <= 1e-6
        assert not bias or abs(signs @ alpha) <= 1e-12 * alpha.sum()
        assert np.all(np.diff(machine.support_) > 0) and np.all(np.diff(machine.late_) > 0)
        np.testing.assert_array_equal(machine.bound_support_, np.flatnonzero((alpha >= C) & (alpha > 0)))
        short = np.maximum(0.0, 1.0 - signs * (X @ machine.coef_ + machine.intercept_))
        np.testing.assert_allclose(slack[C > 0], short[C > 0], rtol=0, atol=1e-9)
        assert machine.progress_[-1] == (proof.n_passes, proof.primal, proof.dual)
        assert len(machine.progress_) > 1 and model.n_passes_ >= machine.n_passes_


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_nothing_depends_on_threads_or_on_how_many_go_into_a_call(monkeypatch, multi_class):
    X, y, weight = classes()
    one = fit(mm.SoftMarginSVC(multi_class=multi_class), X, y, weight)
    monkeypatch.setattr(small_machines, "ROWS_AT_ONCE", 50)
    for jobs in (1, 2):
        other = fit(mm.SoftMarginSVC(multi_class=multi_class, n_jobs=jobs), X, y, weight)
        assert len(other.machines_.pieces) > 1
        np.testing.assert_array_equal(other.coef_, one.coef_)
        np.testing.assert_array_equal(other.dual_, one.dual_)
        np.testing.assert_array_equal(other.slack_, one.slack_)
        assert list(other.machines_) == list(one.machines_)


def test_machines_that_are_not_solved_together_are_solved_otherwise(monkeypatch):
    X, y, _ = classes()
    expected = fit(mm.SoftMarginSVC(multi_class="ovo"), X, y)
    solve = small_machines.solve_batch

    def gives_up(*arguments):
        found = solve(*arguments)
        found.report[::3] = np.inf
        return found

    monkeypatch.setattr(small_machines, "solve_batch", gives_up)
    model = fit(mm.SoftMarginSVC(multi_class="ovo"), X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.dual_, expected.dual_, rtol=0, atol=1e-8)
    assert model.certificate_.relative_gap <= 1e-6
    gaps = [machine.certificate_.relative_gap for machine in model.machines_.values()]
    assert model.certificate_.relative_gap == max(gaps)


def test_a_machine_is_made_when_it_is_asked_for():
    X, y, _ = classes()
    model = fit(mm.SoftMarginSVC(multi_class="ovo"), X, y)
    assert len(model.machines_.made) <= 1  # the one with the largest gap
    copy = pickle.loads(pickle.dumps(model))
    machine = model.machines_[2, 5]
    assert machine is model.machines_[2, 5]
    assert copy.machines_[2, 5].certificate_ == machine.certificate_
    np.testing.assert_array_equal(copy.dual_, model.dual_)
    assert (5, 2) not in model.machines_
    with pytest.raises(KeyError):
        model.machines_[5, 2]


def test_values_of_rows_that_could_not_be_brought_are_asked_for_again():
    X, y, _ = classes()
    machine = fit(mm.SoftMarginSVC(), X, y).machines_[0]
    bring, found = vars(machine)["_per_row"], []
    calls = iter(["interrupted", "slow", "quick"])

    def brought():
        how = next(calls)
        if how == "interrupted":
            raise KeyboardInterrupt
        if how == "slow":  # another thread asks meanwhile
            thread = threading.Thread(target=lambda: found.append(machine.support_))
            thread.start()
            thread.join()
        return bring()

    vars(machine)["_per_row"] = brought
    with pytest.raises(KeyboardInterrupt):
        _ = machine.support_
    np.testing.assert_array_equal(machine.support_, np.flatnonzero(machine.dual_))
    np.testing.assert_array_equal(found[0], machine.support_)


def test_numbers_out_of_range_are_refused_and_budgets_are_kept():
    X, y, _ = classes()
    model = mm.SoftMarginSVC(multi_class="ovo")
    for value in (np.nan, np.inf, 1e200):
        bad = X.copy()
        bad[3, 2] = value
        with pytest.raises(mm.InputError):
            model.fit(bad, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        limited = mm.SoftMarginSVC(multi_class="ovo", max_passes=1).fit(X, y)
    assert isinstance(limited.machines_, dict)
