"""A run as a film: how many frames, how long, what they say, and files that open again."""

import json
import math
import re
import shutil
import stat
import subprocess
import sys
from html import unescape
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import maxmargin as mm
from maxmargin import datasets
from maxmargin.core.history import Trace, Update
from maxmargin.plots.data import choose_view, read_points
from maxmargin.plots.film.animation import animate
from maxmargin.plots.film.captions import make_stills, number, vector
from maxmargin.plots.film.frames import Painter
from maxmargin.plots.geometry import find_cone
from maxmargin.plots.w_space import both_spaces

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")

SMALL = {"dpi": 40}  # quick to draw


def overlapping(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    X = rng.normal(size=(n, d))
    X[:, 0] += y
    return np.round(X, 2), y


def recorded(X, y, **options):
    return mm.Perceptron(record=True, **options).fit(X, y)


@pytest.fixture(scope="module")
def marks():
    X, y = [[90, 80], [40, 30], [50, 40]], ["passed", "failed", "failed"]
    return X, y, recorded(X, y).trace_


@pytest.fixture(scope="module")
def long_run():
    X, y = overlapping()
    return X, y, recorded(X, y, fit_intercept=False, eta0=0.5, max_iter=100).trace_


def numbers(text):
    return [float(t.replace("−", "-")) for t in re.findall(r"[+−]?\d+(?:\.\d+)?(?:e−?\d+)?", text)]


def test_ten_updates_pass_slowly_the_next_hundred_fast_and_the_rest_is_left_out(long_run):
    X, y, trace = long_run
    assert len(trace) > 200
    film = animate(trace, X, y)
    assert film.frames == len(film) == len(film.durations) == len(film.captions) == 113
    assert film.durations == [1.0] * 11 + [0.08] * 100 + [1.0, 2.0]
    assert f"update {len(trace)} of {len(trace)}" in film.captions[-2][0]
    assert film.captions[-2][1].startswith(f"{len(trace) - 111} updates left out before this one. ")
    assert not any("left out" in line for c in film.captions[:-2] for line in c)
    assert repr(film) == "Animation(113 frames, 22 seconds)"


def test_speeds_and_counts_can_be_chosen(long_run):
    X, y, trace = long_run
    film = animate(trace, X, y, slow=2, fast=3, seconds_slow=0.5, seconds_fast=0.1)
    assert film.durations == [0.5] * 3 + [0.1] * 3 + [0.5, 1.0]
    film = animate(trace, X, y, slow=2, fast=3, frames=6)
    assert film.durations == [1.0] * 3 + [0.08] * 4 + [1.0, 2.0]
    film = animate(trace, X, y, slow=4, frames=2)
    assert film.durations == [1.0] * 3 + [1.0, 2.0]
    film = animate(trace[:7], X, y, slow=2)
    assert film.durations == [1.0] * 3 + [0.08] * 5 + [2.0]
    assert animate(trace[:3], X, y, title="My run").captions[1][0].startswith("My run · update 1 of 3")


def test_the_arithmetic_of_every_step_adds_up(long_run):
    X, y, trace = long_run
    film = animate(trace, X, y)
    for k, (update, caption) in enumerate(zip(trace[:110], film.captions[1:], strict=False)):
        head, hand, step = caption
        assert f"update {k + 1} of" in head and f"· {k + 1} mistake" in head
        assert int(re.search(r"row (\d+)", hand)[1]) == update.row
        assert int(re.search(r"Step (\d+)", hand)[1]) == update.step
        before = trace[k - 1].weights if k else trace.start
        said = numbers(hand.split("y·f(x)")[1])[0]
        assert math.isclose(
            said, y[update.row] * (X[update.row] @ before[:2]), rel_tol=1e-3, abs_tol=1e-9
        )
        w0, w1, eta, sign, x0, x1, v0, v1 = numbers(step)
        assert (eta, sign, x0, x1) == (0.5, y[update.row], *X[update.row])
        np.testing.assert_allclose([v0, v1], update.weights[:2], rtol=6e-4, atol=1e-12)
        np.testing.assert_allclose([w0 + eta * sign * x0, w1 + eta * sign * x1], [v0, v1], atol=2e-3)
        left = np.count_nonzero(y * (X @ update.weights[:2]) <= 0)
        assert f"{left} of 60 rows misclassified" in head


def test_the_bias_has_a_line_of_its_own(marks):
    X, y, trace = marks
    film = animate(trace, X, y)
    assert film.frames == len(trace) + 2
    assert film.captions[0][1] == "w = (0, 0): no boundary yet"
    assert film.captions[5][1:] == (
        "Step 7: row 0, label passed (y = +1), y·f(x) = −5202 before the update",
        "w = (−40, −20) + (+1)·(90, 80) = (50, 60)",
        "b = −2 + (+1) = −1",
    )
    assert film.captions[-1][1] == "w = (−40, 50), b = −9: every row is on its side"


def test_numbers_are_short_and_say_so_when_rounded():
    assert [number(v) for v in (0.0, -0.0, 3.0, -2.5, 123456.0, 1 / 3, 0.1 + 0.2)] == (
        ["0", "0", "3", "−2.5", "123456", "0.3333", "0.3"]
    )
    assert number(1.23456e-9) == "1.235e−9" and number(-1.5e12) == "−1.5e12"
    assert vector(np.array([1.0, -2.0])) == "(1, −2)"
    assert vector(np.arange(5.0)) == "(0, 1, 2, …)"
    X = [[1 / 3, 1.0], [-1.0, 0.5]]
    caption = animate(recorded(X, [1, 0], fit_intercept=False).trace_, X, [1, 0]).captions[1]
    assert caption[2] == "w ≈ (0, 0) + (+1)·(0.3333, 1) ≈ (0.3333, 1)"


def test_factors_on_a_row_are_part_of_the_step():
    X, y = overlapping(d=3)
    trace = recorded(X, y, normalize=True).trace_
    caption = animate(trace, X, y).captions[1]
    eta = 1 / np.sqrt(1 + X[0] @ X[0])
    assert f"{number(eta)}·(" in caption[2] and f"{number(eta)}·(" in caption[3]


def test_a_batch_step_is_one_arrow_of_all_wrong_rows():
    X, y = np.array([[1, 2], [2, -1], [-3, 1], [-1, -2], [1, -3]]), np.array([1, 1, -1, -1, 1])
    model = mm.BatchPerceptron(step=0.5, fit_intercept=False, record=True).fit(X, y)
    film = animate(model.trace_, X, y)
    assert film.frames == len(model.trace_) + 2
    for k, update in enumerate(model.trace_):
        before = model.trace_[k - 1].weights if k else model.trace_.start
        wrong = np.flatnonzero(y * (X @ before[:2]) <= 0)
        many = f"the {len(wrong)} wrong rows pull together" if len(wrong) > 1 else "the wrong row pulls"
        assert f"Step {update.step}: {many}; risk" in film.captions[k + 1][1]
        w0, w1, step, s0, s1, v0, v1 = numbers(film.captions[k + 1][2])
        assert step == 0.5 and [s0, s1] == (y[wrong] @ X[wrong]).tolist()
        assert [w0 + step * s0, w1 + step * s1] == [v0, v1] == update.weights[:2].tolist()


def many(count, name):
    return f"{count} {name}{'s' * (count != 1)}"


@pytest.mark.parametrize("step", ["exact", 0.1])
@pytest.mark.parametrize("name", ["slack", "thin", "more-marks", "xor", "alternating"])
@pytest.mark.parametrize("bias", [True, False])
def test_the_count_of_a_batch_film_is_that_of_the_model(step, name, bias):
    data = datasets.load(name)
    model = mm.BatchPerceptron(step=step, fit_intercept=bias, record=True).fit(data.X, data.y)
    film = animate(model.trace_, data.X, data.y)
    updates = len(model.trace_)
    ending = f"{many(model.n_mistakes_, 'mistake')} (wrong rows, added up), {many(updates, 'update')}"
    assert film.captions[-1][0] == f"Batch perceptron · end · {ending}"
    made = np.cumsum(model.history_["mistakes"])
    for k, caption in enumerate(film.captions[1 : min(updates, 110)]):
        assert f"update {k + 1} of {updates} · {made[k]} mistake" in caption[0]


def test_mistakes_are_not_counted_if_the_run_weighed_its_rows():
    X, y = overlapping()
    model = mm.BatchPerceptron(class_weight={1: 3.0}, record=True, max_iter=5).fit(X, y)
    film = animate(model.trace_, X, y)
    assert film.captions[-1][0] == f"Batch perceptron · end · {len(model.trace_)} updates"
    assert not any("mistake" in line for caption in film.captions for line in caption)


def test_a_step_too_short_to_be_seen_is_said_to_be_so():
    data = datasets.load("slack")
    model = mm.BatchPerceptron(record=True).fit(data.X, data.y)
    captions = animate(model.trace_, data.X, data.y).captions
    moved = np.linalg.norm(np.diff(model.trace_.weights, axis=0), axis=1)
    assert moved[1] < 1e-8
    assert captions[2][2].endswith("a hair across a crease of the risk, not to be seen")
    assert all("e−" not in line for caption in captions for line in caption)  # no dust in the numbers


def painted(trace, X, y, bias=True, both=False, shown=110, features=None, names=None):
    points = read_points(X, y, names=names)
    view = choose_view(points.X, trace[-1].weights[:-1], features, None, points.names)
    painter = Painter(points, view, both, bias, 50)
    frames = make_stills(trace, points, shown, "Run")
    return painter, frames, painter.paint(frames)


def test_a_frame_shows_the_point_in_hand_the_step_and_both_boundaries(long_run):
    X, y, trace = long_run
    painter, frames, images = painted(trace, X, y, bias=False, both=True)
    for _ in range(4):
        next(images)
    update, moving = trace[2], painter.moving
    assert frames[3].rows.tolist() == [update.row]
    assert moving["ring"].get_xydata().tolist() == [X[update.row].tolist()]
    for name, z in (("boundary", update.weights), ("old boundary", trace[1].weights)):
        np.testing.assert_allclose(moving[name].get_xydata() @ z[:2], 0, atol=1e-12)
    assert moving["w now"].get_xydata().tolist() == [update.weights[:2].tolist()]
    np.testing.assert_array_equal(moving["path"].get_xydata(), trace.weights[:4, :2])
    np.testing.assert_allclose(moving["line"].get_xydata() @ X[update.row], 0, atol=1e-12)
    tail, tip = moving["w step"]._posA_posB
    np.testing.assert_array_equal([tail, tip], trace.weights[2:4, :2])
    tail, tip = np.array(moving["step"]._posA_posB)
    across = np.cross([*(tip - tail), 0.0], [*(y[update.row] * X[update.row]), 0.0])
    assert np.allclose(across, 0) and (tip - tail) @ (y[update.row] * X[update.row]) > 0
    wrong = np.flatnonzero(y * (X @ update.weights[:2]) <= 0)
    assert moving["wrong"].get_xydata().tolist() == X[wrong].tolist()
    longest = max(np.linalg.norm(z[:2]) for z in trace.weights[:4])
    assert painter.axes[1].get_ylim()[1] >= longest


def test_names_of_features_are_on_the_axes(marks, long_run):
    X, y, trace = long_run
    painter, *_ = painted(trace, X, y, bias=False, both=True, names=["height", "weight"])
    x_space, w_space = painter.axes
    assert (x_space.get_xlabel(), x_space.get_ylabel()) == ("height", "weight")
    assert (w_space.get_xlabel(), w_space.get_ylabel()) == ("w₁ (height)", "w₂ (weight)")
    assert animate(trace, X, y, names=["a", "b"], frames=1).frames == 4
    display = both_spaces(trace, X, y, names=["height", "weight"])
    assert (display.x_ax_.get_xlabel(), display.w_ax_.get_ylabel()) == ("height", "w₂ (weight)")
    model = recorded(X, y, fit_intercept=False, max_iter=2)
    assert both_spaces(model, X, y, names=["a", "b"]).x_ax_.get_ylabel() == "b"


def test_no_legend_is_wider_than_its_panel():
    X, y = [[30, 20], [-20, -30], [-10, -20]], ["class with a long name", "all others", "all others"]
    painter, *_ = painted(recorded(X, y, fit_intercept=False).trace_, X, y, bias=False, both=True)
    painter.canvas.draw()
    for ax in painter.axes:
        assert ax.get_legend().get_window_extent().x1 <= ax.get_window_extent().x1 + 5


def outside(X, y, **options):
    """What the frames say about a boundary that cannot be seen, and whether it can."""
    trace = recorded(X, y, **options).trace_
    painter, _, images = painted(trace, X, y, bias=options.get("fit_intercept", True))
    said = []
    for _ in images:
        words = painter.moving["outside"]
        seen = len(painter.moving["boundary"].get_xdata()) > 0
        said.append((seen, words.get_text() if words.get_visible() else ""))
    return trace, painter, said


def test_a_boundary_outside_the_picture_is_said_to_be_there():
    X, y = np.array([[290, 380], [240, 330], [250, 340]]), [1, -1, -1]
    trace, painter, said = outside(X, y, max_iter=4)
    assert said[0] == (False, "no boundary: w = 0")
    corners = np.array([[x, y] for x in painter.axes[0].get_xlim() for y in painter.axes[0].get_ylim()])
    states = [trace.start, *(u.weights for u in trace), trace[-1].weights]
    arrows = {"→": (1, 0), "↗": (1, 1), "↑": (0, 1), "↖": (-1, 1), "←": (-1, 0), "↙": (-1, -1)}
    arrows |= {"↓": (0, -1), "↘": (1, -1)}
    hidden = 0
    for z, (seen, words) in zip(states[1:], said[1:], strict=True):
        values = corners @ z[:2] + z[2]
        assert seen == bool(values.min() < 0 < values.max())
        assert bool(words) != seen
        if not seen:
            hidden += 1
            assert words.startswith("the boundary is outside ")
            assert -np.sign(values[0]) * (np.array(arrows[words[-1]]) @ z[:2]) > 0
    assert hidden > 3


def test_words_in_the_picture_cover_no_points():
    for data in map(datasets.load, ("three-points", "exam-marks", "xor", "slack")):
        trace = recorded(data.X, data.y).trace_
        painter, _, images = painted(trace, data.X, data.y, shown=1)
        next(images)
        box = painter.moving["outside"].get_window_extent()
        dots = painter.axes[0].transData.transform(data.X)
        assert not any(box.contains(*dot) for dot in dots)


def test_arrows_begin_on_the_boundary_where_it_is_seen(marks):
    X, y, trace = marks
    painter, _, images = painted(trace, X, y)
    for z, _ in zip([trace.start, *(u.weights for u in trace)], images, strict=False):
        tail, _ = np.array(painter.moving["w"]._posA_posB)
        middle = painter.x_panel.box.mean(axis=1)
        assert np.isclose(tail @ z[:2] + z[2], 0.0, atol=1e-9) or np.allclose(tail, middle)


def test_all_wrong_rows_are_in_hand_in_a_batch():
    data = datasets.load("thin")
    model = mm.BatchPerceptron(step=0.01, fit_intercept=False, record=True).fit(data.X, data.y)
    painter, frames, images = painted(model.trace_, data.X, data.y, bias=False, both=True)
    next(images)
    next(images)
    wrong = np.flatnonzero(data.y * (data.X @ model.trace_.start[:2]) <= 0)
    assert frames[1].rows.tolist() == wrong.tolist()
    assert painter.moving["ring"].get_xydata().tolist() == data.X[wrong].tolist()
    assert not len(painter.moving["line"].get_xdata())


def test_no_line_of_the_caption_is_wider_than_the_picture():
    X, y = overlapping(d=5)
    X = X * 1234.567
    painter, _, images = painted(recorded(X, y, normalize=True).trace_, X, y, shown=40)
    for _ in images:
        edges = [text.get_window_extent() for text in painter.texts]
        assert max(edge.x1 for edge in edges) <= painter.figure.bbox.x1
        assert min(edge.y0 for edge in edges) >= 0


def test_the_path_has_a_gap_where_updates_were_left_out(long_run):
    X, y, trace = long_run
    painter, _, images = painted(trace, X, y, bias=False, both=True, shown=2)
    assert len(list(images)) == 5
    path = painter.moving["path"].get_xydata()
    np.testing.assert_array_equal(path[:3], trace.weights[:3, :2])
    assert np.isnan(path[3]).all()
    np.testing.assert_array_equal(path[4:6], trace.weights[-2:, :2])


def test_w_space_is_there_for_two_features_without_bias_only(marks, long_run):
    X, y, trace = long_run
    two = next(animate(trace, X, y, frames=1, **SMALL).images())
    one = next(animate(marks[2], *marks[:2], frames=1, **SMALL).images())
    assert two.width == 360 and one.width == 280
    turned = animate(trace, X, y, frames=1, features="projection", **SMALL)
    assert next(turned.images()).width == 280
    painter, *_ = painted(trace, X, y, bias=False, both=True, features=(1, 0))
    assert [painter.axes[k].get_xlabel() for k in (0, 1)] == ["x1", "w₂"]
    X, y = overlapping(d=3)
    trace = recorded(X, y, fit_intercept=False, max_iter=1).trace_
    assert next(animate(trace, X, y, frames=1, **SMALL).images()).width == 280


def test_the_cone_holds_the_weights_that_are_right_for_every_row():
    X, y = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -1.0], [-2.0, 1.0]]), np.array([1, 1, -1, -1])
    low, high = find_cone(y[:, None] * X)
    for angle in np.linspace(-np.pi, np.pi, 97):
        right = np.all(y * (X @ [np.cos(angle), np.sin(angle)]) > 0)
        inside = any(low < angle + turn < high for turn in (-2 * np.pi, 0, 2 * np.pi))
        assert right == inside
    assert find_cone(np.array([[1.0, 0.0], [-1.0, 0.0]])) is None
    assert find_cone(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])) is None
    assert find_cone(np.array([[1.0, 0.0], [0.0, 0.0]])) is None


