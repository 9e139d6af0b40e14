"""Mistakes under their bound, errors per epoch with the reason of stopping, and the path of C."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

import maxmargin as mm
from maxmargin.plots.learning import WORDS, ErrorDisplay, in_words
from maxmargin.plots.mistakes import MistakesDisplay
from maxmargin.plots.path import PathDisplay
from zoo import quietly

mpl.use("Agg")
import matplotlib.pyplot as plt

MARKS, PASSED = [[90, 80], [40, 30], [50, 40]], [1, -1, -1]
X, y = load_iris(return_X_y=True)
TWO = slice(0, 100)  # two separable classes
OVERLAP = slice(50, 150)


def legend_text(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Mistakes


def test_every_recorded_update_is_a_step_and_the_bound_is_above():
    model = mm.Perceptron(record=True).fit(MARKS, PASSED)
    display = MistakesDisplay.from_estimator(model, MARKS, PASSED)
    steps = [update.step for update in model.trace_]
    assert display.steps.tolist() == [0, *steps, 3 * model.n_iter_]
    assert display.mistakes[-1] == model.n_mistakes_
    bound = mm.mistake_bound(MARKS, PASSED).bound
    assert set(display.bound_.get_ydata()) == {bound} and display.bound == bound
    assert np.all(display.mistakes_.get_ydata() <= bound)
    assert display.ax_.get_ylim()[1] > bound
    assert legend_text(display.ax_)[1] == f"bound R²/γ²:\nat most {int(bound):,}"  # mistakes are whole


def test_without_a_record_there_is_one_point_per_epoch():
    model = mm.Perceptron().fit(MARKS, PASSED)
    display = MistakesDisplay.from_estimator(model, MARKS, PASSED)
    assert display.steps.tolist() == list(range(model.n_iter_ + 1))
    assert display.mistakes.tolist() == [0, *np.cumsum(model.history_["mistakes"])]
    assert display.ax_.get_xlabel() == "epochs"


def test_the_axis_is_logarithmic_only_if_the_bound_is_far_above():
    model = mm.Perceptron().fit(MARKS, PASSED)
    assert MistakesDisplay.from_estimator(model, MARKS, PASSED).ax_.get_yscale() == "log"
    near = [[1, 1], [-1, -1]]
    model = mm.Perceptron().fit(near, [1, -1])
    assert MistakesDisplay.from_estimator(model, near, [1, -1]).ax_.get_yscale() == "linear"


@pytest.mark.parametrize("options", [{"normalize": True}, {"fit_intercept": False}])
def test_the_bound_is_that_of_the_estimators_rows(options):
    model = mm.Perceptron(**options).fit(X[TWO], y[TWO])
    display = MistakesDisplay.from_estimator(model, X[TWO], y[TWO])
    assert display.bound == mm.mistake_bound(X[TWO], y[TWO], **options).bound
    assert display.mistakes[-1] <= display.bound


def test_a_threshold_moves_the_bound():
    model = mm.Perceptron(threshold=2.0, eta0=0.5).fit(X[TWO], y[TWO])
    display = MistakesDisplay.from_estimator(model, X[TWO], y[TWO])
    found = mm.mistake_bound(X[TWO], y[TWO])
    assert display.bound == pytest.approx((found.R**2 + 8.0) / found.gamma**2)
    assert display.mistakes[-1] <= display.bound


@pytest.mark.parametrize(
    ("model", "part", "why"),
    [
        (mm.Perceptron(), OVERLAP, "not separable, the classes overlap (proven)"),
        (mm.Perceptron(class_weight="balanced"), TWO, "class weights scale the steps"),
        (mm.Perceptron(warm_start=True), TWO, "the start was not zero"),
    ],
)
def test_where_there_is_no_bound_the_legend_says_why(model, part, why):
    display = MistakesDisplay.from_estimator(quietly(model, X[part], y[part]), X[part], y[part])
    assert display.bound_ is None
    assert any(why in text.replace("\n", " ") for text in legend_text(display.ax_))


@pytest.mark.parametrize(
    ("name", "why"),
    [("touching", "the classes touch (proven)"), ("xor", "the classes overlap (proven)")],
)
def test_the_exact_verdict_says_why_there_is_no_bound(name, why):
    data = mm.datasets.load(name)
    model = quietly(mm.Perceptron(max_iter=10), data.X, data.y)
    display = MistakesDisplay.from_estimator(model, data.X, data.y)
    assert display.bound == np.inf and display.meaning == f"not separable, {why}"


def test_where_floating_point_finds_no_plane_the_proven_one_gives_the_bound():
    thin, sides = [[1.0], [1.0 + 2.0**-52]], [-1, 1]
    for normalize in (False, True):
        model = quietly(mm.Perceptron(max_iter=3, normalize=normalize), thin, sides)
        display = MistakesDisplay.from_estimator(model, thin, sides)
        # padded, R² ≈ 2, and the plane is √2 times nearer than the half of 2⁻⁵²
        assert display.bound == pytest.approx(2.0 / (2.0**-53 / np.sqrt(2.0)) ** 2, rel=1e-9)
        assert display.meaning == "bound R²/γ²"
    far = [[1e120, 0.0], [1e120, 1e-120]]
    model = quietly(mm.Perceptron(max_iter=3), far, sides)
    display = MistakesDisplay.from_estimator(model, far, sides)
    assert display.bound == np.inf and "R²/γ² is beyond doubles" in display.meaning


def test_large_data_is_not_decided_for_a_picture(monkeypatch):
    monkeypatch.setattr("maxmargin.plots.mistakes.MAX_SECONDS", 1e-9)
    model = quietly(mm.Perceptron(), X[OVERLAP], y[OVERLAP])
    display = MistakesDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP])
    assert display.meaning.startswith("no separating plane was found, and there was no time")


def test_one_machine_of_several_is_chosen_by_its_label():
    model = quietly(mm.Perceptron(max_iter=20), X, y)
    display = MistakesDisplay.from_estimator(model, X, y, label=0)
    assert display.mistakes[-1] == model.machines_[0].n_mistakes_
    assert display.bound == mm.mistake_bound(X, y == 0).bound
    assert display.ax_.get_title() == "Perceptron: 0 against all others"
    with pytest.raises(mm.InputError, match=r"one of 3 machines: 0, 1, 2. Got none"):
        MistakesDisplay.from_estimator(model, X, y)
    with pytest.raises(mm.InputError, match=r"Got 'setosa' instead"):
        MistakesDisplay.from_estimator(model, X, y, label="setosa")


def test_a_pair_of_one_vs_one_is_bounded_on_its_own_rows():
    rows = sparse.csr_array(X)
    model = quietly(mm.Perceptron(max_iter=20, multi_class="ovo", record=True), rows, y)
    display = MistakesDisplay.from_estimator(model, rows, y, label=(0, 1))
    assert display.bound == pytest.approx(mm.mistake_bound(X[TWO], y[TWO]).bound)
    assert "1 against 0" in display.ax_.get_title()


def test_only_perceptrons_make_mistakes_with_a_bound():
    for model in (mm.HardMarginSVC(), mm.BatchPerceptron()):
        with pytest.raises(mm.InputError, match="Perceptron or a PocketPerceptron"):
            MistakesDisplay.from_estimator(model.fit(MARKS, PASSED), MARKS, PASSED)


def test_a_stream_without_a_record_has_nothing_to_show():
    model = mm.Perceptron()
    model.learn_one({"a": 1.0}, 1)
    model.learn_one({"a": -1.0}, -1)
    with pytest.raises(mm.InputError, match="record=True"):
        MistakesDisplay.from_estimator(model, [[1.0], [-1.0]], [1, -1])
    with pytest.raises(mm.InputError, match="history of errors"):
        ErrorDisplay.from_estimator(model)


def test_long_stairs_are_drawn_with_few_corners():
    display = MistakesDisplay(np.arange(100_001), np.arange(100_001), np.inf, "none").plot()
    drawn = display.mistakes_.get_xdata()
    assert len(drawn) <= 4_000 and drawn[-1] == 100_000


# Errors


def test_errors_are_those_of_the_history_and_the_last_epoch_is_marked():
    model = mm.Perceptron(stop=mm.stopping.ValidationErrorStalls(3), random_state=0)
    data = load_breast_cancer(return_X_y=True)
    quietly(model, *data)
    display = ErrorDisplay.from_estimator(model)
    history = model.history_
    assert display.training_.get_ydata().tolist() == history["training_error"].tolist()
    assert display.validation_.get_ydata().tolist() == history["validation_error"].tolist()
    assert set(display.stop_.get_xdata()) == {model.n_iter_}
    assert WORDS["validation_error_stalls"] in display.stop_.get_label().replace("\n", " ")
    assert display.running_ is None and display.result_ is None


def test_epochs_that_were_not_measured_are_left_out():
    model = mm.Perceptron(track_error=False).fit(MARKS, PASSED)
    display = ErrorDisplay.from_estimator(model)
    assert display.training_.get_xdata().tolist() == [model.n_iter_]
    assert display.validation_ is None


def test_the_pocket_is_shown_beside_the_running_weights():
    model = mm.PocketPerceptron(300, random_state=0).fit(X[OVERLAP], y[OVERLAP])
    display = ErrorDisplay.from_estimator(model)
    pocket, running = display.training_.get_ydata(), display.running_.get_ydata()
    assert np.all(np.diff(pocket) <= 0) and np.all(pocket <= running)
    assert display.result_.get_offsets()[0].tolist() == [model.n_iter_, model.best_error_]
    assert set(display.least_.get_ydata()) == {model.error_lower_bound_}
    assert np.all(pocket >= model.error_lower_bound_)


def test_the_pocket_of_one_label():
    model = mm.PocketPerceptron(200, random_state=0).fit(X, y)
    display = ErrorDisplay.from_estimator(model, label=1)
    assert display.result == model.best_error_[1]
    assert display.least == model.error_lower_bound_[1]


def test_a_long_run_has_a_logarithmic_axis():
    model = mm.PocketPerceptron(3_000, random_state=0, polish=False).fit(X[OVERLAP], y[OVERLAP])
    assert model.n_iter_ > 500
    assert ErrorDisplay.from_estimator(model).ax_.get_xscale() == "log"
    model = mm.Perceptron().fit(MARKS, PASSED)
    assert ErrorDisplay.from_estimator(model).ax_.get_xscale() == "linear"


def test_reasons_are_words():
    assert in_words("all_correct") == "all training points are correct"
    assert in_words("cycle & max_epochs").endswith(", and the budget of epochs is spent")
    assert in_words("my_rule") == "my rule"


def test_the_reason_stands_beside_the_curves():
    model = mm.Perceptron().fit(MARKS, PASSED)
    ax = ErrorDisplay.from_estimator(model).ax_
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_a_margin_machine_has_no_epochs():
    with pytest.raises(mm.InputError, match="perceptron with a history"):
        ErrorDisplay.from_estimator(mm.HardMarginSVC().fit(MARKS, PASSED))


# The path


def test_errors_along_a_path_and_the_chosen_C():
    train, test = slice(None, None, 2), slice(1, None, 2)
    Cs = [100.0, 0.001, 1.0]
    path = mm.SoftMarginSVC().path(X[train], y[train], Cs)
    display = PathDisplay.from_path(path, X[train], y[train], X[test], y[test])
    errors = {m.C: 1 - m.score(X[test], y[test]) for m in path}
    assert display.Cs.tolist() == sorted(Cs)
    assert display.validation_.get_ydata() == pytest.approx([errors[C] for C in sorted(Cs)])
    assert display.training_.get_ydata()[-1] == pytest.approx(1 - path[0].score(X[train], y[train]))
    assert errors[display.chosen] == min(errors.values())
    assert set(display.chosen_.get_xdata()) == {display.chosen}
    assert display.ax_.get_xscale() == "log" and display.band_ is None


def test_of_equally_good_C_the_smallest_is_chosen_and_all_are_ringed():
    path = mm.SoftMarginSVC().path(X[TWO], y[TWO], [1.0, 10.0, 100.0, 1e-4])
    display = PathDisplay.from_path(path, X[TWO], y[TWO], X[TWO], y[TWO])
    assert display.best.tolist() == [1e-4, 1.0, 10.0, 100.0]
    assert display.chosen == 1e-4
    assert display.ties_.get_xdata().tolist() == display.best.tolist()
    label = display.chosen_.get_label()
    assert "smallest C of 4 equally good ones" in label and "widest margin" in label
    margins = [model.margin_ for model in sorted(path, key=lambda m: m.C)]
    assert np.all(np.diff(margins) <= 1e-9)  # so the smallest has the widest


def test_the_choice_is_that_of_the_cross_validation():
    model = mm.SoftMarginSVCCV(Cs=[1.0, 10.0, 100.0]).fit(X[TWO], y[TWO])
    display = PathDisplay.from_estimator(model)
    assert display.best.tolist() == [1.0, 10.0, 100.0] and display.chosen == model.C_ == 1.0
    assert "smallest C of 3" in display.chosen_.get_label()
    display.chosen = 10.0
    assert "one of 3, equal to rounding" in display.plot().chosen_.get_label()


def test_one_best_C_needs_no_reason():
    folds = np.array([[0.3, 0.1, 0.2]])
    display = PathDisplay(np.array([1.0, 2.0, 3.0]), None, folds, 2.0).plot()
    assert display.ties_ is None and display.chosen_.get_label() == "chosen: C = 2"


def test_small_errors_are_seen_beside_large_ones_and_the_axis_begins_at_0():
    Cs = np.array([0.01, 0.1, 1.0, 10.0])
    display = PathDisplay(Cs, None, np.array([[0.5, 0.1, 0.01, 0.02]]), 1.0).plot()
    ax = display.ax_
    assert ax.get_ylim() == pytest.approx((0.0, 0.55)) and "√" in ax.get_ylabel()
    (_, low), (_, high) = ax.transAxes.inverted().transform(
        ax.transData.transform([(1, 0.01), (1, 0.02)])
    )
    assert low == pytest.approx(np.sqrt(0.01 / 0.55)) and high - low > 0.05
    assert ax.get_yticks()[0] == 0 and ax.get_yticks()[-1] == 0.5
    ax.figure.canvas.draw()
    display = PathDisplay(Cs, None, np.array([[0.05, 0.04, 0.03, 0.03]]), 1.0).plot()
    assert display.ax_.get_yscale() == "linear" and display.ax_.get_ylim() == pytest.approx((0, 0.055))
    assert PathDisplay(Cs, None, np.zeros((1, 4)), 0.01).plot().ax_.get_ylim() == pytest.approx(
        (0, 0.022)
    )


@pytest.mark.parametrize("kind", ["mistakes", "errors", "path"])
def test_in_a_narrow_figure_the_key_is_below(kind):
    figure, ax = plt.subplots(figsize=(4.2, 5.0), layout="constrained")
    model = quietly(mm.Perceptron(max_iter=20), X[OVERLAP], y[OVERLAP])
    if kind == "mistakes":
        MistakesDisplay.from_estimator(model, X[OVERLAP], y[OVERLAP], ax=ax)
    elif kind == "errors":
        ErrorDisplay.from_estimator(model, ax=ax)
    else:
        PathDisplay.from_estimator(mm.SoftMarginSVCCV(Cs=[1.0, 10.0]).fit(X[TWO], y[TWO]), ax=ax)
    figure.canvas.draw()
    key, whole = ax.get_legend().get_window_extent(), figure.bbox
    assert key.y1 < ax.get_window_extent().y0
    assert whole.x0 <= key.x0 and key.x1 <= whole.x1 and key.y0 >= whole.y0
    assert ax.get_window_extent().width > 0.6 * whole.width
    assert ax.title.get_window_extent().x1 <= whole.x1


def test_without_validation_data_nothing_is_chosen():
    path = mm.SoftMarginSVC().path(X, y, [1.0])
    display = PathDisplay.from_path(path, X, y)
    assert display.chosen_ is None and display.validation_ is None
    with pytest.raises(mm.InputError, match="given together"):
        PathDisplay.from_path(path, X, y, X)
    with pytest.raises(mm.InputError, match="at least one"):
        PathDisplay.from_path([], X, y)


def test_cross_validation_shows_mean_and_band():
    model = mm.SoftMarginSVCCV(Cs=[0.01, 1.0, 100.0]).fit(X, y)
    display = PathDisplay.from_estimator(model)
    assert display.validation_.get_ydata() == pytest.approx(1 - model.scores_.mean(axis=0))
    assert set(display.chosen_.get_xdata()) == {model.C_}
    reach = display.band_.get_paths()[0].vertices[:, 1]
    assert reach.max() == pytest.approx(1 - model.scores_.min())
    with pytest.raises(mm.InputError, match="SoftMarginSVCCV"):
        PathDisplay.from_estimator(mm.SoftMarginSVC().fit(X, y))


def test_another_score_is_shown_as_it_is():
    model = mm.SoftMarginSVCCV(Cs=[0.01, 1.0], scoring="f1_macro").fit(X, y)
    display = PathDisplay.from_estimator(model)
    assert display.validation_.get_ydata() == pytest.approx(model.scores_.mean(axis=0))
    assert display.ax_.get_ylabel() == "f1_macro"


def test_displays_draw_on_given_axes():
    _, (a, b, c) = plt.subplots(1, 3)
    model = mm.Perceptron().fit(MARKS, PASSED)
    assert MistakesDisplay.from_estimator(model, MARKS, PASSED, ax=a).ax_ is a
    assert ErrorDisplay.from_estimator(model, ax=b).ax_ is b
    path = mm.SoftMarginSVC().path(X, y, [1.0])
    assert PathDisplay.from_path(path, X, y, ax=c).ax_ is c
