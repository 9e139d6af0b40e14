"""``path`` and ``SoftMarginSVCCV``: the same machines as separate fits, and the best C by its score."""

import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.estimators import soft_margin_cv
from planes import check_kkt, primal_value, signs

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
X, Y = load_breast_cancer(return_X_y=True)
X, Y = StandardScaler().fit_transform(X), signs(Y)
CS = [0.001, 0.03, 1.0, 30.0]


# --- path -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [np.array, sparse.csr_array, np.float32], ids=["dense", "csr", "single"]
)
def test_a_path_is_separate_fits(form):
    data = form(X)
    same = np.asarray(data, dtype=np.float64) if form is np.float32 else X
    for C, model in zip(CS, mm.SoftMarginSVC(tol=1e-9).path(data, Y, CS), strict=True):
        alone = mm.SoftMarginSVC(C=C, tol=1e-9).fit(data, Y)
        assert model.C == C and type(model) is mm.SoftMarginSVC
        assert model.certificate_.relative_gap <= 1e-9
        assert model.certificate_.problem == alone.certificate_.problem
        check_kkt(model.machines_[1.0], same, Y, C, gap=1e-9)
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-9)
        size = np.linalg.norm(alone.coef_)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-4 * size)


def test_the_order_of_Cs_is_kept():
    given_Cs = [1.0, 0.001, 30.0, 0.03, 1.0]
    models = mm.SoftMarginSVC().path(X, Y, given_Cs)
    assert [m.C for m in models] == given_Cs
    norms = [float(np.linalg.norm(m.coef_)) for m in models]
    assert np.argsort(norms).tolist()[:2] == [1, 3] and np.argmax(norms) == 2  # ‖w‖ grows with C
    assert norms[0] == norms[4]
    ascending = mm.SoftMarginSVC().path(X, Y, sorted(set(given_Cs)))
    for model in models:
        (twin,) = [m for m in ascending if m.C == model.C]
        np.testing.assert_array_equal(model.coef_, twin.coef_)


def test_a_path_leaves_the_estimator_alone():
    model = mm.SoftMarginSVC(C=7.0, class_weight="balanced", tol=1e-7)
    before = model.get_params()
    path = model.path(X, Y, np.array([0.1, 1.0]))
    assert model.get_params() == before and not hasattr(model, "machines_")
    for fitted, C in zip(path, [0.1, 1.0], strict=True):
        assert fitted.get_params() == {**before, "C": C}
    assert path[0] is not path[1] and path[0].coef_ is not path[1].coef_
    fitted = mm.SoftMarginSVC(C=0.5).fit(X, Y)
    coef = fitted.coef_.copy()
    fitted.path(X, Y, [1.0])
    np.testing.assert_array_equal(fitted.coef_, coef)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_a_path_with_weights_and_classes(scheme):
    weight = np.arange(150) % 3
    options = {"multi_class": scheme, "class_weight": "balanced", "tol": 1e-9}
    for C, model in zip(
        [0.1, 1.0], mm.SoftMarginSVC(**options).path(IRIS_X, IRIS_Y, [0.1, 1.0], weight), strict=True
    ):
        alone = mm.SoftMarginSVC(C=C, **options).fit(IRIS_X, IRIS_Y, weight)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-3, atol=1e-5)
        assert list(model.machines_) == list(alone.machines_)


def test_a_path_on_many_rows():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((20_000, 6))
    y = np.where(data @ rng.standard_normal(6) + 2 * rng.standard_normal(20_000) > 0, 1.0, -1.0)
    for C, model in zip(CS, mm.SoftMarginSVC().path(data, y, CS), strict=True):
        check_kkt(model.machines_[1.0], data, y, C, gap=1e-6)


def test_a_path_of_separable_and_of_wide_data():
    rng = np.random.default_rng(1)
    wide, y = rng.standard_normal((20, 100)), np.where(np.arange(20) % 2, 1.0, -1.0)
    for C, model in zip(
        [1e-3, 1e-2, 1.0], mm.SoftMarginSVC().path(wide, y, [1e-3, 1e-2, 1.0]), strict=True
    ):
        check_kkt(model.machines_[1.0], wide, y, C, gap=1e-6)


