"""In the place of scikit-learn's own: inside its tools, with the same results for the same problem.

Each of three peers solves one of our problems with certain settings. There both have to agree, whatever
is built around them; elsewhere the value of the textbook problem decides.
"""

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.fixes import parse_version

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
Z = StandardScaler().set_output(transform="pandas").fit_transform(X)
FLOWERS, SPECIES = load_iris(return_X_y=True, as_frame=True)
WEIGHT = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)

# Ours, the peer with the same solution, and the distance that its tolerance leaves between them.
PAIRS = {
    "Perceptron": (
        mm.Perceptron(max_iter=20),
        ScikitPerceptron(max_iter=20, shuffle=False, tol=None),
        1e-12,
    ),
    "LinearSVC": (  # without a bias, since it penalises the bias
        mm.SoftMarginSVC(C=0.01, fit_intercept=False, tol=1e-10),
        LinearSVC(C=0.01, fit_intercept=False, loss="hinge", tol=1e-10, max_iter=10**6, random_state=0),
        1e-6,
    ),
    "SVC": (mm.SoftMarginSVC(C=0.1, tol=1e-10), SVC(C=0.1, kernel="linear", tol=1e-10), 1e-5),
}
MARGINS = ["LinearSVC", "SVC"]


def named(machine):
    return Pipeline([("scale", StandardScaler()), ("machine", machine)])


def pipeline(machine):
    model = named(machine).fit(X, y)
    return model.decision_function(X), model.predict(X), model.score(X, y), model[-1].coef_


def validated(machine):
    folds = cross_val_predict(named(machine), X, y, cv=3, method="decision_function")
    return folds, *(cross_val_score(named(machine), X, y, cv=3, scoring=s) for s in ("f1", "roc_auc"))


def grid(machine):
    grid = {"machine__class_weight": [None, "balanced"], "scale__with_mean": [True, False]}
    search = GridSearchCV(named(machine), grid, cv=3).fit(X, y)
    return search.cv_results_["mean_test_score"], search.decision_function(X)


def calibrated(machine):
    return [
        CalibratedClassifierCV(named(machine), cv=3, method=method).fit(X, y).predict_proba(X)
        for method in ("sigmoid", "isotonic")
    ]


def stacked(machine):
    others = [("machine", named(machine)), ("logistic", named(LogisticRegression()))]
    model = StackingClassifier(others, cv=3).fit(X, y)
    return model.transform(X), model.predict_proba(X)


def voting(machine):
    others = [("machine", named(machine)), ("logistic", named(LogisticRegression(C=0.01)))]
    model = VotingClassifier([*others, ("loose", named(LogisticRegression()))]).fit(X, y)
    return model.transform(X), model.predict(X)


def bagged(machine):
    model = BaggingClassifier(named(machine), n_estimators=3, random_state=0).fit(X, y)
    return model.decision_function(X)


def one_against_the_rest(machine):
    return OneVsRestClassifier(named(machine)).fit(FLOWERS, SPECIES).decision_function(FLOWERS)


def one_against_one(machine):
    return OneVsOneClassifier(named(machine)).fit(FLOWERS, SPECIES).decision_function(FLOWERS)


def several_outputs(machine):
    both = np.c_[SPECIES == 0, SPECIES == 2]
    return MultiOutputClassifier(named(machine)).fit(FLOWERS, both).predict(FLOWERS)


def importances(machine):
    model = named(machine).fit(FLOWERS, SPECIES == 1)
    return permutation_importance(model, FLOWERS, SPECIES == 1, random_state=0).importances


def curve(machine):
    return learning_curve(named(machine), X, y, cv=3, train_sizes=[0.3, 1.0])[1:]


def eliminated(machine):
    return RFE(machine, n_features_to_select=2, step=4).fit(Z, y).ranking_


def selected(machine):
    model = SelectFromModel(machine, max_features=5, threshold=-np.inf).fit(Z, y)
    return [list(Z.columns).index(name) for name in model.get_feature_names_out()]


def threshold(machine):
    return TunedThresholdClassifierCV(named(machine), cv=3, thresholds=9).fit(X, y).best_threshold_


def drawn(machine):
    two = Z.iloc[:, [0, 1]]
    with mpl.rc_context({"backend": "agg"}):
        shown = DecisionBoundaryDisplay.from_estimator(
            clone(machine).fit(two, y), two, grid_resolution=20, response_method="decision_function"
        )
    return shown.response


TOOLS = [
    pipeline,
    validated,
    grid,
    calibrated,
    stacked,
    voting,
    bagged,
    one_against_the_rest,
    one_against_one,
    several_outputs,
    importances,
    curve,
    eliminated,
    selected,
    threshold,
    drawn,
]


