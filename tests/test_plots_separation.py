"""The proven plane with its margin, or the witness in the hulls."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import maxmargin as mm
from maxmargin.plots.geometry import hull
from maxmargin.plots.separability import SeparabilityDisplay

mpl.use("Agg")
import matplotlib.pyplot as plt

X, y = load_iris(return_X_y=True)
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
TOUCHING = (
    [[0, 0], [1, 0], [2, 0], [0, 1], [1, 2], [0.5, -1], [1.5, 0], [2, -2]],
    [1, 0, 1, 1, 1, 0, 0, 0],
)
APART = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]


@pytest.fixture(scope="module")
def iris():
    return mm.separability(X, y)


def places(dots):
    return np.asarray(dots.get_offsets())


def show(data, **options):
    verdict = mm.separability(*data, **options)
    return verdict, SeparabilityDisplay.from_verdict(verdict, *data)


def inside(corners, point):
    """Whether a point is in a convex polygon whose corners go round one way (or on a segment)."""
    turns = np.roll(corners, -1, axis=0) - corners
    to = point - corners
    cross = turns[:, 0] * to[:, 1] - turns[:, 1] * to[:, 0]
    return np.all(cross >= -1e-9) or np.all(cross <= 1e-9)


def test_separable_edges_are_at_the_certified_margin():
    verdict, display = show(APART)
    assert len(display.edges_) == 2
    unit = verdict.w / np.linalg.norm(verdict.w)
    for edge in display.edges_:
        far = np.abs(edge.get_xydata() @ unit + verdict.b / np.linalg.norm(verdict.w))
        assert far == pytest.approx(verdict.margin[0])
    assert display.near.tolist() == [1, 2]
    assert places(display.nearest_).tolist() == [[1, 0], [3, 0]]
    assert display.hulls_ == {} and display.common_ is None and display.on_plane_ is None
    assert display.ax_.get_title() == "Separable (complete separation)"


def test_separable_in_four_dimensions_is_undistorted(iris):
    verdict = iris.rest[0]
    display = SeparabilityDisplay.from_verdict(verdict, X, y)
    low, high = sorted(edge.get_xdata()[0] for edge in display.edges_)
    assert high - low == pytest.approx(2 * verdict.margin[0])
    across = display.flat[:, 0]
    assert not np.any((across > low + 1e-9) & (across < high - 1e-9))
    assert set(display.points_) == {"all others", 0}
    assert np.ptp(places(display.nearest_)[:, 0]) == pytest.approx(high - low)


def test_touching_rows_on_the_weak_plane_are_marked():
    verdict, display = show(TOUCHING)
    assert verdict.kind == "touching"
    marked = places(display.on_plane_)
    assert marked.tolist() == np.asarray(TOUCHING[0], float)[verdict.on_plane].tolist()
    assert marked @ verdict.w + verdict.b == pytest.approx(0)
    assert display.plane_.get_xydata() @ verdict.w + verdict.b == pytest.approx(0)
    assert display.edges_ == [] and display.nearest_ is None
    assert "quasi-complete separation" in display.ax_.get_title()


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_hulls_contain_the_common_point(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(40, 2)), np.arange(40) % 2
    verdict, display = show((rows, labels))
    point = places(display.common_)[0]
    assert point == pytest.approx(verdict.witness.point)
    for label, outline in display.hulls_.items():
        corners = outline.get_xydata()[:-1]
        assert inside(corners, np.asarray(point))
        assert all(inside(corners, row) for row in rows[labels == label])


def test_witness_areas_grow_with_the_weights_and_lines_meet():
    verdict, display = show(([[0.0, 0], [4, 0], [1, 0], [9, 9]], [0, 0, 1, 1]))
    witness = verdict.witness
    weights = np.array([float(weight) for weight in witness.negative_weights])
    areas = display.witness_[0].get_sizes()
    assert areas - 30 == pytest.approx((areas - 30).sum() * weights)
    assert places(display.witness_[0]).tolist() == [[0, 0], [4, 0]]
    ends = [segment[-1].tolist() for bundle in display.lines_ for segment in bundle.get_segments()]
    assert len(ends) == len(witness.rows) and all(end == [1, 0] for end in ends)


def test_a_pair_of_classes_counts_rows_as_the_data_does(iris):
    verdict = iris.pairs[1, 2]
    display = SeparabilityDisplay.from_verdict(verdict, X, y)
    assert len(display.flat) == 100
    rows = X[verdict.witness.positive]
    assert places(display.witness_[2]) == pytest.approx(display.view.flat(rows))
    means = X[y == 2].mean(axis=0) - X[y == 1].mean(axis=0)
    assert display.view.axes[0] == pytest.approx(means / np.linalg.norm(means))
    for outline in display.hulls_.values():
        assert inside(outline.get_xydata()[:-1], display.common)


def test_two_features_of_four(iris):
    display = SeparabilityDisplay.from_verdict(iris.pairs[1, 2], X, y, features=(2, 3))
    assert display.flat.tolist() == X[50:, 2:].tolist()
    assert display.common == pytest.approx(iris.pairs[1, 2].witness.point[2:])
    verdict = iris.rest[0]
    here, there = (
        SeparabilityDisplay.from_verdict(verdict, X, y, features=(2, 3), at=at) for at in (None, X[0])
    )
    ends = there.plane_.get_xydata()
    whole = np.hstack([np.tile(X[0, :2], (2, 1)), ends])
    assert whole @ verdict.w + verdict.b == pytest.approx(0)
    assert not np.allclose(ends, here.plane_.get_xydata())


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 0, 1, 1, 0]])
def test_one_feature_has_lanes(labels):
    rows = [[0.0], [1.0], [2.0], [3.0], [2.5]]
    verdict, display = show((rows, labels))
    assert display.flat[:, 0].tolist() == np.ravel(rows).tolist()
    assert np.all(np.sign(display.flat[:, 1]) == display.signs)
    if verdict.separable:
        assert {tuple(edge.get_xdata()) for edge in display.edges_} == {(1.0, 1.0), (2.0, 2.0)}
    else:
        x = display.common[0]
        assert all(
            line.get_xdata().min() <= x <= line.get_xdata().max() for line in display.hulls_.values()
        )
    assert display.ax_.get_yticks().size == 0


@pytest.mark.parametrize(
    ("rows", "corners"),
    [
        ([[1, 1], [1, 1]], 1),
        ([[0, 0], [1, 2], [2, 4]], 2),
        ([[0, 0], [1, 0], [0, 1], [0.2, 0.2]], 3),
        ([[0, 0], [1e-9, 1e9], [2e-9, 3e9]], 2),
    ],
)
def test_hulls_of_any_rank(rows, corners):
    assert len(hull(np.array(rows, float))) == corners


def test_the_same_row_in_both_classes():
    verdict, display = show(([[0, 0], [0, 0], [5, 5], [5, 5]], [0, 1, 1, 0]))
    assert verdict.kind == "overlapping"
    assert len(display.hulls_[0].get_xydata()) == 3  # a segment, there and back


@pytest.mark.parametrize("rows", [[[1.0, 0], [-2, 0.5], [0, 1]], [[1.0, 0], [-2, 0], [0, 1]]])
def test_through_the_origin_sums_are_equal_and_hulls_say_nothing(rows):
    _, display = show((rows, [1, 1, 0]), fit_intercept=False)
    assert display.hulls_ == {}
    ends = [segment[-1].tolist() for bundle in display.lines_ for segment in bundle.get_segments()]
    assert ends and all(end == [0, 0] for end in ends)


def test_many_points():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30_000, 2))
    labels = rows[:, 0] + rng.normal(size=30_000) > 0
    verdict, display = show((rows, labels))
    assert len(verdict.witness.rows) <= 4
    assert sum(len(dots.get_offsets()) for dots in display.points_.values()) == 30_000


def test_units_are_equal_unless_nothing_would_be_seen():
    _, display = show(XOR)
    assert display.ax_.get_aspect() == 1.0
    _, display = show(([[0, 0], [1, 1000], [2, 0], [3, 1000]], [0, 0, 1, 1]))
    assert display.ax_.get_aspect() == "auto"


def test_verdicts_on_several_classes_and_other_data_are_refused(iris):
    with pytest.raises(mm.InputError, match=r"verdict.rest\[label\]"):
        SeparabilityDisplay.from_verdict(iris, X, y)
    with pytest.raises(mm.InputError, match=r"with 4 features. Got 2"):
        SeparabilityDisplay.from_verdict(iris.rest[0], X[:, :2], y)
    with pytest.raises(mm.InputError, match="labels of the verdict, 2 and 1"):
        SeparabilityDisplay.from_verdict(iris.pairs[1, 2], X[:100], y[:100])


def test_it_draws_on_given_axes():
    _, ax = plt.subplots()
    verdict = mm.separability(*XOR)
    assert SeparabilityDisplay.from_verdict(verdict, *XOR, ax=ax).ax_ is ax


def sides(d, gap):
    """Two classes of d features, apart, touching or overlapping along the first."""
    rng = np.random.default_rng(d)
    labels = np.arange(10 * d + 20) % 2
    rows = rng.normal(size=(len(labels), d))
    if gap is not None:
        rows[:, 0] = (2 * labels - 1) * (np.abs(rows[:, 0]) + 0.1 + gap)
    if gap == 0.0:
        rows[:2] = rows[:2] * ([0.0] + [1.0] * (d - 1))  # on the plane,
        rows[1] = rows[0]  # and the same point
    return rows, labels


@pytest.mark.parametrize("d", [1, 2, 3, 30])
@pytest.mark.parametrize(("gap", "kind"), [(0.5, "separable"), (0.0, "touching"), (None, "overlapping")])
def test_every_verdict_in_every_dimension(d, gap, kind):
    rows, labels = sides(d, gap)
    verdict, display = show((rows, labels))
    assert verdict.kind == kind
    display.ax_.figure.canvas.draw()
    assert not display.ax_.get_legend().get_window_extent().overlaps(display.ax_.get_window_extent())
    if kind == "separable":
        assert display.plane_ is not None and len(display.edges_) == 2
        return
    assert (display.plane_ is not None) == (kind == "touching")
    assert sum(len(places(dots)) for dots in display.witness_.values()) <= d + 2
    if d > 1:
        for outline in display.hulls_.values():
            assert inside(outline.get_xydata()[:-1], display.common)


def test_a_margin_too_thin_is_seen_in_a_zoom():
    data = load_breast_cancer()
    verdict, display = show((data.data, data.target))
    inset = display.inset_ax_
    assert "in margins" in inset.get_title() and inset.get_xlim() == (-3.0, 3.0)
    rings = [dots for dots in inset.collections if len(dots.get_facecolors()) == 0]
    marked = np.vstack([places(dots) for dots in rings if len(places(dots))])
    assert sorted(marked[:, 0]) == pytest.approx([-1, 1], abs=1e-3)
    assert verdict.margin[0] < 0.01 * np.ptp(display.box[0])
    _, display = show(APART)
    assert display.inset_ax_ is None


def test_only_a_plane_is_cut(iris):
    display = SeparabilityDisplay.from_verdict(iris.rest[0], X, y, features=(2, 3))
    assert "x0 = 5.843" in display.caption_.get_text()
    display = SeparabilityDisplay.from_verdict(iris.pairs[1, 2], X, y, features=(2, 3))
    assert display.caption_ is None  # hulls are seen whole
    assert SeparabilityDisplay.from_verdict(iris.rest[0], X, y).caption_ is None


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e-150, 1e150])
def test_planes_of_small_and_large_numbers_are_drawn(scale):
    rows = scale * X[:, 2:]
    verdict, display = show((rows, y == 0))
    assert display.plane_ is not None and len(display.edges_) == 2
    far = [abs(edge.get_xydata() / scale @ verdict.w + verdict.b / scale) for edge in display.edges_]
    length = np.abs(verdict.w).max() * np.linalg.norm(verdict.w / np.abs(verdict.w).max())
    assert np.array(far) / length == pytest.approx(verdict.margin[0] / scale)


def test_a_constant_feature_has_one_tick():
    _, display = show((np.column_stack([X[:, 2], np.full(150, 7.0)]), y == 0))
    assert list(display.ax_.get_yticks()) == [7.0] and display.plane_ is not None


def test_long_labels_leave_room_for_the_picture():
    labels = np.array(["one kind of iris with a very long name .....", "b" * 44])[(y == 2) * 1]
    _, display = show((X[:, :2], labels))
    display.ax_.figure.canvas.draw()
    figure, key = display.ax_.figure.bbox, display.ax_.get_legend().get_window_extent()
    assert key.x1 <= figure.x1 and display.ax_.get_window_extent().width > 0.4 * figure.width
