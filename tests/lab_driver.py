"""A hand for the tests of the lab's page: it opens the page, presses, drags, waits and reads.

A test file imports the fixtures ``browser, lab, lab_url``. ``lab`` is a fresh page on the server of this
session; after each test it must not have complained, nor asked another server. Where a test needs
nothing but a state, ``browser, kept, lab_url`` and ``shared as lab`` take one page for all such tests,
and ``open`` leads it to another state: that is ten times as quick.
"""

import json
import tempfile
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from browser import HELD
from browser import browser as browser
from serving import served

PATIENCE = 120  # seconds; shared machines stall now and then
REST = "() => window.__lab?.ready() && !__lab.pending() && !__lab.scene().stale"
STEADY = """() => {
  const [seen, now] = [window.steady, __lab.view("%s").pixel(0, 0).join()];
  window.steady = now;
  return seen === now;
}"""
TIDY = """() => {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  for (const name of ["brush-1", "tool-point"]) document.querySelector(`[data-name=${name}]`)?.click();
  document.activeElement?.blur();
}"""
READ = """((canvas) => {
  const [wide, high] = [canvas.width, canvas.height];
  const copy = new OffscreenCanvas(wide, high).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return new Uint32Array(copy.getImageData(0, 0, wide, high).data.buffer);
})(canvas)"""
WAIT = """() => new Promise((done) => {
  const end = Date.now() + %d;
  let calm = 0;
  const look = () => {
    calm = (%s)() ? calm + 1 : 0;
    if (calm >= %d || Date.now() > end) done(calm > 0);
    else requestAnimationFrame(look);
  };
  look();
})"""


class Lab:
    """One page of the lab. Controls are meant by their ``data-name``; places are points of x-space."""

    def __init__(self, page, url, problems, kept=False):
        self.page, self.url, self.problems, self.kept = page, url, problems, kept
        self.opened = 0

    # Opening and waiting

    def open(self, state=None, **parts):
        """Go to the page, to a state if one is given, and wait until it is there."""
        self.opened += 1
        whole = {**(state or {}), **parts}
        if not whole:
            self.page.goto("about:blank")
            self.page.goto(self.url)
            return self.rest()
        whole["view"] = {**whole.get("view", {}), "mark": self.opened}
        there = f"() => window.__lab?.state().view.mark === {self.opened}"
        link = f"{self.url}#s={quote(json.dumps(whole, ensure_ascii=False))}"
        if self.kept and self.opened > 1:
            self.js(TIDY)
            for _ in range(5):  # the page may be writing its own address at this very moment
                self.js("(link) => { location.href = link; }", link)
                if self.holds(there, 3):
                    break
        else:
            self.page.goto("about:blank")  # a link that differs after # alone would not load
            self.page.goto(link)
        self.until(there)
        return self.rest()

    def rest(self):
        """Wait until every question is answered and drawn."""
        self.until(REST, frames=3)
        return self

    def until(self, condition, frames=1):
        """Wait until a function of JavaScript says so, for some frames in a row."""
        held = self.holds(condition, PATIENCE, frames)
        assert held, f"in vain for {PATIENCE} s: {condition}; {self.problems}"

    def holds(self, condition, seconds, frames=1):
        """Whether it says so in time."""
        return self.page.evaluate(WAIT % (seconds * 1000, condition, frames))

    # Reading

    def js(self, code, *given):
        """The value of an expression or function."""
        return self.page.evaluate(code, *given)

    def told(self, code):
        """The value of an expression, as JSON: long lists come ten times as quickly so."""
        text = self.js(f"JSON.stringify({code})")
        return None if text is None else json.loads(text)

    def state(self):
        """The whole state."""
        return self.told("__lab.state()")

    def points(self):
        """x₁, x₂, class, role of every point."""
        return self.told("__lab.state().points")

    def answer(self):
        """What Python has said last."""
        return self.told("__lab.answer()")

    def scene(self, name):
        """One entry of what is drawn now."""
        return self.told(f"__lab.scene().{name}")

    def part(self, name):
        """A control or a number."""
        return self.page.locator(f'[data-name="{name}"]')

    def text(self, name):
        """The words of a part, or None if it is not shown."""
        part = self.part(name)
        return " ".join(part.inner_text().split()) if part.is_visible() else None

    def texts(self, *names):
        """The same of several parts at once."""
        code = """(names) => names.map((name) => {
          const part = document.querySelector(`[data-name="${name}"]`);
          return part?.checkVisibility() ? part.innerText.split(/\\s+/).filter(Boolean).join(" ") : null;
        })"""
        return self.js(code, list(names))

    # Doing

    def press(self, name):
        """Click on a button."""
        self.part(name).click()
        return self

    def choose(self, name, value):
        """Choose from a list."""
        self.part(name).select_option(value)
        return self.rest()

    def slide(self, name, value):
        """Move a slider: of one for powers of ten, the exponent."""
        self.part(name).fill(str(value))
        return self.rest()

    def write(self, name, value):
        """Type a number and leave the field."""
        self.part(name).fill(str(value))
        self.part(name).press("Enter")
        return self.rest()

    def tick(self, name, on):
        """Set a check box."""
        self.part(name).set_checked(on)
        return self.rest()

    def key(self, *names):
        """Press keys."""
        for name in names:
            self.page.keyboard.press(name)
        return self

    # Places

    def spot(self, x, y, view="x"):
        """Where on the screen a place of x-space or w-space is, when its window has come to rest."""
        self.until(STEADY % view, frames=3)
        code = "([view, x, y]) => __lab.view(view).pixel(x, y)"
        box = self.part(f"{view}-canvas").bounding_box()
        across, down = self.js(code, [view, x, y])
        return box["x"] + across, box["y"] + down

    def spot_of(self, row):
        """Where on the screen a point is."""
        return self.spot(*self.points()[row][:2])

    def click(self, x, y, view="x", **options):
        """Click on a place."""
        self.page.mouse.click(*self.spot(x, y, view), **options)
        return self.rest()

    def drag(self, start, end, steps=8, rest=True):
        """Take hold of a place of the screen, move and let go."""
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=steps)
        mouse.up()
        return self.rest() if rest else self

    def saved(self, name):
        """The bytes that a button saves, and the name of the file."""
        with self.page.expect_download(timeout=PATIENCE * 1000) as waiting:
            self.press(name)
        download = waiting.value
        with open(download.path(), "rb") as file:
            return file.read(), download.suggested_filename

    def colours(self, name):
        """How many different colours a canvas has."""
        return self.part(name).evaluate(f"(canvas) => new Set({READ}).size")

    def pixels(self, name):
        """A picture of a canvas, to be compared with another."""
        return self.part(name).evaluate("(canvas) => canvas.toDataURL()")


