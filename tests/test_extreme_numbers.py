"""Near the limits of doubles: the right answer, or a clear error."""

import numpy as np
import pytest

import maxmargin as mm
from bank import problem
from maxmargin.stopping import MaxUpdates

P = problem("gaussian")
NEW = {
    "online": lambda **k: mm.Perceptron(fit_intercept=False, **k),
    "averaged": lambda **k: mm.Perceptron(fit_intercept=False, average=True, **k),
    "normalised": lambda **k: mm.Perceptron(fit_intercept=False, normalize=True, **k),
    "batch": lambda **k: mm.BatchPerceptron(fit_intercept=False, **k),
    "fixed step": lambda **k: mm.BatchPerceptron(1.0, fit_intercept=False, **k),
    "pocket": lambda **k: mm.PocketPerceptron(fit_intercept=False, **k),
}
each = pytest.mark.parametrize("new", NEW.values(), ids=NEW)


@each
@pytest.mark.parametrize("power", [390, 100, 1, -1, -100, -390])
def test_scaling_by_a_power_of_two_scales_the_weights_and_nothing_else(new, power):
    model, scaled = new().fit(P.X, P.y), new().fit(P.X * 2.0**power, P.y)
    factor = 1.0 if model.normalize else 2.0**power
    assert scaled.coef_.tolist() == (model.coef_ * factor).tolist()
    assert scaled.n_mistakes_ == model.n_mistakes_ > 0
    assert scaled.predict(P.X * 2.0**power).tolist() == model.predict(P.X).tolist()


def fitted_or_refused(model, X, y):
    """The fitted model, or the text of the error that refuses X."""
    try:
        return model.fit(X, y)
    except mm.InputError as error:
        return str(error)


@each
@pytest.mark.parametrize("factor", [1e300, 1e200, 1e121, 1e119, 1e-119, 1e-122, 1e-200, 1e-310, 5e-324])
def test_extreme_values_give_the_right_answer_or_a_clear_error(new, factor):
    X = P.X * factor
    result = fitted_or_refused(new(), X, P.y)
    if 1e-119 <= factor <= 1e119:
        assert result.predict(X).tolist() == new().fit(P.X, P.y).predict(P.X).tolist()
    else:
        assert "must stay within the range of doubles" in result


@each
@pytest.mark.parametrize("tiny", [1e-100, 1e-160, 1e-200, 1e-310])
def test_tiny_values_beside_large_ones_give_the_right_answer_or_a_clear_error(new, tiny):
    X, y = np.array([[1.0, 0.0], [0.0, tiny]]), np.array([1, -1])
    result = fitted_or_refused(new(), X, y)
    if isinstance(result, str):
        assert "range of doubles" in result
    else:
        assert result.predict(X).tolist() == [1, -1]
        assert result.stop_reason_.rule == "all_correct"


def test_rows_of_any_length_are_normalised():
    X = np.array([[3e100, 4e100], [-3e-150, 4e-150], [3e-300, -4e-300]])
    model = mm.Perceptron(normalize=True, fit_intercept=False, record=True, stop=MaxUpdates(3))
    result = fitted_or_refused(model, X, [1, 0, 0])
    if isinstance(result, str):
        assert "range of doubles" in result
    else:
        steps = np.diff(model.trace_.weights, axis=0)
        np.testing.assert_allclose(np.linalg.norm(steps, axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("tiny", [1e-100, 1e-150, 1e-310])
def test_a_prediction_does_not_depend_on_the_rows_beside_it(tiny):
    model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, 0])
    X = np.array([[1.0, tiny], [-2.0, 3.0], [tiny, -4.0]])
    assert model.predict(X).tolist() == [model.predict(X[[i]])[0] for i in range(3)]


def test_rows_of_zeros_only_are_a_cycle():
    model = mm.Perceptron().fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.coef_.tolist() == [[0.0, 0.0]]
    assert model.stop_reason_.rule == "cycle"


@pytest.mark.parametrize("eta", [2.0**-80, 2.0**80])
def test_extreme_steps_change_no_decision(eta):
    one, model = (mm.Perceptron(eta0=e).fit(P.X, P.y) for e in (1.0, eta))
    assert model.coef_.tolist() == (one.coef_ * eta).tolist()
    assert model.n_mistakes_ == one.n_mistakes_


def test_an_unreachable_threshold_ends_with_the_budget():
    with pytest.warns(mm.BudgetWarning):
        model = mm.Perceptron(threshold=1e308, max_iter=3).fit(P.X, P.y)
    assert model.history_["mistakes"].tolist() == [len(P.y)] * 3


def test_large_integers_in_a_start_are_kept_exactly():
    model = mm.Perceptron().fit([[1.0], [-1.0]], [1, 0], coef_init=[2.0**100], intercept_init=0.0)
    assert model.coef_.tolist() == [[2.0**100]]
    assert model.n_mistakes_ == 0
