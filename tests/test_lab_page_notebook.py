"""The same module in a notebook: two labs side by side, driven by hand, answered by this process."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import numpy as np
import pytest

import maxmargin as mm
from lab_driver import PATIENCE, browser
from lab_words import number
from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.notebook import lab as notebook_lab
from maxmargin.laboratory.protocol import respond
from serving import until

SHOW = """async ([esm, css, state, name]) => {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const handlers = new Set();
  const data = { state };
  const model = {
    get: (key) => data[key],
    set: (key, value) => { data[key] = value; },
    save_changes: () => window.saved(name, data.state),
    on: (kind, handler) => { if (kind === "msg:custom") handlers.add(handler); },
    off: (kind, handler) => handlers.delete(handler),
    send: async (body) => {
      const reply = await window.python(body);
      for (const handler of handlers) handler(reply, []);
    },
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const el = document.createElement("div");
  el.id = name;
  document.body.append(el);
  window[`end_${name}`] = await widget.render({ model, el });
}"""
X = np.array([[-2.0, -1.0], [-1.0, 1.0], [2.0, 1.0], [1.0, -1.0]])
Y = ["no", "no", "yes", "yes"]


@pytest.fixture
def cell(browser):
    """A page with two labs, what they save, and what went wrong."""
    problems, saved = [], {}
    page = browser.new_page(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE * 1000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda r: (
            None
            if r.url.startswith(("http://notebook.test", "blob:", "data:"))
            else problems.append(r.url)
        ),
    )
    page.route(
        "http://notebook.test/**", lambda route: route.fulfill(body="<!doctype html><title>n</title>")
    )
    page.goto("http://notebook.test/")
    page.expose_function("python", lambda body: respond(body, answer))
    page.expose_function("saved", lambda name, state: saved.update({name: state}))
    made = {
        "one": notebook_lab(X, Y, algorithm="hard"),
        "two": notebook_lab(X, Y, C=2.0, algorithm="soft"),
    }
    for name, widget in made.items():
        page.evaluate(SHOW, [widget._esm, widget._css, widget.state, name])
        page.locator(f"#{name} [data-name=verdict]", has_text="Separable").wait_for()
    yield page, saved, made
    page.close()
    for widget in made.values():
        widget.close()
    assert not problems, problems


def test_two_labs_live_side_by_side(cell):
    page, saved, made = cell
    one, two = page.locator("#one"), page.locator("#two")
    margin = mm.HardMarginSVC().fit(X, Y).margin_
    assert one.locator("[data-name=margin]").inner_text() == number(margin, 6)
    one.locator("[data-name=x-canvas]").click(position={"x": 60, "y": 60})
    assert until(
        lambda: page.wait_for_timeout(20) or len(saved.get("one", {}).get("points", [])) == 5, PATIENCE
    )
    assert "two" not in saved
    page.keyboard.press("Control+z")
    assert until(lambda: page.wait_for_timeout(20) or len(saved["one"]["points"]) == 4, PATIENCE)
    two.locator("[data-name=algorithm]").select_option("perceptron")
    assert until(
        lambda: page.wait_for_timeout(20) or saved.get("two", {}).get("algorithm") == "perceptron",
        PATIENCE,
    )
    two.locator("[data-name=first]").click()
    two.locator("[data-name=step]").click()
    assert until(
        lambda: two.locator("[data-name=position]").inner_text().startswith("mistake 1 of"), PATIENCE
    )
    made["one"].state, made["two"].state = saved["one"], saved["two"]
    assert made["one"].X.tolist() == X.tolist() and made["two"].y.tolist() == Y
    assert "mm.HardMarginSVC" in made["one"].script() and "mm.Perceptron" in made["two"].script()


def test_a_lab_that_is_taken_away_leaves_the_other(cell):
    page, saved, _ = cell
    page.evaluate("window.end_one()")
    assert page.locator("#one canvas").count() == 0 and page.locator("#two canvas").count() >= 2
    page.locator("#two [data-name=x-canvas]").click(position={"x": 50, "y": 50})
    assert until(
        lambda: page.wait_for_timeout(20) or len(saved.get("two", {}).get("points", [])) == 5, PATIENCE
    )
    page.keyboard.press("Delete")
    assert until(lambda: page.wait_for_timeout(20) or len(saved["two"]["points"]) == 4, PATIENCE)


def test_keys_outside_a_lab_are_the_notebook_s(cell):
    page, saved, _ = cell
    page.evaluate("() => { document.activeElement.blur(); }")
    page.keyboard.press("Delete")
    page.keyboard.press("Home")
    page.wait_for_timeout(600)
    assert not saved
    assert page.locator("#one .mm-share [data-name=copy-link]").count() == 0, (
        "a notebook has no link to itself"
    )
