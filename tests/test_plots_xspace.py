"""x-space pictures: every artist is where the numbers say."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.plots import XSpaceDisplay
from maxmargin.plots.view import choose_view
from maxmargin.plots.xspace import box_line

mpl.use("Agg")
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


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