def agree(ours, theirs, within):
    if isinstance(ours, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other, within)
        return
    scale = max(1.0, np.abs(theirs).max())
    assert_allclose(ours, theirs, rtol=0, atol=within * scale)


def cases():
    """Each peer in each tool; ``LinearSVC`` meets the same class of ours as ``SVC``: two will do."""
    for name in PAIRS:
        for tool in TOOLS:
            again = name == "LinearSVC" and tool not in (pipeline, validated)
            marks = [pytest.mark.thorough] if again else []
            yield pytest.param(name, tool, id=f"{name}-{tool.__name__}", marks=marks)


@pytest.mark.parametrize(("name", "tool"), list(cases()))
def test_the_same_results_inside_a_tool(name, tool):
    ours, theirs, within = PAIRS[name]
    agree(tool(ours), tool(theirs), within)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn before 1.8 passes no sample weights to the score of a pipeline in a search",
)
@pytest.mark.parametrize("name", MARGINS)
def test_sample_weights_by_metadata_routing(name):
    """Three ways to the same weights: routed, by the name of the step, and by repeated rows."""
    ours, theirs, within = PAIRS[name]

    def routed(machine):
        with sklearn.config_context(enable_metadata_routing=True):
            model = named(clone(machine))
            model["scale"].set_fit_request(sample_weight=False)
            model["machine"].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            search = GridSearchCV(model, {"machine__C": [0.001, 0.1]}, cv=3)
            search.fit(X, y, sample_weight=WEIGHT)
            scores = cross_val_score(model, X, y, cv=3, params={"sample_weight": WEIGHT})
            return search.cv_results_["mean_test_score"], scores, search.decision_function(X)

    agree(routed(ours), routed(theirs), within)
    step = make_pipeline(clone(ours)).fit(Z, y, softmarginsvc__sample_weight=WEIGHT)
    repeated = np.repeat(np.arange(len(y)), WEIGHT.astype(int))
    agree(step[-1].coef_, clone(theirs).fit(Z.iloc[repeated], y.iloc[repeated]).coef_, within)


@pytest.mark.parametrize("name", MARGINS)
def test_boosting(name):
    ours, theirs, _ = PAIRS[name]
    models = [AdaBoostClassifier(m, n_estimators=3, random_state=0).fit(Z, y) for m in (ours, theirs)]
    assert_array_equal(*(model.predict(Z) for model in models))


def test_processes_of_joblib():
    """The same bits in other processes; and the peer's choice."""
    rows, labels = Z.to_numpy(), y.to_numpy()
    for name in ("SVC", "Perceptron"):  # one after the other: the processes are started once
        ours, theirs, within = PAIRS[name]
        apart, here, peer = (
            GridSearchCV(machine, {"class_weight": [None, "balanced"]}, cv=2, n_jobs=jobs).fit(
                rows, labels
            )
            for machine, jobs in ((ours, 2), (ours, 1), (theirs, 1))
        )
        assert_array_equal(apart.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
        assert_array_equal(apart.decision_function(rows), here.decision_function(rows))
        agree(here.decision_function(rows), peer.decision_function(rows), within)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", PAIRS)
def test_data_frames_keep_their_names(name, kind):
    """Words and numbers through a ColumnTransformer, into the machine as a frame; labels as a series."""
    ours, theirs, within = PAIRS[name]
    numbers, words = list(Z.columns[:3]), np.where(y == 1, "benign", "malignant")
    columns = {name: Z[name].to_numpy() for name in numbers}
    columns["size"] = np.where(X["mean area"] > 600, "large", "small")
    make, series = (pd.DataFrame, pd.Series) if kind == "pandas" else (pl.DataFrame, pl.Series)
    frame, labels = make(columns), series(words.tolist())
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["size"]), (StandardScaler(), numbers)
    )
    model, peer = (
        Pipeline([("encode", encode), ("machine", clone(machine))])
        .set_output(transform=kind)
        .fit(frame, labels)
        for machine in (ours, theirs)
    )
    assert list(model["machine"].feature_names_in_) == list(model["encode"].get_feature_names_out())
    assert list(model.classes_) == ["benign", "malignant"]
    agree(model.decision_function(frame), peer.decision_function(frame), within)
    assert model.score(frame, labels) == peer.score(frame, labels) > 0.8
    bare = clone(ours).fit(frame[numbers], labels)
    assert_array_equal(bare.coef_, clone(ours).fit(Z[numbers].to_numpy(), words).coef_)
    with pytest.raises(ValueError, match="names should match"):
        bare.predict(frame[numbers[::-1]])


