"""How the page looks and whom it serves: sizes, themes, contrast, names for screen readers, tooltips."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import pytest

from lab_driver import browser, kept, lab_url, opened
from lab_driver import shared as lab
from lab_library import preset
from maxmargin.laboratory.engine import answer
from thorough import THOROUGH

SEPARABLE = preset("separable", n=24, margin=0.25, seed=3)
THREE = preset("three blobs", n=30)
# contrast of every visible text with what is behind it, by the formula of the WCAG
CONTRAST = """() => {
  const paint = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const mixed = (layers) => {
    paint.globalAlpha = 1;
    paint.clearRect(0, 0, 1, 1);
    for (const layer of layers) { paint.fillStyle = layer; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const shares = [0.2126, 0.7152, 0.0722];
  const light = (rgb) => shares.reduce((sum, share, i) => sum + share * linear(rgb[i] / 255), 0);
  const found = [];
  for (const node of document.querySelectorAll(".mm-lab *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const seen = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!own || !seen || node.closest(":disabled, .mm-hidden, svg")) continue;
    const behind = [];
    for (let up = node; up; up = up.parentElement) behind.unshift(getComputedStyle(up).backgroundColor);
    const ground = ["white", ...behind];
    const [a, b] = [light(mixed([...ground, getComputedStyle(node).color])), light(mixed(ground))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([ratio, node.textContent.trim().slice(0, 30), `${node.className}`]);
  }
  return found;
}"""


@pytest.mark.parametrize("how", ["light", "dark", "dark by hand"])
def test_every_text_stands_out(browser, lab_url, how):
    with opened(browser, lab_url, kept=True, color_scheme="dark" if how == "dark" else "light") as lab:
        for data, algorithm in ((SEPARABLE, "perceptron"), (THREE, "pocket"), (THREE, "soft")):
            lab.open(data, algorithm=algorithm)
            if how == "dark by hand" and algorithm == "perceptron":
                lab.press("theme").rest()
                assert lab.part("theme").get_attribute("aria-label") == "Dark: change to light"
            texts = lab.js(CONTRAST)
            assert len(texts) > 40 and lab.scene("dark") == (how != "light")
            assert [text for text in texts if text[0] < 4.5] == []
        lab.press("help")
        assert [text for text in lab.js(CONTRAST) if text[0] < 4.5] == []


def test_themes_go_round_and_are_remembered(browser, lab_url):
    with opened(browser, lab_url) as lab:
        go_round(lab.open(SEPARABLE))


def go_round(lab):
    card = "getComputedStyle(document.querySelector('.mm-card')).backgroundColor"
    light = lab.js(card)
    picture = lab.pixels("x-canvas")
    lab.press("theme").rest()
    dark = lab.js(card)
    assert dark != light and lab.scene("dark") and lab.pixels("x-canvas") != picture
    assert lab.part("theme").get_attribute("aria-label") == "Dark: change to light"
    lab.page.reload()
    lab.rest()
    assert lab.js(card) == dark
    lab.press("theme").rest()
    assert lab.js(card) == light
    lab.page.emulate_media(color_scheme="dark")
    lab.until("() => __lab.scene().dark")
    assert lab.js(card) == dark


@pytest.mark.parametrize("algorithm", ["perceptron", "batch", "pocket", "hard", "soft"])
def test_nothing_scrolls_at_1280_by_720(lab, algorithm):
    for data in (SEPARABLE, THREE):
        lab.open(data, algorithm=algorithm)
        across, down = lab.js(
            "[document.scrollingElement.scrollWidth, document.scrollingElement.scrollHeight]"
        )
        assert across <= 1280 and down <= 720
        for name in ("x-canvas", "w-canvas", "play", "scrub"):
            box = lab.part(name).bounding_box()
            assert box["x"] >= 0 and box["y"] >= 0
            assert box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 720
        size = lab.part("x-canvas").bounding_box()
        assert size["width"] >= 280 and size["height"] >= 280


WINDOWS = [(820, 1180), (600, 960), (1920, 1080), *([(1180, 820), (1024, 768)] if THOROUGH else [])]


def test_other_windows(browser, lab_url):
    with opened(browser, lab_url, kept=True) as lab:
        for width, height in WINDOWS:
            lab.page.set_viewport_size({"width": width, "height": height})
            fits(lab.open(SEPARABLE), width)


def fits(lab, width):
    """Nothing sticks out to the side, and the views are large enough to be used."""
    assert lab.js("document.scrollingElement.scrollWidth") <= width
    for name in ("w-canvas", "play", "preset", "algorithm", "verdict", "share", "x-canvas"):
        lab.part(name).scroll_into_view_if_needed()
        box = lab.part(name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, name
    assert lab.part("x-canvas").bounding_box()["width"] >= 240
    assert lab.colours("x-canvas") > 30 and lab.colours("w-canvas") > 30
    lab.click(0, -1)
    assert len(lab.points()) == 25


def test_pictures_are_sharp_on_fine_screens(browser, lab_url):
    with opened(browser, lab_url, device_scale_factor=2) as lab:
        lab.open(SEPARABLE)
        assert lab.part("x-canvas").evaluate("(c) => c.width / c.clientWidth") == pytest.approx(
            2, abs=0.02
        )
        lab.click(0, -1)
        assert lab.points()[-1][:2] == pytest.approx((0, -1), abs=0.02)


ROLES = {
    "button",
    "slider",
    "textbox",
    "combobox",
    "checkbox",
    "img",
    "tab",
    "menuitem",
    "radio",
    "spinbutton",
}


@pytest.mark.parametrize("algorithm", ["perceptron", "pocket", "soft"])
def test_everything_has_a_name_for_screen_readers(lab, algorithm):
    lab.open(THREE, algorithm=algorithm)
    lab.press("tab-section").rest()
    lab.until("() => document.querySelector('[data-name=section-canvas]').ariaLabel.length > 30")
    lab.press("share")
    check_names(lab)
    lab.key("Escape")
    for opens, closes in (("open-csv", "csv-close"), ("table", "table-close"), ("help", "help-close")):
        lab.press(opens)
        check_names(lab)
        lab.press(closes)


def check_names(lab):
    tree = lab.page.context.new_cdp_session(lab.page)
    nodes = tree.send("Accessibility.getFullAXTree")["nodes"]
    tree.detach()
    kinds = [
        (n["role"]["value"], n.get("name", {}).get("value", ""))
        for n in nodes
        if not n["ignored"] and "role" in n
    ]
    assert len([kind for kind, _ in kinds if kind in ROLES]) > 0
    assert [kind for kind, name in kinds if kind in ROLES and not name.strip()] == []


def test_pictures_are_told_in_words(lab):
    lab.open(SEPARABLE)
    lab.until("() => document.querySelector('[data-name=x-canvas]').ariaLabel?.includes('24 points')")
    words = lab.part("x-canvas").get_attribute("aria-label")
    assert "12 of −1, 12 of +1" in words and "no point is on the wrong side" in words
    assert lab.answer()["verdict"]["sentence"] in words
    assert "a line for each of 24 training points" in lab.part("w-canvas").get_attribute("aria-label")
    assert lab.part("verdict-sentence").get_attribute("aria-live") == "polite"
    heads = lab.page.locator("h1, h2, h3").evaluate_all("(all) => all.map((h) => h.tagName)")
    assert heads[0] == "H1" and heads.count("H1") == 1


def test_every_control_explains_itself(lab):
    lab.open(THREE)
    silent = lab.page.locator(".mm-lab :is(button, input, select)[data-name]").evaluate_all("""(all) => {
      const said = (e) => e.closest("[title]")?.title || e.closest("[data-tip]")?.dataset.tip || "";
      return all.filter((e) => e.checkVisibility() && said(e).length < 8).map((e) => e.dataset.name);
    }""")
    assert silent == []
    lab.part("algorithm").hover()
    tip = lab.page.locator("[role=tooltip]")
    tip.wait_for()
    assert len(tip.inner_text()) > 15
    lab.page.mouse.move(640, 700)
    tip.wait_for(state="hidden")
    lab.part("share").focus()
    lab.key("Tab", "Shift+Tab")
    tip.wait_for()
    assert lab.part("share").get_attribute("aria-describedby") == tip.get_attribute("id")
    lab.key("Escape")
    tip.wait_for(state="hidden")


def test_fonts_and_files_come_from_the_page_alone(lab):
    seen = []
    lab.page.on("request", lambda request: seen.append(request.url))
    lab.open()
    assert len(seen) > 10 and all(url.startswith((lab.url, "about:")) for url in seen)
    assert lab.js("document.fonts.size") == 0