@pytest.mark.parametrize("features", [None, "projection", (0, 2)])
def test_more_features_are_projected_or_chosen(features):
    X, y = overlapping(d=4)
    trace = recorded(X, y, max_iter=2).trace_
    painter, _, images = painted(trace, X, y, features=features, shown=3)
    assert len(list(images)) == 6
    assert painter.axes[0].get_xlabel() == ("x0" if features == (0, 2) else "along w")
    assert animate(trace, X, y, features=features).frames > 3


def test_one_feature_thousands_of_points_and_odd_labels_can_be_drawn():
    X, y = [[1.0], [2.0], [4.0]], ["_cost $1$", "_cost $1$", "a label that is much too long"]
    assert len(list(animate(recorded(X, y).trace_, X, y, **SMALL).images())) > 3
    X, y = overlapping(3_000)
    trace = recorded(X * [1, 1000], y, max_iter=1).trace_
    assert len(list(animate(trace, X * [1, 1000], y, frames=2, **SMALL).images())) == 5


def test_a_gif_opens_again_with_its_durations(long_run, tmp_path):
    X, y, trace = long_run
    film = animate(trace, X, y, tmp_path / "run.gif", slow=3, fast=4, **SMALL)
    with Image.open(tmp_path / "run.gif") as gif:
        assert gif.n_frames == film.frames == 10
        assert gif.info["loop"] == 0
        durations = []
        for k in range(gif.n_frames):
            gif.seek(k)
            durations.append(gif.info["duration"])
    assert durations == [1000] * 4 + [80] * 4 + [1000, 2000]


