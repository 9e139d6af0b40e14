"""The lab in a notebook: what it opens with, how it answers, and that a browser runs its one module."""

import builtins
import json
import re
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from browser import browser  # noqa: F401 (a fixture)
from commands import run
from maxmargin import InputError
from maxmargin.laboratory.notebook import lab
from maxmargin.laboratory.protocol import respond
from maxmargin.laboratory.tables import opening
from maxmargin.laboratory.widget import PAGE, Latest, bundle, imports, styles
from serving import until

X, Y = [[0.0, 1.0], [2.0, 0.1], [1.0, 1.0]], ["no", "yes", "no"]


# What it opens with


def test_two_features_are_shown_as_they_are():
    widget = lab(X, Y, names=["a", "b"])
    assert widget.state["points"] == [[0.0, 1.0, 0, 0], [2.0, 0.1, 1, 0], [1.0, 1.0, 0, 0]]
    assert widget.state["labels"] == ["no", "yes"] and widget.state["names"] == ["a", "b"]
    np.testing.assert_array_equal(widget.X, X)
    assert widget.y.tolist() == Y and widget.note == ""
    widget.close()


def test_without_data_it_opens_with_an_example():
    widget = lab(algorithm="soft", C=10.0)
    assert len(widget.X) == 24 and widget.state["options"] == {"C": 10.0}
    assert "SoftMarginSVC" in widget.script()
    widget.close()


def test_more_features_are_projected_unless_two_are_named():
    data = load_iris(as_frame=True)
    state, note = opening(data.data, data.target)
    assert "4 features" in note and state["labels"] == ["0", "1", "2"]
    assert len(state["points"]) == 150 and np.isfinite([p[:2] for p in state["points"]]).all()
    for two in (["petal width (cm)", "sepal length (cm)"], [3, 0], ("3", "0")):
        state, note = opening(data.data, data.target, features=two)
        assert note == "" and state["names"] == ["petal width (cm)", "sepal length (cm)"]
        assert [p[:2] for p in state["points"]] == data.data.iloc[:, [3, 0]].to_numpy().tolist()


def test_sparse_rows_frames_and_one_feature_are_taken():
    dense, _ = opening(X, Y)
    assert opening(sparse.csr_array(X), Y)[0] == dense
    frame = pd.DataFrame(X, columns=["u", "v"])
    assert opening(frame, pd.Series(Y))[0]["names"] == ["u", "v"]
    state, note = opening(np.array(X)[:, :1], Y)
    assert state["points"][1] == [2.0, 0.0, 1, 0] and "one feature" in note


def test_numbers_as_labels_are_in_their_order():
    assert opening([[k, k] for k in range(3)], [10, 9, 10])[0]["labels"] == ["9", "10"]


