"""A proof in text: its entries and what each must be; labels, numbers, and why it is rejected."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NoReturn


class Rejected(Exception):  # noqa: N818 - a verdict, as main prints it
    """The proof does not hold; the message says which condition fails, and where.

    Examples
    --------
    >>> from maxmargin.checker import Rejected, parse
    >>> try:
    ...     parse('{"format": "something else"}')
    ... except Rejected as reason:
    ...     print(reason)
    format must be "maxmargin proof"
    """


class Unreadable(Exception):  # noqa: N818 - the same
    """A file cannot be read as a proof or as data; the message says where, and what to do.

    Examples
    --------
    >>> from maxmargin.checker import Unreadable, read
    >>> try:
    ...     next(read("rows.docx", {}))
    ... except Unreadable as reason:
    ...     print(str(reason).partition(",")[0])
    rows.docx: must be a file .csv
    """


def require(holds: bool, condition: str) -> None:
    """Reject the proof unless the condition holds.

    Examples
    --------
    >>> from maxmargin.checker import Rejected, require
    >>> try:
    ...     require(1 > 2, "1 must be more than 2")
    ... except Rejected as reason:
    ...     print(reason)
    1 must be more than 2
    """
    if not holds:
        raise Rejected(condition)


def canonical(label: str) -> str:
    """Return the text that stands for all ways to write a label: "1" for " 1.0" and "+1".

    Examples
    --------
    >>> from maxmargin.checker import canonical
    >>> canonical(" 1.0"), canonical("+1"), canonical("yes")
    ('1', '1', 'yes')
    """
    label = label.strip()
    if re.fullmatch("[+-]?[0-9]{1,4000}", label):
        return str(int(label))
    try:
        value = float(label)
        return str(int(value)) if value.is_integer() else repr(value) if math.isfinite(value) else label
    except ValueError:
        return label


# Numbers in a proof are texts: float.hex(), an integer of any length, or a fraction.

FREE_BITS = 1 << 26  # integers up to these, together, cost seconds at most, whatever the text
BITS_PER_CHARACTER = 32  # a digit stands for 3.3 bits; an eighth of the numbers may have all the digits
DIGITS_PER_NUMBER = 1500  # a double has at most 2,098 bits, 632 digits; products of two twice as many
POSITIVE = re.compile("0*[1-9][0-9]*")
RATIONAL = re.compile(f"(-?)([0-9]+)(?:/({POSITIVE.pattern}))?")


def is_number(text: Any) -> bool:
    """Tell whether a value of the proof is a number in text."""
    if type(text) is not str:
        return False
    try:
        return bool(RATIONAL.fullmatch(text)) or ("0x" in text and float.fromhex(text).hex() == text)
    except (ValueError, OverflowError):
        return False


def integer(digits: str) -> int:
    """Return the integer of many digits, half by half: int() refuses thousands of them at once."""
    if len(digits) <= 600:
        return int(digits)
    half = len(digits) // 2
    return integer(digits[:-half]) * int(10**half) + integer(digits[-half:])


def common_denominator(texts: Sequence[str]) -> tuple[list[int], int]:
    """Return integers and one positive denominator for numbers in text.

    Numbers of one plane or one sum come from one system of equations, so that they share their
    denominator but for factors. Others would make a short text into integers of any length.
    """
    ratios = list(map(ratio, texts))
    bound = FREE_BITS + BITS_PER_CHARACTER * sum(map(len, texts))  # of all the integers together
    common = 1
    for denominator in {denominator for _, denominator in ratios}:
        common = math.lcm(common, denominator)
        short = common.bit_length() * len(texts) <= bound
        require(
            short, "the numbers of a plane or sum must have a common denominator of their own length"
        )
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


def ratio(text: str) -> tuple[int, int]:
    """Return numerator and positive denominator of a number in text."""
    if rational := RATIONAL.fullmatch(text):
        sign, numerator, denominator = rational.groups("1")
        return integer(numerator) * (-1 if sign == "-" else 1), integer(denominator)
    return float.fromhex(text).as_integer_ratio()


# A leaf is what the entry must be, and a test of that.

COUNT = ("an integer from 0", lambda value: type(value) is int and value >= 0)
TEXT = ("a text", lambda value: type(value) is str)
LABEL = ("a label in canonical form", lambda value: type(value) is str and canonical(value) == value)
NUMBER = ("a text such as 0x1.8p+1, -12 or -12/35", is_number)
WEIGHT = ("a positive integer as a text", lambda value: type(value) is str and POSITIVE.fullmatch(value))
SUM = {"rows": [COUNT], "weights": [WEIGHT]}
PLANE = {"w": [NUMBER], "b": NUMBER}
MODEL = "maxmargin-model"  # the format of another file
TREE = {
    "branches": [{"row": COUNT, "wrong": COUNT, "right": COUNT}],
    "leaves": [{"witnesses": [COUNT], "shares": [NUMBER]}],
}
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
    "errors": {"plane": PLANE, "given_up": [COUNT], "lower": NUMBER, "upper": NUMBER},
}
BY_TREE: dict[str, Any] = {"witnesses": [SUM], "tree": TREE}  # why no plane has fewer errors
BY_SWEEP: dict[str, Any] = {"sweep": ("true", lambda value: value is True)}
OPTIONAL = {  # what a double stands for, if not for itself; and where the file holds what
    "numbers": ('"decimal"', lambda value: value == "decimal"),
    "label": TEXT,
    "columns": [TEXT],
    "categories": [[TEXT]],
    "header": ("true or false", lambda value: type(value) is bool),
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


def require_length(numbers: list[str], name: str) -> None:
    """Reject numbers longer than those of as many equations in doubles can be (Cramer's rule)."""
    most = DIGITS_PER_NUMBER * (len(numbers) + 2)
    short = max(map(len, numbers), default=0) <= 2 * most  # numerator and denominator
    require(short, f"{name} must hold numbers of at most {most} digits")


def parse(text: str) -> dict[str, Any]:
    """Return the proof written in ``text``, if its seal is unbroken and all entries have their form.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.checker import parse
    >>> path = Path(tempfile.mkdtemp()) / "proof.json"
    >>> mm.separability([[0.0], [2.0]], ["no", "yes"]).proof.save(path)
    >>> proof = parse(path.read_text())
    >>> proof["kind"], proof["positive"]
    ('separable', ['yes'])
    """
    try:
        proof = json.loads(text, object_pairs_hook=_object, parse_float=_refuse, parse_constant=_refuse)
        require(type(proof) is dict, "the proof must be an object")
        unsealed = {key: value for key, value in proof.items() if key != "seal"}
        sealed = json.dumps(unsealed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    except (ValueError, RecursionError) as error:
        what = "a model file was given instead" if MODEL in text[:100] else error
        raise Rejected(f"the proof must be JSON as specified: {what}") from None
    for key in ("format", "version", "kind"):
        require_form(proof.get(key), OF_ALL[key], key)
    forms = OF_ALL | OF_KIND[proof["kind"]]
    optional = OPTIONAL
    if proof["kind"] == "errors":
        forms |= BY_SWEEP if "sweep" in proof else BY_TREE
        optional = OPTIONAL | {"costs": [NUMBER]}
    forms |= {key: form for key, form in optional.items() if key in proof}
    require_form(proof, forms, "the proof")
    require(proof["seal"] == sha256(sealed.encode()).hexdigest(), "seal must be the one of the proof")

    d, D = proof["features"], proof["features"] + proof["intercept"]
    positive, negative = proof["positive"], proof["negative"]
    require(positive and negative, "positive and negative must not be empty")
    require(len({*positive, *negative}) == len(positive + negative), "no label must be named twice")
    require("plane" not in proof or len(proof["plane"]["w"]) == d, f"plane.w must hold {d} numbers")
    if "plane" in proof:
        require_length([*proof["plane"]["w"], proof["plane"]["b"]], "plane")
    known = proof.get("categories")
    if known is not None:
        require("columns" in proof and len(known) == len(proof["columns"]), "categories are of columns")
        require(all(len(set(c)) == len(c) for c in known), "no category must be named twice")
        require(sum(max(1, len(c)) for c in known) == d, f"categories must make {d} features")
    named = len(proof.get("columns", ())) == (d if known is None else len(known))
    require("columns" not in proof or named, f"columns must name {d} columns")
    for u in proof["span"]["flat"] if "span" in proof else []:
        require(len(u) == D, f"every list in span.flat must hold {D} numbers")
        require_length(u, "span.flat")
    for name in ("on_plane", "given_up"):
        named_rows = proof.get(name, [])
        require(named_rows == sorted(set(named_rows)), f"{name} must be sorted, without repetition")
    if "upper" in proof:
        costs = proof.get("costs", [])
        require(len(costs) == proof["rows"] or "costs" not in proof, "costs must be one per row")
        require_length([proof["lower"], proof["upper"], *costs], "lower, upper and costs")
    limits = {"witness": (1, D + 1), "span": (0, proof["rows"]), "multipliers": (0, math.inf)}
    parts = [(name, proof[name], *limits[name]) for name in limits if name in proof]
    for number, witness in enumerate(proof.get("witnesses", [])):
        parts.append((f"witnesses[{number}]", witness, *limits["witness"]))
    for name, part, least, most in parts:
        rows, weights = part["rows"], part["weights"]
        require(least <= len(rows) <= most, f"{name} must have {least} to {most} rows")
        require(len(set(rows)) == len(rows), f"{name} must not name a row twice")
        require(len(weights) == len(rows), f"{name} must have one weight per row")
        require_length(weights, f"{name}.weights")
    return dict(proof)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose keys are distinct."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _refuse(number: str) -> NoReturn:
    """Refuse decimal points, exponents, NaN and Infinity: JSON does not say which double they are."""
    raise ValueError(f"{number[:20]} is not an integer")