def test_frames_differ_and_are_not_blank(long_run):
    X, y, trace = long_run
    pictures = [np.asarray(i.convert("L")) for i in animate(trace, X, y, frames=4, **SMALL).images()]
    assert all(p.max() == 255 and np.mean(p < 128) > 0.005 for p in pictures)
    assert all(np.any(p != q) for p, q in pairwise(pictures))


def test_the_page_asks_nothing_of_the_network_and_holds_every_frame(marks, tmp_path):
    X, y, trace = marks
    film = animate(trace, X, y, tmp_path / "run.HTML", **SMALL)
    page = (tmp_path / "run.HTML").read_text(encoding="utf-8")
    assert "http://" not in page and "https://" not in page and "{{" not in page
    assert "src=" not in page.split("<script>")[0]
    data = json.loads(re.search(r"const film = (.*);\n", page)[1])
    assert len(data["pictures"]) == film.frames == len(data["captions"])
    assert data["seconds"] == film.durations
    assert [tuple(c) for c in data["captions"]] == film.captions
    notebook = film._repr_html_()
    assert notebook.startswith("<iframe") and notebook.endswith("</iframe>")
    assert unescape(notebook.split('srcdoc="')[1][: -len('"></iframe>')]) == page


def test_labels_cannot_break_out_of_the_page():
    X, y = [[90, 80], [40, 30], [50, 40]], ["</script><b>", "x", "x"]
    page = animate(recorded(X, y).trace_, X, y, title="<i>&", **SMALL).to_html()
    assert page.count("</script>") == 1 and "<i>" not in page and "<b>" not in page