@given(st.integers(0, 2**32 - 1), st.permutations([0.01, 0.3, 2.0, 50.0]))
@settings(max_examples=25)
def test_any_path_is_optimal(seed, Cs):
    rng = np.random.default_rng(seed)
    data, y = rng.integers(-4, 5, (12, 2)) / 2, rng.choice([-1, 1], 12)
    y[:2] = -1, 1
    values = {}
    for C, model in zip(Cs, mm.SoftMarginSVC(tol=1e-9).path(data, y, Cs), strict=True):
        alone = mm.SoftMarginSVC(C=C, tol=1e-9).fit(data, y)
        values[C] = primal_value(data, y, C, model.coef_[0], float(model.intercept_[0]))
        assert values[C] == pytest.approx(alone.certificate_.primal, rel=2e-9)
    assert [values[C] for C in sorted(Cs)] == sorted(values.values())  # the optimum grows with C


def test_a_path_needs_no_list():
    path = mm.SoftMarginSVC().path(X, Y)  # as the README writes it
    np.testing.assert_allclose([model.C for model in path], np.logspace(-4, 4, 10))
    assert all(model.certificate_.relative_gap < 1e-6 for model in path)
    assert [model.C for model in mm.SoftMarginSVC().path(X, Y, 3)] == pytest.approx([1e-4, 1.0, 1e4])


def test_a_path_with_a_budget_warns_for_each_C():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = mm.SoftMarginSVC(max_seconds=1e-9, tol=1e-13).path(X, Y, [0.1, 10.0])
    assert len(models) == 2
    assert all(issubclass(w.category, mm.BudgetWarning) for w in caught)
    assert len(caught) == sum(m.certificate_.relative_gap > 1e-13 for m in models)


@pytest.mark.parametrize(
    "Cs", [[], [0.0], [1.0, -1.0], 1.0, None, "12", [1.0, np.inf], [None], [True]], ids=repr
)
def test_bad_Cs_of_a_path_are_refused(Cs):
    with pytest.raises(mm.InputError, match=r"Cs must .*\. Got .* instead\."):
        mm.SoftMarginSVC().path(X, Y, Cs)


def test_bad_data_of_a_path_are_refused():
    with pytest.raises(mm.InputError, match="tol must be"):
        mm.SoftMarginSVC(tol=2).path(X, Y, CS)
    bad = X.copy()
    bad[5, 2] = np.nan
    with pytest.raises(mm.InputError, match="row 5, column 2"):
        mm.SoftMarginSVC().path(bad, Y, CS)
    with pytest.raises(mm.InputError, match="sample_weight must"):
        mm.SoftMarginSVC().path(X, Y, CS, -np.ones(len(Y)))


# --- cross-validation -------------------------------------------------------------------------------


def scores_by_hand(data, y, Cs, folds, score=accuracy_score, weight=None, **options):
    table = []
    for train, test in folds:
        line = []
        for C in Cs:
            given_weight = None if weight is None else weight[train]
            model = mm.SoftMarginSVC(C=C, **options).fit(data[train], y[train], given_weight)
            extra = {} if weight is None else {"sample_weight": weight[test]}
            line.append(score(y[test], model.predict(data[test]), **extra))
        table.append(line)
    return np.array(table)


