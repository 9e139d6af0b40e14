"""Pictures of the space of weights: w-space, risk, and the hard margin's constraints."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin import datasets
from maxmargin.plots.geometry import cut_body, cut_polygon, find_cone
from maxmargin.plots.risk import RiskDisplay, perceptron_risk
from maxmargin.plots.w_space import WSpaceDisplay, both_spaces
from maxmargin.plots.weight_space import WeightSpaceDisplay

mpl.use("Agg")
import matplotlib.pyplot as plt

THREE = datasets.load("three-points")
X, Y = THREE.X, THREE.y


@pytest.fixture
def run():
    return mm.Perceptron(fit_intercept=False, record=True).fit(X, Y, coef_init=[[2.0, -3.0]])


def many(n=30_000):
    return datasets.make_separable(n, 2, 0.625, fit_intercept=False)[:2]


def drawn(display):
    display.ax_.figure.canvas.draw()  # what cannot be drawn fails here


def angle(v):
    return np.arctan2(v[1], v[0])


def turns(a, b):
    return (a - b + np.pi) % (2 * np.pi) - np.pi


# w-space


def test_each_point_is_a_line_at_right_angles_to_it(run):
    display = WSpaceDisplay.from_estimator(run, X, Y)
    drawn(display)
    assert len(display.lines_) == len(X)
    for x, line in zip(X, display.lines_, strict=True):
        assert np.allclose(line.get_xydata() @ x, 0)


def test_normals_point_to_the_right_side(run):
    display = WSpaceDisplay.from_estimator(run, X, Y)
    arrows = np.column_stack([display.normals_.U, display.normals_.V])
    signed = np.tile(Y[:, None] * X, (2, 1))
    assert len(arrows) == 2 * len(X)
    assert np.allclose(turns(angle(arrows.T), angle(signed.T)), 0)


def test_the_cone_is_where_all_points_are_right(run):
    display = WSpaceDisplay.from_estimator(run, X, Y)
    start, end = display.cone
    A = Y[:, None] * X
    for t in np.linspace(-np.pi, np.pi, 721) + 1e-4:
        inside = (t - start) % (2 * np.pi) < end - start
        assert inside == bool(np.all(A @ [np.cos(t), np.sin(t)] > 0))
    assert display.cone_.get_path().contains_point(0.01 * np.array([1, 4]))
    assert not display.cone_.get_path().contains_point((0, -0.01))


def test_one_point_has_half_of_the_plane_and_opposite_ones_have_nothing():
    start, end = find_cone(np.array([[0.0, 2.0]]))
    assert end - start == pytest.approx(np.pi) and np.sin(start + end) == pytest.approx(0)
    assert find_cone(np.array([[1.0, 2.0], [-1.0, -2.0]])) is None
    assert find_cone(np.array([[1.0, 2.0], [0.0, 0.0]])) is None
    display = WSpaceDisplay.from_points([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1])
    assert display.cone_ is None and "no w is right" in display.ax_.get_title()


def test_a_zero_row_is_no_line():
    display = WSpaceDisplay.from_points([[1, 1], [0, 0]], [1, -1])
    drawn(display)
    assert len(display.lines_) == 1 and display.cone is None


def test_the_path_is_the_trace_and_the_arrow_ends_at_w(run):
    for display in (
        WSpaceDisplay.from_estimator(run, X, Y),
        WSpaceDisplay.from_trace(run.trace_, X, Y),
        WSpaceDisplay.from_points(X, Y, run.trace_.weights[:, :2]),
    ):
        assert np.array_equal(display.path, run.trace_.weights[:, :2])
        feet = np.column_stack([display.path_.X, display.path_.Y])
        assert np.allclose(feet, display.path[:-1])
        assert np.allclose(display.weights_.xy, run.coef_[0])
        assert display.ax_.get_xlim()[1] > np.abs(display.path).max()


def test_without_a_record_only_the_weights_are_drawn():
    model = mm.Perceptron(fit_intercept=False).fit(X, Y)
    display = WSpaceDisplay.from_estimator(model, X, Y)
    assert display.path_ is None and np.allclose(display.weights_.xy, model.coef_[0])
    bare = WSpaceDisplay.from_points(X, Y)
    assert bare.weights_ is None and bare.ax_.get_xlim() == (-1.0, 1.0)


def test_many_points_are_bundles_with_the_two_lines_that_bound_the_cone():
    data, labels = many()
    display = WSpaceDisplay.from_points(data, labels)
    drawn(display)
    assert [len(bundle.get_segments()) for bundle in display.lines_] == [60, 60]
    ends = [angle(line.get_xydata()[1]) for line in display.bounds_]
    for edge, end in zip(display.cone, ends, strict=True):
        assert abs(np.sin(edge - end)) < 1e-9


def test_a_long_path_is_a_line():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(500, 2)), axis=0)
    display = WSpaceDisplay.from_points(X, Y, walk)
    assert np.array_equal(display.path_.get_xydata(), walk)


def test_both_spaces_give_a_point_and_its_line_one_colour(run):
    for given in (run, run.trace_):
        display = both_spaces(given, X, Y)
        display.x_ax_.figure.canvas.draw()
        lines = display.wspace.lines_
        colours = {mpl.colors.to_hex(line.get_color()) for line in lines}
        assert len(colours) == len(X)
        for shown in display.points_:
            for at, colour in zip(shown.get_offsets(), shown.get_facecolors(), strict=True):
                (row,) = np.flatnonzero(np.all(at == X, axis=1))
                assert mpl.colors.same_color(colour, lines[row].get_color())
        assert np.allclose(display.boundary_.get_xydata() @ run.coef_[0], 0)


def test_both_spaces_on_given_axes_and_with_many_points():
    data, labels = many()
    _, ax = plt.subplots(1, 2)
    model = mm.Perceptron(fit_intercept=False).fit(data, labels)
    display = both_spaces(model, data, labels, ax=ax)
    assert display.x_ax_ is ax[0] and display.w_ax_ is ax[1]
    assert len({tuple(c) for p in display.points_ for c in p.get_facecolors()}) == 2
    with pytest.raises(mm.InputError, match="two axes"):
        display.plot(ax[0])


# risk


def test_the_risk_is_that_of_the_batch_perceptron():
    model = mm.BatchPerceptron(0.05, fit_intercept=False, record=True)
    model.fit(X, Y, coef_init=[[2.0, -3.0]])
    display = RiskDisplay.from_estimator(model, X, Y)
    drawn(display)
    recorded = [-update.margin for update in model.trace_]
    assert np.allclose(display.risk(display.path[:-1]), recorded)
    assert display.risk(display.path[-1:]) == 0
    assert len(display.path) == model.n_iter_ + 1


def test_the_risk_in_blocks_is_the_risk_row_by_row(monkeypatch):
    rng = np.random.default_rng(1)
    A, W = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    plain = [sum(-a @ w for a in A if a @ w < 0) for w in W]
    monkeypatch.setattr("maxmargin.plots.risk.MAX_BLOCK_NUMBERS", 100)
    assert np.allclose(perceptron_risk(A, W), plain)
    assert perceptron_risk(A, np.empty((0, 2))).shape == (0,)


def test_isocontours_lie_at_their_levels_and_bend_at_the_creases():
    display = RiskDisplay.from_points(X, Y)
    drawn(display)
    r = display.ax_.get_xlim()[1]
    seen = 0
    for level, path in zip(display.contours_.levels, display.contours_.get_paths(), strict=True):
        inside = path.vertices[np.abs(path.vertices).max(axis=1) < r]
        seen += len(inside)
        assert np.allclose(display.risk(inside), level, rtol=1e-9)
    assert seen > 100


def test_creases_are_the_lines_of_the_points():
    display = RiskDisplay.from_points(X, Y)
    segments = display.creases_.get_segments()
    assert len(segments) == 2 * len(X)
    for segment in segments:
        assert np.min(np.abs(X @ segment[1]) / np.linalg.norm(segment[1])) < 1e-9


def test_the_surface_carries_its_path(run):
    display = RiskDisplay.from_estimator(run, X, Y, kind="surface")
    drawn(display)
    xs, ys, heights = display.path_.get_data_3d()
    assert np.allclose(display.risk(np.column_stack([xs, ys])), heights)
    assert display.ax_.name == "3d" and display.surface_ is not None and display.cone_ is not None


@pytest.mark.parametrize("kind", ["contour", "surface"])
def test_risk_of_many_overlapping_points(kind):
    display = RiskDisplay.from_points(*datasets.make_overlapping(30_000, 2), kind=kind)
    drawn(display)
    assert display.cone_ is None and display.path_ is None


def test_risk_from_a_trace_on_given_axes(run):
    _, ax = plt.subplots()
    display = RiskDisplay.from_trace(run.trace_, X, Y, ax=ax)
    assert display.ax_ is ax and len(display.path_.X) == len(run.trace_)


# weight space with a bias


@pytest.fixture
def machine():
    return mm.HardMarginSVC().fit(X, Y)


def test_planes_hold_their_constraints_with_equality(machine):
    display = WeightSpaceDisplay.from_estimator(machine, X, Y)
    drawn(display)
    assert list(display.planes_) == [0, 1, 2]  # in this order in the key, too
    for row in display.planes_:
        (sheet,) = [c for tag, c in cut_body(display.constraints[[row]], display.box) if tag == 0]
        assert np.allclose(Y[row] * (sheet[:, :2] @ X[row] + sheet[:, 2]), 1)
    assert np.allclose(np.ravel(display.optimum_.get_data_3d()), np.array([1, 4, -5]) / 17)
    ring = np.array(display.rim_.get_data_3d())
    assert np.allclose(np.hypot(ring[0], ring[1]), 1 / machine.margin_)


def test_faces_are_feasible_and_the_optimum_is_the_nearest_corner(machine):
    display = WeightSpaceDisplay.from_estimator(machine, X, Y)
    corners = np.vstack([ring for _, ring in cut_body(display.constraints, display.box)])
    assert np.all(display.constraints @ corners.T >= 1 - 1e-9)
    lengths = np.hypot(corners[:, 0], corners[:, 1])
    assert lengths.min() == pytest.approx(1 / machine.margin_)
    assert np.allclose(corners[np.argmin(lengths)], np.array([1, 4, -5]) / 17)


def test_the_body_has_the_volume_that_counting_finds():
    rng = np.random.default_rng(2)
    A, box = rng.normal(size=(12, 3)) / 2, np.array([[0.0, 3.0], [-2.0, 2.0], [-1.0, 2.0]])
    A[:, 0] += 1.5
    faces = cut_body(A, box)
    middle = np.vstack([ring for _, ring in faces]).mean(axis=0)
    volume = 0.0
    for _, ring in faces:
        p = ring - middle
        volume += sum(abs(np.linalg.det(p[[0, k, k + 1]])) / 6 for k in range(1, len(p) - 1))
    points = rng.uniform(box[:, 0], box[:, 1], size=(200_000, 3))
    share = np.mean(np.all(points @ A.T >= 1, axis=1))
    assert volume == pytest.approx(36 * share, rel=0.02)


def test_the_section_at_the_optimum_is_the_default(machine):
    display = WeightSpaceDisplay.from_estimator(machine, X, Y, kind="section")
    drawn(display)
    assert "0.05882" in display.ax_.get_title()
    assert np.allclose(display.optimum_.get_xydata(), [[4 / 17, -5 / 17]])
    corners = display.region_.get_xy()
    Z = np.column_stack([np.full(len(corners), 1 / 17), corners])
    assert np.all(display.constraints @ Z.T >= 1 - 1e-9)
    for row, line in display.planes_.items():
        ends = np.column_stack([np.full(2, 1 / 17), line.get_xydata()])
        assert np.allclose(ends @ display.constraints[row], 1)
    assert display.rim_[0].get_xdata()[0] == pytest.approx(4 / 17)
    assert list(display.planes_) == [0, 1, 2]


def test_another_section_shows_its_own_nearest_weights(machine):
    display = WeightSpaceDisplay.from_estimator(machine, X, Y).plot(kind="section", w1=0.15)
    assert display.optimum_ is None
    (w2, b) = display.nearest_.get_xydata()[0]
    assert np.all(display.constraints @ [0.15, w2, b] >= 1 - 1e-9)
    assert np.hypot(0.15, w2) > 1 / machine.margin_
    assert np.abs(display.region_.get_xy()[:, 0]).min() == pytest.approx(abs(w2))
    assert display.rim_[0].get_xdata()[0] == pytest.approx(np.sqrt(1 / 17 - 0.15**2))
    assert display.plot(kind="section", w1=1.0).rim_ is None


def test_a_small_feasible_part_is_seen_from_near():
    marks = datasets.load("more-marks")
    model = mm.HardMarginSVC().fit(marks.X, marks.y)
    display = WeightSpaceDisplay.from_estimator(model, marks.X, marks.y, kind="section")
    assert np.ptp(display.ax_.get_xlim()) < 0.5 * np.ptp(display.box[1])
    width = np.ptp(display.region_.get_xy()[:, 0])
    assert width > 0.3 * np.ptp(display.ax_.get_xlim())


@pytest.mark.parametrize("kind", ["3d", "section"])
@pytest.mark.parametrize("name", ["opposite", "exam-marks", "off-origin", "thin", "collinear"])
def test_weight_space_of_the_examples(name, kind):
    data = datasets.load(name)
    model = mm.HardMarginSVC().fit(data.X, data.y)
    display = WeightSpaceDisplay.from_estimator(model, data.X, data.y, kind=kind)
    drawn(display)
    assert len(set(model.support_) & set(display.planes_)) >= 2
    assert {data.y[row] for row in display.planes_} == {-1, 1}
    assert display.region_ is not None and display.optimum_ is not None


def test_weight_space_of_many_points_draws_few():
    data, labels, _ = datasets.make_separable(30_000, 2, 0.25)
    model = mm.HardMarginSVC().fit(data, labels)
    display = WeightSpaceDisplay.from_estimator(model, data, labels)
    drawn(display)
    assert set(model.support_) <= set(display.rows) and len(display.rows) <= 8
    assert len(display.planes_) <= 6


def test_a_polygon_with_nothing_left_is_empty():
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert len(cut_polygon(np.array([[1.0, 0.0]]), np.array([-2.0]), box)) == 0
    assert len(cut_polygon(np.array([[1.0, 1.0]]), np.array([-0.5]), box)) == 5
    assert cut_body(np.array([[0.1, 0.0, 0.0]]), np.array([[0.0, 1.0]] * 3)) == []


# names, shared lines, long paths, narrow figures


NAMES = ("petal length", "petal width")


def test_the_names_of_features_stand_beside_their_weights(run, machine):
    said = ["w₁ (petal length)", "w₂ (petal width)"]
    for display in (
        WSpaceDisplay.from_estimator(run, X, Y, names=NAMES),
        WSpaceDisplay.from_points(X, Y, names=NAMES),
        WSpaceDisplay.from_trace(run.trace_, X, Y, names=NAMES),
        RiskDisplay.from_estimator(run, X, Y, names=NAMES),
        RiskDisplay.from_points(X, Y, names=NAMES, kind="surface"),
        RiskDisplay.from_trace(run.trace_, X, Y, names=NAMES),
        WeightSpaceDisplay.from_estimator(machine, X, Y, names=NAMES),
    ):
        drawn(display)
        assert [display.ax_.get_xlabel(), display.ax_.get_ylabel()] == said
    section = WeightSpaceDisplay.from_estimator(machine, X, Y, names=NAMES, kind="section").ax_
    assert [section.get_xlabel(), section.get_ylabel()] == [said[1], "b"]
    assert said[0] in section.get_title()
    assert WSpaceDisplay.from_points(X, Y).ax_.get_xlabel() == "w₁"
    with pytest.raises(mm.InputError, match=r"2 names. Got 1"):
        WSpaceDisplay.from_points(X, Y, names=["one"])


def test_a_dollar_in_a_name_or_label_is_a_dollar(run, machine):
    labels = np.where(Y > 0, "$5 to $9", "less")
    for display in (
        WSpaceDisplay.from_points(X, labels, names=["$a$", "b"]),
        RiskDisplay.from_points(X, labels, names=["$a$", "b"], kind="surface"),
        WeightSpaceDisplay.from_estimator(machine, X, Y, names=["$a$", "b"]),
    ):
        drawn(display)
        assert display.ax_.get_xlabel() == r"w₁ (\$a\$)"
    texts = [line.get_label() for line in WSpaceDisplay.from_points(X, labels).lines_]
    assert r"row 0: \$5 to \$9" in texts


def test_rows_that_share_a_line_of_the_section_share_its_entry():
    data = datasets.load("thin")
    model = mm.HardMarginSVC().fit(data.X, data.y)
    display = WeightSpaceDisplay.from_estimator(model, data.X, data.y, kind="section")
    lines = {id(line): line for line in display.planes_.values()}
    assert len(lines) == 2 < len(display.planes_)
    assert {line.get_label()[:5] for line in lines.values()} == {"rows "}
    for row, line in display.planes_.items():
        ends = np.column_stack([np.full(2, model.coef_[0, 0]), line.get_xydata()])
        assert np.allclose(ends @ display.constraints[row], 1)


def test_a_very_long_path_is_thinned_and_says_so():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(2_001, 2)), axis=0)
    display = WSpaceDisplay.from_points(X, Y, walk)
    shown = display.path_.get_xydata()
    assert len(shown) == 501 and np.array_equal(shown[[0, -1]], walk[[0, -1]])
    assert "2,000 steps,\none in 4 drawn" in display.path_.get_label()
    display = RiskDisplay.from_points(X, Y, kind="surface", path=walk)
    assert len(display.path_.get_data_3d()[0]) == 501


def test_the_surface_lies_under_all_of_its_path():
    display = RiskDisplay.from_points(X, Y, kind="surface", path=[[0, 0], [3, 3]])
    assert display.reach > 3 * np.sqrt(2)


@pytest.mark.parametrize(("scale", "said"), [(1e-8, "in 1e7"), (1e9, "in 1e−10"), (1.0, "w₁")])
def test_powers_of_ten_stand_in_the_names_of_solid_axes(scale, said):
    model = mm.HardMarginSVC().fit(scale * X, Y)
    display = WeightSpaceDisplay.from_estimator(model, scale * X, Y)
    drawn(display)
    assert display.ax_.get_xlabel().endswith(said)
    assert all(len(text.get_text()) <= 5 for text in display.ax_.get_xticklabels())


@pytest.mark.parametrize("kind", ["w-space", "risk", "surface", "3d", "section"])
def test_in_a_narrow_figure_the_key_is_below(run, machine, kind):
    figure = plt.figure(figsize=(4.2, 5.0), layout="constrained")
    ax = figure.add_subplot(projection="3d" if kind in ("surface", "3d") else None)
    if kind == "w-space":
        WSpaceDisplay.from_estimator(run, X, Y, names=NAMES, ax=ax)
    elif kind in ("risk", "surface"):
        kind = "contour" if kind == "risk" else kind
        RiskDisplay.from_estimator(run, X, Y, names=NAMES, kind=kind, ax=ax)
    else:
        WeightSpaceDisplay.from_estimator(machine, X, Y, names=NAMES, kind=kind, ax=ax)
    figure.canvas.draw()
    key, whole = ax.get_legend().get_window_extent(), figure.bbox
    assert key.y1 <= ax.get_window_extent().y0
    assert whole.x0 <= key.x0 and key.x1 <= whole.x1 and key.y0 >= whole.y0


# what cannot be drawn


def with_bias():
    return mm.Perceptron(record=True).fit(X, Y)


def flat_axes():
    return plt.subplots()[1]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: WSpaceDisplay.from_estimator(with_bias(), X, Y), "fit_intercept=False"),
        (lambda: WSpaceDisplay.from_trace(with_bias().trace_, X, Y), "fit_intercept=False"),
        (lambda: RiskDisplay.from_estimator(with_bias(), X, Y), "fit_intercept=False"),
        (lambda: both_spaces(with_bias(), X, Y), "fit_intercept=False"),
        (lambda: WSpaceDisplay.from_points(np.eye(3), [0, 1, 1]), "two features"),
        (lambda: RiskDisplay.from_points(X, [0, 1, 2]), "two classes"),
        (lambda: WSpaceDisplay.from_points(X, Y, [[1, 2, 3]]), "from_trace"),
        (lambda: WSpaceDisplay.from_points(X, Y, [[np.nan, 2]]), "finite"),
        (lambda: WSpaceDisplay.from_estimator(SVC().fit(X, Y), X, Y), "coef_"),
        (lambda: RiskDisplay.from_points(X, Y, kind="map"), "'contour', 'surface'"),
        (lambda: RiskDisplay.from_points(X, Y, kind="surface", ax=flat_axes()), "three-dimensional"),
        (lambda: WeightSpaceDisplay.from_estimator(with_bias(), X, Y), "HardMarginSVC"),
        (
            lambda: WeightSpaceDisplay.from_estimator(
                mm.HardMarginSVC(fit_intercept=False).fit(X, Y), X, Y
            ),
            "WSpaceDisplay",
        ),
        (
            lambda: WeightSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(X, Y), X[:2], Y[:2]),
            "the 3 training rows",
        ),
        (
            lambda: WeightSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(X, Y), X, Y, w1=1.0),
            "section",
        ),
        (
            lambda: WeightSpaceDisplay.from_estimator(
                mm.HardMarginSVC().fit(X, Y), X, Y, ax=flat_axes()
            ),
            "three-dimensional",
        ),
        (
            lambda: WeightSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(X, Y), X, Y, kind="2d"),
            "'3d', 'section'",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, said):
    with pytest.raises(mm.InputError, match="instead") as error:
        draw()
    assert said in str(error.value)
