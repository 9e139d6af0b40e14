"""Check a proof of a verdict on linear separability, with nothing but Python's integers.

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

A double is an integer over a power of two, so that all this is computed in integers (and in a few
fractions, where a plane has such), without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from operator import eq, mul
from struct import pack
from typing import Any

from maxmargin.checker.files import Row, read
from maxmargin.checker.form import parse
from maxmargin.checker.words import (
    Rejected,
    Unreadable,
    canonical,
    common_denominator,
    require,
    with_fractions,
)

__all__ = [
    "Rejected",
    "Row",
    "Unreadable",
    "canonical",
    "check",
    "parse",
    "read",
    "require",
    "require_sums",
    "signed",
]

Vector = tuple[list[int], list[int], int]  # columns, integers and scale: the integers are scale · a_i
Call = Callable[[], None]


def nothing() -> None:
    """Do nothing before a row."""


def check(proof: Mapping[str, Any], rows: Iterable[Row], before_each: Call = nothing) -> int:
    """Reject the parsed ``proof`` unless it holds for the rows; return how many have other labels.

    One pass, keeping only the rows that the proof names. What is called ``before_each`` row, also of
    sums and spans, may end the check by raising.

    Examples
    --------
    A proof of this library, checked with integers alone:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.checker import check, parse
    >>> path = Path(tempfile.mkdtemp()) / "proof.json"
    >>> mm.separability([[0.0], [2.0]], ["no", "yes"]).proof.save(path)
    >>> check(parse(path.read_text()), [("no", {}), ("yes", {0: 2.0}), ("perhaps", {0: 1.0})])
    1
    """
    i = -1
    d, kind = proof["features"], proof["kind"]
    sides = dict.fromkeys(proof["positive"], 1) | dict.fromkeys(proof["negative"], -1)
    z: list[int | Fraction] = []
    one = 1  # z / one is (w, b)
    if "plane" in proof:
        z, one = with_fractions([*proof["plane"]["w"], proof["plane"]["b"]])
        require(proof["intercept"] or z.pop() == 0, "plane.b must be zero without intercept")
    flat = [common_denominator(u)[0] for u in proof["span"]["flat"]] if "span" in proof else []
    sums = [proof[name] for name in ("witness", "span", "multipliers") if name in proof]
    named = {i for part in sums for i in part["rows"]}
    kept: dict[int, Vector] = {}
    tight: list[int] = []  # the rows with a_i·z = 0; of an optimum, with a_i·z = 1
    one_more = [d] * proof["intercept"], [1.0] * proof["intercept"]  # (x, 1), or x
    fingerprint = Fingerprint()
    seen = {d} if proof["intercept"] else set[int]()  # columns in which some row is not zero

    for i, (label, features) in enumerate(rows):
        before_each()
        side = sides.get(canonical(label))
        if side is None:
            continue
        columns = sorted([j for j, value in features.items() if value])
        require(not columns or (columns[0] >= 0 and columns[-1] < d), f"row {i} must have {d} features")
        try:
            values = [float(features[j]) for j in columns]
            a = signed(side, columns + one_more[0], values + one_more[1])
        except (TypeError, ValueError, OverflowError):
            raise Rejected(f"row {i} must hold finite numbers") from None
        equal = map(eq, values, map(features.__getitem__, columns))
        require(all(equal), f"row {i} must hold numbers that doubles hold")
        fingerprint.add(side, columns, values)
        seen.update(columns)
        if i in named:
            kept[i] = a
        if z:
            slack = dot(a, z) - (a[2] * one if kind == "optimum" else 0)
            require(slack >= 0, f"row {i} must not be beyond the plane or, of an optimum, its margin")
            if slack == 0:
                tight.append(i)
        for u in flat:
            require(dot(a, u) == 0, f"row {i} must be in the flat")

    used = sum(fingerprint.used.values())
    require(used == proof["rows"], f"rows must be {used}, as in the data. Got {proof['rows']}")
    require(fingerprint.hexdigest(d) == proof["data"], "the data must be those of the proof")
    require(
        named <= kept.keys(), f"row {min(named - kept.keys(), default=0)} must have one of the labels"
    )
    if kind == "separable":
        require(not tight, f"row {min(tight, default=0)} must not be on the plane")
        require(all(fingerprint.used.values()), "both sides must have rows")
    elif kind == "touching":
        differing = set(tight) ^ set(proof["on_plane"])
        require(
            not differing,
            f"row {min(differing, default=0)} must be on the plane and in on_plane, or neither",
        )
        require(len(tight) < used, "some row must not be on the plane")
    elif kind == "optimum":
        both = all(fingerprint.used.values()) or not proof["intercept"]
        require(both, "both sides must have rows")
        loose = set(proof["multipliers"]["rows"]) - set(tight)
        require(not loose, f"row {min(loose, default=0)} has a multiplier: its margin must be 1")
    require_sums(proof, kept, seen, before_each)
    return i + 1 - used


def require_sums(
    proof: Mapping[str, Any],
    kept: Mapping[int, Vector],
    seen: Collection[int],
    before_each: Call = nothing,
) -> None:
    """Reject the proof unless the rows of its witness cancel, and those of its span, which span all.

    ``seen`` are the columns in which some row is not zero: no row has a part in the others.

    Examples
    --------
    A witness whose two rows do not cancel:

    >>> from maxmargin.checker import Rejected, require_sums, signed
    >>> kept = {0: signed(1, [0], [1.0]), 1: signed(-1, [0], [2.0])}
    >>> try:
    ...     require_sums({"witness": {"rows": [0, 1], "weights": ["1", "1"]}}, kept, {0})
    ... except Rejected as reason:
    ...     print(reason)
    the weighted rows of witness must sum to zero
    """
    for name in ("witness", "span"):
        if name in proof:
            total, _ = weighted_sum(proof[name], kept, before_each)
            require(not any(total.values()), f"the weighted rows of {name} must sum to zero")
    if "multipliers" in proof:
        d, (w, one) = proof["features"], common_denominator(proof["plane"]["w"])
        total, scale = weighted_sum(proof["multipliers"], kept, before_each)
        require(not total.get(d), "the multipliers of the two sides must have the same sum")
        for j in range(d):
            equal = total.get(j, 0) * one == w[j] * scale
            require(equal, f"plane.w[{j}] must be that of the multipliers")
    if "span" in proof and len(proof["span"]["rows"]) < proof["rows"]:  # not all rows cancel together
        flat = [common_denominator(u)[0] for u in proof["span"]["flat"]]
        others = rank(({j: u[j] for j in seen} for u in flat), len(flat), before_each)
        missing = len(seen) - others
        span = (dict(zip(*kept[i][:2], strict=True)) for i in proof["span"]["rows"])
        found = rank(span, missing, before_each)
        require(found >= missing, "the rows of the span must span all others")


class Fingerprint:
    """The digest of the rows used: sides, counts, columns and values are hashed side by side."""

    def __init__(self) -> None:
        self.used = {1: 0, -1: 0}
        self.streams = [sha256() for _ in range(4)]

    def add(self, side: int, columns: Sequence[int], values: Sequence[float]) -> None:
        """Add one row."""
        n = len(columns)
        self.used[side] += 1
        sign = b"+" if side == 1 else b"-"
        parts = sign, pack("<Q", n), pack(f"<{n}I", *columns), pack(f"<{n}d", *values)
        for stream, part in zip(self.streams, parts, strict=True):
            stream.update(part)

    def hexdigest(self, features: int) -> str:
        """Return the digest of all rows added."""
        whole = sha256(b"maxmargin rows 1\n%d %d\n" % (sum(self.used.values()), features))
        for stream in self.streams:
            whole.update(stream.digest())
        return whole.hexdigest()


def signed(side: int, columns: list[int], values: list[float]) -> Vector:
    """Return a_i in integers: side · values, times a power of two.

    Examples
    --------
    1.5 is 3 / 2, and 0.25 is 1 / 4; side −1 changes the sign:

    >>> from maxmargin.checker import signed
    >>> columns, integers, scale = signed(-1, [0, 2], [1.5, 0.25])
    >>> [n / scale for n in integers]
    [-1.5, -0.25]
    """
    try:
        # A double is a multiple of the last bit of any smaller one: 2^-53 of the next power of two.
        smallest = min(map(abs, values), default=1.0)
        shift = max(0, 53 - math.frexp(smallest)[1])
        factor = side * 2.0**shift  # the products are exact, or too large for a double
        return columns, [int(value * factor) for value in values], 1 << shift
    except OverflowError:  # the row holds tiny and huge numbers: the same, by its fractions
        ratios = [value.as_integer_ratio() for value in values]
        scale = max(denominator for _, denominator in ratios)
        return columns, [side * n * (scale // denominator) for n, denominator in ratios], scale


def dot(a: Vector, z: Sequence[int | Fraction]) -> int | Fraction:
    """Return the scale of a times a·z."""
    total: int | Fraction = sum(map(mul, a[1], map(z.__getitem__, a[0])))
    return total


def weighted_sum(
    part: Mapping[str, Any], kept: Mapping[int, Vector], before_each: Call
) -> tuple[dict[int, int], int]:
    """Return integers by column, and their scale: together Σ weight_i a_i over the rows of the part."""
    weights, denominator = common_denominator(part["weights"])
    require(all(weight > 0 for weight in weights), "every weight must be positive")
    scale = max((kept[i][2] for i in part["rows"]), default=1)
    total: dict[int, int] = {}
    for i, weight in zip(part["rows"], weights, strict=True):
        before_each()
        columns, integers, own_scale = kept[i]
        factor = weight * (scale // own_scale)
        for j, n in zip(columns, integers, strict=True):
            total[j] = total.get(j, 0) + factor * n
    return total, scale * denominator


def rank(vectors: Iterable[Mapping[int, int]], enough: int, before_each: Call = nothing) -> int:
    """Return the largest of the ranks modulo some primes: the true rank is this or larger."""
    given, best = list(vectors), 0
    for prime in (2**61 - 1, 2**89 - 1, 2**127 - 1, 2**521 - 1, 2**2203 - 1):
        if best < enough:
            best = max(best, rank_modulo(prime, given, before_each))
    return best


def rank_modulo(prime: int, vectors: Iterable[Mapping[int, int]], before_each: Call = nothing) -> int:
    """Return the rank modulo a prime, by elimination."""
    given = list(vectors)
    columns = sorted({j for vector in given for j in vector})
    basis: dict[int, list[int]] = {}  # by the place of the leading 1, from there on
    for vector in given:
        before_each()
        rest = [vector.get(j, 0) % prime for j in columns]
        for place in sorted(basis):
            if factor := rest[place]:
                pairs = zip(rest[place:], basis[place], strict=True)
                rest[place:] = [(a - factor * b) % prime for a, b in pairs]
        place = next((k for k, n in enumerate(rest) if n), -1)
        if place >= 0:
            inverse = pow(rest[place], -1, prime)
            basis[place] = [n * inverse % prime for n in rest[place:]]
    return len(basis)
