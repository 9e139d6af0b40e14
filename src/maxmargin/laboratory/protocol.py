"""What the page and Python say to each other, the same over a websocket, a pipe and a notebook's comm.

A request is ``{"id": 7, "ask": "solve", …}``. Its reply is one of

    {"id": 7, "answer": {…}}
    {"id": 7, "error": "one sentence for people"}
    {"id": 7, "dropped": true}                    a newer request of the same channel came first
"""

from __future__ import annotations

import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Answer = Callable[[dict[str, Any]], dict[str, Any]]
LARGEST_ID = 2**53  # beyond it JavaScript's numbers are no longer whole
LONGEST_NAME = 64


class MalformedError(Exception):
    """A message that is no request; ``id`` is the request's number if it could be read."""

    def __init__(self, sentence: str, number: int | None = None) -> None:
        super().__init__(sentence)
        self.id = number


def parse_request(text: str) -> dict[str, Any]:
    """The request in a text, with ``id``, ``ask`` and ``channel`` of the right kind."""
    try:
        request = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        kind = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]
        raise MalformedError(f"A message must be JSON. This one is not: {kind}.", id_in(text)) from None
    if not isinstance(request, dict):
        raise MalformedError('A message must be an object {"id": …, "ask": …}. Got something else.')
    number = request.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= LARGEST_ID:
        raise MalformedError("The id of a request must be a whole number, from 0 to 2⁵³.")
    for key in ("ask", "channel"):
        name = request.get(key, "channel" if key == "channel" else None)
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise MalformedError(f"The {key} of a request must be a name of 1 to 64 letters.", number)
    return request


def channel_of(request: Mapping[str, Any]) -> str:
    """The channel on which a newer request replaces an older one: by default the ask itself."""
    return str(request.get("channel", request["ask"]))


def id_in(text: str) -> int | None:
    """The number of a request that is not parsed, read from its beginning: the best one can do."""
    found = re.match(r'\s*\{\s*"id"\s*:\s*(\d{1,15})\s*[,}]', text[:200])
    return int(found[1]) if found else None


def respond(request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The reply to a request. Whatever goes wrong becomes one sentence; faults go to stderr too."""
    number = request.get("id")
    try:
        return {"id": number, "answer": answer(request)}
    except Exception as error:
        # Imported on use: it brings scikit-learn along, and the server starts sooner without.
        from maxmargin.core.errors import MaxMarginError

        if isinstance(error, MaxMarginError):
            return failed(number, in_lab(error.message))
        traceback.print_exc(file=sys.stderr)
        kind = type(error).__name__
        return failed(number, f"The lab could not answer “{request.get('ask')}”: {kind}: {error}")


PAGE_NAMES = {  # of what Python calls by its parameters and classes
    "max_iter": "Rounds at most",
    "max_updates": "Updates at most",
    "C": "C",
    "PocketPerceptron": "the pocket",
    "HardMarginSVC": "the hard margin",
    "SoftMarginSVC": "the soft margin",
}


def in_lab(text: Any) -> str:
    """Return a message of the library with names of the page; what has none there is left out."""

    def name(remedy: Any) -> str | None:
        if remedy.parameter == "model":
            return " or ".join(PAGE_NAMES[value] for value in remedy.values)
        return PAGE_NAMES.get(remedy.parameter) if remedy.parameter else ""

    return text.worded(name) if hasattr(text, "worded") else str(text)


def failed(number: int | None, sentence: str) -> dict[str, Any]:
    """The reply that says why there is no answer."""
    return {"id": number, "error": " ".join(sentence.split())[:2000]}


def dropped(number: int | None) -> dict[str, Any]:
    """The reply to a request that a newer one has replaced."""
    return {"id": number, "dropped": True}


def to_json(reply: dict[str, Any]) -> str:
    """JSON that every browser reads: no NaN, no infinity, no arrays."""
    try:
        return json.dumps(reply, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return json.dumps(plain(reply), allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """The value as JSON can hold it: arrays as lists, None for nan and infinity."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return plain(value.tolist())
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
