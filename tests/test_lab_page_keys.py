"""The page by keyboard alone: time everywhere, points on the canvas, focus that can be seen."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import pytest

from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab

STATE = {"points": [[-2, -1, 0, 0], [-1, 1, 0, 0], [2, 1, 1, 0], [1, -1, 1, 0], [0.5, 2, 1, 0]]}


def test_space_plays_and_arrows_step(lab):
    lab.open(STATE)
    K = lab.scene("K")
    assert K >= 2
    lab.key("Home").rest()
    assert lab.scene("k") == 0
    lab.key("ArrowRight").rest()
    assert lab.scene("k") == 1
    lab.key("End").rest()
    assert lab.scene("k") == K
    lab.key("ArrowLeft").rest()
    assert lab.scene("k") == K - 1
    lab.key("Home", "Space")
    lab.until("() => __lab.scene().playing")
    lab.key("Space")
    lab.until("() => !__lab.scene().playing")


def test_points_are_chosen_moved_flipped_and_removed(lab):
    lab.open(STATE)
    lab.part("x-canvas").focus()
    lab.key("]").rest()
    assert lab.scene("selected") == 0
    lab.key("[").rest()
    assert lab.scene("selected") == 4
    lab.key("]", "]").rest()
    assert lab.scene("selected") == 1
    lab.key("Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowUp").rest()
    x, y = lab.points()[1][:2]
    assert x > -1 and y - 1 == pytest.approx(2 * (x + 1))
    lab.key("f").rest()
    assert lab.points()[1][2] == 1
    lab.key("Delete").rest()
    assert len(lab.points()) == 4 and lab.scene("selected") == -1
    lab.key("Control+z", "Control+z").rest()
    assert lab.points()[1] == [x, y, 0, 0]
    lab.key("Control+z").rest()
    assert lab.points() == STATE["points"], "three strokes of an arrow are one step back"
    lab.key("Control+Shift+Z").rest()
    assert lab.points()[1] == [x, y, 0, 0]


def test_small_steps_and_let_go(lab):
    lab.open(STATE)
    lab.part("x-canvas").focus()
    lab.key("]", "Shift+ArrowLeft").rest()
    large = -2 - lab.points()[0][0]
    lab.key("Alt+Shift+ArrowLeft").rest()
    assert -2 - lab.points()[0][0] == pytest.approx(1.1 * large)
    lab.key("Escape").rest()
    assert lab.scene("selected") == -1
    lab.key("f", "Delete").rest()
    assert len(lab.points()) == 5


def test_numbers_choose_the_class_and_question_mark_helps(lab):
    lab.open(STATE)
    lab.key("1").rest()
    assert lab.scene("brush") == 0
    lab.key("2").rest()
    assert lab.scene("brush") == 1
    lab.key("5").rest()
    assert lab.scene("brush") == 1, "there is no fifth class"
    lab.key("?")
    assert (
        lab.part("help-dialog").is_visible() and "Shift+arrows" in lab.part("help-dialog").inner_text()
    )
    lab.key("ArrowLeft", "Delete")
    assert lab.scene("k") == lab.scene("K"), "behind a dialog the page rests"
    lab.key("Escape")
    assert lab.part("help-dialog").count() == 0
    lab.press("help").press("help-close")
    assert lab.part("help-dialog").count() == 0


def test_typing_is_typing(lab):
    lab.open(STATE)
    lab.part("epochs").focus()
    lab.key("Home", "ArrowRight", "1", "Space", "Backspace", "Control+z").rest()
    assert lab.scene("k") == lab.scene("K") and lab.points() == STATE["points"]
    assert lab.scene("brush") == 1 and not lab.scene("playing")


def test_w_is_moved_by_arrows(lab):
    lab.open(STATE)
    lab.part("w-canvas").focus()
    before = lab.scene("weights")
    lab.key("ArrowRight").rest()
    w = lab.state()["hand"]
    assert w[0] > before[0] and w[1] == pytest.approx(before[1], abs=0.02) and w[2] == before[2]
    lab.key("Shift+ArrowUp").rest()
    assert lab.state()["hand"][1] - w[1] < w[0] - before[0]
    lab.key("Space")
    lab.until("() => !__lab.scene().hand")


def test_every_control_is_reached_by_tab_and_seen_when_it_is(lab):
    lab.open(STATE)
    wanted = lab.js("""() => [...document.querySelectorAll(".mm-lab :is(button, input, select, canvas)")]
      .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility() && e.dataset.name)
      .map((e) => e.dataset.name)""")
    assert {
        "preset",
        "algorithm",
        "x-canvas",
        "w-canvas",
        "play",
        "scrub",
        "share",
        "brush-0",
        "layer-risk",
    } <= set(wanted)
    met = set()
    for _ in range(len(wanted) + 10):
        lab.key("Tab")
        name, seen = lab.js("""() => {
          const e = document.activeElement;
          const style = getComputedStyle(e);
          const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
          return [e.dataset?.name ?? "", ring || e.matches("canvas, body, .mm-lab")];
        }""")
        assert seen, f"the focus on {name} cannot be seen"
        met.add(name)
    assert set(wanted) <= met


@pytest.mark.parametrize("name", ["x-canvas", "w-canvas"])
def test_the_focus_on_a_picture_is_drawn(lab, name):
    lab.open(STATE)
    lab.part("algorithm").focus()
    before = lab.pixels(name)
    for _ in range(60):
        lab.key("Tab")
        if lab.js("document.activeElement.dataset?.name") == name:
            break
    lab.rest()
    assert lab.js("document.activeElement.dataset.name") == name and lab.pixels(name) != before


def test_the_menu_of_share_by_keyboard(lab):
    lab.open(STATE)
    lab.part("share").focus()
    lab.key("Enter")
    assert lab.js("document.activeElement.dataset.name") == "copy-link"
    lab.key("ArrowDown", "ArrowDown")
    assert lab.js("document.activeElement.dataset.name") == "png-x"
    lab.key("Escape")
    assert not lab.part("copy-link").is_visible()
    assert lab.js("document.activeElement.dataset.name") == "share"
