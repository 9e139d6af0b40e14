"""Points on the page by hand: added, dragged, flipped, taken away, and all of it taken back."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import pytest

from lab_driver import browser, kept, lab_url, opened
from lab_driver import lab as fresh
from lab_driver import shared as lab

STATE = {
    "points": [[-2, -1, 0, 0], [-1, 1, 0, 0], [2, 1, 1, 0], [1, -1, 1, 0]],
    "labels": ["−1", "+1"],
}


def test_a_click_adds_a_point_of_the_chosen_class(lab):
    lab.open(STATE)
    for brush, (x, y) in enumerate([(0.5, 1.5), (-0.5, -1.5)]):
        lab.press(f"brush-{brush}")
        assert lab.part(f"brush-{brush}").get_attribute("aria-pressed") == "true"
        lab.click(x, y)
        a, b, kind, role = lab.points()[-1]
        assert (a, b) == pytest.approx((x, y), abs=0.02) and (kind, role) == (brush, 0)
        assert (round(a, 3), round(b, 3)) == (a, b), "short numbers keep links short"
    assert lab.answer()["n"] == len(lab.points()) == 6
    assert lab.text("count") == "6 points"


def test_a_drag_is_followed_by_the_answer_and_is_one_step_back(fresh):
    fresh.open(STATE)
    before, margin = fresh.points(), fresh.text("verdict-sentence")
    fresh.page.evaluate("""() => { window.margins = new Set();
      const look = () => { margins.add(__lab.answer().verdict.margin); requestAnimationFrame(look); };
      look(); }""")
    start, end = fresh.spot_of(2), fresh.spot(0.2, 0.8)
    fresh.page.mouse.move(*start)
    fresh.page.mouse.down()
    fresh.page.mouse.move(*end, steps=30)
    fresh.until("() => margins.size >= 3")
    assert fresh.scene("selected") == 2, "the answer followed while the button was still down"
    fresh.page.mouse.up()
    fresh.rest()
    after = fresh.points()
    assert after[2][:2] == pytest.approx((0.2, 0.8), abs=0.02)
    assert [p for i, p in enumerate(after) if i != 2] == [p for i, p in enumerate(before) if i != 2]
    assert fresh.text("verdict-sentence") != margin
    fresh.press("undo").rest()
    assert fresh.points() == before and fresh.text("verdict-sentence") == margin
    assert fresh.part("undo").is_disabled()
    fresh.press("redo").rest()
    assert fresh.points() == after and fresh.part("redo").is_disabled()


def test_a_press_that_does_not_move_selects(fresh):
    fresh.open(STATE)
    fresh.click(*STATE["points"][1][:2])
    assert fresh.scene("selected") == 1 and fresh.points() == STATE["points"]
    assert fresh.part("undo").is_disabled()


def test_flip_by_tool_by_right_button_and_by_key(lab):
    points = [*STATE["points"], [-2.5, 1, 0, 0], [-1.7, 0.2, 0, 0]]
    lab.open(STATE, points=points)
    lab.press("tool-flip")
    lab.click(-1.7, 0.2)
    assert lab.points()[5] == [-1.7, 0.2, 1, 0] and lab.answer()["verdict"]["status"] == "overlapping"
    lab.click(0, 0.3)
    assert len(lab.points()) == 6, "a click beside the points does nothing"
    lab.press("tool-point")
    lab.click(-1.7, 0.2, button="right")
    assert lab.points() == points and lab.answer()["verdict"]["status"] == "separable"
    lab.click(2, 1)
    lab.key("f").rest()
    assert lab.points()[2][2] == 0


def test_erase_by_tool_by_alt_right_and_by_delete(lab):
    lab.open(STATE)
    lab.press("tool-erase")
    lab.click(1, -1)
    assert lab.points() == STATE["points"][:3]
    lab.press("tool-point")
    lab.click(2, 1)
    lab.key("Delete").rest()
    assert lab.points() == STATE["points"][:2] and lab.scene("selected") == -1
    assert lab.text("verdict") == "· Not yet a question" and "add another class" in lab.text(
        "verdict-sentence"
    )
    lab.page.keyboard.down("Alt")
    lab.click(-1, 1, button="right")
    lab.page.keyboard.up("Alt")
    assert lab.points() == STATE["points"][:1]
    for left in (2, 3, 4):
        lab.key("Control+z").rest()
        assert lab.points() == STATE["points"][:left]
    assert lab.answer()["verdict"]["status"] == "separable"


def test_clear_and_back(lab):
    lab.open(STATE)
    lab.press("clear").rest()
    assert lab.points() == [] and lab.part("clear").is_disabled()
    assert lab.text("count") == "0 points" and "add some" in lab.text("verdict-sentence")
    assert lab.text("e-in") is None and lab.part("play").is_disabled()
    lab.click(0.5, 0.5)
    assert len(lab.points()) == 1
    lab.press("undo").press("undo").rest()
    assert lab.points() == STATE["points"] and lab.text("verdict") == "✓ Separable"


def test_two_clicks_on_the_ground_show_all_and_add_nothing(lab):
    lab.open(STATE)
    spot = lab.spot(0, 0.4)
    window = lab.js("__lab.view('x').window()")
    lab.page.mouse.move(*spot)
    lab.page.mouse.wheel(0, -300)
    lab.rest()
    near = lab.js("__lab.view('x').window()")
    assert near[1] - near[0] < 0.9 * (window[1] - window[0]), "the wheel comes nearer"
    assert lab.state()["view"]["windows"]["x"] == near
    lab.page.mouse.dblclick(*spot)
    lab.rest()
    assert lab.points() == STATE["points"]
    assert lab.js("__lab.view('x').window()") == pytest.approx(window)


def test_the_ground_is_dragged_and_shown_again(lab):
    lab.open(STATE)
    window = lab.js("__lab.view('x').window()")
    (x, y) = lab.spot(0, 0.4)
    lab.drag((x, y), (x + 40, y - 30))
    moved = lab.js("__lab.view('x').window()")
    assert moved[0] < window[0] - 0.1 and moved[2] < window[2] - 0.1 and lab.points() == STATE["points"]
    lab.press("fit-x").rest()
    assert lab.js("__lab.view('x').window()") == pytest.approx(window)
    assert "x" not in lab.state()["view"]["windows"]


def test_classes_are_added_up_to_five_and_taken_away(lab):
    lab.open(STATE)
    assert not lab.part("class-remove").is_visible()
    for kind in (2, 3, 4):
        lab.press("class-add").rest()
        assert lab.scene("brush") == kind and lab.part(f"brush-{kind}").is_visible()
        lab.click(-1.5 + kind, 0)
        assert lab.points()[-1][2] == kind
    assert lab.part("class-add").is_disabled()
    assert lab.state()["labels"] == ["−1", "+1", "2", "3", "4"]
    assert len(lab.answer()["machines"]) == 5
    lab.press("class-remove").rest()
    assert len(lab.state()["labels"]) == 4 and max(p[2] for p in lab.points()) == 3
    lab.press("undo").rest()
    assert len(lab.state()["labels"]) == 5 and lab.points()[-1][2] == 4


def test_a_finger_drags_too(browser, lab_url):
    with opened(browser, lab_url, has_touch=True, viewport={"width": 820, "height": 1180}) as lab:
        lab.open(STATE)
        (x, y), (u, v) = lab.spot_of(3), lab.spot(0.5, -1.4)
        touch = lab.page.context.new_cdp_session(lab.page)
        steps = [(x + t * (u - x) / 9, y + t * (v - y) / 9) for t in range(10)]
        for kind, (a, b) in [("touchStart", (x, y)), *(("touchMove", s) for s in steps)]:
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        lab.rest()
        assert lab.points()[3][:2] == pytest.approx((0.5, -1.4), abs=0.02)