def test_a_trace_animates_itself(marks):
    X, y, trace = marks
    assert trace.animate(X, y, slow=2).durations == animate(trace, X, y, slow=2).durations


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
def test_a_browser_plays_the_film_without_complaint(marks, tmp_path):
    X, y, trace = marks
    film = tmp_path / "run.html"
    trace.animate(X, y, film, **SMALL)
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--enable-logging=stderr", "--disable-background-networking", "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={tmp_path / 's.png'}",
        "--window-size=900,700", film.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "CONSOLE" not in done.stderr
    with Image.open(tmp_path / "s.png") as shot:
        assert np.asarray(shot.convert("L")).std() > 5


def test_mp4_needs_ffmpeg(marks, tmp_path, monkeypatch):
    X, y, trace = marks
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(mm.InputError, match=r"ffmpeg.*not found\. Got .*run\.mp4.*Install ffmpeg"):
        animate(trace, X, y, tmp_path / "run.mp4")


def stand_in(tmp_path, monkeypatch, body):
    """A program called ffmpeg that does what ``body`` says."""
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))


# What ffmpeg does with its input: read frames of the size and kind it was told, and count them.
READS_FRAMES = """
import json
told = sys.argv[1:]
source = dict(zip(told[told.index('-f') : told.index('-i') : 2], told[told.index('-f') + 1 :: 2]))
assert (source['-f'], source['-pix_fmt']) == ('rawvideo', 'rgb24'), source
wide, high = map(int, source['-s'].split('x'))
assert wide % 2 == high % 2 == 0 and told[told.index('-i') + 1] == '-'
frames = []
while frame := sys.stdin.buffer.read(3 * wide * high):
    assert len(frame) == 3 * wide * high, 'half a frame'
    frames.append(frame.hex())
json.dump([wide, high, int(source['-r']), frames], open(told[-1], 'w'))
"""


