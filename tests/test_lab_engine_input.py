"""Whatever a message holds, the answer is plain JSON or one sentence."""

import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.laboratory.engine import ASKS, answer
from maxmargin.laboratory.state import ALGORITHMS

GOOD = {
    "v": 1,
    "points": [[0.0, 0.0, 0, 0], [1.0, 2.0, 0, 0], [4.0, 3.0, 1, 0], [3.0, 3.0, 1, 1]],
    "labels": ["−1", "+1"],
    "names": ["x₁", "x₂"],
    "algorithm": "perceptron",
    "options": {"intercept": True, "threshold": 0, "rate": 1, "order": "cyclic", "averaged": False},
    "start": None,
    "watch": 0,
    "hand": None,
    "time": None,
    "view": {"anything": [1, 2, 3]},
}
REQUESTS = {
    "hello": {},
    "solve": {"state": GOOD},
    "judge": {"state": GOOD, "weights": [1, 1, 0]},
    "risk": {"state": GOOD, "b": 0, "window": [-1, 1, -1, 1], "size": 9},
    "wspace": {"state": GOOD, "b": 0, "window": [-1, 1, -1, 1]},
    "section": {"state": GOOD, "w1": 0.5, "window": [-1, 1, -1, 1]},
    "weights3d": {"state": GOOD, "box": [[-1, 1], [-1, 1], [-1, 1]]},
    "presets": {},
    "preset": {"name": "blobs", "n": 10, "noise": 0.5, "balance": 0.5, "margin": 0.5, "seed": 1},
    "split": {"state": GOOD, "share": 0.25, "seed": 0},
    "table": {"text": "a,b,c\n1,2,x\n3,4,y\n", "header": True, "label": "c", "features": ["a", "b"]},
    "script": {"state": GOOD},
    "trace": {"state": GOOD},
    "film": {"state": GOOD, "format": "png"},
}


def polite(request):
    """The answer, or the sentence of a refusal; nothing else may come of a request."""
    try:
        found = answer(request)
    except mm.InputError as error:
        said = str(error)
        assert said.endswith((".", ")", ":")) and len(said) < 2000 and "\n" not in said, said
        return said
    json.dumps(found, allow_nan=False)
    return found


def test_every_ask_has_a_request_here():
    assert set(REQUESTS) == set(ASKS)


@pytest.mark.parametrize("name", REQUESTS)
def test_good_requests_are_answered_and_left_alone(name):
    request = {"id": 7, "ask": name, "channel": "main", **REQUESTS[name]}
    before = copy.deepcopy(request)
    assert isinstance(polite(request), dict)
    assert request == before
    if name != "film":
        assert answer(request) == answer(request)


ODD = [
    *(None, True, False, 0, -1, 1.5, 1e308, -1e308, math.nan, math.inf, -math.inf, 10**400),
    *(
        "",
        "x",
        "NaN",
        "−1",
        "\ud800",
        [],
        [[]],
        [[[[]]]],
        {},
        {"a": 1},
        [None],
        [1],
        ["1", "2"],
        "9" * 5000,
    ),
]


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "film"])
def test_wrong_entries_are_refused_in_a_sentence(name):
    for key in REQUESTS[name]:
        for value in ODD:
            polite({"ask": name, **REQUESTS[name], key: value})
    without = {"ask": name, **REQUESTS[name], "unheard-of": 1}
    assert "unheard-of" in polite(without)


@pytest.mark.parametrize("key", [key for key in GOOD if key not in ("time", "view")])
def test_wrong_entries_of_the_state_are_refused_in_a_sentence(key):
    for value in ODD:
        said = polite({"ask": "solve", "state": {**GOOD, key: value}})
        if isinstance(value, float) and not math.isfinite(value):
            assert isinstance(said, str) and "must be" in said, (key, value)


OPTIONS = (
    *("intercept", "threshold", "rate", "order", "averaged", "step"),
    *("C", "scheme", "epochs", "seed", "polish", "updates"),
)