@contextmanager
def opened(browser, url, kept=False, **options):
    """A lab in a window of its own; at the end it must not have complained."""
    problems = []
    usual = {"viewport": {"width": 1280, "height": 720}, "reduced_motion": "reduce"}
    context = browser.new_context(**{**usual, **options})
    context.set_default_timeout(PATIENCE * 1000)
    home = url.rstrip("/")
    allowed = (home, home.replace("http", "ws", 1), "data:", f"blob:{home}", "about:")
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda said: _note(problems, said))
        page.on("websocket", lambda socket: _outside(problems, socket.url, allowed))
        page.on("request", lambda request: _outside(problems, request.url, allowed))
        yield Lab(page, url, problems, kept)
    finally:
        context.close()
    assert not problems, problems


def _note(problems, said):
    if said.type in ("error", "warning"):
        problems.append(f"console: {said.text}")


def _outside(problems, url, allowed):
    if not url.startswith(allowed):
        problems.append(f"outside: {url}")


@contextmanager
def _served():
    engine = "maxmargin.laboratory.engine"
    with tempfile.TemporaryDirectory() as folder, served(folder, engine=engine) as server:
        yield server


@pytest.fixture(scope="module")
def lab_url():
    """The link of a real lab on a free port: one for all test files of this process."""
    return HELD.get("lab", _served).url


@pytest.fixture
def lab(browser, lab_url):
    """A fresh page, not yet opened."""
    with opened(browser, lab_url) as made:
        yield made


@pytest.fixture(scope="module")
def kept(browser, lab_url):
    """A page for all tests that leave it in order; each file finds it without a chosen theme."""
    own = {"kept": True, "permissions": ["clipboard-read", "clipboard-write"]}
    made = HELD.get("page", lambda: opened(browser, lab_url, **own))
    if made.opened:
        made.js("localStorage.clear()")
    return made


@pytest.fixture
def shared(kept):
    """The page of all such tests, with clean hands."""
    kept.page.mouse.move(1, 1)
    yield kept
    found, kept.problems[:] = list(kept.problems), []
    assert not found, found