@pytest.mark.parametrize(
    ("data", "y"), [(X, Y), (IRIS_X, IRIS_Y), load_wine(return_X_y=True)], ids=["cancer", "iris", "wine"]
)
def test_the_best_mean_score_wins(data, y):
    data = StandardScaler().fit_transform(data)
    model = mm.SoftMarginSVCCV(Cs=CS).fit(data, y)
    by_hand = scores_by_hand(data, y, CS, StratifiedKFold(5).split(data, y))
    np.testing.assert_allclose(model.scores_, by_hand)
    assert model.scores_.shape == (5, 4)
    np.testing.assert_array_equal(model.Cs_, CS)
    assert CS[int(np.argmax(by_hand.mean(axis=0)))] == model.C_
    final = mm.SoftMarginSVC(C=model.C_).fit(data, y)
    np.testing.assert_allclose(model.coef_, final.coef_)
    np.testing.assert_allclose(model.intercept_, final.intercept_)
    np.testing.assert_array_equal(model.predict(data), final.predict(data))
    np.testing.assert_array_equal(model.support_, final.support_)
    assert model.certificate_.relative_gap <= 1e-6
    assert list(model.machines_) == list(final.machines_)
    assert model.score(data, y) == final.score(data, y)


def test_scores_are_cross_val_scores():
    model = mm.SoftMarginSVCCV(Cs=[0.01, 1.0], cv=4).fit(X, Y)
    for k, C in enumerate([0.01, 1.0]):
        np.testing.assert_allclose(
            model.scores_[:, k], cross_val_score(mm.SoftMarginSVC(C=C), X, Y, cv=4)
        )


def test_of_equal_scores_the_smallest_C_wins_and_Cs_are_sorted():
    data, y = np.repeat([[0.0], [1.0], [10.0], [11.0]], 5, axis=0), np.repeat([0, 0, 1, 1], 5)
    model = mm.SoftMarginSVCCV(Cs=[100.0, 1.0, 10.0, 1.0]).fit(data, y)
    assert np.all(model.scores_ == 1.0) and model.C_ == 1.0
    assert model.Cs_.tolist() == [1.0, 10.0, 100.0]


def test_a_number_of_Cs_is_a_logarithmic_scale():
    model = mm.SoftMarginSVCCV(Cs=3, cv=2).fit(IRIS_X[:100], IRIS_Y[:100])
    np.testing.assert_allclose(model.Cs_, [1e-4, 1.0, 1e4])
    assert mm.SoftMarginSVCCV(cv=2).fit(IRIS_X[:100], IRIS_Y[:100]).scores_.shape == (2, 10)


def test_threads_change_nothing():
    alone = mm.SoftMarginSVCCV(Cs=CS).fit(X, Y)
    for jobs in (2, -1):
        model = mm.SoftMarginSVCCV(Cs=CS, n_jobs=jobs).fit(X, Y)
        np.testing.assert_array_equal(model.scores_, alone.scores_)
        np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", make_scorer(balanced_accuracy_score)], ids=["name", "made"]
)
def test_another_scoring(scoring):
    model = mm.SoftMarginSVCCV(Cs=CS, scoring=scoring).fit(X, Y)
    by_hand = scores_by_hand(X, Y, CS, StratifiedKFold(5).split(X, Y), balanced_accuracy_score)
    np.testing.assert_allclose(model.scores_, by_hand)
    assert CS[int(np.argmax(by_hand.mean(axis=0)))] == model.C_


def test_scoring_by_decision_values_and_by_a_function():
    model = mm.SoftMarginSVCCV(Cs=CS, scoring="roc_auc").fit(X, Y)
    by_name = cross_val_score(mm.SoftMarginSVC(C=CS[1]), X, Y, scoring="roc_auc")
    np.testing.assert_allclose(model.scores_[:, 1], by_name, atol=1e-3)

    def smallness(estimator, data, y):
        return -float(np.linalg.norm(estimator.coef_))

    assert CS[0] == mm.SoftMarginSVCCV(Cs=CS, scoring=smallness).fit(X, Y).C_


def test_splitters_and_lists_of_folds():
    splitter = KFold(3, shuffle=True, random_state=4)
    by_hand = scores_by_hand(X, Y, CS, splitter.split(X))
    folds = list(splitter.split(X))
    for cv in (splitter, folds, iter(folds)):
        np.testing.assert_allclose(mm.SoftMarginSVCCV(Cs=CS, cv=cv).fit(X, Y).scores_, by_hand)


