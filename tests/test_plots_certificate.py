"""The three panels of a certificate."""

import math
from dataclasses import replace
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin.plots.certificate import CertificateDisplay

mpl.use("Agg")
import matplotlib.pyplot as plt

SQUARE, SIDES = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
X, y = load_iris(return_X_y=True)
OVERLAP = slice(50, 150)


@pytest.fixture
def soft():
    model = mm.SoftMarginSVC(C=2.0).fit(X[OVERLAP], y[OVERLAP])
    return model, CertificateDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP])


def test_three_panels_in_one_row():
    model = mm.HardMarginSVC().fit(SQUARE, SIDES)
    display = CertificateDisplay.from_estimator(model, SQUARE, SIDES)
    assert list(display.axes_) == ["gap", "slackness", "residuals"]
    assert {ax.figure for ax in display.axes_.values()} == {display.figure_}


@pytest.mark.parametrize("panel", ["gap", "slackness", "residuals"])
def test_a_panel_alone(panel):
    model = mm.HardMarginSVC().fit(SQUARE, SIDES)
    _, ax = plt.subplots()
    display = CertificateDisplay.from_estimator(model, SQUARE, SIDES, panel=panel, ax=ax)
    assert display.axes_ == {panel: ax}
    assert (display.primal_ is None) == (panel != "gap")
    assert (display.slackness_ == {}) == (panel != "slackness")
    assert (display.residuals_ is None) == (panel != "residuals")
    assert list(display.plot(panel=panel).axes_) == [panel]


def test_axes_and_panels_that_do_not_fit_are_refused():
    display = CertificateDisplay.from_estimator(mm.HardMarginSVC().fit(SQUARE, SIDES), SQUARE, SIDES)
    with pytest.raises(mm.InputError, match="three axes"):
        display.plot(plt.subplots()[1])
    with pytest.raises(mm.InputError, match="panel must be one of gap, slackness, residuals"):
        display.plot(panel="all")
    _, three = plt.subplots(1, 3)
    assert list(display.plot(three).axes_.values()) == list(three)


def test_three_panels_in_a_column_fit_a_telephone(soft):
    _, display = soft
    display.plot(stacked=True)
    display.figure_.canvas.draw()
    assert display.figure_.get_size_inches()[0] < 5
    boxes = [ax.get_position() for ax in display.axes_.values()]
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    whole = display.figure_.bbox
    for ax in display.axes_.values():
        key = ax.get_legend().get_window_extent()
        assert key.y1 < ax.get_window_extent().y0 and whole.x0 <= key.x0 and key.x1 <= whole.x1
    with pytest.raises(mm.InputError, match="stacked=True makes a new figure"):
        display.plot(panel="gap", stacked=True)


def test_the_first_axes_are_at_hand(soft):
    _, display = soft
    assert display.ax_ is display.axes_["gap"] and display.ax_.figure is display.figure_
    assert display.plot(panel="residuals").ax_ is display.axes_["residuals"]


def test_slackness_one_of_the_two_is_zero(soft):
    model, display = soft
    f = model.decision_function(X[OVERLAP])
    signs = np.where(y[OVERLAP] == 2, 1, -1)
    assert display.excess == pytest.approx(signs * f - 1 + model.slack_)
    assert np.abs(display.alpha * display.excess).max() < 1e-5
    counts = {name: len(dots.get_offsets()) for name, dots in display.slackness_.items()}
    assert counts["bound"] == len(model.bound_support_)
    assert counts["free"] == len(model.free_support_)
    assert sum(counts.values()) == 100
    assert [set(line.get_ydata()) for line in display.levels_] == [{2.0}]
    late = display.late_.get_offsets()
    assert len(late) == np.count_nonzero(model.slack_) and np.all(late[:, 0] < 1e-9)
    assert np.count_nonzero(late[:, 0] < -1e-9) == np.count_nonzero(model.slack_ > 1e-9)


