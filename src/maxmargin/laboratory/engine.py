"""Answers to what the page asks: a pure function from a request to plain lists, numbers and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.laboratory.checks import (
    check_keys,
    complain,
    read_bool,
    read_choice,
    read_count,
    read_vector,
)
from maxmargin.laboratory.film import draw
from maxmargin.laboratory.glossary import hello
from maxmargin.laboratory.judging import judge_weights
from maxmargin.laboratory.presets import list_presets, make_preset
from maxmargin.laboratory.problem import Side, read_task
from maxmargin.laboratory.script import write_script, write_trace
from maxmargin.laboratory.solving import solve
from maxmargin.laboratory.spaces import cone, cut_section, risk_grid, weight_space
from maxmargin.laboratory.split import split
from maxmargin.laboratory.state import State, read_state
from maxmargin.laboratory.tables import read_table

__all__ = ["ASKS", "answer"]

Given = Mapping[str, Any]
ENVELOPE = ("id", "ask", "channel")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request; :class:`maxmargin.InputError` says in a sentence what is wrong with it.

    Parameters
    ----------
    request : dict
        ``ask`` names the question, one of :data:`ASKS`; the other entries belong to it.

    Returns
    -------
    dict
        Plain lists, finite numbers, texts and None, ready for JSON.

    Examples
    --------
    >>> from maxmargin.laboratory.engine import answer
    >>> points = [[1.0, 1.0, 1, 0], [-1.0, -1.0, 0, 0]]
    >>> answer({"ask": "solve", "state": {"points": points}})["verdict"]["status"]
    'separable'
    """
    if not isinstance(request, Mapping):
        raise complain("a request", "an object with the entry ask", request)
    name = read_choice("ask", request.get("ask"), list(ASKS))
    keys, function = ASKS[name]
    check_keys(f"the request {name!r}", request, [*ENVELOPE, *keys])
    try:
        return function({key: request[key] for key in keys if key in request})
    except ArithmeticError as error:  # sizes that leave the range of doubles on the way
        raise InputError(
            "the points must be such that products of them stay within the range of doubles. "
            f"Got some that do not instead ({error}). Bring them to a similar size."
        ) from error


def _state(given: Given) -> State:
    return read_state(given.get("state"))


def _side(given: Given) -> Side:
    return read_task(_state(given)).watched


def _solve(given: Given) -> dict[str, Any]:
    return solve(_state(given), quick=read_bool("quick", given.get("quick", False)))


def _judge(given: Given) -> dict[str, Any]:
    task = read_task(_state(given))
    side = task.watched  # a sentence if there is none
    if given.get("watch") is not None:
        most = len(task.sides) - 1
        side = task.sides[read_count("watch", given["watch"], least=0, most=most)]
    return judge_weights(side, read_vector("weights", given.get("weights"), 3))


ASKS: dict[str, tuple[tuple[str, ...], Callable[[Given], dict[str, Any]]]] = {
    "hello": ((), lambda given: hello()),
    "solve": (("state", "quick"), _solve),
    "judge": (("state", "weights", "watch"), _judge),
    "risk": (("state", "b", "window", "size"), lambda given: risk_grid(_side(given), given)),
    "wspace": (("state", "b", "window"), lambda given: cone(_side(given), given)),
    "section": (("state", "w1", "window"), lambda given: cut_section(_side(given), given)),
    "weights3d": (("state", "box"), lambda given: weight_space(_side(given), given)),
    "presets": ((), lambda given: list_presets()),
    "preset": (("name", "n", "noise", "balance", "margin", "seed"), make_preset),
    "split": (("state", "share", "seed"), lambda given: split(_state(given), given)),
    "table": (("text", "header", "label", "features", "look"), read_table),
    "script": (("state",), lambda given: write_script(read_task(_state(given)))),
    "trace": (("state",), lambda given: write_trace(read_task(_state(given)))),
    "film": (("state", "format"), lambda given: draw(read_task(_state(given)), given)),
}