@pytest.mark.parametrize("new", [mm.SoftMarginSVC, mm.Perceptron])
def test_an_array_that_is_ready_is_read_as_any_other(new):
    rows, labels = load_iris(return_X_y=True)
    frame = pd.DataFrame(rows, columns=list("abcd"))
    model = new().fit(frame, labels)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(rows)
    expected = model.coef_
    for other in (rows, np.asfortranarray(rows), rows.tolist(), np.require(rows, np.dtype(">f8"))):
        assert_array_equal(model.fit(other, labels).coef_, expected)
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 4
        for wrong in (rows[:, :3], rows[:0], rows[0]):
            with pytest.raises(ValueError, match=r"3 features|0 sample|1D array"):
                model.predict(wrong)
    damaged = rows.copy()
    damaged[3, 1] = np.nan
    for call in (model.predict, lambda X: model.fit(X, labels)):
        with pytest.raises(mm.InputError, match="NaN in row 3"):
            call(damaged)
    for few in (labels[1:], labels[:, None].repeat(2, axis=1), np.append(labels, 0)):
        with pytest.raises(ValueError, match=r"y must|inconsistent|y should be"):
            model.fit(rows, few)


@pytest.mark.parametrize(
    "machine",
    [
        *(pair[0] for pair in PAIRS.values()),
        mm.HardMarginSVC(),
        mm.PocketPerceptron(max_updates=100, random_state=0),
        mm.MinErrorClassifier(max_seconds=None),
    ],
)
def test_clones_and_copies_on_disk(machine, tmp_path):
    model = named(machine).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    copy = joblib.load(tmp_path / "model.joblib")
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    again = clone(copy)
    assert not hasattr(again[-1], "classes_")
    assert again[-1].get_params() == machine.get_params()
    assert_array_equal(again.fit(X, y).decision_function(X), model.decision_function(X))


def value(model, X, y, C):
    """½‖w‖² + C Σ ξ_i, from the weights alone."""
    w, b = model.coef_[0], model.intercept_[0]
    slack = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1.0, -1.0) * (X @ w + b))
    return 0.5 * w @ w + C * slack.sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_no_peer_has_a_better_value_of_the_textbook_problem(C, shift):
    data = Z.to_numpy() + shift
    ours = value(mm.SoftMarginSVC(C=C).fit(data, y), data, y, C)
    for peer in (SVC(kernel="linear", C=C), LinearSVC(loss="hinge", C=C, max_iter=5000, random_state=0)):
        theirs = value(peer.fit(data, y), data, y, C)
        assert ours <= theirs * (1 + 1e-6)
    assert theirs > (1.5 if shift else 1.0) * ours  # LinearSVC pays for the bias


def test_support_and_multipliers_where_svc_has_them():
    label = (SPECIES == 1).to_numpy()
    svc = SVC(kernel="linear", tol=1e-10).fit(FLOWERS, label)
    ours = mm.SoftMarginSVC(tol=1e-10).fit(FLOWERS, label)
    assert sorted(svc.support_) == list(ours.support_)
    signed = np.where(label, 1.0, -1.0) * ours.dual_
    assert_allclose(signed[svc.support_], svc.dual_coef_[0], atol=1e-3)  # LIBSVM: kernels in floats
    assert list(svc.n_support_) == list(np.bincount(label[ours.support_]))


def test_pairs_of_classes_have_the_other_sign_than_in_svc():
    svc = SVC(kernel="linear", tol=1e-10, break_ties=True).fit(FLOWERS, SPECIES)
    ours = mm.SoftMarginSVC(multi_class="ovo", tol=1e-10).fit(FLOWERS, SPECIES)
    assert_allclose(ours.coef_, -svc.coef_, atol=1e-4)
    assert_array_equal(ours.predict(FLOWERS), svc.predict(FLOWERS))


def test_the_bias_on_sparse_rows_takes_whole_steps():
    """The peer takes hundredths of them, so its dense and sparse models differ; ours do not."""
    rows = sparse.csr_array(X.to_numpy())
    ours, theirs, _ = PAIRS["Perceptron"]
    dense, thin = clone(ours).fit(X.to_numpy(), y), clone(ours).fit(rows, y)
    assert_array_equal(dense.coef_, thin.coef_)
    assert_array_equal(dense.intercept_, thin.intercept_)
    assert clone(theirs).fit(rows, y).intercept_ != clone(theirs).fit(X.to_numpy(), y).intercept_