def test_labels_that_are_too_long_for_the_page_stay_different():
    first, second = opening([[0, 1], [1, 0]], ["x" * 70 + "a", "x" * 70 + "b"])[0]["labels"]
    assert first != second and first.startswith("x" * 50) and second.startswith("x" * 50)
    assert len(first) <= 60 and len(second) <= 60


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[0, 1]] * 2001, [0, 1, 0] * 667), "at most 2,000 rows.*Draw some"),
        (([[0, 1]] * 6, list(range(6))), "2 to 5 classes. Got 6 instead. Keep"),
        (([[0, 1]] * 6, [1] * 6), "2 to 5 classes. Got 1"),
        (([[0, 1]] * 6, [1, 0]), "one label for each of the 6 rows"),
        (([0, 1, 2], [1, 0, 1]), r"Got the shape \(3,\)"),
        (([[0, 1], [2]], [1, 0]), "table of numbers"),
        (([["a", 1], ["b", 2]], [1, 0]), "table of numbers"),
        (([[0, 1], [2, np.nan]], [1, 0]), "Got nan in row 1, column 1"),
        (([[0, 1], [2, 1e300]], [1, 0]), "in row 1, column 1"),
        ((X, Y, ["one"]), "names must be 2"),
        ((X, Y, None, ["x₁", "x₁"]), "twice"),
        ((X, Y, None, ["x₁", "x₉"]), "Got 'x₉' instead"),
        ((X, Y, None, "x₁"), "features must be two"),
        ((X, Y, None, [0, -1]), "Got -1 instead"),
        ((np.zeros((2, 201)), [0, 1]), "1 to 200 features"),
        ((np.zeros((0, 2)), []), "shape"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_remedy(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        opening(*arguments)


def test_half_of_the_data_and_unknown_options_are_refused():
    with pytest.raises(InputError, match="both X and y"):
        lab(X)
    with pytest.raises(InputError, match="algorithm"):
        lab(X, Y, algorithm="forest")
    with pytest.raises(InputError, match="depth"):
        lab(X, Y, depth=3)


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *rest):
        if name == "maxmargin.laboratory.widget":
            raise ModuleNotFoundError("No module named 'anywidget'", name="anywidget")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'maxmargin\[notebook\]'"):
        lab()


def test_a_file_opens_the_page_of_the_command_line(tmp_path, monkeypatch):
    digits = load_digits()
    keep = digits.target < 4
    table = pd.DataFrame(digits.data[keep]).assign(digit=digits.target[keep])
    big = pd.concat([table] * 4)
    assert len(big) > 2000
    (path := tmp_path / "digits.csv").write_text(big.to_csv(index=False))
    seen = {}
    monkeypatch.setattr("maxmargin.laboratory.server.serve", lambda *a, **k: seen.update(k) or 0)
    command = "lab", path, "--label", "digit", "--port", 0, "--no-open"
    code, _, err = run(*command)
    assert code == 0
    assert len(seen["start"]["points"]) == 2000 and seen["start"]["labels"] == list("0123")
    assert "drawn at random" in err
    assert run(*command, "--features", "20,21")[0] == 0
    assert seen["start"]["names"] == ["20", "21"] and not seen["open_browser"]
    assert run("lab", "--port", 0)[0] == 0 and seen["start"] is None and seen["open_browser"]


# How it answers


def test_messages_are_answered_by_the_kernel(monkeypatch):
    widget = lab(X, Y)
    replies = []
    monkeypatch.setattr(widget._latest, "send", replies.append)
    widget._handle_custom_msg({"id": 3, "ask": "solve", "state": widget.state}, [])
    widget._latest.join()
    assert replies[0]["id"] == 3 and replies[0]["answer"]["verdict"]["status"] == "separable"
    for bad in (
        {"id": "x"},
        {"id": 4, "ask": "nothing"},
        [],
        None,
        {"id": 5, "ask": "solve", "state": 1},
    ):
        widget._handle_custom_msg(bad, [])
        widget._latest.join()
    assert len(replies) == 6 and all(len(reply["error"]) > 10 for reply in replies[1:])
    widget.close()


def test_dragging_leaves_no_backlog():
    go, begun, asked, replies = threading.Event(), threading.Event(), [], []

    def slow(request):
        begun.set()
        assert go.wait(300)
        asked.append(request["id"])
        return {}

    latest = Latest(slow, replies.append)
    latest.put({"id": 0, "ask": "solve"})
    assert begun.wait(300)
    for number in range(1, 1000):
        latest.put({"id": number, "ask": "solve"})
    latest.put({"id": 1000, "ask": "risk"})
    go.set()
    latest.join()
    assert asked == [0, 999, 1000]
    assert len(replies) == 1001 and sum("dropped" in reply for reply in replies) == 998
    assert latest.thread is None


def test_a_closed_lab_forgets_what_was_asked():
    go, begun, asked = threading.Event(), threading.Event(), []

    def slow(request):
        begun.set()
        assert go.wait(300)
        asked.append(request["id"])
        return {}

    latest = Latest(slow, lambda reply: None)
    latest.put({"id": 1, "ask": "solve"})
    assert begun.wait(300)
    latest.put({"id": 2, "ask": "solve"})
    latest.forget()
    go.set()
    latest.join()
    assert asked == [1]


# Its one module


def test_imports_are_found_and_comments_are_not():
    text = (
        'import { a,\n  b } from "./one.js";\nimport "./two.js";\nexport * from \'./three.js\';\n'
        '/** @param {import("./four.js").Four} x */\nexport const path = "./five.js";\n'
    )
    assert imports(text) == ["one.js", "two.js", "three.js"]


def test_modules_come_after_those_they_import():
    modules = dict(json.loads(re.match(r"const modules = (.*);\n", bundle())[1]))
    names = list(modules)
    assert names[-1] == "lab.js" and len(names) > 20
    for name, text in modules.items():
        needed = re.findall(r"lab-module:([\w-]+\.js)", text)
        assert all(names.index(other) < names.index(name) for other in needed)
        assert len(needed) == len(imports((PAGE / name).read_text("utf-8")))


def test_a_ring_of_imports_is_told(tmp_path):
    (tmp_path / "a.js").write_text('import "./b.js";')
    (tmp_path / "b.js").write_text('import "./a.js";')
    with pytest.raises(ValueError, match=r"a\.js → b\.js → a\.js"):
        bundle("a.js", tmp_path)


@pytest.mark.parametrize("path", sorted(PAGE.glob("*.js")), ids=lambda path: path.name)
def test_no_module_asks_where_it_is(path):
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text("utf-8"), flags=re.DOTALL)
    assert "import.meta" not in code and not re.search(r"\bimport\s*\(", code)


def test_styles_are_those_of_the_page():
    assert ".mm-lab" in styles()


NOTEBOOK = """
async ([esm, css, state]) => {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const handlers = new Set();
  const model = {
    data: { state },
    get: (key) => model.data[key],
    set: (key, value) => { model.data[key] = value; },
    save_changes: () => window.saved(model.data.state),
    on: (name, handler) => { if (name === "msg:custom") handlers.add(handler); },
    off: (name, handler) => handlers.delete(handler),
    send: async (body) => {
      const reply = await window.python(body);
      for (const handler of handlers) handler(reply, []);
    },
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const el = document.createElement("div");
  document.body.append(el);
  window.end = await widget.render({ model, el });
}
"""


def test_a_browser_runs_the_widget(browser):  # noqa: F811
    from maxmargin.laboratory.engine import answer

    widget = lab(X, Y, algorithm="hard")
    problems, asked, saved = [], [], []
    page = browser.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.route("http://notebook.test/", lambda route: route.fulfill(body="<!doctype html>"))
    page.goto("http://notebook.test/")
    page.expose_function("python", lambda body: asked.append(body["ask"]) or respond(body, answer))
    page.expose_function("saved", lambda state: saved.append(state))
    page.evaluate(NOTEBOOK, [widget._esm, widget._css, widget.state])
    page.locator(".mm-side", has_text="separable").first.wait_for()
    assert {"hello", "solve"} <= set(asked)
    assert page.locator(".mm-lab canvas").count() >= 2
    page.locator(".mm-lab canvas").first.click(position={"x": 60, "y": 60})
    assert until(lambda: page.wait_for_timeout(50) or (saved and len(saved[-1]["points"]) == 4))
    widget.state = saved[-1]
    assert len(widget.X) == len(widget.y) == 4 and "HardMarginSVC" in widget.script()
    page.evaluate("window.end()")
    assert page.locator(".mm-lab canvas").count() == 0
    assert not problems
    page.close()
    widget.close()
