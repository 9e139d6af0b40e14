"""Check a proof of a verdict on linear separability, with nothing but this page and Python's integers.

``python -m maxmargin.checker proof.json data.csv [--label NAME]`` ends with 0 if the proof holds, with
1 if it is rejected, with 2 if a file cannot be used.

Row i is a_i = s_i (x_i, 1), or s_i x_i without intercept; s_i = ±1 is its side, and z = (w, b).

- separable: a_i·z > 0 for every row, and both sides have rows.
- touching: a_i·z ≥ 0, and = 0 for the rows on the plane alone, which are not all. No plane does better
  than to touch, because Σ λ_i a_i = 0 for some positive weights λ: the witness.
- overlapping: a witness; and Σ λ_i a_i = 0 with positive λ over rows that span all others. If a_i·z ≥ 0
  for every row, then a_i·z = 0 on the rows of the sum, hence on all: no plane has a row on its side.
- optimum: the least ‖w‖ with a_i·z ≥ 1. For some α > 0, w = Σ α_i s_i x_i, with intercept also
  Σ α_i s_i = 0, and a_i·z = 1 for the rows of the sum (the conditions of Karush, Kuhn and Tucker).

A double is an integer over a power of two, so that all this is computed in integers, without rounding.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from operator import mul
from pathlib import Path
from struct import Struct, pack
from typing import Any, NoReturn

__all__ = ["Rejected", "Unreadable", "canonical", "check", "main", "parse", "read"]

Row = tuple[str, Mapping[int, float]]  # the label as written, and the features that are not zero
Vector = tuple[list[int], list[int], int]  # columns, integers and scale: the integers are scale · a_i


class Rejected(Exception):
    """The proof does not hold; the message says which condition fails, and where."""


class Unreadable(Exception):
    """A file cannot be read as a proof or as data; the message says where, and what to do."""


def require(holds: bool, condition: str) -> None:
    """Reject the proof unless the condition holds."""
    if not holds:
        raise Rejected(condition)


def canonical(label: str) -> str:
    """Return the text that stands for all ways to write a label: "1" for " 1.0" and "+1"."""
    label = label.strip()
    try:
        value = float(label)
        return str(int(value)) if value.is_integer() else repr(value) if math.isfinite(value) else label
    except ValueError:
        return label


# Numbers in a proof are texts: float.hex(), an integer of any length, or a fraction.

RATIONAL = re.compile(r"(-?)([0-9]+)(?:/(0*[1-9][0-9]*))?")


def is_number(text: Any) -> bool:
    """Tell whether a value of the proof is a number in text."""
    if type(text) is not str or RATIONAL.fullmatch(text):
        return type(text) is str
    try:
        return "0x" in text and float.fromhex(text).hex() == text
    except (ValueError, OverflowError):
        return False


def integer(digits: str) -> int:
    """Return the integer of many digits, half by half: int() refuses thousands of them at once."""
    if len(digits) <= 600:
        return int(digits)
    half = len(digits) // 2
    return integer(digits[:-half]) * 10**half + integer(digits[-half:])


def common_denominator(texts: Iterable[str]) -> tuple[list[int], int]:
    """Return integers and one positive denominator for numbers in text."""
    ratios = []
    for text in texts:
        if rational := RATIONAL.fullmatch(text):
            sign, numerator, denominator = rational.groups("1")
            ratios.append((integer(numerator) * (-1 if sign == "-" else 1), integer(denominator)))
        else:
            ratios.append(float.fromhex(text).as_integer_ratio())
    common = math.lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


# The form of a proof: a leaf is what the entry must be, and a test of that.

COUNT = ("an integer from 0", lambda value: type(value) is int and value >= 0)
TEXT = ("a text", lambda value: type(value) is str)
LABEL = ("a label in canonical form", lambda value: type(value) is str and canonical(value) == value)
NUMBER = ("a text such as 0x1.8p+1, -12 or -12/35", is_number)
WEIGHT = ("a positive integer as a text", lambda value: is_number(value) and value.strip("0").isdigit())
SUM = {"rows": [COUNT], "weights": [WEIGHT]}
PLANE = {"w": [NUMBER], "b": NUMBER}
OF_ALL = {
    "format": ('"maxmargin proof"', lambda value: value == "maxmargin proof"),
    "version": ("1", lambda value: type(value) is int and value == 1),
    "kind": ("a kind of proof", lambda value: type(value) is str and value in OF_KIND),
    "intercept": ("true or false", lambda value: type(value) is bool),
    "features": ("an integer from 1 to 2^32", lambda value: type(value) is int and 1 <= value <= 2**32),
    "rows": COUNT,
    "positive": [LABEL],
    "negative": [LABEL],
    "data": TEXT,
    "seal": TEXT,
}
OF_KIND: dict[str, dict[str, Any]] = {
    "separable": {"plane": PLANE},
    "touching": {"plane": PLANE, "on_plane": [COUNT], "witness": SUM},
    "overlapping": {"witness": SUM, "span": {**SUM, "flat": [[NUMBER]]}},
    "optimum": {"plane": PLANE, "multipliers": {"rows": [COUNT], "weights": [NUMBER]}},
}
OF_FILE = {  # optional: where the file holds what
    "label": TEXT,
    "columns": [TEXT],
    "first_index": ("0 or 1", lambda value: type(value) is int and value in (0, 1)),
}


def require_form(value: Any, form: Any, name: str) -> None:
    """Reject an entry that has not its form; entries that would not be checked must not be there."""
    if isinstance(form, dict):
        require(type(value) is dict, f"{name} must be an object")
        for key in sorted(form.keys() ^ value.keys()):
            raise Rejected(f"{name} must {'' if key in form else 'not '}have an entry {key!r}")
        for key, part in form.items():
            require_form(value[key], part, key if name == "the proof" else f"{name}.{key}")
    elif isinstance(form, list):
        require(type(value) is list, f"{name} must be a list")
        for position, part in enumerate(value):
            require_form(part, form[0], f"{name}[{position}]")
    else:
        require(form[1](value), f"{name} must be {form[0]}")


def parse(text: str) -> dict[str, Any]:
    """Return the proof written in ``text``, if its seal is unbroken and all entries have their form."""
    try:
        proof = json.loads(text, object_pairs_hook=_object, parse_float=_refuse, parse_constant=_refuse)
        require(type(proof) is dict, "the proof must be an object")
        unsealed = {key: value for key, value in proof.items() if key != "seal"}
        sealed = json.dumps(unsealed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the proof must be JSON as specified: {error}") from None
    for key in ("format", "version", "kind"):
        require_form(proof.get(key), OF_ALL[key], key)
    optional = {key: form for key, form in OF_FILE.items() if key in proof}
    require_form(proof, OF_ALL | OF_KIND[proof["kind"]] | optional, "the proof")
    require(proof["seal"] == sha256(sealed.encode()).hexdigest(), "seal must be the one of the proof")

    d, D = proof["features"], proof["features"] + proof["intercept"]
    sides = [proof["positive"], proof["negative"]]
    require(all(sides), "positive and negative must not be empty")
    require(len({*sides[0], *sides[1]}) == len(sides[0] + sides[1]), "a label must be named only once")
    require(len(proof.get("plane", {"w": range(d)})["w"]) == d, f"plane.w must hold {d} numbers")
    require(all(len(u) == D for u in proof.get("span", {"flat": []})["flat"]), f"span.flat must hold {D} numbers")
    require(len(proof.get("columns", range(d))) == d, f"columns must name {d} columns")
    on_plane = proof.get("on_plane", [])
    require(on_plane == sorted(set(on_plane)), "on_plane must be sorted, without repetition")
    for name, least, most in (("witness", 1, D + 1), ("span", 0, 2 * D), ("multipliers", 0, math.inf)):
        rows, weights = (proof.get(name, {"rows": [0], "weights": [1]})[key] for key in ("rows", "weights"))
        require(least <= len(rows) <= most, f"{name} must have {least} to {most} rows")
        require(len(set(rows)) == len(rows) == len(weights), f"{name} must have distinct rows, one weight each")
    return dict(proof)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose keys are distinct."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _refuse(number: str) -> NoReturn:
    """Refuse decimal points, exponents, NaN and Infinity: JSON does not say which double they are."""
    raise ValueError(f"{number[:20]} is not an integer")


# What must hold, in integers.


def check(proof: Mapping[str, Any], rows: Iterable[Row]) -> None:
    """Reject the parsed ``proof`` unless it holds for the rows: one pass, keeping only rows it names."""
    d, D, kind = proof["features"], proof["features"] + proof["intercept"], proof["kind"]
    side_of = dict.fromkeys(proof["positive"], 1) | dict.fromkeys(proof["negative"], -1)
    z, unit = [], 0  # z / unit is (w, b)
    if "plane" in proof:
        z, unit = common_denominator([*proof["plane"]["w"], proof["plane"]["b"]])
        require(proof["intercept"] or z.pop() == 0, "plane.b must be zero without intercept")
    flat = [common_denominator(u)[0] for u in proof["span"]["flat"]] if "span" in proof else []
    sums = {name: proof[name] for name in ("witness", "span", "multipliers") if name in proof}
    named = {i for part in sums.values() for i in part["rows"]}

    digest, kept, tight, seen = Digest(), {}, [], {1: 0, -1: 0}
    for i, (label, features) in enumerate(rows):
        side = side_of.get(canonical(label))
        if side is None:
            continue
        seen[side] += 1
        columns = sorted([j for j, value in features.items() if value])
        values = [float(features[j]) for j in columns]
        require(not columns or 0 <= columns[0] <= columns[-1] < d, f"row {i} must have {d} features")
        digest.add(side, columns, values)
        a = columns, integers, scale = signed(i, side, columns, values, d if proof["intercept"] else None)
        if i in named:
            kept[i] = a
        if z:
            slack = dot(a, z) - (unit * scale if kind == "optimum" else 0)
            if slack < 0:
                raise Rejected
            if slack == 0:
                tight.append(i)