def test_mp4_gets_each_frame_for_as_long_as_it_is_seen(marks, tmp_path, monkeypatch):
    X, y, trace = marks
    stand_in(tmp_path, monkeypatch, READS_FRAMES)
    options = {"slow": 1, "seconds_slow": 0.1, "seconds_fast": 0.05, "dpi": 31}
    film = animate(trace[:3], X, y, tmp_path / "run.mp4", **options)
    wide, high, rate, frames = json.loads((tmp_path / "run.mp4").read_text())
    assert any(side % 2 for side in next(film.images()).size)  # so the last line of dots is left out
    assert film.durations == [0.1, 0.1, 0.05, 0.05, 0.2]
    shown = [i.convert("RGB").crop((0, 0, wide, high)).tobytes().hex() for i in film.images()]
    repeats = [frames.count(frame) for frame in shown]
    assert frames == [frame for frame, many in zip(shown, repeats, strict=True) for _ in range(many)]
    assert len(frames) == round(rate * sum(film.durations))
    ends = np.cumsum(repeats) / rate
    np.testing.assert_allclose(ends, np.cumsum(film.durations), atol=0.5 / rate + 1e-9)


def test_ffmpeg_is_found_where_matplotlib_is_told_it_is(marks, tmp_path, monkeypatch):
    X, y, trace = marks
    stand_in(tmp_path, monkeypatch, READS_FRAMES)
    (tmp_path / "ffmpeg").rename(tmp_path / "my-ffmpeg")
    with mpl.rc_context({"animation.ffmpeg_path": str(tmp_path / "my-ffmpeg")}):
        animate(trace[:1], X, y, tmp_path / "run.mp4", seconds_slow=0.02, **SMALL)
    assert len(json.loads((tmp_path / "run.mp4").read_text())[3]) == 4