def test_sample_weights_count_in_fits_and_scores():
    weight = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    model = mm.SoftMarginSVCCV(Cs=CS).fit(X, Y, weight)
    by_hand = scores_by_hand(X, Y, CS, StratifiedKFold(5).split(X, Y), weight=weight)
    np.testing.assert_allclose(model.scores_, by_hand)
    assert CS[int(np.argmax(by_hand.mean(axis=0)))] == model.C_
    final = mm.SoftMarginSVC(C=model.C_).fit(X, Y, weight)
    np.testing.assert_allclose(model.coef_, final.coef_)
    by_list = mm.SoftMarginSVCCV(Cs=CS).fit(X, Y, weight.tolist())
    np.testing.assert_array_equal(by_list.scores_, model.scores_)


@pytest.mark.parametrize(
    "weight",
    [[1.0, 2.0], [-1.0] * 569, [0.0] * 569, [np.nan] * 569, [1.0] * 600],
    ids=lambda w: str(w[:2]),
)
def test_bad_sample_weights_are_refused(weight):
    model = mm.SoftMarginSVCCV(Cs=CS)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        model.fit(X, Y, weight)
    assert not hasattr(model, "C_")


def test_the_other_parameters_reach_the_machine():
    options = {"class_weight": "balanced", "fit_intercept": False, "tol": 1e-8}
    model = mm.SoftMarginSVCCV(Cs=[0.01, 0.1], **options).fit(X, Y)
    by_hand = scores_by_hand(X, Y, [0.01, 0.1], StratifiedKFold(5).split(X, Y), **options)
    np.testing.assert_allclose(model.scores_, by_hand)
    assert np.all(model.intercept_ == 0.0) and model.certificate_.relative_gap <= 1e-8
    pairs = mm.SoftMarginSVCCV(Cs=[0.1, 1.0], multi_class="ovo").fit(IRIS_X, IRIS_Y)
    assert list(pairs.machines_) == [(0, 1), (0, 2), (1, 2)]


def test_sparse_rows_and_names_as_labels():
    names = np.where(Y > 0, "benign", "malignant")
    model = mm.SoftMarginSVCCV(Cs=CS).fit(sparse.csr_array(X), names)
    dense = mm.SoftMarginSVCCV(Cs=CS).fit(X, names.tolist())
    np.testing.assert_allclose(model.scores_, dense.scores_)
    assert model.C_ == dense.C_ and model.classes_.tolist() == ["benign", "malignant"]


def test_clone_and_parameters():
    model = mm.SoftMarginSVCCV(Cs=[0.1, 1.0], cv=3, tol=1e-5, n_jobs=1).fit(IRIS_X, IRIS_Y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert set(model.get_params()) == {
        "Cs", "cv", "scoring", "fit_intercept", "multi_class", "class_weight", "tol",
        "max_passes", "max_seconds", "solver", "n_jobs", "verbose",
    }  # fmt: skip
    assert not hasattr(twin, "C_")
    with pytest.raises(NotFittedError):
        twin.predict(IRIS_X)
    assert twin.set_params(cv=2).fit(IRIS_X, IRIS_Y).scores_.shape == (2, 2)
    assert not hasattr(model, "C")


@pytest.mark.parametrize(
    "make", [lambda: mm.SoftMarginSVCCV(Cs=[0.1, 1.0]), mm.SoftMarginSVC], ids=["cv", "plain"]
)
def test_pickling_keeps_everything(make):
    model = make().fit(IRIS_X, IRIS_Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(IRIS_X), model.decision_function(IRIS_X))
    np.testing.assert_array_equal(again.dual_, model.dual_)
    assert again.certificate_ == model.certificate_
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    "make", [lambda: mm.SoftMarginSVCCV(Cs=[0.1, 1.0]), mm.SoftMarginSVC], ids=["cv", "plain"]
)
def test_feature_names_of_a_data_frame(make):
    frame = pd.DataFrame(IRIS_X, columns=["a", "b", "c", "d"])
    labels = pd.Series(IRIS_Y, index=np.arange(150)[::-1]).map({0: "x", 1: "y", 2: "z"})
    model = make().fit(frame, labels)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"] and model.n_features_in_ == 4
    assert set(model.predict(frame)) == {"x", "y", "z"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["d", "c", "b", "a"]])
    plain = make().fit(IRIS_X, labels.to_numpy())
    np.testing.assert_array_equal(plain.coef_, model.coef_)


