"""Every algorithm with every option: what the page shows is what the library says, digit for digit."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

from dataclasses import asdict

import numpy as np
import pytest

from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab
from lab_library import fitted, machines, preset, rows_of, signs_of, trained
from lab_words import count, number, numbers, share
from maxmargin.laboratory.engine import ABOUT, GLOSSARY
from maxmargin.laboratory.protocol import in_lab
from maxmargin.laboratory.state import ALGORITHMS, LABELS, LIMITS, NAMES, Options

SEPARABLE = preset("separable", n=30)
OVERLAPPING = preset("overlapping", n=40, noise=0.8)
SPLIT = {
    **OVERLAPPING,
    "points": [[*p[:3], int(i % 4 == 3)] for i, p in enumerate(OVERLAPPING["points"])],
}
# what is done to the controls: verb, name, value
OPTIONS = {
    "perceptron": {
        "δ": [("slide", "threshold", 2.5)],
        "η": [("write", "rate-value", 0.25), ("slide", "threshold", 1)],
        "shuffled": [("choose", "order", "shuffled")],
        "seed": [("choose", "order", "random"), ("write", "seed", 7)],
        "averaged": [("tick", "averaged", True)],
        "rounds": [("write", "epochs", 3)],
        "updates": [("write", "updates", 9)],
        "no bias": [("tick", "intercept", False)],
    },
    "batch": {
        "fixed": [("choose", "step-kind", "fixed")],
        "ε": [("choose", "step-kind", "fixed"), ("write", "step-size-value", 0.035)],
        "rounds": [("write", "epochs", 4)],
        "updates": [("write", "updates", 6)],
        "no bias": [("tick", "intercept", False)],
    },
    "pocket": {
        "order": [("choose", "order", "random"), ("write", "seed", 11)],
        "unpolished": [("tick", "polish", False), ("write", "epochs", 2)],
        "updates": [("write", "updates", 30), ("tick", "polish", False)],
        "no bias": [("tick", "intercept", False)],
    },
    "hard": {"no bias": [("tick", "intercept", False)]},
    "soft": {
        "C": [("write", "C-value", 0.05)],
        "log C": [("slide", "C", 2)],
        "no bias": [("tick", "intercept", False)],
    },
}
CASES = [(kind, name) for kind, cases in OPTIONS.items() for name in cases]


def agree(lab):
    """Compare all there is about the model with the library; its weights are shown at the end."""
    state, found = lab.state(), lab.answer()
    model = fitted(state)
    (machine,) = machines(model)
    z = [*machine.coef_.tolist(), float(machine.intercept_)]
    assert found["machines"][0]["weights"] == z == lab.scene("weights")
    assert lab.text("weights") == numbers(z if state["options"]["intercept"] else z[:2])
    X, y = trained(state)
    margins = signs_of(state) * model.decision_function(X)
    wrong = int(np.count_nonzero(margins <= 0))
    assert lab.text("final") == share(wrong, len(y))
    if found["run"] is None:
        return z
    run, trace = found["run"], machine.trace_
    rows = rows_of(state)
    assert run["updates"]["weights"] == [u.weights.tolist() for u in trace]
    assert run["updates"]["row"] == [rows[u.row] if u.row >= 0 else -1 for u in trace]
    assert (run["stop"], run["epochs"]) == (in_lab(machine.stop_reason_.sentence), machine.n_iter_)
    assert lab.text("e-in") == share(wrong, len(y))
    assert lab.text("mistakes") == count(len(trace))
    risk = float(np.maximum(-margins, 0.0).sum())
    assert lab.text("risk") == number(risk)
    return run["updates"]


@pytest.mark.parametrize(("algorithm", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_options_are_the_library_s_and_each_matters(lab, algorithm, name):
    data = SEPARABLE if algorithm == "hard" else OVERLAPPING
    if (algorithm, name) == ("hard", "no bias"):
        data = preset("three-points")
    lab.open(data)
    lab.choose("algorithm", algorithm)
    before = agree(lab)
    options = lab.state()["options"]
    for verb, control, value in OPTIONS[algorithm][name]:
        getattr(lab, verb)(control, value)
    assert lab.state()["options"] != options
    after = agree(lab)
    if name == "averaged":  # the same path, another end
        assert after == before and lab.scene("final") and lab.text("position") == "the model"
    elif (algorithm, name) != ("pocket", "unpolished"):
        assert after != before


@pytest.mark.parametrize("algorithm", OPTIONS)
@pytest.mark.parametrize("data", [SEPARABLE, SPLIT], ids=["separable", "held out"])
def test_every_algorithm_on_other_data(lab, algorithm, data):
    lab.open(data)
    lab.choose("algorithm", algorithm)
    if algorithm == "hard" and data is SPLIT:
        assert lab.text("refused").startswith(
            "The hard margin has no solution: no plane separates +1 from −1."
        )
        assert lab.answer()["judged"] is None and lab.scene("weights") is None
        return
    agree(lab)
    if data is SPLIT:
        X, y = trained(lab.state(), 1)
        margins = np.where(y == 1, 1, -1) * fitted(lab.state()).decision_function(X)
        assert lab.text("validation") == share(int(np.count_nonzero(margins <= 0)), len(y))


def test_algorithms_and_their_words_are_python_s(lab):
    lab.open(OVERLAPPING)
    listed = lab.part("algorithm").locator("option")
    named = zip(
        ALGORITHMS, listed.evaluate_all("(all) => all.map((o) => [o.value, o.text])"), strict=True
    )
    assert all(shown == [name, ABOUT[name].title] for name, shown in named)
    for name in ALGORITHMS:
        lab.choose("algorithm", name)
        assert lab.text("algorithm-sentence") == ABOUT[name].brief
        assert lab.part("algorithm-sentence").get_attribute("title") == ABOUT[name].sentence
    tips = lab.js(
        "Object.fromEntries([...document.querySelectorAll('[data-term]')].map((e) => "
        "[e.dataset.term, e.title]))"
    )
    for term in ("C", "threshold", "rate", "order", "averaged", "polish", "step", "intercept", "seed"):
        assert tips[term] == GLOSSARY[term]


def test_what_a_link_leaves_out_is_what_python_takes_for_it(lab):
    lab.open(points=OVERLAPPING["points"])
    assert lab.state()["options"] == asdict(Options())
    assert (lab.state()["labels"], lab.state()["names"]) == (list(LABELS), list(NAMES))


def test_only_the_options_that_matter_are_shown(lab):
    lab.open(SEPARABLE)
    shown = {
        "perceptron": {"threshold", "rate", "order", "averaged", "epochs", "updates", "intercept"},
        "batch": {"step-kind", "epochs", "updates", "intercept"},
        "pocket": {"order", "epochs", "updates", "polish", "intercept"},
        "hard": {"intercept"},
        "soft": {"C", "intercept"},
    }
    every = set().union(*shown.values(), {"seed", "step-size", "scheme", "watch"})
    for algorithm, names in shown.items():
        lab.choose("algorithm", algorithm)
        assert {name for name in every if lab.part(name).is_visible()} == names
        assert lab.text("algorithm-sentence")


def test_options_are_taken_back_one_by_one(lab):
    lab.open(OVERLAPPING)
    lab.choose("algorithm", "soft")
    box = lab.part("C").bounding_box()
    middle, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    lab.drag((middle, y), (middle + 30, y), steps=10)
    C = lab.state()["options"]["C"]
    assert C > 10 and lab.answer()["machine"]["weights"] == agree(lab)
    lab.press("undo").rest()
    assert lab.state()["options"]["C"] == 1 and lab.part("C-value").input_value() == "1"
    lab.press("undo").rest()
    assert lab.state()["algorithm"] == "perceptron"
    lab.press("redo").press("redo").rest()
    assert lab.state()["options"]["C"] == C and lab.state()["algorithm"] == "soft"


def test_what_is_typed_is_kept_within_its_range(lab):
    lab.open(OVERLAPPING)
    lab.write("epochs", "0")
    assert lab.state()["options"]["epochs"] == 1
    lab.write("epochs", "many")
    assert lab.part("epochs").input_value() == "1"
    for name in ("epochs", "updates"):
        lab.write(name, 10**9)
        assert lab.state()["options"][name] == LIMITS[name]
        assert lab.part(name).input_value() == str(LIMITS[name])
    lab.write("epochs", 1)
    lab.part("epochs").press("ArrowUp")
    assert lab.rest().state()["options"]["epochs"] == 2
    lab.write("updates", "")
    assert lab.state()["options"]["updates"] is None
    lab.choose("algorithm", "soft")
    lab.write("C-value", "1e99")
    assert lab.state()["options"]["C"] == 1e6
    agree(lab)


def test_a_run_starts_where_it_is_told(lab):
    lab.open(SEPARABLE)
    for _ in range(3):
        lab.press("back")
    lab.press("start-here").rest()
    start = lab.state()["start"]
    assert any(start) and lab.answer()["run"]["start"] == start and lab.scene("k") == 0
    assert "earlier updates" in lab.text("time-note")
    model = fitted(lab.state())
    (machine,) = machines(model)
    assert lab.answer()["run"]["updates"]["weights"] == [u.weights.tolist() for u in machine.trace_]
    lab.press("start-zero").rest()
    assert lab.state()["start"] is None and lab.answer()["run"]["start"] == [0, 0, 0]
    lab.press("last").rest()
    agree(lab)
