"""Taken along: the link, the Python script, pictures, the film, the trace."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from lab_driver import browser, kept, lab_url, opened
from lab_driver import shared as lab
from lab_library import fitted, held_out, machines, preset
from maxmargin.laboratory.engine import answer
from serving import until

SEPARABLE = preset("separable", n=24, margin=0.25, seed=3)
OVERLAPPING = preset("overlapping", n=40, noise=0.8)
THREE = preset("three blobs", n=30)


def clipboard(lab):
    return lab.js("navigator.clipboard.readText()")


def from_menu(lab, name):
    return lab.press("share").press(name)


def texts(lab):
    """Every number and sentence beside the pictures."""
    return lab.page.locator(".mm-side").inner_text(), lab.page.locator(".mm-step").inner_text()


def test_a_link_restores_everything(lab):
    lab.open(
        held_out(OVERLAPPING), algorithm="pocket", options={"order": "random", "seed": 5, "updates": 50}
    )
    lab.press("tab-w").tick("layer-risk", True)
    lab.part("tempo").select_option("even")
    lab.part("speed").fill("3")
    lab.page.mouse.move(*lab.spot(0, 0))
    lab.page.mouse.wheel(0, -200)
    lab.slide("scrub", 17)
    from_menu(lab, "copy-link")
    lab.until("() => document.querySelector('[data-name=toast]')?.textContent.includes('copied')")
    link, before, words = clipboard(lab), lab.state(), texts(lab)
    assert "#s=" in link and len(link) < 3000
    lab.until(f"() => location.href === {json.dumps(link)}")
    with opened(lab.page.context.browser, lab.url) as other:
        other.page.goto(link)
        other.rest()
        assert other.state() == before and texts(other) == words
        assert other.scene("k") == 17 and other.part("layer-risk").is_checked()
        assert other.js("__lab.view('x').window()") == pytest.approx(lab.js("__lab.view('x').window()"))
        assert other.part("undo").is_disabled(), "a link is a beginning"
        other.page.goto("about:blank")
        other.page.goto(lab.page.url)
        other.rest()
        assert other.state() == before, "the address of the page is such a link"


@pytest.mark.parametrize("part", ["hand", "watch", "start"])
def test_a_link_restores_what_is_set_by_hand(lab, part):
    lab.open(THREE if part == "watch" else SEPARABLE)
    if part == "watch":
        lab.choose("watch", "2").press("tab-3d").rest()
    else:
        lab.click(0.5, -0.5, view="w")
    if part == "start":
        lab.press("start-here").rest()
    state, words = lab.state(), texts(lab)
    assert state[part]
    lab.until("() => location.hash.length > 100", frames=30)
    lab.page.reload()
    lab.rest()
    assert lab.state() == state and texts(lab) == words


def test_a_link_restores_the_section(lab):
    lab.open(SEPARABLE)
    lab.press("tab-section").rest()
    lab.write("section-w1-value", 1.75)
    lab.until("() => __lab.scene().cut === 1.75")
    lab.until("() => location.hash.length > 100", frames=30)
    lab.page.reload()
    lab.rest()
    assert lab.part("section-canvas").is_visible() and lab.scene("cut") == 1.75


def test_another_address_in_the_same_window(lab):
    lab.open(SEPARABLE)
    lab.js(
        "(text) => { location.hash = '#s=' + encodeURIComponent(text); }",
        json.dumps({**THREE, "algorithm": "soft"}),
    )
    lab.until("() => __lab.answer()?.machines.length === 3")
    assert lab.rest().state()["algorithm"] == "soft" and lab.state()["points"] == THREE["points"]


@pytest.mark.parametrize("hash", ["#s=nonsense", "#s=%7B%22points%22%3A3%7D", "#s={}", "#other"])
def test_a_broken_link_opens_a_working_page(lab, hash):
    lab.page.goto("about:blank")
    lab.page.goto(lab.url + hash)
    lab.rest()
    lab.choose("preset", "separable")
    assert lab.answer()["usable"]


@pytest.mark.parametrize(("name", "canvases"), [("png-x", 1), ("png-w", 1), ("png-both", 2)])
def test_pictures_are_pictures(lab, name, canvases):
    lab.open(SEPARABLE)
    lab.press("share")
    data, filename = lab.saved(name)
    picture = Image.open(io.BytesIO(data))
    box = lab.part("x-canvas").bounding_box()
    assert picture.format == "PNG" and filename.endswith(".png")
    scale = picture.height / box["height"]
    assert scale >= 0.99 and picture.width >= 0.99 * scale * canvases * box["width"]
    assert len(picture.convert("RGB").getcolors(1 << 20)) > 50
    assert picture.convert("RGBA").getextrema()[3] == (255, 255), (
        "on the colour of the page, not see-through"
    )


def patiently(lab, name):
    """Saved, at the third go if need be: a busy machine takes longer than a request may."""
    found = []
    take = lambda download: found.append(download)  # noqa: E731 (Playwright marks what it is given)
    lab.page.on("download", take)
    bad = lab.page.locator(".mm-toast.mm-bad.mm-open")
    for _ in range(3):
        from_menu(lab, name)
        assert until(lambda: lab.page.wait_for_timeout(50) or found or bad.count())
        if found:
            lab.page.remove_listener("download", take)
            return Path(found[0].path()).read_bytes(), found[0].suggested_filename
        assert "seconds" in bad.text_content()
        bad.wait_for(state="detached")
    return pytest.fail("three times too slow")


def test_the_film_is_a_gif_that_moves(lab):
    lab.open(SEPARABLE)
    data, filename = patiently(lab, "gif")
    film = Image.open(io.BytesIO(data))
    assert film.format == "GIF" and filename.endswith(".gif") and film.n_frames > 10
    first = film.convert("RGB").tobytes()
    film.seek(film.n_frames - 1)
    assert film.convert("RGB").tobytes() != first


def test_the_trace_is_the_library_s(lab):
    lab.open(held_out(SEPARABLE))
    lab.press("share")
    data, filename = lab.saved("trace")
    (machine,) = machines(fitted(lab.state()))
    assert data.decode() == machine.trace_.to_json() and filename.endswith(".json")


@pytest.mark.parametrize("name", ["gif", "trace"])
def test_margin_machines_have_no_film(lab, name):
    lab.open(SEPARABLE, algorithm="soft")
    from_menu(lab, name)
    lab.until("() => document.querySelector('[data-name=toast].mm-bad')")
    assert "margin machine" in lab.part("toast").text_content()


def test_the_menu_closes_elsewhere(lab):
    lab.open(SEPARABLE)
    lab.press("share")
    assert (
        lab.part("copy-link").is_visible() and lab.part("share").get_attribute("aria-expanded") == "true"
    )
    lab.page.mouse.click(600, 690)
    assert not lab.part("copy-link").is_visible()
    assert lab.points() == SEPARABLE["points"]