def test_a_path_keeps_feature_names():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    for model in mm.SoftMarginSVC().path(frame, Y, [0.1, 1.0]):
        assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
        model.predict(frame)


def test_in_a_pipeline():
    data, y = load_wine(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), mm.SoftMarginSVCCV(Cs=[0.01, 0.1])).fit(data, y)
    assert pipe.score(data, y) > 0.95


@pytest.mark.parametrize(
    "Cs", [0, -1, 1.5, None, True, "ten", [], [0.0], [1.0, -1.0], [np.nan]], ids=repr
)
def test_bad_Cs_are_refused(Cs):
    model = mm.SoftMarginSVCCV(Cs=Cs)
    with pytest.raises(mm.InputError, match=r"Cs must .*\. Got .* instead\."):
        model.fit(IRIS_X, IRIS_Y)
    assert not hasattr(model, "C_")


@pytest.mark.parametrize(
    ("name", "bad"), [("tol", 0), ("fit_intercept", "yes"), ("max_passes", 0), ("multi_class", "all")]
)
def test_bad_parameters_are_refused(name, bad):
    text = rf"^{name} must be .*\. Got {re.escape(repr(bad))} instead\."
    with pytest.raises(mm.InputError, match=text):
        mm.SoftMarginSVCCV(**{name: bad}).fit(IRIS_X, IRIS_Y)


def test_a_failed_fit_changes_nothing():
    model = mm.SoftMarginSVCCV(Cs=[0.1, 1.0]).fit(IRIS_X, IRIS_Y)
    before = model.coef_.copy(), model.C_, model.scores_.copy()
    with pytest.raises(ValueError, match="finite"):
        model.fit(IRIS_X * np.nan, IRIS_Y)
    np.testing.assert_array_equal(model.coef_, before[0])
    assert before[1] == model.C_
    np.testing.assert_array_equal(model.scores_, before[2])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("bias", [True, False])
def test_folds_in_one_call_have_the_scores_of_fits(classes, bias):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 6)) + 3.0
    labels = np.digitize(X[:, 0] + 0.7 * rng.normal(size=150), np.linspace(2, 4, classes + 1)[1:-1])
    Cs = [1e-4, 0.03, 1.0, 30.0]
    quick = mm.SoftMarginSVCCV(Cs, fit_intercept=bias).fit(X, labels)
    each = mm.SoftMarginSVCCV(Cs, fit_intercept=bias, scoring="accuracy").fit(X, labels)
    np.testing.assert_allclose(quick.scores_, each.scores_, rtol=1e-12)
    assert quick.C_ == each.C_ and np.ptp(quick.scores_, axis=1).max() > 0.0


def test_more_Cs_take_no_more_copies_of_the_rows():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(4000, 3)), rng.integers(0, 8, 4000)
    mm.SoftMarginSVCCV(Cs=2, cv=2).fit(rows[:100], y[:100])  # compiled, and all is imported
    peaks = []
    for count in (2, 10):
        tracemalloc.start()
        mm.SoftMarginSVCCV(Cs=np.geomspace(0.001, 0.01, count).tolist(), cv=2).fit(rows, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 3 * peaks[0]


def test_folds_that_one_call_does_not_solve_are_fitted(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    expected = mm.SoftMarginSVCCV([0.1, 1.0]).fit(X, y).scores_

    def gives_up(batch, pad, tol):
        found = solve_batch(batch, pad, tol)
        found.report[-1, 0] = np.inf
        return found

    solve_batch = soft_margin_cv.solve_batch
    monkeypatch.setattr(soft_margin_cv, "solve_batch", gives_up)
    np.testing.assert_array_equal(mm.SoftMarginSVCCV([0.1, 1.0]).fit(X, y).scores_, expected)
