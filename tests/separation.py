"""Separability decided by enumeration, and verdicts checked in integers: nothing here is the library's.

With a_i = s_i (x_i, 1), or s_i x_i through the origin, a plane z is strict if a_i·z > 0 on all rows,
and weak if a_i·z ≥ 0 on all and > 0 on some. Only the columns of a basis of the column space matter; on
these the cone {z: a_i·z ≥ 0} has a point, and each of its extreme rays is zero on rank − 1 independent
rows. The sum of all its rays lies inside it: a row that is zero there is zero on every weak plane.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from operator import mul

import numpy as np
from scipy import sparse

import maxmargin as mm
from exact import hard_margin

__all__ = ["Answer", "check_verdict", "decide", "exactly", "signed", "write_table"]

PRIME = (1 << 89) - 1  # not the one of the library
FEW = 400  # sets of rows to try for the exact margin
WORDS = {
    "separable": "complete separation",
    "touching": "quasi-complete separation",
    "overlapping": "no separation",
}


@dataclass(frozen=True)
class Answer:
    """The kind, the rows that every weak plane contains, and the rank of all rows."""

    kind: str
    on: list
    rank: int


def exactly(X):
    """Whole numbers in proportion to the entries of X, and what stands for one."""
    if sparse.issparse(X):
        X = X.toarray()
    table = [[v.as_integer_ratio() for v in row] for row in np.asarray(X).tolist()]
    one = math.lcm(1, *(q for row in table for _, q in row))
    return [[p * (one // q) for p, q in row] for row in table], one


def signed(X, side, intercept):
    """The rows a_i in whole numbers, up to a common factor."""
    rows, one = exactly(X)
    return [
        [int(s) * v for v in ([*row, one] if intercept else row)]
        for row, s in zip(rows, side, strict=True)
    ]


def decide(A):
    """The answer for rows a_i of whole numbers, by enumerating the extreme rays of the cone."""
    A = [list(a) for a in A]
    columns = _independent(list(zip(*A, strict=True)))
    B = [tuple(a[j] for j in columns) for a in A]
    rank = len(columns)
    distinct = sorted({_primitive(b) for b in B if any(b)})
    inside = [0] * rank
    for S in combinations(distinct, rank - 1) if rank else ():
        z = _normal(S, rank)
        if not any(z):
            continue
        values = [sum(map(mul, b, z)) for b in distinct]
        if min(values) >= 0:
            inside = [p + q for p, q in zip(inside, z, strict=True)]
        elif max(values) <= 0:
            inside = [p - q for p, q in zip(inside, z, strict=True)]
    values = [sum(map(mul, b, inside)) for b in B]
    assert min(values) >= 0
    on = [i for i, v in enumerate(values) if v == 0]
    return Answer("overlapping" if not any(values) else "touching" if on else "separable", on, rank)


def _primitive(row):
    g = math.gcd(*row) or 1
    return tuple(v // g for v in row)


def _normal(S, rank):
    """What is orthogonal to rank − 1 rows: the minors, with signs; zero if the rows depend."""
    return [(-1) ** j * _determinant([[*row[:j], *row[j + 1 :]] for row in S]) for j in range(rank)]


def _determinant(M):
    if not M:
        return 1
    if len(M) == 1:
        return M[0][0]
    if len(M) == 2:
        return M[0][0] * M[1][1] - M[0][1] * M[1][0]
    return sum(
        (-1) ** j * v * _determinant([[*row[:j], *row[j + 1 :]] for row in M[1:]])
        for j, v in enumerate(M[0])
        if v
    )


def _independent(rows):
    """Indices of rows that span all of them, exactly."""
    held, chosen = [], []
    for i, row in enumerate(rows):
        rest = list(row)
        for pivot, other in held:
            if rest[pivot]:
                p, q = rest[pivot], other[pivot]
                rest = [v * q - p * o for v, o in zip(rest, other, strict=True)]
        rest = list(_primitive(rest))
        if any(rest):
            held.append((next(j for j, v in enumerate(rest) if v), rest))
            chosen.append(i)
    return chosen


def _rank(rows):
    """The rank modulo a prime, which is never more than the rank."""
    M = [[v % PRIME for v in row] for row in rows]
    rank = 0
    for j in range(len(M[0]) if M else 0):
        k = next((i for i in range(rank, len(M)) if M[i][j]), None)
        if k is None:
            continue
        M[rank], M[k] = M[k], M[rank]
        inverse = pow(M[rank][j], -1, PRIME)
        top = [v * inverse % PRIME for v in M[rank]]
        for i in range(rank + 1, len(M)):
            if M[i][j]:
                factor = M[i][j]
                M[i] = [(v - factor * t) % PRIME for v, t in zip(M[i], top, strict=True)]
        rank += 1
    return rank


def _number(text):
    """A number of a proof."""
    if "0x" in text:
        return Fraction(float.fromhex(text))
    p, _, q = text.partition("/")
    return Fraction(_integer(p), _integer(q or "1"))


def _integer(text):
    """An integer with any number of digits."""
    if text.startswith("-"):
        return -_integer(text[1:])
    if len(text) < 4_000:
        return int(text)
    half = len(text) // 2
    return _integer(text[:-half]) * 10**half + _integer(text[-half:])


def _whole(numbers):
    """Whole numbers in the same proportion."""
    common = math.lcm(*(v.denominator for v in numbers))
    return [v.numerator * (common // v.denominator) for v in numbers]


def check_verdict(verdict, X, y, intercept=True, *, folder=None, tight=True):
    """Assert all that a verdict says about the data, in whole numbers."""
    labels = np.asarray(y).tolist()
    side = {
        i: 1 if label == verdict.positive else -1
        for i, label in enumerate(labels)
        if verdict.negative is None or label in (verdict.positive, verdict.negative)
    }
    rows, one = exactly(X)
    A = {i: [s * v for v in ([*rows[i], one] if intercept else rows[i])] for i, s in side.items()}
    d = len(rows[0])
    D = d + intercept
    proof = verdict.proof.to_dict()
    assert verdict.kind == verdict.proof.kind == proof["kind"]
    assert verdict.separable == (verdict.kind == "separable")
    assert verdict.statistical_name == WORDS[verdict.kind]
    assert verdict.kind.capitalize() in str(verdict) and verdict.statistical_name in str(verdict)
    assert proof["rows"] == len(A) and proof["features"] == d and proof["intercept"] is intercept
    if verdict.kind == "overlapping":
        assert verdict.w is None and verdict.b is None and verdict.infinite == {}
        _check_span(proof["span"], A, verdict.rank)
    else:
        assert verdict.rank is None
        _check_plane(verdict, proof["plane"], A, d, intercept)
    if verdict.kind == "separable":
        assert verdict.witness is None and "witness" not in proof
        _check_margin(verdict, rows, one, side, A, intercept, tight)
    else:
        assert verdict.margin is None
        _check_witness(verdict.witness, proof["witness"], rows, one, side, A, D, intercept)
    if verdict.kind != "touching":
        assert len(verdict.on_plane) == 0
    verdict.proof.check(X, y)
    assert verdict.proof.verify(X, y)
    if folder is not None:
        verdict.proof.save(folder / "proof.json")
        loaded = mm.Proof.load(folder / "proof.json")
        assert loaded.to_dict() == proof == json.loads((folder / "proof.json").read_text())
        assert loaded.verify(X, y)


def _check_plane(verdict, plane, A, d, intercept):
    z = [_number(text) for text in (*plane["w"], plane["b"])]
    assert len(z) == d + 1 and (intercept or z[-1] == 0 == verdict.b)
    assert verdict.w.shape == (d,) and verdict.w.dtype == np.float64
    assert np.all(np.isfinite(verdict.w)) and math.isfinite(verdict.b)
    doubles = [Fraction(v) for v in (*verdict.w.tolist(), float(verdict.b))]
    if verdict.plane_is_exact:
        k = next(k for k, v in enumerate(z) if v)
        assert doubles[k] / z[k] > 0
        assert all(p * z[k] == doubles[k] * q for p, q in zip(doubles, z, strict=True))
        z = doubles
    z = _whole(z)[: d + intercept]
    values = {i: sum(map(mul, a, z)) for i, a in A.items()}
    assert min(values.values()) >= 0 and max(values.values()) > 0
    on = [i for i, v in values.items() if v == 0]
    assert on == verdict.on_plane.tolist()
    assert (verdict.kind == "touching") == bool(on)
    signs = {
        name: (v > 0) - (v < 0) for name, v in zip((*verdict.features, "intercept"), z, strict=False)
    }
    if verdict.knows_directions:  # this plane is one of many
        assert {name: s for name, s in verdict.infinite.items() if s}.items() <= signs.items()
        assert {name for name, s in signs.items() if s} <= verdict.infinite.keys()


def _check_margin(verdict, rows, one, side, A, intercept, tight):
    lower, upper = verdict.margin
    assert 0 <= lower <= upper
    d = len(rows[0])
    plane = verdict.proof.to_dict()["plane"]
    z = [_number(text) for text in (*plane["w"], plane["b"])][: d + intercept]
    square = sum(v * v for v in z[:d])
    least = min(sum(map(mul, a, _whole(z))) for a in A.values())
    scale = next(Fraction(p) / q for p, q in zip(_whole(z), z, strict=True) if q)
    attained = Fraction(least) ** 2 / (scale * one) ** 2 / square
    assert Fraction(lower) ** 2 <= attained
    if math.isfinite(upper):
        assert Fraction(upper) ** 2 >= attained
    assert Fraction(lower * (1 + 1e-12) + 5e-324) ** 2 >= attained  # rounded down, no more
    if tight:  # up to what the rounding of w and b costs
        reach = max(abs(v) for row in rows for v in row) / one
        assert lower >= upper * (1 - 1e-6) - (d + 2) * 2.0**-51 * reach - 1e-323
    if sum(math.comb(len(A), k) for k in range(1, d + 2)) <= FEW:
        best = hard_margin([rows[i] for i in A], [side[i] for i in A], intercept)
        true = best.square / Fraction(one) ** 2
        assert Fraction(lower) ** 2 <= true
        assert not math.isfinite(upper) or true <= Fraction(upper) ** 2


def _check_witness(witness, written, rows, one, side, A, D, intercept):
    held = {}
    for which, weights, s in (
        (witness.positive, witness.positive_weights, 1),
        (witness.negative, witness.negative_weights, -1),
    ):
        assert len(which) == len(weights)
        for i, weight in zip(which.tolist(), weights, strict=True):
            assert isinstance(weight, Fraction) and weight > 0 and side[i] == s and i not in held
            held[i] = weight
        if intercept:
            assert len(which) and sum(weights) == 1
    assert 1 <= len(held) <= D + 1
    assert sorted(held) == witness.rows.tolist()
    assert intercept or sum(held.values()) == 1
    weights = _whole(list(held.values()))
    assert all(sum(map(mul, weights, column)) == 0 for column in zip(*(A[i] for i in held), strict=True))
    numbers = [_integer(text) for text in written["weights"]]
    assert dict(zip(written["rows"], numbers, strict=True)).keys() == held.keys()
    total = sum(numbers)
    share = sum(held.values())
    for i, number in zip(written["rows"], numbers, strict=True):
        assert Fraction(number, total) == held[i] / share
    mine = (witness.positive if len(witness.positive) else witness.negative).tolist()
    for j, v in enumerate(witness.point.tolist()):
        reach = max(abs(rows[i][j]) for i in held)
        point = sum((held[i] * rows[i][j] for i in mine), Fraction(0)) / one
        assert abs(Fraction(v) - point) * one * 10**12 <= reach + one * Fraction(1, 10**300)


def _check_span(span, A, rank):
    D = len(next(iter(A.values())))
    which, weights = span["rows"], [_integer(text) for text in span["weights"]]
    assert len(which) == len(weights) <= 2 * D and len(set(which)) == len(which)
    assert all(a < b for a, b in pairwise(which)) and min(weights, default=1) > 0
    held = [A[i] for i in which]
    assert all(sum(map(mul, weights, column)) == 0 for column in zip(*held, strict=True))
    flat = [_whole([_number(text) for text in u]) for u in span["flat"]]
    assert all(len(u) == D for u in flat)
    assert all(sum(map(mul, a, u)) == 0 for a in A.values() for u in flat)
    assert _rank(held) == rank == _rank(list(A.values()))  # all rows lie in the span
    seen = [any(column) for column in zip(*A.values(), strict=True)]
    if len(which) < len(A):
        assert rank >= sum(seen) - _rank([[v for v, s in zip(u, seen, strict=True) if s] for u in flat])


def write_table(path, X, y):
    """Write a CSV file in which every number is given with all its digits."""
    lines = [
        ",".join([*(repr(float(v)) for v in row), str(label)])
        for row, label in zip(np.asarray(X).tolist(), np.asarray(y).tolist(), strict=True)
    ]
    header = ",".join([*(f"x{j}" for j in range(np.asarray(X).shape[1])), "label"])
    path.write_text("\n".join([header, *lines]) + "\n")