def test_a_hard_margin_has_no_upper_line():
    model = mm.HardMarginSVC().fit(SQUARE, SIDES)
    display = CertificateDisplay.from_estimator(model, SQUARE, SIDES)
    assert display.levels_ == [] and display.late_ is None
    dots = np.asarray(display.slackness_["free"].get_offsets())
    assert np.sort(dots[:, 1]) == pytest.approx(np.sort(model.dual_[model.support_]))
    assert dots[:, 0] == pytest.approx(0, abs=1e-12)


def test_class_weights_are_several_lines():
    model = mm.SoftMarginSVC(class_weight={1: 1.0, 2: 3.0}).fit(X[OVERLAP], y[OVERLAP])
    display = CertificateDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP])
    assert display.levels == pytest.approx((1.0, 3.0))
    assert len(display.levels_) == 2


def test_the_chosen_C_of_a_cross_validation_is_the_line():
    model = mm.SoftMarginSVCCV(Cs=[0.5, 50.0]).fit(X[:100], y[:100])
    display = CertificateDisplay.from_estimator(model, X[:100], y[:100])
    assert display.levels == (model.C_,)


def test_a_bound_far_above_is_named_and_does_not_flatten_the_picture():
    model = mm.SoftMarginSVC(C=1e4).fit(X[:100], y[:100])
    display = CertificateDisplay.from_estimator(model, X[:100], y[:100], panel="slackness")
    assert display.levels == (1e4,) and display.levels_ == []
    assert display.ax_.get_ylim()[1] < 2 * model.dual_.max()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "C = 1e+04: not reached, above the picture" in texts


def test_sample_weights_give_each_row_its_own_bound():
    weights = np.linspace(0.0, 3.0, 100)
    model = mm.SoftMarginSVC(C=2.0).fit(X[OVERLAP], y[OVERLAP], weights)
    display = CertificateDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP], panel="slackness")
    bound = np.asarray(display.slackness_["bound"].get_offsets())
    assert np.sort(bound[:, 1]) == pytest.approx(np.sort(2.0 * weights[model.bound_support_]))
    assert display.levels_ == []  # too many to draw
    assert "its C" in display.slackness_["bound"].get_label()
    few = np.where(np.arange(100) % 2, 1.0, 0.5)
    model.fit(X[OVERLAP], y[OVERLAP], few)
    display = CertificateDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP], panel="slackness")
    assert display.levels == pytest.approx((1.0, 2.0))


def test_rows_that_all_stand_on_the_edge_are_not_zoomed_into_rounding():
    three, signs = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    model = mm.HardMarginSVC().fit(three, signs)
    display = CertificateDisplay.from_estimator(model, three, signs, panel="slackness")
    assert display.ax_.get_xlim()[1] > 0.5


def test_residuals_are_those_of_the_certificate(soft):
    model, display = soft
    assert display.certificate == model.certificate_
    residuals = {
        "stationarity": 3e-9,
        "primal_infeasibility": 0.25,
        "dual_infeasibility": 0.0,
        "complementarity": 1.5e-12,
    }
    display.certificate = replace(display.certificate, primal=8.0, dual=7.0, **residuals)
    display.plot(panel="residuals")
    ends = [bar.get_x() + bar.get_width() for bar in display.residuals_]
    assert ends == pytest.approx([3e-9, 0.25, 1e-18, 1.5e-12, 0.125])
    texts = [text.get_text() for text in display.values_]
    assert texts == ["3.0e−09", "2.5e−01", "0", "1.5e−12", "1.2e−01"]
    assert display.axes_["residuals"].get_xscale() == "log"


def test_zero_and_infinite_residuals_have_words(soft):
    _, display = soft
    display.certificate = replace(display.certificate, stationarity=0.0, primal=math.inf)
    display.plot(panel="residuals")
    texts = [text.get_text() for text in display.values_]
    assert texts[0] == "0" and texts[-1] == "∞"


