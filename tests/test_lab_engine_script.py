"""Copy as Python: the script, run by another Python, prints what the page shows, to the last bit."""

import ast
import base64
import json
import subprocess
import sys
from io import BytesIO

import pytest

import maxmargin as mm
from lab_library import held_out, preset
from lab_words import facts
from maxmargin.core.history import Trace
from maxmargin.laboratory.engine import answer

OVERLAPPING, THREE = preset("overlapping", n=40, noise=1.0), preset("three blobs", n=40, noise=1.0)
CASES = {
    "perceptron": {
        **OVERLAPPING,
        "algorithm": "perceptron",
        "options": {"order": "random", "rate": 0.3},
    },
    "averaged": {
        **held_out(OVERLAPPING),
        "algorithm": "perceptron",
        "options": {"averaged": True, "threshold": 0.1, "intercept": False, "seed": 4},
        "start": [0.1, 0.2, 0.3],
        "hand": [1.0, -1.0, 0.1],
    },
    "batch": {**OVERLAPPING, "algorithm": "batch", "options": {"step": 0.1}, "start": [1e-3, 2, 3]},
    "pocket": {**held_out(OVERLAPPING), "algorithm": "pocket", "options": {"order": "shuffled"}},
    "hard": {**preset("separable", n=30), "algorithm": "hard", "hand": [1, 1, 1]},
    "refused": {**OVERLAPPING, "algorithm": "hard"},
    "soft": {**held_out(OVERLAPPING), "algorithm": "soft", "options": {"C": 0.3}},
    "ovr": {**held_out(THREE), "algorithm": "soft", "options": {"scheme": "ovr"}, "watch": 2},
    "ovo": {
        **THREE,
        "algorithm": "perceptron",
        "options": {"scheme": "ovo", "order": "shuffled"},
        "watch": 1,
        "hand": [0.3, 0.1, -0.2],
    },
    "names": {**preset("exam-marks"), "labels": ['"""', "\\ \u2028"], "algorithm": "pocket"},
}


RUNNER = """
import contextlib, io, json, pathlib, runpy, sys
printed = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(path), run_name="__main__")
    printed[path.stem] = said.getvalue()
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the scripts print, run by another Python: one for all, since it starts slowly."""
    folder = tmp_path_factory.mktemp("scripts")
    for name, state in CASES.items():
        script = answer({"ask": "script", "state": state})["python"]
        (folder / f"{name}.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", RUNNER, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return {name: _lines(said) for name, said in json.loads(done.stdout).items()}


def _lines(said):
    return dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)


@pytest.mark.parametrize("name", CASES)
def test_the_script_prints_what_the_page_shows(name, printed):
    state, printed = CASES[name], printed[name]
    shown = answer({"ask": "solve", "state": state})
    assert printed["verdict"] == shown["verdict"]["status"]
    assert printed["fingerprint"] == shown["verdict"]["fingerprint"]
    if name == "refused":
        assert printed["refused"].startswith("no plane separates") and "refused" in shown["machine"]
        return
    assert ast.literal_eval(printed["weights"]) == shown["planes"]
    judged = shown["judged"]
    assert printed["errors"] == f"{judged['errors']} of {judged['n']}"
    if judged["validation_n"]:
        expected = f"{judged['validation_errors']} of {judged['validation_n']}"
        assert printed["validation errors"] == expected
    if shown["run"] is not None and len(shown["planes"]) == 1:
        assert facts(printed["stop"]) == facts(shown["run"]["stop"])
    if state.get("hand"):
        hand = answer({"ask": "judge", "state": state, "weights": state["hand"]})
        assert printed["by hand"] == f"{hand['errors']} of {hand['n']}"


def test_scripts_are_tidy():
    for state in CASES.values():
        script = answer({"ask": "script", "state": state})["python"]
        ast.parse(script)
        assert max(map(len, script.splitlines())) < 130 and "\n\n\n\n" not in script
        assert script.count("import ") == len(set(script.split("import "))) - 1


@pytest.mark.parametrize("name", ["perceptron", "batch", "pocket", "ovo"])
def test_the_trace_is_the_library_s(name):
    state = CASES[name]
    found = answer({"ask": "trace", "state": state})
    trace = Trace.from_json(found["json"])
    shown = answer({"ask": "solve", "state": state})["run"]
    assert [u.weights.tolist() for u in trace] == shown["updates"]["weights"]
    rows = [found["rows"][u.row] if u.row >= 0 else -1 for u in trace]
    assert rows == shown["updates"]["row"]
    assert json.loads(found["json"])["format"] == "maxmargin-trace-1"


def test_margin_machines_have_no_trace_and_no_film():
    for ask in ("trace", "film"):
        with pytest.raises(mm.InputError, match="makes no updates"):
            answer({"ask": ask, "state": CASES["soft"]})


@pytest.mark.parametrize("name", ["averaged", "hard", "refused", "soft", "ovr", "ovo"])
def test_pictures(name):
    from PIL import Image

    state = {**CASES[name], "names": ["$x$", "$"]}
    found = answer({"ask": "film", "state": state, "format": "png"})
    image = Image.open(BytesIO(base64.b64decode(found["base64"])))
    assert image.format == "PNG" and image.size[0] > 800 and found["type"] == "image/png"
    assert len(image.convert("RGB").resize((64, 64)).getcolors(4096)) > 20
    assert found["name"].endswith(".png")


def test_names_and_labels_are_drawn_as_they_are(monkeypatch):
    drawn = {}

    def record(model, X, y, *, names, ax):
        drawn.update(names=names, labels=sorted(set(y)))

    monkeypatch.setattr("maxmargin.plots.x_space.XSpaceDisplay.from_estimator", record)
    state = {**CASES["soft"], "labels": ["$a$", "$b"], "names": ["$x$", "new\nline"]}
    answer({"ask": "film", "state": state, "format": "png"})
    assert drawn == {"names": ["$x$", "new?line"], "labels": ["$a$", "$b"]}


@pytest.mark.parametrize("name", ["perceptron", "ovo", "names"])
def test_films(name):
    from PIL import Image

    options = {**CASES[name].get("options", {}), "updates": 5}
    found = answer({"ask": "film", "state": {**CASES[name], "options": options}, "format": "gif"})
    film = Image.open(BytesIO(base64.b64decode(found["base64"])))
    assert film.format == "GIF" and film.n_frames >= 3 and found["name"].endswith(".gif")


def test_a_film_without_updates_is_refused_in_a_sentence():
    state = {**preset("opposite"), "start": [1.0, 1.0, 0.0]}
    with pytest.raises(mm.InputError, match="at least one update"):
        answer({"ask": "film", "state": state})


def test_without_matplotlib_the_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(mm.InputError, match=r"pip install 'maxmargin\[plots\]'"):
        answer({"ask": "film", "state": CASES["hard"], "format": "png"})
    assert answer({"ask": "solve", "state": CASES["hard"]})["usable"]
