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
- errors: the rows with a_i·z ≤ 0, what they cost, and a lower bound on what the errors of any plane cost
  (:mod:`maxmargin.checker.errors`).

A double is an integer over a power of two; in a proof about decimals ("numbers": "decimal") it stands
for the shortest decimal that rounds to it, an integer over a power of ten. All this is computed in
integers (and in a few fractions, where a plane has such), without rounding. How long they may be is
bounded by the proof's own length (:mod:`maxmargin.checker.form`), so that no small file keeps the
checker busy for long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from heapq import heapify, heappop, heappush
from operator import mul
from struct import pack
from typing import Any, NamedTuple

from maxmargin.checker.errors import FREE_STEPS, Errors
from maxmargin.checker.files import Row, read
from maxmargin.checker.form import (
    Rejected,
    Unreadable,
    canonical,
    common_denominator,
    parse,
    ratio,
    require,
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
DENSE_COLUMN = 32  # entries of the emptiest column, beyond which vectors are taken as dense ones
WAITING_NUMBERS = 4096  # hashed at a time: many small pieces take longer


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
    d, kind, decimal = proof["features"], proof["kind"], "numbers" in proof
    sides = dict.fromkeys(proof["positive"], 1) | dict.fromkeys(proof["negative"], -1)
    written: dict[str, int | None] = {}  # the sides of labels as the data write them
    plane = None
    if "plane" in proof:
        plane = Plane.of([*proof["plane"]["w"], *[proof["plane"]["b"]] * proof["intercept"]])
        no_bias = proof["intercept"] or ratio(proof["plane"]["b"])[0] == 0
        require(no_bias, "plane.b must be zero without intercept")
    flat = [common_denominator(u)[0] for u in proof["span"]["flat"]] if "span" in proof else []
    named = rows_named(proof)
    errors = Errors(proof) if kind == "errors" else None
    kept: dict[int, Vector] = {}
    tight: list[int] = []  # the rows with a_i·z = 0; of an optimum, with a_i·z = 1
    one_more = [d] * proof["intercept"], [1.0] * proof["intercept"]  # (x, 1), or x
    fingerprint = Fingerprint()
    seen = {d} if proof["intercept"] else set[int]()  # columns in which some row is not zero

    for i, (label, features) in enumerate(rows):
        before_each()
        if label not in written:
            written[label] = sides.get(canonical(label))
        side = written[label]
        if side is None:
            continue
        columns = sorted([j for j, value in features.items() if value])
        require(not columns or (columns[0] >= 0 and columns[-1] < d), f"row {i} must have {d} features")
        given = [features[j] for j in columns]
        try:
            values = list(map(float, given))
            a = signed(side, columns + one_more[0], values + one_more[1], decimal)
        except (TypeError, ValueError, OverflowError):
            raise Rejected(f"row {i} must hold finite numbers") from None
        require(values == given, f"row {i} must hold numbers that doubles hold")
        fingerprint.add(side, columns, values)
        seen.update(columns)
        if i in named:
            kept[i] = a
        if plane is not None:
            slack = plane.dot(a) - (a[2] * plane.scale if kind == "optimum" else 0)
            if errors is not None:
                errors.add(i, a, wrong=slack <= 0)
                continue
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
    absent = {
        label for label in sides.keys() - map(canonical, written) if fingerprint.used[sides[label]]
    }
    require(not absent, f"some row must have the label {min(absent, default='')[:40]!r}")
    require_sums(proof, kept, seen, before_each)
    if errors is not None:
        errors.require_bounds(kept, before_each)
    return i + 1 - used


def rows_named(proof: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the rows in the sums and branches of a proof."""
    sums = [proof[name] for name in ("witness", "span", "multipliers") if name in proof]
    sums += proof.get("witnesses", [])
    branches = proof["tree"]["branches"] if "tree" in proof else []
    return {i for part in sums for i in part["rows"]} | {branch["row"] for branch in branches}


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
    summed = None
    for name in ("witness", "span"):
        if name in proof and summed != (proof[name]["rows"], proof[name]["weights"]):
            summed = proof[name]["rows"], proof[name]["weights"]
            total, _ = weighted_sum(proof[name], kept, before_each)
            require(not any(total.values()), f"the weighted rows of {name} must sum to zero")
    if "witnesses" in proof:
        require_witnesses(proof["witnesses"], kept, before_each)
    if "multipliers" in proof:
        d, (w, one) = proof["features"], common_denominator(proof["plane"]["w"])
        total, scale = weighted_sum(proof["multipliers"], kept, before_each)
        require(not total.get(d), "the multipliers of the two sides must have the same sum")
        for j in range(d):
            equal = total.get(j, 0) * one == w[j] * scale
            require(equal, f"plane.w[{j}] must be that of the multipliers")
    if "span" in proof and len(proof["span"]["rows"]) < proof["rows"]:  # not all rows cancel together
        flat = [common_denominator(u)[0] for u in proof["span"]["flat"]]
        others = rank([{j: u[j] for j in seen} for u in flat], len(flat), before_each)
        missing = len(seen) - others
        span = [dict(zip(*kept[i][:2], strict=True)) for i in proof["span"]["rows"]]
        found = rank(span, missing, before_each)
        require(found >= missing, "the rows of the span must span all others")


def require_witnesses(
    witnesses: Sequence[Mapping[str, Any]], kept: Mapping[int, Vector], before_each: Call
) -> None:
    """Reject the proof unless the rows of each witness cancel; all sums together have a bounded length.

    A row may stand in many witnesses, so that few long rows would make a short proof a long computation.
    """
    steps = sum(
        len(kept[i][0]) * (1 + len(weight) // 1000)
        for witness in witnesses
        for i, weight in zip(witness["rows"], witness["weights"], strict=True)
    )
    free = FREE_STEPS + 32 * sum(len(columns) for columns, _, _ in kept.values())
    require(steps <= free, f"the witnesses must hold at most {free} numbers together. Got {steps}")
    for number, witness in enumerate(witnesses):
        total, _ = weighted_sum(witness, kept, before_each)
        cancels = not any(total.values())
        require(cancels, f"the weighted rows of witnesses[{number}] must sum to zero")


class Fingerprint:
    """The digest of the rows used: sides, counts, columns and values are hashed side by side."""

    def __init__(self) -> None:
        self.used = {1: 0, -1: 0}
        self._streams = [sha256() for _ in range(4)]
        self._waiting: tuple[list[bytes], list[int], list[int], list[float]] = ([], [], [], [])

    def add(self, side: int, columns: Sequence[int], values: Sequence[float]) -> None:
        """Add one row."""
        self.used[side] += 1
        sides, counts, all_columns, all_values = self._waiting
        sides.append(b"+" if side == 1 else b"-")
        counts.append(len(columns))
        all_columns += columns
        all_values += values
        if len(sides) + len(all_values) > WAITING_NUMBERS:
            self._hash()

    def _hash(self) -> None:
        sides, counts, columns, values = self._waiting
        parts = [
            b"".join(sides),
            pack(f"<{len(counts)}Q", *counts),
            pack(f"<{len(columns)}I", *columns),
            pack(f"<{len(values)}d", *values),
        ]
        for stream, part in zip(self._streams, parts, strict=True):
            stream.update(part)
        self._waiting = [], [], [], []

    def hexdigest(self, features: int) -> str:
        """Return the digest of all rows added."""
        self._hash()
        whole = sha256(b"maxmargin rows 1\n%d %d\n" % (sum(self.used.values()), features))
        for stream in self._streams:
            whole.update(stream.digest())
        return whole.hexdigest()


class Plane(NamedTuple):
    """z = (w, b) in integers: ``plain`` ones over one denominator, ``fractions`` over another.

    A few entries with long denominators thus do not make all others long.
    """

    plain: list[int]
    fractions: dict[int, int]
    denominators: tuple[int, int]
    scale: int  # the product of the two

    @classmethod
    def of(cls, texts: Sequence[str]) -> Plane:
        """Return the plane that the texts of its numbers stand for."""
        dyadic = [not (n := ratio(text)[1]) & (n - 1) for text in texts]
        if 8 * sum(dyadic) <= 7 * len(texts):  # fractions are not few
            dyadic = [True] * len(texts)
        pairs = zip(texts, dyadic, strict=True)
        plain, p = common_denominator([text if of_two else "0" for text, of_two in pairs])
        others = [j for j, of_two in enumerate(dyadic) if not of_two]
        integers, q = common_denominator([texts[j] for j in others])
        return cls(plain, dict(zip(others, integers, strict=True)), (p, q), p * q)

    def dot(self, a: Vector) -> int:
        """Return the scales of a and of the plane times a·z."""
        total = dot(a, self.plain) * self.denominators[1]
        if self.fractions:
            pairs = zip(*a[:2], strict=True)
            others = sum([n * self.fractions[j] for j, n in pairs if j in self.fractions])
            total += others * self.denominators[0]
        return total


def signed(side: int, columns: list[int], values: list[float], decimal: bool = False) -> Vector:
    """Return a_i in integers: side · values, times a power of two, or of ten for decimals.

    A decimal is the shortest one that rounds to the double.

    Examples
    --------
    1.5 is 3 / 2, and 0.25 is 1 / 4; side −1 changes the sign:

    >>> from maxmargin.checker import signed
    >>> columns, integers, scale = signed(-1, [0, 2], [1.5, 0.25])
    >>> [n / scale for n in integers]
    [-1.5, -0.25]
    >>> signed(1, [0, 1], [0.1, 2.0], decimal=True)
    ([0, 1], [1, 20], 10)
    """
    if decimal:
        parts = list(map(shortest_decimal, values))
        places = max([k for _, k in parts], default=0)
        return columns, [side * n * 10 ** (places - k) for n, k in parts], 10**places
    try:
        # A double is a multiple of the last bit of any smaller one: 2^-53 of the next power of two.
        smallest = min(map(abs, values), default=1.0)
        shift = max(0, 53 - math.frexp(smallest)[1])
        factor = side * 2.0**shift  # the products are exact, or too large for a double
        return columns, [int(value * factor) for value in values], 1 << shift
    except OverflowError:  # the row holds tiny and huge numbers: the same, by its fractions
        ratios = [value.as_integer_ratio() for value in values]
        scale = max([denominator for _, denominator in ratios])
        return columns, [side * n * (scale // denominator) for n, denominator in ratios], scale


def shortest_decimal(value: float) -> tuple[int, int]:
    """Return n and k ≥ 0 of the shortest decimal n · 10^-k that rounds to a double."""
    digits, _, exponent = repr(value).partition("e")
    front, _, behind = digits.partition(".")
    behind = behind.rstrip("0")
    n, k = int(front + behind), len(behind) - int(exponent or 0)
    return (n, k) if k > 0 else (n * 10**-k, 0)


def dot(a: Vector, z: Sequence[int]) -> int:
    """Return the scale of a times a·z."""
    return sum(map(mul, a[1], map(z.__getitem__, a[0])))


def weighted_sum(
    part: Mapping[str, Any], kept: Mapping[int, Vector], before_each: Call
) -> tuple[dict[int, int], int]:
    """Return integers by column, and their scale: together Σ weight_i a_i over the rows of the part."""
    weights, denominator = common_denominator(part["weights"])
    require(min(weights, default=1) > 0, "every weight must be positive")
    scale = max([kept[i][2] for i in part["rows"]], default=1)
    total: dict[int, int] = {}
    for i, weight in zip(part["rows"], weights, strict=True):
        before_each()
        columns, integers, own_scale = kept[i]
        factor = weight * (scale // own_scale)
        for j, n in zip(columns, integers, strict=True):
            total[j] = total.get(j, 0) + factor * n
    return total, scale * denominator


def rank(vectors: Sequence[Mapping[int, int]], enough: int, before_each: Call = nothing) -> int:
    """Return the largest of the ranks modulo some primes: the true rank is this or larger."""
    best = 0
    for prime in (2**61 - 1, 2**89 - 1, 2**127 - 1, 2**521 - 1, 2**2203 - 1):
        if best < enough:
            best = max(best, rank_modulo(prime, vectors, before_each))
    return best


def rank_modulo(prime: int, vectors: Iterable[Mapping[int, int]], before_each: Call = nothing) -> int:
    """Return the rank modulo a prime, by elimination: columns with few entries first."""
    rows = [{j: n % prime for j, n in vector.items() if n % prime} for vector in vectors]
    homes: dict[int, set[int]] = {}  # the rows that have an entry in a column
    for i, row in enumerate(rows):
        for j in row:
            homes.setdefault(j, set()).add(i)
    found = 0
    waiting = [(len(here), j) for j, here in homes.items()]
    heapify(waiting)
    while waiting:
        before_each()
        size, j = heappop(waiting)
        here = homes[j]
        if len(here) > size:  # it has filled up since
            heappush(waiting, (len(here), j))
            continue
        if not here:
            continue
        if size > DENSE_COLUMN:  # and so are all others: go on with dense vectors
            return found + dense_rank(prime, [row for row in rows if row], before_each)
        best = min(here, key=lambda i: len(rows[i]))
        pivot, rows[best] = rows[best], {}
        inverse = pow(pivot[j], -1, prime)
        for k in pivot:
            homes[k].discard(best)
        for i in list(here):
            row, factor = rows[i], rows[i][j] * inverse % prime
            for k, n in pivot.items():
                value = (row.get(k, 0) - factor * n) % prime
                if value:
                    if k not in row:
                        homes[k].add(i)
                    row[k] = value
                elif k in row:
                    del row[k]
                    homes[k].discard(i)
        found += 1
    return found


def dense_rank(prime: int, vectors: Sequence[Mapping[int, int]], before_each: Call = nothing) -> int:
    """The same for vectors with few zeros, each packed into one long integer.

    A number has room for all that elimination adds to it, and is taken modulo the prime once.
    """
    columns = sorted({j for vector in vectors for j in vector})
    size = -(-(2 * prime.bit_length() + len(vectors).bit_length() + 1) // 8)  # bytes of a number
    mask, basis = (1 << 8 * size) - 1, list[tuple[int, int]]()

    def packed(numbers: Iterable[int]) -> int:
        return int.from_bytes(b"".join([n.to_bytes(size, "little") for n in numbers]), "little")

    for vector in vectors:
        before_each()
        rest = packed([vector.get(j, 0) for j in columns])
        for place, reduced in basis:
            if factor := (rest >> place & mask) % prime:
                rest += (prime - factor) * reduced
        data = rest.to_bytes(size * len(columns), "little")
        starts = range(0, len(data), size)
        numbers = [int.from_bytes(data[k : k + size], "little") % prime for k in starts]
        first = next((k for k, n in enumerate(numbers) if n), -1)
        if first >= 0:
            inverse = pow(numbers[first], -1, prime)
            basis.append((8 * size * first, packed([n * inverse % prime for n in numbers])))
    return len(basis)
