"""The pictures of the page: linked by hover, non-blank, w by hand, 3-D that turns, sections, risk."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import numpy as np
import pytest

from lab_driver import browser, kept, lab_url, opened
from lab_driver import shared as lab
from lab_library import preset, signs_of, trained
from lab_words import number, numbers, share
from thorough import further

STATE = {"points": [[-2, -1, 0, 0], [-1, 1.5, 0, 0], [2, 1.3, 1, 0], [1, -1, 1, 0], [0.8, 2, 1, 0]]}
TABS = ("w", "3d", "section")


def told_by_library(state, w):
    """Errors and risk of some weights."""
    X, _ = trained(state)
    margins = signs_of(state) * (X @ np.array(w[:2]) + w[2])
    return int(np.count_nonzero(margins <= 0)), float(np.maximum(-margins, 0).sum())


def test_a_point_under_the_mouse_lights_up_everywhere(lab):
    lab.open(STATE)
    for tab in TABS:
        lab.press(f"tab-{tab}").rest()
        lab.page.mouse.move(5, 5)
        lab.until("() => __lab.scene().hover === -1")
        dark = lab.rest().pixels(f"{tab}-canvas"), lab.pixels("x-canvas")
        lab.page.mouse.move(*lab.spot_of(2))
        lab.until("() => __lab.scene().hover === 2")
        lit = lab.rest().pixels(f"{tab}-canvas"), lab.pixels("x-canvas")
        assert lit[0] != dark[0] and lit[1] != dark[1], tab
    lab.page.mouse.move(5, 5)
    lab.until("() => __lab.scene().hover === -1")


def test_a_line_under_the_mouse_lights_up_its_point(lab):
    lab.open(STATE)
    b = lab.scene("weights")[2]
    for row, (x, y, *_) in enumerate(STATE["points"]):
        window = lab.js("__lab.view('w').window()")
        t = np.linspace(-1, 1, 400)[:, None] * 2 * max(map(abs, window))
        foot = -b * np.array([x, y]) / (x * x + y * y)
        line = foot + t * np.array([-y, x]) / np.hypot(x, y)
        inside = (
            (line[:, 0] > window[0])
            & (line[:, 0] < window[1])
            & (line[:, 1] > window[2])
            & (line[:, 1] < window[3])
        )
        others = np.array([p[:2] for i, p in enumerate(STATE["points"]) if i != row])
        far = np.abs(line @ others.T + b) / np.linalg.norm(others, axis=1)
        best = np.where(inside, far.min(axis=1), -1).argmax()
        lab.page.mouse.move(*lab.spot(*line[best], view="w"))
        lab.until(f"() => __lab.scene().hover === {row}")


def test_a_row_of_the_table_of_support_vectors_lights_up_its_point(lab):
    lab.open(STATE, algorithm="hard")
    line = lab.part("support").locator("tbody tr").first
    row = int(line.get_attribute("data-row"))
    line.hover()
    lab.until(f"() => __lab.scene().hover === {row}")
    assert "mm-lit" in line.get_attribute("class")


def test_w_is_set_by_hand_and_judged_by_the_library(lab):
    lab.open(STATE)
    run = lab.scene("weights")
    left, right, low, high = lab.js("__lab.view('w').window()")
    for u, v in [(0.8, 0.3), (0.1, 0.9), (0.4, 0.6)]:
        place = left + u * (right - left), low + v * (high - low)
        lab.click(*place, view="w")
        w = lab.state()["hand"]
        assert w[:2] == pytest.approx(place, abs=0.05) and w[2] == run[2]
        errors, risk = told_by_library(lab.state(), w)
        assert lab.scene("weights") == w and lab.scene("hand")
        assert lab.texts("e-in", "risk", "weights") == [share(errors, 5), number(risk), numbers(w)]
        assert lab.text("mistakes") is None and "set by hand" in lab.text("step-sentence")
    before = lab.pixels("x-canvas")
    start = lab.spot(*place, view="w")
    lab.drag(start, (start[0] + 40, start[1] + 30))
    moved = lab.state()["hand"]
    assert moved[0] > w[0] and moved[1] < w[1] and lab.pixels("x-canvas") != before
    assert lab.text("e-in") == share(told_by_library(lab.state(), moved)[0], 5)
    lab.press("start-here").rest()
    assert lab.state()["start"] == moved and lab.state()["hand"] is None
    assert lab.answer()["run"]["start"] == moved
    lab.press("start-zero").rest()
    lab.click(*place, view="w")
    lab.press("last").rest()
    assert not lab.scene("hand") and lab.scene("weights") == run


def test_w_by_hand_is_judged_anew_when_a_point_moves(lab):
    lab.open(STATE)
    lab.click(1.5, -0.5, view="w")
    before = lab.text("risk")
    lab.drag(lab.spot_of(0), lab.spot(1.5, 0.3))
    errors, risk = told_by_library(lab.state(), lab.state()["hand"])
    assert lab.texts("e-in", "risk") == [share(errors, 5), number(risk)] and number(risk) != before


def test_the_cone_is_where_all_points_are_right(lab):
    lab.open(STATE)
    drawn = "__lab.scene().cone"  # the section at the b of a moment ago, until the next answer comes
    lab.until(f"() => {drawn}?.polygon.length >= 3 && {drawn}.b === __lab.scene().weights[2]")
    cone, b = lab.scene("cone"), lab.scene("weights")[2]
    X, _ = trained(lab.state())
    inner = np.mean(cone["polygon"], axis=0)
    assert np.all(signs_of(lab.state()) * (X @ inner + b) > 0)
    edges = signs_of(lab.state())[:, None] * (X @ np.array(cone["polygon"]).T + b)
    assert edges.min() > -1e-9 * np.abs(edges).max()


def test_risk_is_a_layer_of_its_own(lab):
    lab.open(STATE)
    plain = lab.pixels("w-canvas")
    lab.tick("layer-risk", True)
    lab.until("() => __lab.scene().risk && !__lab.pending()")
    assert lab.rest().pixels("w-canvas") != plain
    grid = lab.scene("risk")
    size, (left, right, low, high) = grid["size"], grid["window"]
    for i, j in [(0, 0), (size - 1, 3), (size // 2, size // 2)]:
        w = [left + i * (right - left) / (size - 1), low + j * (high - low) / (size - 1), grid["b"]]
        assert grid["values"][j * size + i] == pytest.approx(told_by_library(lab.state(), w)[1])
    lab.tick("layer-risk", False)
    assert lab.pixels("w-canvas") == plain


@pytest.mark.parametrize("layer", ["verdict", "regions"])
def test_layers_of_x_space(lab, layer):
    lab.open(STATE)
    shown = lab.pixels("x-canvas")
    lab.tick(f"layer-{layer}", False)
    assert lab.pixels("x-canvas") != shown and lab.state()["view"]["layers"][layer] is False
    lab.tick(f"layer-{layer}", True)
    assert lab.pixels("x-canvas") == shown


def test_space_turns_on_a_drag_and_by_itself_and_zooms(browser, lab_url):
    with opened(browser, lab_url, reduced_motion="no-preference") as lab:
        lab.open(STATE)
        lab.press("tab-3d").rest()
        lab.until("() => __lab.scene().weights3d?.planes.length === 5")
        turned = lab.js("__lab.view('3d').window().turn")
        lab.until(f"() => __lab.view('3d').window().turn > {turned}")
        box = lab.part("3d-canvas").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        lab.drag(middle, (middle[0] + 60, middle[1] + 20))
        first, view = lab.pixels("3d-canvas"), lab.js("__lab.view('3d').window()")
        assert lab.rest().js("__lab.view('3d').window().turn") == view["turn"], "once touched it rests"
        lab.drag(middle, (middle[0] - 80, middle[1] + 40))
        second = lab.pixels("3d-canvas")
        after = lab.js("__lab.view('3d').window()")
        assert second != first and after["turn"] < view["turn"] and after["tilt"] > view["tilt"]
        lab.page.mouse.wheel(0, -400)
        lab.rest()
        assert lab.pixels("3d-canvas") != second
        assert lab.js("__lab.view('3d').window().zoom") < after["zoom"]
        optimum = lab.scene("weights3d")["optimum"]
        assert optimum == lab.answer()["verdict"]["plane"]
        lab.press("fit-w").rest()
        assert lab.js("__lab.view('3d').window().zoom") == 1


def test_sections_are_cut_by_the_slider(lab):
    lab.open(STATE)
    lab.press("tab-section").rest()
    plane = lab.answer()["verdict"]["plane"]
    assert float(lab.part("section-w1-value").input_value().replace("−", "-")) == pytest.approx(
        plane[0], rel=1e-3
    )
    seen = set()
    for w1 in (0.5, 1.5):
        lab.write("section-w1-value", w1)
        lab.until(f"() => __lab.scene().section?.w1 === {w1} && !__lab.pending()", frames=5)
        section = lab.scene("section")
        for row, a, c, d in section["lines"]:
            x, y, kind, _ = STATE["points"][row]
            sign = 1 if kind else -1
            for w2 in (-1.0, 2.0):
                b = (d - a * w2) / c
                assert sign * (w1 * x + w2 * y + b) == pytest.approx(1)
        seen.add(lab.pixels("section-canvas"))
    assert len(seen) == 2
    box = lab.part("section-canvas").bounding_box()
    lab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert lab.rest().state()["hand"][0] == 1.5
    errors, _ = told_by_library(lab.state(), lab.state()["hand"])
    assert lab.text("e-in") == share(errors, 5)


def test_without_a_bias_there_is_no_third_direction(lab):
    lab.open(STATE)
    lab.press("tab-3d").rest()
    lab.tick("intercept", False)
    assert lab.part("w-canvas").is_visible() and not lab.part("3d-canvas").is_visible()
    assert lab.part("tab-3d").is_disabled() and lab.part("tab-section").is_disabled()
    lab.tick("intercept", True)
    assert lab.part("3d-canvas").is_visible()


def test_w_space_zooms_and_shows_all_again(lab):
    lab.open(STATE)
    window = lab.js("__lab.view('w').window()")
    lab.page.mouse.move(*lab.spot(0, 0, view="w"))
    lab.page.mouse.wheel(0, 300)
    lab.rest()
    wide = lab.js("__lab.view('w').window()")
    assert (
        wide[1] - wide[0] > 1.1 * (window[1] - window[0]) and lab.state()["view"]["windows"]["w"] == wide
    )
    lab.press("fit-w").rest()
    assert lab.js("__lab.view('w').window()") == pytest.approx(window)


@pytest.mark.parametrize("scheme", ["light", further("dark")])
def test_no_canvas_is_blank(browser, lab_url, scheme):
    state = preset("separable", n=30)
    with opened(browser, lab_url, kept=True, color_scheme=scheme) as lab:
        for algorithm in ("perceptron", "batch", "pocket", "hard", "soft"):
            lab.open(state, algorithm=algorithm)
            assert lab.scene("dark") == (scheme == "dark")
            for tab, asked in zip(TABS, ("cone", "weights3d", "section"), strict=True):
                lab.press(f"tab-{tab}").rest()
                lab.until(f"() => __lab.scene().{asked} && !__lab.pending()", frames=3)
                assert lab.colours(f"{tab}-canvas") > 30 and lab.colours("x-canvas") > 30
            runs = algorithm in ("perceptron", "batch", "pocket")
            assert lab.part("errors-chart").is_visible() == runs
            assert not runs or lab.colours("errors-chart") > 5
            if runs:
                assert not lab.part("gap-chart").is_visible()
            else:
                machine = lab.answer()["machine"]
                gaps = [primal - dual for _, primal, dual in machine["progress"]]
                drawn = len(gaps) > 1 and max(gaps) > 1e-9 * machine["primal"]
                assert lab.part("gap-chart").is_visible() == drawn
                assert not drawn or lab.colours("gap-chart") > 5
        lab.open(preset("separable", n=1000, margin=0.05), algorithm="hard")
        assert len(lab.answer()["machine"]["progress"]) > 2
        assert lab.part("gap-chart").is_visible() and lab.colours("gap-chart") > 5