@pytest.mark.parametrize("key", OPTIONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_wrong_options_are_refused_in_a_sentence(key, algorithm):
    for value in ODD:
        polite({"ask": "solve", "state": {**GOOD, "algorithm": algorithm, "options": {key: value}}})
    said = polite({"ask": "solve", "state": {**GOOD, "options": {key: "nonsense"}}})
    assert f"options.{key} must be" in said and "'nonsense'" in said


def test_refusals_say_what_is_allowed_and_what_was_given():
    def said(**state):
        return polite({"ask": "solve", "state": {**GOOD, **state}})

    assert said(points=[[0, "1", 0, 0]]) == (
        "state.points[0][1] must be a number from -1e+30 to 1e+30. Got '1' instead."
    )
    assert "state.points[1] must be a list [x₁, x₂, class, role]" in said(points=[[0, 0, 0, 0], [1, 2]])
    assert "the class, must be an integer from 0 to 1. Got 2" in said(points=[[0, 0, 2, 0]])
    assert "the role, must be 0 (training) or 1 (validation)" in said(points=[[0, 0, 1, 2]])
    assert "at most 2,000 points" in said(points=[[0, 0, 0, 0]] * 2001)
    assert "2 to 5 different names" in said(labels=["a", "a"])
    assert "2 to 5 different names" in said(labels=list("abcdef"))
    assert "state must hold only the entries" in said(speed=3)
    assert "one of perceptron, batch" in said(algorithm="svm")
    assert polite([]).startswith("a request must be an object")
    assert polite({"ask": "hallo"}).startswith("ask must be one of hello, solve")
    assert polite({"ask": "judge", "state": {**GOOD, "points": []}, "weights": [1, 1, 1]}).startswith(
        "There must be points of two classes"
    )


def test_huge_and_tiny_points_get_an_answer_or_a_sentence():
    for size in (1e29, 1e-29, 1e-200, 5e-324):
        points = [[size * x, size * y, c, r] for x, y, c, r in GOOD["points"]]
        for algorithm in ALGORITHMS:
            polite({"ask": "solve", "state": {**GOOD, "points": points, "algorithm": algorithm}})
            mixed = [[x * 1e29, y * size, c, r] for x, y, c, r in GOOD["points"]]
            polite({"ask": "solve", "state": {**GOOD, "points": mixed, "algorithm": algorithm}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(name=st.sampled_from([*(n for n in ASKS if n != "film"), "x"]), data=st.data())
def test_fuzzed_requests(name, data):
    keys = [*ASKS.get(name, ((), None))[0], "state"]
    request = {"ask": name, **REQUESTS.get(name, {})}
    for key in data.draw(st.lists(st.sampled_from(keys), max_size=3)):
        request[key] = data.draw(JSON)
    if isinstance(request.get("state"), dict):
        state = dict(request["state"])
        for key in data.draw(st.lists(st.sampled_from(list(GOOD)), max_size=2)):
            state[key] = data.draw(JSON)
        request["state"] = state
    polite(request)


COORDINATES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e30, 1e30),
    st.sampled_from([0.0, 1e9, -1e9, 1e-9, 1e9 + 1, 1e15, 0.1, 0.2, 0.30000000000000004]),
)
POINTS = st.lists(
    st.tuples(COORDINATES, COORDINATES, st.integers(0, 4), st.sampled_from([0, 0, 0, 1])).map(list),
    max_size=9,
)
STATES = st.fixed_dictionaries(
    {
        "points": POINTS,
        "labels": st.just(list("ABCDE")),
        "algorithm": st.sampled_from(ALGORITHMS),
        "options": st.fixed_dictionaries(
            {
                "intercept": st.booleans(),
                "threshold": st.sampled_from([0, 0.5, 1e6]),
                "rate": st.sampled_from([1, 0.1, 1e-9, 1e9]),
                "order": st.sampled_from(["cyclic", "shuffled", "random"]),
                "averaged": st.booleans(),
                "step": st.sampled_from(["exact", 1.0, 1e-9, 1e9]),
                "C": st.sampled_from([1e-9, 0.1, 1.0, 1e9]),
                "scheme": st.sampled_from(["ovr", "ovo"]),
                "polish": st.booleans(),
                "updates": st.sampled_from([None, 1, 30]),
            }
        ),
        "start": st.none() | st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3),
        "watch": st.integers(0, 9),
    }
)


@given(state=STATES)
def test_random_states(state):
    found = polite({"ask": "solve", "state": state})
    if not isinstance(found, dict) or not found["usable"]:
        return
    assert len(found["machines"]) > found["watch"] >= 0
    assert found["verdict"]["status"] in ("separable", "touching", "overlapping")
    for request in (
        {"ask": "judge", "weights": [0.5, -1.0, 2.0]},
        {"ask": "risk", "window": [-1, 1, -1, 1], "size": 5},
        {"ask": "wspace", "b": 1.0, "window": [-1, 1, -1, 1]},
        {"ask": "section", "w1": 0.0, "window": [-1, 1, -1, 1]},
        {"ask": "weights3d", "box": [[-1, 1], [-1, 1], [-1, 1]]},
        {"ask": "script"},
        {"ask": "split"},
    ):
        assert isinstance(polite({**request, "state": state}), dict)
    judged, run = found["judged"], found["run"]
    if judged is not None:
        assert judged["errors"] == sum(state["points"][i][3] == 0 for i in judged["wrong"])
    if run is not None:
        assert len(run["errors"]) == len(run["updates"]["row"]) + 1
        assert run["best"][-1] == min(run["errors"])
        assert run["finished"] == (run["errors"][-1] == 0) or state["options"]["threshold"]
