"""Time on the page, by a virtual clock: steps, play, tempo, speed, scrub, points added meanwhile."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import pytest

from lab_driver import PATIENCE, browser, kept, lab_url, opened
from lab_driver import shared as lab
from lab_library import fitted, machines, preset
from lab_words import count, numbers, share
from maxmargin.laboratory.engine import answer
from serving import until
from thorough import further

SEPARABLE = preset("separable", n=24, margin=0.25, seed=3)
OVERLAPPING = preset("overlapping", n=60, noise=1.0)
SHORT, LONG = 100, 100  # milliseconds: of some frames in a row, of one frame that is late


@pytest.fixture(scope="module")
def clocked(browser, lab_url):
    """A page whose time passes only when a test says so."""
    with opened(browser, lab_url, kept=True, reduced_motion="no-preference") as lab:
        lab.page.clock.install(time=0)
        yield lab


def begin(lab, state, **parts):
    """Open, wait for the answer, go to the start and hold the clock."""
    lab.page.clock.resume()
    lab.open(state, **parts)
    lab.press("first")
    lab.until("() => __lab.scene().k === 0")
    lab.page.clock.pause_at(lab.js("Date.now() / 1000") + 1)
    return lab


def after(lab, seconds):
    """The update that is shown when so much time has passed: some short frames, then long ones."""
    left = round(1000 * seconds)
    lab.page.clock.run_for(SHORT + left % LONG)
    for _ in range(SHORT + left % LONG, left, LONG):
        lab.page.clock.fast_forward(LONG)
    return lab.scene("k")


def snapshot(lab):
    """All that is told of this moment."""
    names = ("weights", "e-in", "best", "risk", "mistakes", "position", "step-sentence", "formula")
    return lab.scene("weights"), lab.texts(*names)


def test_step_back_equals_step_forward(lab):
    lab.open(SEPARABLE)
    run = lab.answer()["run"]
    K = len(run["updates"]["weights"])
    assert lab.scene("k") == K and lab.text("position") == f"mistake {K} of {K}"
    lab.press("first").rest()
    assert lab.part("back").is_disabled() and lab.part("first").is_disabled()
    forward = [snapshot(lab)]
    for _ in range(K):
        lab.press("step").rest()
        forward.append(snapshot(lab))
    assert lab.part("step").is_disabled() and lab.part("last").is_disabled()
    assert [seen[0] for seen in forward] == [run["start"], *run["updates"]["weights"]]
    backward = [snapshot(lab)]
    for _ in range(K):
        lab.press("back").rest()
        backward.append(snapshot(lab))
    assert backward[::-1] == forward
    trace = machines(fitted(lab.state()))[0].trace_
    assert [seen[0] for seen in forward] == trace.weights.tolist()
    for k, (weights, texts) in enumerate(forward):
        told = share(run["errors"][k], 24), share(run["best"][k], 24)
        assert texts[:3] == [numbers(weights), *told] and texts[4] == count(k)


def test_the_lecture_s_tempo_is_ten_slowly_then_a_hundred_fast(clocked):
    lab = begin(clocked, OVERLAPPING)
    assert lab.part("tempo").input_value() == "lecture" and lab.scene("K") > 600
    lab.press("play")
    assert lab.part("play").get_attribute("aria-label") in ("Play", "Pause")
    places = [after(lab, s) for s in (0.5, 1.0, 2.0, 3.0, 1.53)]
    assert places == [0, 1, 4, 8, 10], "ten in eight seconds"
    assert after(lab, 1) == pytest.approx(40, abs=2)
    assert after(lab, 2.3) == pytest.approx(109, abs=2), "a hundred in three more"
    assert after(lab, 2) >= 350, "then a rush"
    assert lab.part("play").get_attribute("aria-label") == "Pause" and lab.scene("playing")
    lab.press("play")
    rest = lab.scene("k")
    assert after(lab, 3) == rest and not lab.scene("playing")
    lab.part("speed").fill("5")
    lab.press("play")
    after(lab, 1)
    assert lab.scene("k") == lab.scene("K") and not lab.scene("playing"), "it ends by itself"
    assert lab.text("position").startswith("mistake 1 000 of 1 000")


@pytest.mark.parametrize(
    ("tempo", "speed", "steps"),
    [("even", 0.25, 2), ("rush", 1.0, 240), further("even", 1.0, 10), further("even", 4.0, 40)],
)
def test_other_tempi_and_speeds(clocked, tempo, speed, steps):
    lab = begin(clocked, OVERLAPPING)
    lab.part("tempo").select_option(tempo)
    lab.part("speed").fill(str([0.25, 0.5, 1.0, 2.0, 4.0, 8.0].index(speed)))
    assert (lab.state()["view"]["tempo"], lab.state()["view"]["speed"]) == (tempo, speed)
    lab.press("play")
    assert after(lab, 2.05) == pytest.approx(steps, abs=0.02 * steps + 0.5)


def test_a_link_brings_its_tempo_and_speed(clocked):
    lab = begin(clocked, OVERLAPPING, view={"tempo": "even", "speed": 4})
    lab.press("play")
    assert after(lab, 2.05) == pytest.approx(40, abs=1)
    lab = begin(clocked, OVERLAPPING)
    lab.press("play")
    assert after(lab, 2.0) == 2


def test_speed_and_tempo_change_while_it_plays(clocked):
    lab = begin(clocked, OVERLAPPING)
    lab.press("play")
    assert after(lab, 2.0) == 2
    lab.part("tempo").select_option("even")
    assert after(lab, 1.0) == pytest.approx(7, abs=1)
    lab.part("speed").fill("5")
    assert after(lab, 1.0) == pytest.approx(47, abs=2)


def test_scrub_anywhere(lab):
    lab.open(SEPARABLE)
    weights = lab.answer()["run"]["updates"]["weights"]
    for place in (7, 0, 3):
        lab.slide("scrub", place)
        assert lab.scene("k") == place and lab.state()["time"] == place
        assert lab.scene("weights") == (weights[place - 1] if place else lab.answer()["run"]["start"])
        assert lab.part("scrub").get_attribute("aria-valuetext") == f"mistake {place} of {len(weights)}"
    box = lab.part("scrub").bounding_box()
    y = box["y"] + box["height"] / 2
    lab.drag((box["x"] + 10, y), (box["x"] + box["width"] - 1, y), steps=12)
    assert lab.scene("k") == len(weights) and lab.state()["time"] is None
    lab.press("first").rest()
    assert lab.scene("k") == 0
    lab.press("last").rest()
    assert lab.scene("k") == len(weights)


def test_the_chart_of_errors_leads_to_a_moment(lab):
    lab.open(SEPARABLE)
    box = lab.part("errors-chart").bounding_box()
    lab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lab.rest()
    assert 0 < lab.scene("k") < lab.scene("K")


def test_a_point_added_while_it_runs_is_learned_from_there_on(clocked):
    lab = begin(clocked, SEPARABLE)
    lab.press("play")
    assert after(lab, 4.4) == 5
    weights, n = lab.scene("weights"), len(lab.points())
    spot = lab.js("__lab.view('x').pixel(2.2, -3.6)")
    lab.part("x-canvas").click(position={"x": spot[0], "y": spot[1]})
    assert until(lambda: lab.answer()["n"] == n + 1, PATIENCE)
    state, run = lab.state(), lab.answer()["run"]
    assert lab.scene("continued") == 5 and state["start"] == weights == run["start"]
    trace = machines(fitted(state))[0].trace_
    assert run["updates"]["weights"] == [u.weights.tolist() for u in trace]
    assert lab.scene("playing") and lab.scene("k") == 0
    assert after(lab, 0.9) == min(1, len(trace)) or not len(trace)
    assert lab.scene("continued") == 5
    assert lab.text("mistakes") == str(5 + lab.scene("k"))
    lab.part("speed").fill("5")
    after(lab, 3)
    assert lab.scene("k") == len(trace) and not lab.scene("playing")
    assert lab.text("verdict") == "✓ Separable" and lab.text("e-in") == share(0, n + 1)
    assert lab.text("time-note").startswith("Continued after 5 earlier updates.")


def test_margin_machines_have_no_time(lab):
    lab.open(SEPARABLE)
    lab.choose("algorithm", "hard")
    for name in ("play", "step", "back", "first", "last", "scrub"):
        assert lab.part(name).is_disabled()
    assert lab.text("time-note") == "This machine is solved at once: there are no updates to play."
    assert not lab.part("start-here").is_visible()


def test_without_motion_playing_jumps_from_update_to_update(lab):
    lab.open(SEPARABLE)
    lab.press("first").press("play")
    lab.until("() => __lab.scene().k === 1")
    assert lab.scene("reduced") and lab.scene("playing")
    lab.press("play").rest()
    assert not lab.scene("playing")
