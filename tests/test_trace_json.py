"""A trace as JSON keeps every bit, and malformed text is refused."""

import json

import pytest

import maxmargin as mm
from bank import problem
from maxmargin.core.history import Trace


def test_json_keeps_every_bit(tmp_path):
    p = problem("tenths")
    trace = mm.Perceptron(eta0=1 / 3, record=True, max_iter=20).fit(p.X, p.y).trace_
    text = trace.to_json(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text(encoding="utf-8") == text
    back = Trace.from_json(text)
    assert back.weights.tobytes() == trace.weights.tobytes()
    assert back.start.tobytes() == trace.start.tobytes()
    assert [(u.step, u.row, u.margin) for u in back] == [(u.step, u.row, u.margin) for u in trace]
    assert back.to_json() == text
    assert json.loads(text)["format"] == "maxmargin-trace-1"
    assert len(back[2:5]) == 3 and repr(back).startswith(f"Trace({len(trace)} updates")


def without(key, part="top"):
    body = {"format": "maxmargin-trace-1", "start": [0.0], "updates": []}
    body["updates"].append({"step": 1, "row": 0, "margin": 0.0, "weights": [1.0]})
    (body if part == "top" else body["updates"][0]).pop(key)
    return json.dumps(body)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "3",
        "null",
        "{}",
        '{"format": "something else", "start": [0.0], "updates": []}',
        '{"format": "maxmargin-trace-1", "start": "zero", "updates": []}',
        '{"format": "maxmargin-trace-1", "start": [0.0], "updates": [7]}',
        '{"format": "maxmargin-trace-1", "start": [0.0], "updates": 7}',
        *(without(key) for key in ("format", "start", "updates")),
        *(without(key, "update") for key in ("step", "row", "margin", "weights")),
    ],
)
def test_malformed_json_is_refused_with_the_format_that_is_allowed(text):
    with pytest.raises(
        mm.InputError, match=r"a trace must be JSON text of format 'maxmargin-trace-1'.*Got"
    ):
        Trace.from_json(text)
