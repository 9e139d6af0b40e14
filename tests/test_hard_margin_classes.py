"""The hard margin with weights and several classes, and its errors."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from bank import FORMS, as_form
from hardmargins import EITHER, cloud

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]


@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize("d", [3, 200])
def test_rows_of_weight_zero_are_left_out(d, form):
    X, y = cloud(60, d)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 3.0], 60)
    y = np.where(weight == 0, -y, y)  # with these rows no plane separates in three dimensions
    kept = np.flatnonzero(weight)
    given = as_form(X, form)
    model = mm.HardMarginSVC().fit(given, y, sample_weight=weight)
    part = mm.HardMarginSVC().fit(given[kept], y[kept])
    assert model.coef_.tolist() == part.coef_.tolist()
    assert model.intercept_.tolist() == part.intercept_.tolist()
    assert model.dual_[kept].tolist() == part.dual_.tolist()
    assert model.support_.tolist() == kept[part.support_].tolist()
    assert model.dual_.shape == (60,) and not np.any(model.dual_[weight == 0])


def test_a_class_of_weight_zero_is_no_class():
    weight = (IRIS_Y != 1).astype(float)
    model = mm.HardMarginSVC().fit(IRIS_X, NAMES, sample_weight=weight)
    assert model.classes_.tolist() == ["setosa", "virginica"]
    part = mm.HardMarginSVC().fit(IRIS_X[IRIS_Y != 1], NAMES[IRIS_Y != 1])
    assert model.coef_.tolist() == part.coef_.tolist()


def test_a_witness_names_rows_of_the_training_set_when_some_are_left_out():
    X, y = np.array([[9.0], [0.0], [-9.0], [1.0], [2.0]]), np.array([0, 0, 1, 1, 0])
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit(X, y, sample_weight=[0, 1, 0, 1, 1])
    witness = caught.value.witness
    assert witness.positive.tolist() == [3]
    assert witness.negative.tolist() == [1, 4]
    assert witness.negative_weights.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(witness.point, [1.0])


@pytest.mark.parametrize("weight", [[1, 1, -1, 1, 1], [0, 0, 0, 0, 0]], ids=["negative", "zeros"])
def test_bad_weights_are_refused(weight):
    with pytest.raises(mm.InputError, match=r"^sample_weight must hold"):
        mm.HardMarginSVC().fit(np.arange(5.0)[:, None], [0, 0, 0, 1, 1], sample_weight=weight)


def clusters(k, d, n=12):
    """Corners of a simplex with rows around: each class is separable from the rest."""
    rng = np.random.default_rng([k, d])
    X = 0.3 * rng.standard_normal((k * n, d))
    y = np.arange(k * n) % k
    X[np.arange(k * n), y] += 5.0
    return X, y


@EITHER
@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize(("k", "d"), [(3, 3), (4, 6), (4, 200)])
def test_machines_of_several_classes_are_binary_fits(k, d, form, intercept):
    X, y = clusters(k, d)
    given, names = as_form(X, form), np.array(list("abcd"))[y]
    new = {"fit_intercept": intercept}
    ovr = mm.HardMarginSVC(**new).fit(given, names)
    assert list(ovr.machines_) == list("abcd"[:k])
    for label, machine in ovr.machines_.items():
        binary = mm.HardMarginSVC(**new).fit(given, names == label)
        assert machine.margin_ == pytest.approx(binary.margin_, rel=1e-9)
        np.testing.assert_allclose(machine.coef_, binary.coef_[0], atol=5e-5 / binary.margin_)
    ovo = mm.HardMarginSVC(multi_class="ovo", **new).fit(given, names)
    assert len(ovo.machines_) == k * (k - 1) // 2 == len(ovo.margin_)
    for pair, machine in ovo.machines_.items():
        mine = np.flatnonzero(np.isin(names, pair))
        binary = mm.HardMarginSVC(**new).fit(given[mine], names[mine])
        assert machine.margin_ == pytest.approx(binary.margin_, rel=1e-9)
        assert machine.support_.tolist() == mine[binary.support_].tolist()
    for model in (ovr, ovo):
        assert model.predict(given).tolist() == names.tolist()
        assert model.dual_.shape == (len(model.machines_), len(y))


def test_the_error_names_the_classes_that_cannot_be_told_from_the_rest():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit(IRIS_X, NAMES)
    error = caught.value
    assert list(error.witnesses) == ["versicolor", "virginica"]
    assert "2 of 3 classes" in str(error) and "'versicolor', 'virginica'" in str(error)
    assert "setosa" not in str(error)
    for label, witness in error.witnesses.items():
        assert set(NAMES[witness.positive]) == {label}
        assert label not in NAMES[witness.negative]
        means = (
            witness.positive_weights @ IRIS_X[witness.positive],
            witness.negative_weights @ IRIS_X[witness.negative],
        )
        np.testing.assert_allclose(*(mean.astype(float) for mean in means), atol=1e-12)
        assert len(witness.positive) + len(witness.negative) <= 6
    assert error.witness is error.witnesses["versicolor"]


def test_the_error_names_the_pairs_that_cannot_be_told_apart():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(multi_class="ovo").fit(IRIS_X, NAMES)
    error = caught.value
    assert list(error.witnesses) == [("versicolor", "virginica")]
    assert "1 of 3 pairs" in str(error) and "('versicolor', 'virginica')" in str(error)
    assert set(NAMES[error.witness.positive]) == {"virginica"}
    assert set(NAMES[error.witness.negative]) == {"versicolor"}


def test_the_error_survives_pickling():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.witness.positive.tolist() == [1]


def snapshot(model):
    return {name: (id(value), pickle.dumps(value)) for name, value in vars(model).items()}


BAD = {
    "nan": (np.nan, r"finite.*NaN in row 7, column 2"),
    "infinity": (np.inf, r"finite.*infinity in row 7, column 2"),
    "minus infinity": (-np.inf, r"finite.*infinity in row 7, column 2"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "d"), [(10, 3), (10, 50), (9000, 4)])
@pytest.mark.parametrize(("value", "match"), BAD.values(), ids=BAD)
def test_values_that_are_not_finite_are_refused_and_change_nothing(value, match, n, d, form):
    X, y = cloud(n, d)
    model = mm.HardMarginSVC().fit(as_form(X, form), y)
    before = snapshot(model)
    X[7, 2] = value
    with pytest.raises(mm.InputError, match=match):
        model.fit(as_form(X, form), y)
    assert snapshot(model) == before


def test_an_error_changes_nothing():
    model = mm.HardMarginSVC().fit(IRIS_X, NAMES == "setosa")
    before = snapshot(model)
    with pytest.raises(mm.NotSeparableError, match="2 of 3 classes"):
        model.fit(IRIS_X[:, :2], NAMES)
    with pytest.raises(mm.InputError, match="at least two classes"):
        model.fit(IRIS_X, np.zeros(150))
    assert snapshot(model) == before
    fresh = mm.HardMarginSVC()
    with pytest.raises(mm.NotSeparableError, match="2 of 3 classes"):
        fresh.fit(IRIS_X, NAMES)
    assert vars(fresh) == vars(mm.HardMarginSVC())