def test_a_failing_ffmpeg_is_quoted(marks, tmp_path, monkeypatch):
    X, y, trace = marks
    stand_in(tmp_path, monkeypatch, "sys.exit('no such encoder')")
    with pytest.raises(mm.InputError, match="ffmpeg says: no such encoder"):
        animate(trace[:2], X, y, tmp_path / "run.mp4", **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "run.avi"}, r"path must end in \.gif, \.mp4 or \.html\. Got 'run\.avi'"),
        ({"path": "run"}, r"path must end in"),
        (
            {"path": "no/such/run.gif"},
            r"can be written. Got 'no/such/run.gif': there is no folder",
        ),
        ({"names": ["a"]}, r"names must hold 2 names. Got 1"),
        ({"slow": -1}, "slow must be an integer ≥ 0"),
        ({"fast": 1.5}, "fast must be an integer ≥ 0"),
        ({"slow": 0, "fast": 0}, "must be from 1 to 1000 updates. Got 0"),
        ({"frames": 0}, "must be from 1 to 1000 updates. Got 0"),
        ({"frames": 1001}, "must be from 1 to 1000 updates. Got 1001"),
        ({"seconds_slow": 0}, "seconds_slow must be a finite number ≥ 0.02"),
        ({"seconds_fast": 0.001}, "seconds_fast must be a finite number ≥ 0.02"),
        ({"dpi": 5}, "dpi must be a finite number ≥ 20"),
        ({"features": (0, 7)}, "features must be column numbers"),
    ],
)
def test_options_are_checked(marks, options, message):
    X, y, trace = marks
    with pytest.raises(mm.InputError, match=message):
        animate(trace, X, y, **options)


