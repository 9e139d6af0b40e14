"""What may be done to the data without changing their hard margin."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm


@st.composite
def problems(draw):
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    few = st.integers(-5, 5)
    X = np.array(draw(st.lists(few, min_size=n * d, max_size=n * d)), dtype=float).reshape(n, d)
    if draw(st.booleans()):
        w = np.array(draw(st.lists(few, min_size=d, max_size=d)))
        y = np.where(X @ w > draw(st.integers(-9, 9)), 1, -1)
    else:
        y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    if abs(y.sum()) == n:
        y[0] = -y[0]
    return X, y, draw(st.booleans())


# The problems are small as they are, and shrinking them would take minutes.
as_drawn = settings(phases=[Phase.explicit, Phase.generate])


def answer(X, y, intercept):
    """(w, b) of the optimum, or None if the classes are not separable."""
    try:
        model = mm.HardMarginSVC(fit_intercept=intercept).fit(X, y)
    except mm.NotSeparableError:
        return None
    return np.append(model.coef_[0], model.intercept_[0])


def assert_same(found, expected, scale=1.0):
    """Both say that no plane separates, or margins agree to 1e-9 and planes as far as that tells."""
    assert (found is None) == (expected is None)
    if found is None:
        return
    one, two = (float(np.linalg.norm(z[:-1])) for z in (found, expected))
    assert one == pytest.approx(two, rel=1e-9)
    np.testing.assert_allclose(found[:-1], expected[:-1], atol=7e-5 * two)
    assert found[-1] == pytest.approx(expected[-1], abs=7e-5 * (1 + two * scale))


@as_drawn
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(problem, random):
    X, y, intercept = problem
    order = list(range(len(y)))
    random.shuffle(order)
    assert_same(answer(X[order], y[order], intercept), answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_matter(problem, random):
    X, y, intercept = problem
    order = list(range(X.shape[1]))
    random.shuffle(order)
    expected = answer(X, y, intercept)
    if expected is not None:
        expected = expected[[*order, -1]]
    assert_same(answer(X[:, order], y, intercept), expected, 15)


@as_drawn
@given(problems())
def test_other_labels_turn_the_plane_round(problem):
    X, y, intercept = problem
    expected = answer(X, y, intercept)
    assert_same(answer(X, -y, intercept), None if expected is None else -expected, 15)


@as_drawn
@given(problems())
def test_a_mirrored_feature_mirrors_its_weight(problem):
    X, y, intercept = problem
    mirror = np.ones(X.shape[1] + 1)
    mirror[0] = -1
    expected = answer(X, y, intercept)
    expected = None if expected is None else expected * mirror
    assert_same(answer(X * mirror[:-1], y, intercept), expected, 15)


@as_drawn
@given(problems(), st.integers(-300, 300))
def test_a_power_of_two_scales_the_plane(problem, power):
    X, y, intercept = problem
    found = answer(X * 2.0**power, y, intercept)
    if found is not None:
        found[:-1] *= 2.0**power
    assert_same(found, answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.lists(st.integers(-1000, 1000), min_size=4, max_size=4))
def test_a_translation_changes_the_bias_only(problem, shift):
    X, y, _ = problem
    by = np.array(shift[: X.shape[1]], dtype=float)
    expected = answer(X, y, True)
    if expected is not None:
        expected[-1] -= expected[:-1] @ by
    assert_same(answer(X + by, y, True), expected, 4000)


@as_drawn
@given(problems(), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_repeated_rows_change_nothing(problem, again):
    X, y, intercept = problem
    which = [*range(len(y)), *(k % len(y) for k in again)]
    assert_same(answer(X[which], y[which], intercept), answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.integers(0, 11))
def test_rows_beyond_the_edge_change_nothing(problem, which):
    X, y, intercept = problem
    z = answer(X, y, intercept)
    if z is None:
        return
    i = which % len(y)
    further = X[i] + y[i] * np.round(8 * z[:-1] / np.linalg.norm(z[:-1]))
    if y[i] * (further @ z[:-1] + z[-1]) >= 1:
        assert_same(answer(np.vstack([X, further]), np.append(y, y[i]), intercept), z, 25)


@as_drawn
@given(problems())
def test_csr_and_float32_say_the_same(problem):
    X, y, intercept = problem
    expected = answer(X, y, intercept)
    assert_same(answer(sparse.csr_array(X), y, intercept), expected, 15)
    assert_same(answer(X.astype(np.float32), y, intercept), expected, 15)


@as_drawn
@given(problems(), st.integers(20, 60))
def test_features_of_zeros_change_nothing(problem, more):
    """With so many features the Gram matrix takes the place of the rows."""
    X, y, intercept = problem
    wide = np.hstack([X, np.zeros((len(y), more))])
    found = answer(wide, y, intercept)
    if found is not None:
        found = np.delete(found, np.s_[X.shape[1] : -1])
    assert_same(found, answer(X, y, intercept), 15)
