"""x-space pictures: every artist is where the numbers say."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.plots import XSpaceDisplay
from maxmargin.plots.artists import make_room
from maxmargin.plots.data import choose_view, lanes
from maxmargin.plots.geometry import Frame, box_line
from maxmargin.plots.style import class_styles
from maxmargin.plots.x_space import place_normal

mpl.use("Agg")
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def distance(line, other):
    """How far two parallel lines are apart."""
    (x0, x1), (y0, y1) = line.get_data()
    along = np.array([x1 - x0, y1 - y0]) / np.hypot(x1 - x0, y1 - y0)
    gap = np.array([other.get_xdata()[0] - x0, other.get_ydata()[0] - y0])
    return abs(along[0] * gap[1] - along[1] * gap[0])


@pytest.mark.parametrize("columns", [[0, 1], [2, 3], [0, 1, 2, 3]])
def test_edges_are_at_the_distance_of_the_margin(columns):
    model = mm.HardMarginSVC().fit(X[:, columns], Y == 0)
    display = XSpaceDisplay.from_estimator(model, X[:, columns], Y == 0)
    assert len(display.edges_) == 2
    for edge in display.edges_:
        assert distance(display.boundary_, edge) == pytest.approx(model.margin_, rel=1e-9)
    tip, foot = np.array(display.normal_.xy), np.array(display.normal_.get_position())
    assert np.linalg.norm(tip - foot) == pytest.approx(model.margin_, rel=1e-9)
    assert display.wrong_ is None and display.slack_ is None


def test_support_vectors_are_ringed_in_proportion():
    model = mm.HardMarginSVC().fit(X[:, 2:], Y == 0)
    display = XSpaceDisplay.from_estimator(model, X[:, 2:], Y == 0)
    np.testing.assert_array_equal(display.support_.get_offsets(), X[model.support_, 2:])
    alpha = model.dual_[model.support_]
    sizes = display.support_.get_sizes()
    base = display.points_[True].get_sizes()[0]
    np.testing.assert_allclose((sizes - base) / (sizes - base).max(), alpha / alpha.max())


def test_slack_segments_reach_the_edge_and_errors_are_marked():
    model = mm.SoftMarginSVC(C=1.0).fit(X[:, :2], Y == 1)
    display = XSpaceDisplay.from_estimator(model, X[:, :2], Y == 1)
    w, b = model.coef_[0], model.intercept_[0]
    segments = display.slack_.get_segments()
    assert len(segments) == np.count_nonzero(model.slack_)
    for _, end in segments:
        assert abs(w @ end + b) == pytest.approx(1.0, abs=1e-9)
    wrong = np.count_nonzero(model.predict(X[:, :2]) != (Y == 1))
    assert len(display.wrong_.get_offsets()) == wrong > 0


def test_a_slice_shows_the_boundary_at_the_given_point():
    model = mm.SoftMarginSVC().fit(X, Y == 1)
    at = X[Y == 1].mean(axis=0)
    display = XSpaceDisplay.from_estimator(model, X, Y == 1, features=(2, 3), at=at)
    for u in np.transpose(display.boundary_.get_data()):
        point = at.copy()
        point[[2, 3]] = u
        assert model.decision_function([point])[0] == pytest.approx(0.0, abs=1e-9)
    assert display.ax_.get_xlabel() == "x2" and display.ax_.get_ylabel() == "x3"


def test_the_projection_keeps_lengths_along_w():
    w = np.array([1.0, 2.0, -1.0, 0.5])
    view = choose_view(X, w, "projection", None, ("a", "b", "c", "d"))
    np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(2), atol=1e-12)
    flat = view.flat(X)
    np.testing.assert_allclose(flat[:, 0] * np.linalg.norm(w), (X - X.mean(axis=0)) @ w, atol=1e-12)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_regions_are_the_predictions(multi_class):
    model = mm.SoftMarginSVC(multi_class=multi_class).fit(X[:, 2:], NAMES)
    display = XSpaceDisplay.from_estimator(model, X[:, 2:], NAMES)
    codes = np.asarray(display.regions_.get_array()).reshape(300, 300)
    across = [np.linspace(*side, 300) for side in display.box]
    for i, j in ((0, 0), (150, 150), (299, 10), (40, 250)):
        assert model.classes_[int(codes[j, i])] == model.predict([[across[0][i], across[1][j]]])[0]
    assert display.boundary_ is None and list(display.points_) == ["setosa", "versicolor", "virginica"]


def test_points_of_each_class_are_drawn_once():
    model = mm.Perceptron().fit(X, Y == 0)
    display = XSpaceDisplay.from_estimator(model, X, Y == 0)
    assert sum(len(p.get_offsets()) for p in display.points_.values()) == len(X)
    assert not display.edges_ and display.slab_ is None and display.support_ is None


def test_it_draws_again_elsewhere_and_at_every_size():
    import matplotlib.pyplot as plt

    few = XSpaceDisplay.from_estimator(
        mm.Perceptron().fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1]
    )
    _, ax = plt.subplots()
    assert few.plot(ax).ax_ is ax
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30_000, 2))
    model = mm.SoftMarginSVC().fit(Z, Z[:, 0] + 0.1 * rng.standard_normal(len(Z)) > 0)
    many = XSpaceDisplay.from_estimator(model, Z, Z[:, 0] > 0)
    assert many.points_[True].get_sizes()[0] < few.points_[1].get_sizes()[0]


def test_models_and_rows_of_other_kinds():
    other = LinearSVC(loss="hinge", max_iter=100_000, random_state=0).fit(X, Y == 0)
    assert XSpaceDisplay.from_estimator(other, X, Y == 0).boundary_ is not None
    model = mm.HardMarginSVC().fit(sparse.csr_matrix(X), Y == 0)
    assert XSpaceDisplay.from_estimator(model, sparse.csr_matrix(X), Y == 0).support_ is not None
    model = mm.HardMarginSVC().fit(X, Y == 0)
    assert (
        XSpaceDisplay.from_estimator(model, X[::2], Y[::2] == 0).support_ is None
    )  # not its training data


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": (0, 0)}, "two different columns"),
        ({"features": (0, 9)}, "from 0 to 3"),
        ({"features": "pca"}, "projection"),
        ({"features": (0, 1), "at": [1.0]}, "4 finite numbers"),
    ],
)
def test_bad_options_are_refused_in_words(options, words):
    model = mm.HardMarginSVC().fit(X, Y == 0)
    with pytest.raises(mm.InputError, match=words):
        XSpaceDisplay.from_estimator(model, X, Y == 0, **options)


def test_lines_in_a_box():
    box = np.array([[0.0, 2.0], [0.0, 1.0]])
    xs, ys = box_line(np.array([1.0, 0.0]), -0.5, box)
    assert sorted(ys) == [0.0, 1.0] and set(xs) == {0.5}
    assert box_line(np.array([1.0, 0.0]), -5.0, box) is None
    corner = np.array([[0.0, 2e-9], [0.0, 1e-9]]) + 1e6 * np.array([[1.0], [0.0]])
    assert (
        box_line(np.array([1.0, 1.0]), -1e6 - 0.5e-9, np.array([[1e6, 1e6 + 1], [0, 1e-9]])) is not None
    )
    assert box_line(np.array([1.0, 1.0]), -1e6, corner) is None  # it touches a corner


# The cut


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": (2, 3)}, "Slice at x0 = 5.843, x1 = 3.057 (their means)"),
        ({"features": (2, 3), "at": X[0]}, "Slice at x0 = 5.1, x1 = 3.5 (the given point)"),
        (
            {"features": (0, 1), "names": ["a" * 40] * 4},
            "the 2 other features held at their means",
        ),
        ({}, "Cut through the mean of all rows"),
        ({"features": "projection", "at": X[0]}, "Cut through the given point"),
    ],
)
def test_the_caption_says_how_the_plane_was_cut(options, words):
    display = XSpaceDisplay.from_estimator(mm.SoftMarginSVC().fit(X, NAMES), X, NAMES, **options)
    assert words in display.caption_.get_text().replace("\n", " ")


def test_where_nothing_is_cut_there_is_no_caption():
    flat = XSpaceDisplay.from_estimator(mm.SoftMarginSVC().fit(X[:, 2:], NAMES), X[:, 2:], NAMES)
    assert flat.caption_ is None and flat.faded_ is None
    whole = XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(X, Y == 0), X, Y == 0)
    assert whole.caption_ is None and whole.faded_ is None and whole.ax_.get_xlabel() == "along w"


@pytest.mark.parametrize(
    ("multi_class", "name"),
    [("ovr", "along w of setosa against all others"), ("ovo", "along w of versicolor against setosa")],
)
def test_a_projection_of_several_classes_says_whose_w_it_follows(multi_class, name):
    model = mm.SoftMarginSVC(multi_class=multi_class).fit(X, NAMES)
    display = XSpaceDisplay.from_estimator(model, X, NAMES)
    assert display.ax_.get_xlabel() == name
    unit = model.coef_[0] / np.linalg.norm(model.coef_[0])
    np.testing.assert_allclose(display.view.axes[0], unit, atol=1e-12)
    other = LinearSVC(random_state=0, max_iter=100_000).fit(X, NAMES)
    assert XSpaceDisplay.from_estimator(other, X, NAMES).ax_.get_xlabel() == "along w of coef_[0]"


@pytest.mark.parametrize("labels", [NAMES, Y == 1])
@pytest.mark.parametrize("features", [(0, 1), (2, 3)])
def test_points_are_faded_where_the_model_decides_otherwise_than_the_cut(labels, features):
    model = mm.SoftMarginSVC().fit(X, labels)
    display = XSpaceDisplay.from_estimator(model, X, labels, features=features)
    in_cut = np.tile(X.mean(axis=0), (len(X), 1))
    in_cut[:, features] = X[:, features]
    other = model.predict(in_cut) != model.predict(X)
    for label, dots in display.points_.items():
        opacity = dots.get_facecolors()[:, 3]
        mine = other[labels == label]
        assert np.all(opacity[mine] < 0.3) and np.all(opacity[~mine] > 0.8)
    assert f"faded: {np.count_nonzero(other)} off" in display.faded_.get_label()
    assert np.any(other)


def test_data_frames_of_several_classes_are_asked_without_a_warning():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    display = XSpaceDisplay.from_estimator(
        mm.SoftMarginSVC().fit(frame, NAMES), frame, NAMES, features=("pl", "pw")
    )
    assert display.ax_.get_xlabel() == "pl" and "sl = 5.843" in display.caption_.get_text()


# The zoom on a slab that is too thin

CANCER = load_breast_cancer()


def bare(display):
    """The points under the zoom and its words."""
    inverse = display.ax_.transData.inverted()
    display.ax_.figure.canvas.draw()
    box = display.inset_ax_.get_tightbbox()
    (x0, y0), (x1, y1) = inverse.transform([[box.x0, box.y0], [box.x1, box.y1]])
    u = display.flat
    return np.count_nonzero((u[:, 0] > x0) & (u[:, 0] < x1) & (u[:, 1] > y0) & (u[:, 1] < y1))


def test_a_thin_slab_is_seen_in_a_zoom_that_hides_no_point():
    model = mm.HardMarginSVC().fit(CANCER.data, CANCER.target)
    display = XSpaceDisplay.from_estimator(model, CANCER.data, CANCER.target)
    assert 2 * model.margin_ < 0.02 * np.ptp(display.box[0])
    inset = display.inset_ax_
    assert inset.get_xlim() == (-3.0, 3.0) and list(inset.get_xticks()) == [-1, 0, 1]
    shown = np.vstack([dots.get_offsets() for dots in inset.collections if len(dots.get_offsets())])
    f = model.decision_function(CANCER.data)
    low, high = inset.get_ylim()
    for value, height in shown:
        assert np.abs(f - value).min() < 1e-6 and low <= height <= high
    assert len(model.support_) <= np.count_nonzero(np.abs(shown[:, 0]) <= 1 + 1e-4)
    assert bare(display) == 0
    tip, foot = np.array(display.normal_.xy), np.array(display.normal_.get_position())
    assert tip[0] - foot[0] > 0.05 * np.ptp(display.box[0])  # the direction: 1/‖w‖ would not be seen


def test_the_zoom_has_slack_and_mistakes():
    Z = StandardScaler().fit_transform(CANCER.data)
    model = mm.SoftMarginSVC(C=100.0).fit(Z, CANCER.target)
    display = XSpaceDisplay.from_estimator(model, Z, CANCER.target)
    labels = [artist.get_label() for artist in display.inset_ax_.collections]
    assert "slack ξ" in labels and any(label.startswith("misclassified") for label in labels)
    assert display.ax_.get_aspect() == "auto"


def test_a_slab_that_is_seen_needs_no_zoom():
    model = mm.HardMarginSVC().fit(X, Y == 0)
    assert XSpaceDisplay.from_estimator(model, X, Y == 0).inset_ax_ is None
    model = mm.Perceptron().fit(X, Y == 0)
    assert XSpaceDisplay.from_estimator(model, X, Y == 0).inset_ax_ is None


def test_room_for_a_zoom_is_made_in_a_full_picture():
    flat = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30)), axis=-1).reshape(-1, 2)
    frame = Frame(np.array([[0.0, 1.0], [0.0, 1.0]]), True)
    larger, zoom = make_room(flat, np.array([1000.0, 0.0]), -500.0, frame)
    assert np.ptp(larger.box) > 1
    inside = np.all((flat > zoom.taken[:, 0]) & (flat < zoom.taken[:, 1]), axis=1)
    assert not np.any(inside)


# The arrow


def draw(name):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 2))
    iris = {"iris": X[:, 2:], "four": X}.get(name)
    if iris is not None:
        return XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(iris, Y == 0), iris, Y == 0)
    if name == "slice":
        model = mm.HardMarginSVC().fit(X, Y == 0)
        return XSpaceDisplay.from_estimator(model, X, Y == 0, features=(0, 1))
    if name == "far":
        data, labels = np.array([[0, 0], [1, 0], [0.5, 0.2], [2, 50], [3, 50]]), [0, 0, 0, 1, 1]
        return XSpaceDisplay.from_estimator(mm.Perceptron().fit(data, labels), data, labels)
    if name == "weak":
        model = mm.SoftMarginSVC().fit(1e-9 * X[:, :2], Y == 1)
        return XSpaceDisplay.from_estimator(model, 1e-9 * X[:, :2], Y == 1)
    labels = Z[:, 0] + Z[:, 1] > 0
    return XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(Z, labels), Z, labels)


@pytest.mark.parametrize("name", ["iris", "four", "slice", "far", "weak", "thin"])
def test_the_arrow_of_w_is_in_the_picture_and_long_enough(name):
    display = draw(name)
    ends = np.array([display.normal_.get_position(), display.normal_.xy])
    low, high = display.box.T
    assert np.all(ends > low) and np.all(ends < high)
    v, c = display._plane()
    step = ends[1] - ends[0]
    np.testing.assert_allclose(step / np.linalg.norm(step), v / np.linalg.norm(v), atol=1e-9)
    assert np.linalg.norm(step / (high - low)) > 0.05
    if display.boundary_ is not None:
        assert abs(v @ ends[0] + c) < 1e-9 * max(1.0, abs(c))
    else:
        assert any("outside the picture" in t.get_text() for t in display.ax_.get_legend().get_texts())


def test_the_arrow_is_near_the_support_vectors_and_out_of_what_is_taken():
    frame = Frame(np.array([[0.0, 1.0], [0.0, 1.0]]), True)
    v, c, none = np.array([4.0, 0.0]), -2.0, np.empty((0, 2))
    place = {"near": np.array([[0.3, 0.8], [0.7, 0.8]]), "to_edge": True}
    foot, tip = place_normal(v, c, frame, none, **place)
    assert foot == pytest.approx([0.5, 0.8]) and tip == pytest.approx([0.75, 0.8])
    taken = np.array([[0.6, 1.0], [0.5, 1.0]])
    foot, _ = place_normal(v, c, frame, none, **place, taken=taken)
    assert foot[1] < 0.5
    crowd = np.stack([np.linspace(0.5, 0.75, 40), np.full(40, 0.8)], axis=1)
    foot, _ = place_normal(v, c, frame, crowd, **place)
    assert abs(foot[1] - 0.8) > 0.02
    assert place_normal(np.array([0.5, 0.0]), -0.25, frame, none, to_edge=True) is None


# Sizes, names and numbers of every kind


@pytest.mark.parametrize("change", [lambda Z: 1e-9 * Z, lambda Z: 1e9 * Z, lambda Z: 1e6 + Z])
def test_boundary_and_edges_at_every_scale(change):
    Z = change(X[:, 2:])
    model = mm.HardMarginSVC().fit(Z, Y == 0)
    display = XSpaceDisplay.from_estimator(model, Z, Y == 0)
    assert display.ax_.get_aspect() == 1.0 and len(display.edges_) == 2
    for edge in display.edges_:
        assert distance(display.boundary_, edge) == pytest.approx(model.margin_, rel=1e-6)


def test_features_of_very_different_size_both_fill_the_picture():
    Z = X[:, 2:] * [1e-9, 1e9]
    display = XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(Z, Y == 0), Z, Y == 0)
    np.testing.assert_allclose(np.ptp(display.box, axis=1), 1.16 * np.ptp(Z, axis=0))
    assert "not to scale" in " ".join(t.get_text() for t in display.ax_.get_legend().get_texts())


def test_a_constant_feature_is_one_tick():
    Z = np.column_stack([np.full(150, 7.0), 1e4 * X[:, 2]])
    display = XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(Z, Y == 0), Z, Y == 0)
    assert list(display.ax_.get_xticks()) == [7.0]
    assert 0.1 < np.ptp(display.box[0]) < 10


def test_one_feature_has_a_lane_for_each_class():
    model = mm.SoftMarginSVC().fit(X[:, 2:3], NAMES)
    display = XSpaceDisplay.from_estimator(model, X[:, 2:3], NAMES)
    heights = [dots.get_offsets()[:, 1] for dots in display.points_.values()]
    assert heights[0].max() < heights[1].min() and heights[1].max() < heights[2].min()
    assert display.ax_.get_yticks().size == 0
    assert lanes(np.array([0, 1]), 2).tolist() == [-0.5, 0.5]


def test_every_class_has_a_look_of_its_own():
    styles = class_styles(range(90))
    assert len({(style.colour, style.marker) for style in styles}) == 90
    first = class_styles(range(10))
    assert len({style.colour for style in first}) == len({style.marker for style in first}) == 10


LABELS = np.array(["a kind of iris with a name of forty letters", "b" * 40, "c d " * 10])[Y]


@pytest.mark.parametrize(
    "options", [{}, {"features": (0, 1)}, {"features": (2, 3)}, {"features": (1, 3)}]
)
@pytest.mark.parametrize("figsize", [None, (4.2, 4.6), (8.0, 5.0)])
def test_words_are_inside_the_figure_and_beside_the_picture(options, figsize):
    import matplotlib.pyplot as plt

    ax = None if figsize is None else plt.subplots(figsize=figsize, layout="constrained")[1]
    names = ["feature " + "abcd "[k] * 32 for k in range(4)]
    model = mm.SoftMarginSVC().fit(X, LABELS)
    display = XSpaceDisplay.from_estimator(model, X, LABELS, names=names, ax=ax, **options)
    ax, figure = display.ax_, display.ax_.figure
    figure.canvas.draw()
    key, picture, rim = ax.get_legend().get_window_extent(), ax.get_window_extent(), figure.bbox
    assert not key.overlaps(picture)
    for part in (key, ax.title, ax.xaxis.label, ax.yaxis.label, display.caption_):
        box = part.get_window_extent() if part is not key else key
        assert box.x0 >= rim.x0 - 1 and box.x1 <= rim.x1 + 1, part
        assert box.y0 >= rim.y0 - 1 and box.y1 <= rim.y1 + 1, part
    assert not display.caption_.get_window_extent().overlaps(ax.title.get_window_extent())


def test_long_numbers_have_few_ticks():
    Z = X[:, 2:] * [1.0, 1e4]
    display = XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(Z, Y == 0), Z, Y == 0)
    low, high = display.ax_.get_ylim()
    assert (
        3 <= np.count_nonzero((display.ax_.get_yticks() > low) & (display.ax_.get_yticks() < high)) <= 6
    )


def test_dollars_and_underscores_are_letters():
    labels = np.array(["_none", "$5 to $9", "more $$"])[Y]
    display = XSpaceDisplay.from_estimator(
        mm.SoftMarginSVC().fit(X, labels), X, labels, names=["$a$", "_b", "c$", "$d"], features=(0, 1)
    )
    display.ax_.figure.canvas.draw()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[:3] == [r"\$5 to \$9", " _none", r"more \$\$"]
    assert display.ax_.get_xlabel() == r"\$a\$"


def test_displays_are_shown_in_one_line():
    rows, y = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
    display = XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(rows, y), rows, y)
    assert "\n" not in repr(display) and len(repr(display)) < 100