def test_the_gap_is_that_of_the_passes(soft):
    model, display = soft
    (machine,) = model.machines_.values()
    last = display.progress[-1]
    assert last[1:].tolist() == [model.certificate_.primal, model.certificate_.dual]
    assert len(display.progress) == len(machine.progress_)
    assert display.gap_ax_.get_yscale() == "log"


def test_a_primal_value_that_is_infinite_at_first(soft):
    _, display = soft
    display.progress = np.array(
        [[1, math.inf, -50.0], [2, 9000.0, 3.0], [4, 12.0, 9.0], [6, 10.0, 10.0]]
    )
    display.plot(panel="gap")
    assert display.primal_.get_xdata().tolist() == [2, 4, 6]
    assert display.dual_.get_xdata().tolist() == [1, 2, 4, 6]
    assert display.gap_.get_ydata()[1] == pytest.approx(0.25)
    assert np.all(display.gap_.get_ydata() > 0)
    low, high = display.axes_["gap"].get_ylim()
    assert -50 < low < 3 and 12 < high < 100  # the start is far away


@pytest.mark.parametrize(("last", "said"), [(10.0, "exactly 0"), (10.000000000000002, "0 to rounding")])
def test_a_gap_without_logarithm_is_marked_at_the_lower_edge(soft, last, said):
    _, display = soft
    display.progress = np.array([[2, 12.0, 9.0], [4, 10.0, 9.999], [6, 10.0, last]])
    display.plot(panel="gap")
    assert display.gap_.get_ydata()[:2] == pytest.approx([0.25, 1e-4])
    assert display.gap_.get_markevery() == [0, 1]
    (at,) = display.closed_.get_offsets()
    low, _ = display.gap_ax_.get_ylim()
    assert at[0] == 6 and low < at[1] < 1e-16
    assert said in display.closed_.get_label()
    display.figure_.canvas.draw()


def test_a_single_pass_is_a_marker(soft):
    _, display = soft
    display.progress = np.array([[6, 10.0, 9.0]])
    display.plot(panel="gap")
    for line in (display.primal_, display.dual_, display.gap_):
        assert line.get_marker() in ("o", "s", "D") and len(line.get_xdata()) == 1
    assert display.closed_ is None
    many = np.column_stack([np.arange(1, 101), np.full(100, math.inf), np.full(100, 9.0)])
    many[-1, 1] = 10.0
    display.progress = many
    display.plot(panel="gap")
    assert display.primal_.get_marker() == "o" and display.dual_.get_marker() == ""


def test_without_a_record_the_end_is_shown(soft):
    model, _ = soft
    (label,) = model.machines_
    model.machines_ = {label: replace(model.machines_[label], progress_=())}
    display = CertificateDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP], panel="gap")
    proof = model.certificate_
    assert display.progress.tolist() == [[proof.n_passes, proof.primal, proof.dual]]
    assert display.primal_.get_marker() == "o"


def test_one_machine_of_several():
    model = mm.SoftMarginSVC(multi_class="ovo").fit(sparse.csr_array(X), y)
    display = CertificateDisplay.from_estimator(model, sparse.csr_array(X), y, label=(1, 2))
    assert len(display.alpha) == 100
    assert display.certificate is model.machines_[1, 2].certificate_
    with pytest.raises(mm.InputError, match=r"\(0, 1\), \(0, 2\), \(1, 2\)"):
        CertificateDisplay.from_estimator(model, X, y)


def test_other_data_and_other_models_are_refused():
    model = mm.HardMarginSVC().fit(SQUARE, SIDES)
    with pytest.raises(mm.InputError, match=r"training data, 4 × 2. Got 3 × 2"):
        CertificateDisplay.from_estimator(model, SQUARE[:3], SIDES[:3])
    with pytest.raises(mm.InputError, match="margin machine"):
        CertificateDisplay.from_estimator(mm.Perceptron().fit(SQUARE, SIDES), SQUARE, SIDES)
