"""``certify``: what it says of planes found elsewhere is true."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import maxmargin as mm
from bank import SEPARABLE, problem
from planes import exact, margins, primal_value, signs
from zoo import quietly

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
X, Y = load_breast_cancer(return_X_y=True)
X, Y = StandardScaler().fit_transform(X), signs(Y)
SHIFTED = X + 50.0 * (np.arange(30) == 3)
BEST = {C: mm.SoftMarginSVC(C=C, tol=1e-10).fit(X, Y).certificate_.primal for C in (0.01, 1.0)}


def percent(
    proof, pattern=r"The objective is ([\d.e+-]+) % above the optimum of the textbook problem\."
):
    (found,) = [m for m in (re.match(pattern, f) for f in proof.findings) if m]
    return float(found[1])


def said(proof, words):
    return [finding for finding in proof.findings if words in finding]


def assert_percent(proof, data, y, model, C, best):
    """What is said of the objective is what plain code finds."""
    objective = primal_value(data, y, C, model.coef_[0], float(model.intercept_[0]))
    assert proof.primal == pytest.approx(objective, rel=1e-10)
    assert proof.dual == pytest.approx(best, rel=1e-8)
    assert percent(proof) == pytest.approx(100 * (objective / best - 1), rel=6e-3)


# --- scikit-learn's models --------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_linear_svc_regularises_the_bias(C):
    model = quietly(LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=200_000, random_state=0), SHIFTED, Y)
    proof = mm.certify(model, SHIFTED, Y)
    assert_percent(proof, SHIFTED, Y, model, C, BEST[C])
    assert percent(proof) > 0.1
    (finding,) = said(proof, "regularised the bias")
    assert "Centre the features" in finding
    assert not said(proof, "another loss")
    assert "audited" in proof.problem and f"C = {C:g}" in proof.problem


def test_the_optimum_of_the_padded_problem_is_recognised():
    """The optimum with ½b² added, found by giving the bias a column of its own."""
    wide = np.column_stack([SHIFTED, np.ones(len(Y))])
    padded = mm.SoftMarginSVC(C=0.01, fit_intercept=False, tol=1e-9).fit(wide, Y)
    w, b = padded.coef_[0, :-1], padded.coef_[0, -1]
    proof = mm.certify((w, b), SHIFTED, Y, C=0.01)
    objective = primal_value(SHIFTED, Y, 0.01, w, b)
    assert percent(proof) == pytest.approx(100 * (objective / BEST[0.01] - 1), rel=6e-3)
    (finding,) = said(proof, "its solver regularised the bias")
    assert float(re.search(r"within ([\d.e+-]+) %", finding)[1]) < 1e-4
    thin = mm.certify((w, b), sparse.csr_array(SHIFTED), Y, C=0.01)
    assert said(thin, "its solver regularised the bias")


def test_linear_svc_is_nearer_on_centred_data():
    model = LinearSVC(loss="hinge", C=0.01, tol=1e-8, max_iter=200_000, random_state=0)
    near = mm.certify(quietly(model, X, Y), X, Y)
    far = mm.certify(quietly(model, SHIFTED, Y), SHIFTED, Y)
    assert near.dual == pytest.approx(far.dual, rel=1e-8)  # a shift changes nothing for a free bias
    assert near.gap < far.gap


def test_linear_svc_with_intercept_scaling():
    model = LinearSVC(loss="hinge", C=0.01, intercept_scaling=100.0, max_iter=200_000, random_state=0)
    proof = mm.certify(quietly(model, SHIFTED, Y), SHIFTED, Y)
    assert_percent(proof, SHIFTED, Y, model, 0.01, BEST[0.01])
    (finding,) = said(proof, "regularised the bias")
    wide = np.column_stack([SHIFTED, np.full(len(Y), 100.0)])
    best = mm.SoftMarginSVC(C=0.01, fit_intercept=False, tol=1e-9).fit(wide, Y).certificate_.primal
    value = proof.primal + 0.5 * (model.intercept_[0] / 100.0) ** 2
    share = float(re.search(r"([\d.e+-]+) %", finding)[1])
    assert share == pytest.approx(100 * (value / best - 1), rel=0.06, abs=1e-6)


def test_squared_hinge_is_another_loss():
    model = quietly(LinearSVC(C=1.0, tol=1e-8, max_iter=200_000, random_state=0), SHIFTED, Y)
    proof = mm.certify(model, SHIFTED, Y)
    assert_percent(proof, SHIFTED, Y, model, 1.0, BEST[1.0])
    (finding,) = said(proof, "another loss")
    assert "squared_hinge" in finding


def test_linear_svc_without_a_bias():
    model = LinearSVC(loss="hinge", C=0.1, fit_intercept=False, tol=1e-10, max_iter=500_000)
    proof = mm.certify(quietly(model.set_params(random_state=0), X, Y), X, Y)
    best = mm.SoftMarginSVC(C=0.1, fit_intercept=False, tol=1e-9).fit(X, Y).certificate_.primal
    assert proof.dual == pytest.approx(best, rel=1e-8)
    assert proof.relative_gap < 1e-4 and "through the origin" in proof.problem
    assert not said(proof, "regularised")


def test_svc_is_the_textbook_problem():
    proof = mm.certify(SVC(kernel="linear", C=1.0, tol=1e-12).fit(X, Y), X, Y)
    assert proof.relative_gap <= 1e-6 and not said(proof, "regularised")
    assert proof.findings[0].startswith("This is the optimum of the textbook problem")
    shifted = mm.certify(SVC(kernel="linear", C=1.0, tol=1e-12).fit(SHIFTED, Y), SHIFTED, Y)
    assert shifted.relative_gap <= 1e-3 and not said(shifted, "regularised")  # rounding in its b


def test_svc_that_stopped_early_is_told():
    model = SVC(kernel="linear", C=1.0, tol=0.5).fit(SHIFTED, Y)
    proof = mm.certify(model, SHIFTED, Y)
    assert_percent(proof, SHIFTED, Y, model, 1.0, BEST[1.0])
    assert not said(proof, "regularised")


def test_sgd_on_shifted_data():
    model = quietly(SGDClassifier(alpha=1 / (0.01 * len(Y)), random_state=0), SHIFTED, Y)
    proof = mm.certify(model, SHIFTED, Y, C=0.01)
    assert_percent(proof, SHIFTED, Y, model, 0.01, BEST[0.01])
    wrong = int(np.sum(margins(SHIFTED, Y, model.coef_[0], model.intercept_[0]) <= 0))
    best = SVC(kernel="linear", C=0.01, tol=1e-10).fit(X, Y)
    fewest = int(np.sum(margins(X, Y, best.coef_[0], best.intercept_[0]) <= 0))
    told = said(proof, "training errors")
    assert bool(told) == (wrong != fewest)
    if told:
        assert told == [f"It makes {wrong} training errors; the optimum makes {fewest}."]
    logistic = quietly(SGDClassifier(loss="log_loss", random_state=0), X, Y)
    assert said(mm.certify(logistic, X, Y, C=1.0), "another loss, log_loss")


@pytest.mark.parametrize(("solver", "penalised"), [("lbfgs", False), ("liblinear", True)])
def test_a_logistic_regression_is_told_by_its_loss(solver, penalised):
    model = LogisticRegression(solver=solver, max_iter=5_000).fit(SHIFTED, Y)
    proof = mm.certify(model, SHIFTED, Y)
    assert proof.findings[1].startswith("The model minimises another loss, log_loss")
    assert bool(said(proof, "regularised the bias")) == penalised
    assert not said(proof, "stopped")  # at another problem, so nothing is known of where it stopped


def test_the_bias_is_not_blamed_where_it_does_not_matter():
    model = quietly(LinearSVC(loss="hinge", max_iter=5, random_state=0), X, Y)
    (finding,) = said(mm.certify(model, X, Y), "stopped")  # long before the end, on centred features
    assert "Lower its tolerance" in finding and "Centre the features" not in finding


def test_our_own_machines_pass():
    assert (
        mm.certify(mm.SoftMarginSVC(C=0.01, tol=1e-9).fit(SHIFTED, Y), SHIFTED, Y).relative_gap <= 1e-8
    )
    p = problem("gaussian")
    proof = mm.certify(mm.HardMarginSVC().fit(p.X, p.y), p.X, p.y)
    assert proof.findings[0].startswith("This is the plane with the largest margin")


# --- planes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [np.array, sparse.csr_array, np.float32], ids=["dense", "csr", "single"]
)
def test_a_plane_against_fractions(form):
    data, y = np.array([[0.0, 1], [2, 0], [1, 3], [4, 4], [1, 1]]), np.array([-1, -1, 1, 1, 1])
    best = exact(data, y, 0.5)
    for w, b in [([1.0, 0.0], -1.0), ([0.25, 0.5], 0.0), ([0.0, 0.0], 0.0)]:
        proof = mm.certify((w, b), form(data), y, C=0.5)
        objective = primal_value(data, y, 0.5, np.array(w), b)
        assert proof.primal == pytest.approx(objective, rel=1e-12)
        assert proof.dual == pytest.approx(best.value, rel=1e-8)
        assert percent(proof) == pytest.approx(100 * (objective / best.value - 1), rel=6e-3)
    proof = mm.certify((best.w, best.low), form(data), y, C=0.5)
    assert "This is the optimum" in proof.findings[0]


def test_labels_of_any_kind_and_shapes_of_w():
    data, y = [[0.0], [1.0], [3.0]], ["no", "no", "yes"]
    one = mm.certify(([1.0], -2.0), data, y, C=1.0)
    two = mm.certify(([[1.0]], [-2.0]), np.array(data), np.array(y), C=1.0)
    assert one == two
    turned = mm.certify(([-1.0], 2.0), data, y, C=1.0)
    assert turned.primal > one.primal


def test_a_better_bias_is_told():
    w = mm.SoftMarginSVC(C=1.0, tol=1e-9).fit(X, Y).coef_[0]
    b = 3.0
    proof = mm.certify((w, b), X, Y, C=1.0)
    (finding,) = said(proof, "With the same w")
    better, given_b, share = re.match(
        r"With the same w, b = ([-\d.e+]+) instead of ([-\d.e+]+) would take away ([\d.]+) % of that",
        finding,
    ).groups()
    assert float(given_b) == b
    value = primal_value(X, Y, 1.0, w, float(better))
    assert float(share) == pytest.approx(100 * (proof.primal - value) / proof.gap, rel=6e-3)
    turns = Y - X @ w
    least = min(primal_value(X, Y, 1.0, w, turn) for turn in turns)
    assert value == pytest.approx(least, rel=1e-5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 1.0, 10.0]))
def test_any_plane_is_above_the_optimum_by_what_is_said(seed, C):
    rng = np.random.default_rng(seed)
    data, y = rng.integers(-4, 5, (9, 2)) / 2, rng.choice([-1, 1], 9)
    y[:2] = -1, 1
    w, b = rng.standard_normal(2), float(rng.normal())
    proof = mm.certify((w, b), data, y, C=C)
    best = mm.SoftMarginSVC(C=C, tol=1e-10).fit(data, y).certificate_
    objective = primal_value(data, y, C, w, b)
    assert proof.primal == pytest.approx(objective, rel=1e-10)
    assert proof.dual == pytest.approx(best.primal, rel=1e-8)
    if proof.relative_gap > 1e-6:
        assert percent(proof) == pytest.approx(100 * (objective / best.primal - 1), rel=6e-3)


# --- the hard margin --------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [p for p in SEPARABLE if p.name != "scales"], ids=lambda p: p.name)
def test_the_largest_margin_is_recognised_at_any_scale(p):
    best = mm.HardMarginSVC().fit(p.X, p.y)
    for scale in (1e-3, 1.0, 7.0):
        w, b = scale * best.coef_[0], scale * float(best.intercept_[0])
        proof = mm.certify((w, b), p.X, p.y)
        assert proof.problem.startswith("hard margin")
        assert proof.findings[0].startswith("This is the plane with the largest margin")
        assert proof.margin[0] == pytest.approx(best.margin_, rel=1e-7)
        assert proof.margin[1] == pytest.approx(best.margin_, rel=1e-7)


def test_a_smaller_margin_is_measured():
    data, y = [[0.0, 0], [0, 1], [4, 0], [4, 1]], [0, 0, 1, 1]
    proof = mm.certify(([1.0, 0.0], -1.0), data, y, C=math.inf)
    assert proof.findings == ("The margin is 1, 50 % less than the largest, 2.",)
    assert proof.margin == pytest.approx((1.0, 2.0))
    assert proof.primal == pytest.approx(0.5) and proof.dual == pytest.approx(0.125)


def test_a_plane_that_does_not_separate():
    data, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    proof = mm.certify(([1.0], -0.5), data, y)
    assert proof.findings[0] == (
        "It does not separate the classes: 1 of 4 rows are on the wrong side or on the plane. "
        "The largest margin is 1."
    )
    assert proof.primal == math.inf and proof.relative_gap == math.inf
    assert said(proof, "It makes 1 training errors; the optimum makes 0.")
    on_it = mm.certify(([1.0], -1.0), data, y)
    assert "1 of 4 rows" in on_it.findings[0]
    nowhere = mm.certify(([0.0], 0.0), data, y)
    assert "4 of 4 rows" in nowhere.findings[0] and isinstance(str(nowhere), str)


def test_no_hard_margin_exists():
    p = problem("virginica")
    for C in (math.inf, None):
        with pytest.raises(mm.NotSeparableError, match="has no solution") as caught:
            mm.certify((np.ones(4), 0.0), p.X, p.y, C=C)
        witness = caught.value.witness
        plus = witness.positive_weights @ p.X[witness.positive]
        minus = witness.negative_weights @ p.X[witness.negative]
        np.testing.assert_allclose(plus.astype(float), minus.astype(float), atol=1e-12)
        assert np.all(p.y[witness.positive] == 1) and np.all(p.y[witness.negative] == -1)


# --- several classes --------------------------------------------------------------------------------


def test_one_certificate_per_class():
    names = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
    model = quietly(LinearSVC(loss="hinge", random_state=0, max_iter=100_000), IRIS_X, names)
    proofs = mm.certify(model, IRIS_X, names)
    assert list(proofs) == ["setosa", "versicolor", "virginica"]
    for k, (label, proof) in enumerate(proofs.items()):
        side = np.where(names == label, 1.0, -1.0)
        objective = primal_value(IRIS_X, side, 1.0, model.coef_[k], model.intercept_[k])
        assert proof.primal == pytest.approx(objective, rel=1e-10)
        best = mm.SoftMarginSVC(tol=1e-9).fit(IRIS_X, side).certificate_.primal
        assert proof.dual == pytest.approx(best, rel=1e-8)
    ours = mm.certify(mm.SoftMarginSVC(tol=1e-9).fit(IRIS_X, names), IRIS_X, names)
    assert all("This is the optimum" in proof.findings[0] for proof in ours.values())


@pytest.mark.parametrize(
    "model",
    [SVC(kernel="linear"), SVC(kernel="linear", break_ties=True), mm.SoftMarginSVC(multi_class="ovo")],
    ids=["SVC", "SVC with ties", "ours"],
)
def test_three_pairs_are_not_taken_for_three_classes(model):
    """Three classes make three pairs: the shape of coef_ does not tell."""
    model.fit(IRIS_X, IRIS_Y)
    with pytest.raises(mm.InputError, match="pair by pair"):
        mm.certify(model, IRIS_X, IRIS_Y)


def test_pairs_one_by_one():
    model = mm.SoftMarginSVC(multi_class="ovo", tol=1e-9).fit(IRIS_X, IRIS_Y)
    for pair in combinations(range(3), 2):
        mine = np.isin(IRIS_Y, pair)
        machine = model.machines_[pair]
        proof = mm.certify((machine.coef_, machine.intercept_), IRIS_X[mine], IRIS_Y[mine], C=1.0)
        assert "This is the optimum" in proof.findings[0]


def test_certificates_of_several_machines_are_told_in_lines():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    found = mm.certify(mm.SoftMarginSVC(tol=0.1).fit(rows, y), rows, y)
    worst = max(found, key=lambda label: found[label].relative_gap)
    lines = str(found).splitlines()
    assert isinstance(found, dict) and len(lines) == 4
    assert lines[0].startswith(
        "3 certificates: soft margin, C = 1, audited. The largest relative gap is"
    )
    assert lines[0].endswith(f"that of {worst!r}.") and lines[1].startswith("· 'a': gap ")
    assert "\n" not in repr(found) and repr(found).startswith("Certificates('a': gap ")


# --- bad input --------------------------------------------------------------------------------------

DATA, LABELS = [[0.0], [1.0], [3.0]], [0, 0, 1]
PLANE = ([1.0], -2.0)


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), -math.inf, "1", True])
def test_a_bad_C_is_refused(C):
    with pytest.raises(mm.InputError, match=r"^C must be a finite number > 0\. Got .* instead\."):
        mm.certify(PLANE, DATA, LABELS, C=C)


@pytest.mark.parametrize("tol", [0, 1, -1e-9, "small", None, float("nan")])
def test_a_bad_tol_is_refused(tol):
    with pytest.raises(mm.InputError, match=r"^tol must be .*\. Got .* instead\."):
        mm.certify(PLANE, DATA, LABELS, C=1.0, tol=tol)


@pytest.mark.parametrize(
    "model",
    [
        3,
        None,
        "LinearSVC",
        LinearSVC(),
        make_pipeline(StandardScaler(), LinearSVC()),
        ([1.0], 0.0, 0.0),
        ([1.0, 2.0], 0.0),
        ([[1.0], [2.0]], 0.0),
        ([float("nan")], 0.0),
        ([1.0], math.inf),
        (["a"], 0.0),
        ([1.0], "b"),
        ([1.0], [0.0, 1.0]),
        ([1.0], None),
    ],
    ids=str,
)
def test_a_bad_model_is_refused(model):
    with pytest.raises(mm.InputError, match=r"must .*\. Got .* instead\."):
        mm.certify(model, DATA, LABELS, C=1.0)


def test_a_kernel_machine_is_refused():
    with pytest.raises(mm.InputError, match="coef_"):
        mm.certify(SVC(kernel="rbf").fit(DATA, LABELS), DATA, LABELS)


def test_bad_data_are_refused():
    with pytest.raises(mm.InputError, match="at least two classes"):
        mm.certify(PLANE, DATA, [1, 1, 1], C=1.0)
    with pytest.raises(mm.InputError, match="finite numbers"):
        mm.certify(PLANE, [[0.0], [np.nan], [3.0]], LABELS, C=1.0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        mm.certify(PLANE, DATA, [0, 1], C=1.0)


def test_the_C_of_the_model_is_taken_unless_another_is_given():
    model = LogisticRegression(C=0.25).fit(X, Y)
    assert "C = 0.25" in mm.certify(model, X, Y).problem
    assert "C = 2" in mm.certify(model, X, Y, C=2.0).problem


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_swapped_sides_are_called_so(C):
    X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    right, wrong = (mm.certify(([s * 1.0], -2.0 * s), X, y, C=C).findings for s in (1, -1))
    assert not any("swapped" in said for said in right)
    assert wrong[0].startswith("Its sides are swapped: −w and −b make 0 training errors instead of 4.")
    guess = mm.certify(([0.1], -0.35), X, y, C=C).findings  # one error too many, not the other sides
    assert not any("swapped" in said for said in guess)
