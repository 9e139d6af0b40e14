"""Proofs for the checker: one of each kind that holds, and ways to change and to seal them."""

import copy
import hashlib
import json
import struct

from maxmargin.checker import canonical, check, parse

__all__ = [
    "APART",
    "FIVE",
    "MIXED",
    "ONE_TWO_ONE",
    "PROOFS",
    "REMOVED",
    "TOUCH",
    "changed",
    "digest",
    "judge",
    "make",
    "seal",
    "sparse",
]


def sparse(X, y):
    """Return the rows of a matrix as the checker takes them."""
    return [(label, {j: v for j, v in enumerate(x) if v}) for x, label in zip(X, y, strict=True)]


def digest(rows, proof):
    """Return the digest of the rows used, by the letter of the specification."""
    sides, counts, columns, values, used = b"", b"", b"", b"", 0
    for label, row in rows:
        if canonical(label) not in proof["positive"] + proof["negative"]:
            continue
        used += 1
        sides += b"+" if canonical(label) in proof["positive"] else b"-"
        counts += struct.pack("<Q", len(row))
        for j in sorted(row):
            columns += struct.pack("<I", j)
            values += struct.pack("<d", row[j])
    parts = b"".join(hashlib.sha256(part).digest() for part in (sides, counts, columns, values))
    return used, hashlib.sha256(
        b"maxmargin rows 1\n%d %d\n" % (used, proof["features"]) + parts
    ).hexdigest()


def seal(proof):
    """Return the text of a proof with its seal."""
    proof = {key: value for key, value in proof.items() if key != "seal"}
    text = json.dumps(proof, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return json.dumps({**proof, "seal": hashlib.sha256(text.encode("ascii")).hexdigest()})


def make(kind, rows, features, **entries):
    """Return a proof about the rows, without its seal."""
    proof = {"format": "maxmargin proof", "version": 1, "kind": kind, "intercept": True}
    proof |= {"features": features, "positive": ["1"], "negative": ["-1"]} | entries
    proof["rows"], proof["data"] = digest(rows, proof)
    return proof


def judge(proof, rows):
    """Check a proof given as a dictionary."""
    check(parse(seal(proof)), rows)


# One feature. Separable: −3 | 5, least ‖w‖ at w = 1/4, b = −1/4. Touching: 2 on both sides.
# Overlapping: + − + −, where 1, 2, 3 and 2, 3, 4 are witnesses.
APART = sparse([[5.0], [-3.0], [7.0]], ["1", "-1", "1"])
TOUCH = sparse([[2.0], [2.0], [5.0]], ["1", "-1", "1"])
MIXED = sparse([[1.0], [2.0], [3.0], [4.0]], ["1", "-1", "1", "-1"])
# Two features, all on the line x_1 = x_2: the flat is u = (1, −1, 0).
FLAT = sparse([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]], ["1", "-1", "1", "-1"])
# + − + − +: two are wrong. Either the middle one is, and one of the others; or both − are.
FIVE = sparse([[1.0], [2.0], [3.0], [4.0], [5.0]], ["1", "-1", "1", "-1", "1"])
ONE_TWO_ONE = {"rows": [0, 1, 2], "weights": ["1", "2", "1"]}

PROOFS = {
    "separable": (make("separable", APART, 1, plane={"w": [(1.0).hex()], "b": "-1/2"}), APART),
    "touching": (
        make(
            "touching",
            TOUCH,
            1,
            plane={"w": ["1"], "b": "-0x1.0000000000000p+1"},
            on_plane=[0, 1],
            witness={"rows": [0, 1], "weights": ["3", "3"]},
        ),
        TOUCH,
    ),
    "overlapping": (
        make("overlapping", MIXED, 1, witness=ONE_TWO_ONE, span={**ONE_TWO_ONE, "flat": []}),
        MIXED,
    ),
    "flat": (
        make(
            "overlapping",
            FLAT,
            2,
            witness=ONE_TWO_ONE,
            span={**ONE_TWO_ONE, "flat": [["1/3", "-1/3", "0"]]},
        ),
        FLAT,
    ),
    "optimum": (
        make(
            "optimum",
            APART,
            1,
            plane={"w": ["1/4"], "b": "-0x1.0000000000000p-2"},
            multipliers={"rows": [0, 1], "weights": ["1/32", "0x1.0000000000000p-5"]},
        ),
        APART,
    ),
    "errors": (
        make(
            "errors",
            FIVE,
            1,
            plane={"w": ["0"], "b": "1"},
            given_up=[1, 3],
            lower="2",
            upper="0x1.0000000000000p+1",
            witnesses=[
                {"rows": [0, 1, 4], "weights": ["3", "4", "1"]},
                ONE_TWO_ONE,
                {"rows": [2, 3, 4], "weights": ["1", "2", "1"]},
            ],
            tree={
                "branches": [{"row": 2, "wrong": 1, "right": 2}],
                "leaves": [
                    {"witnesses": [0], "shares": ["1"]},
                    {"witnesses": [1, 2], "shares": ["1", "0x1.0000000000000p+0"]},
                ],
            },
        ),
        FIVE,
    ),
}


REMOVED = object()


def changed(name, path, value):
    """Return a proof with one entry replaced or, for REMOVED, taken out."""
    proof = copy.deepcopy(PROOFS[name][0])
    *parents, last = path.split(".")
    place = proof
    for key in parents:
        place = place[int(key) if isinstance(place, list) else key]
    if value is REMOVED:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return proof