def test_trace_and_data_must_belong_together(marks):
    X, y, trace = marks
    with pytest.raises(mm.InputError, match=r"at least one update. Got none"):
        animate(Trace(np.zeros(3)), X, y)
    with pytest.raises(mm.InputError, match=r"trace must be a Trace.* Got dict"):
        animate({"a": trace}, X, y)
    with pytest.raises(mm.InputError, match="Got 3 columns and a trace for 2"):
        animate(trace, np.hstack([X, X])[:, :3], y)
    with pytest.raises(mm.InputError, match=r"y must hold two classes. Got 3 instead"):
        animate(trace, X, ["a", "b", "c"])
    with pytest.raises(mm.InputError, match="Got 3 rows and an update of row 3"):
        animate(Trace(np.zeros(3), [Update(1, 3, 0.0, np.ones(3))]), X, y)
    with pytest.raises(mm.InputError, match="finite weights"):
        animate(Trace(np.zeros(3), [Update(1, 0, 0.0, np.full(3, np.nan))]), X, y)
    with pytest.raises(mm.InputError, match="does not add a multiple of y·x of row 0"):
        animate(trace, np.array(X)[::-1], y)
    with pytest.raises(mm.InputError, match="run on these X and y, from its start"):
        animate(trace, X, ["a", "b", "b"])
    with pytest.raises(mm.InputError, match="run on these X and y, from its start"):
        animate(trace[2:], X, y)
