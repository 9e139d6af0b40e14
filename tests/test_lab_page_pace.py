"""Under strain: a thousand drags leave no backlog, refits follow, a lost connection comes back."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import math

import pytest

from lab_driver import Lab, browser, kept, lab, lab_url, opened, shared
from lab_library import fitted, machines, preset
from thorough import further

COUNT = """() => {
  window.told = { asked: 0, answered: 0, most: 0 };
  const solves = new Set();
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    const body = JSON.parse(text);
    if (body.ask === "solve") {
      solves.add(body.id);
      told.asked += 1;
      told.most = Math.max(told.most, solves.size);
    }
    if (!this.heard) {
      this.addEventListener("message", (event) => {
        const reply = JSON.parse(event.data);
        if (solves.delete(reply.id) && reply.answer) told.answered += 1;
      });
    }
    this.heard = true;
    return send.call(this, text);
  };
}"""


# the connection: while it is cut every new one is closed before it opens, as often as the page tries
CUT = """(() => {
  window.WebSocket = class extends WebSocket {
    constructor(url) {
      super(url);
      window.socket = this;
      if (window.cut) this.close();
    }
  };
})()"""

# moves of the mouse that is down, so many in each frame: faster than a driver can send them one by one
MOVES = """([places, each]) => new Promise((done) => {
  const canvas = document.querySelector("[data-name=x-canvas]");
  let next = 0;
  const frame = () => {
    for (let k = 0; k < each && next < places.length; k++) {
      const [clientX, clientY] = places[next++];
      const how = { clientX, clientY, pointerId: 1, pointerType: "mouse", buttons: 1, bubbles: true };
      canvas.dispatchEvent(new PointerEvent("pointermove", how));
    }
    if (next < places.length) requestAnimationFrame(frame);
    else done(true);
  };
  frame();
})"""


def circle(middle, radius, steps, turns):
    """Places of the screen on a circle."""
    angles = [2 * math.pi * turns * k / steps for k in range(steps)]
    return [(middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in angles]


@pytest.fixture
def counted(lab):
    """A page that counts its questions."""
    lab.page.add_init_script(f"({COUNT})()")
    return lab


@pytest.mark.parametrize("algorithm", ["soft", further("perceptron")])
def test_a_thousand_drags_leave_no_backlog(counted, algorithm):
    lab = counted
    lab.open(preset("overlapping", n=200), algorithm=algorithm)
    lab.js("() => { told.asked = told.answered = told.most = 0; }")
    start, middle, mouse = lab.spot_of(7), lab.spot(0, 0), lab.page.mouse
    mouse.move(*start)
    mouse.down()
    mouse.move(*middle, steps=10)
    lab.js(MOVES, [circle(middle, 90, 1000, 9), 10])
    lab.until("() => __lab.pending() === 0 && !__lab.scene().stale")
    told = lab.js("told")
    mouse.up()
    lab.rest()
    state, found = lab.state(), lab.answer()
    assert told["most"] <= 2, "one on its way, and one more where that is slow"
    assert told["asked"] <= 1001 and told["answered"] >= 1
    (machine,) = machines(fitted(state))
    assert found["machines"][0]["weights"] == [*machine.coef_.tolist(), float(machine.intercept_)]
    assert state["points"][7][:2] != preset("overlapping", n=200)["points"][7][:2]
    lab.press("undo").rest()
    assert lab.points() == preset("overlapping", n=200)["points"], "a thousand moves are one drag"


@pytest.mark.parametrize("name", ["overlapping", further("separable")])
def test_refits_follow_the_hand(counted, name):
    lab = counted
    lab.open(preset(name, n=200))
    middle = lab.spot(*lab.points()[3][:2])
    mouse = lab.page.mouse
    mouse.move(*middle)
    mouse.down()
    mouse.move(middle[0] + 10, middle[1], steps=5)
    lab.rest().js("() => { told.answered = 0; }")
    for _ in range(100):  # one round is enough on a machine of one's own
        lab.js(MOVES, [circle(middle, 12, 90, 4), 1])
        if lab.js("told.answered") >= 5:
            break
    assert lab.js("told.answered") >= 5, "refits come while the hand moves"
    mouse.up()
    lab.rest()


def test_two_thousand_points_play(browser, lab_url):
    with opened(browser, lab_url, reduced_motion="no-preference") as lab:
        lab.open(preset("overlapping", n=2000, noise=1.0))
        lab.press("first").press("play")
        lab.js("() => { window.first = __lab.stats.frames; }")
        lab.until("() => __lab.stats.frames >= first + 15 && __lab.scene().k > 0")
        lab.press("play").rest()


def test_answers_that_come_late_do_not_undo_newer_ones(shared):
    lab = shared
    lab.open(preset("overlapping", n=100))
    for name in ("blobs", "xor", "separable", "spiral"):
        lab.part("preset").select_option(name)
    lab.part("algorithm").select_option("soft")
    lab.part("algorithm").select_option("pocket")
    lab.rest()
    assert lab.points() == preset("spiral")["points"] and lab.state()["algorithm"] == "pocket"
    assert lab.answer()["n"] == 120 and lab.answer()["run"]


def test_a_lost_connection_is_told_and_comes_back(browser, lab_url):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    lab = Lab(context.new_page(), lab_url, [])
    lab.page.add_init_script(CUT)
    lab.open(preset("separable", n=20))
    lab.js("() => { window.cut = true; socket.close(); }")
    lab.until("() => !document.querySelector('[data-name=banner]').hidden")
    assert "Your points are safe" in lab.text("banner")
    lab.page.mouse.click(*lab.spot(0, 0))
    lab.until("() => __lab.state().points.length === 21")
    lab.part("algorithm").select_option("soft")
    assert lab.js("__lab.pending()") > 0, "points can be added meanwhile, answers wait"
    lab.js("() => { window.cut = false; }")
    lab.until("() => document.querySelector('[data-name=banner]').hidden")
    lab.rest()
    assert lab.answer()["n"] == 21 and lab.answer()["machine"]["weights"] == lab.scene("weights")
    context.close()


def test_what_no_double_can_hold_is_refused_and_it_goes_on(lab):
    lab.open(points=[[0, 0, 0, 0], [1, 1, 1, 0]])
    lab.press("table")
    lab.write("cell-1-x", "1e999")
    assert lab.part("cell-1-x").input_value() == "1", "what is no number is not taken"
    lab.write("cell-1-x", "1e200")
    lab.page.locator(".mm-toast.mm-bad.mm-open").wait_for()
    assert lab.part("toast").text_content() == (
        "state.points[1][0] must be 0, or a number from 1e-30 to 1e+30 in size. Got 1e+200 instead."
    )
    lab.press("table-close").press("undo").rest()
    assert lab.points()[1][0] == 1 and lab.text("verdict") == "✓ Separable"
