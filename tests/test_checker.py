"""The checker accepts proofs that hold, and rejects every other: conditions are broken one by one."""

import copy
import hashlib
import json
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.checker import Rejected, Unreadable, canonical, check, parse, rank, rank_modulo, read
from maxmargin.checker.__main__ import main
from maxmargin.checker.words import integer


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
}


@pytest.mark.parametrize("name", PROOFS)
def test_proofs_that_hold_are_accepted(name):
    judge(*PROOFS[name])


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


BROKEN = [
    ("separable", "plane.b", "-7", "row 0 must not be beyond the plane"),
    ("separable", "plane.b", "-5", "row 0 must not be on the plane"),
    ("separable", "rows", 2, "rows must be 3"),
    ("separable", "data", "0" * 64, "the data must be those"),
    ("separable", "features", 2, "plane.w must hold 2"),
    ("separable", "positive", [], "must not be empty"),
    ("separable", "negative", ["1"], "no label must be named twice"),
    ("separable", "negative", ["-1.0"], "canonical"),
    ("separable", "intercept", False, "plane.b must be zero"),
    ("separable", "label", 3, "label must be a text"),
    ("separable", "columns", ["a", "b"], "columns must name 1"),
    ("separable", "first_index", 2, "first_index must be 0 or 1"),
    ("separable", "first_index", True, "first_index must be 0 or 1"),
    ("separable", "witness", ONE_TWO_ONE, "must not have an entry 'witness'"),
    ("touching", "plane.b", "-1", "row 1 must not be beyond the plane"),
    ("touching", "plane", {"w": ["0"], "b": "0"}, "row 2 must be on the plane and in on_plane"),
    ("touching", "on_plane", [0], "row 1 must be on the plane and in on_plane"),
    ("touching", "on_plane", [0, 1, 2], "row 2 must be on the plane and in on_plane"),
    ("touching", "on_plane", [1, 0], "on_plane must be sorted"),
    ("touching", "on_plane", [0, 0, 1], "on_plane must be sorted"),
    ("touching", "witness.weights", ["3", "2"], "witness must sum to zero"),
    ("touching", "witness.weights", ["3", "0"], "must be a positive integer"),
    ("touching", "witness.weights", ["3", "-3"], "must be a positive integer"),
    ("touching", "witness.weights", ["3"], "one weight per row"),
    ("touching", "witness", {"rows": [], "weights": []}, "witness must have 1 to 3 rows"),
    ("touching", "witness.rows", [0, 0], "witness must not name a row twice"),
    ("touching", "witness.rows", [0, 3], "row 3 must have one of the labels"),
    ("touching", "witness.rows", [0, -1], "an integer from 0"),
    ("overlapping", "witness", {"rows": [0, 1, 2, 3], "weights": ["1"] * 4}, "1 to 3 rows"),
    ("overlapping", "witness.weights", ["1", "1", "1"], "witness must sum to zero"),
    ("overlapping", "span.weights", ["1", "1", "1"], "span must sum to zero"),
    ("overlapping", "span.weights", ["1", "2", "0"], "must be a positive integer"),
    ("overlapping", "span.rows", [0, 1, 1], "span must not name a row twice"),
    ("overlapping", "span.rows", [0, 1, 9], "row 9 must have one of the labels"),
    ("overlapping", "span", {"rows": [0, 1, 2, 3, 4], "weights": ["1"] * 5, "flat": []}, "0 to 4 rows"),
    ("overlapping", "span", {"rows": [], "weights": [], "flat": []}, "must span all others"),
    ("overlapping", "span.flat", [["1", "0"]], "row 0 must be in the flat"),
    ("overlapping", "span.flat", [["0", "0", "0"]], "must hold 2 numbers"),
    ("flat", "span.flat", [], "must span all others"),
    ("flat", "span.flat", [["0", "0", "0"]], "must span all others"),
    ("flat", "span.flat", [["1", "-1", "1"]], "row 0 must be in the flat"),
    ("optimum", "plane", {"w": ["1/2"], "b": "-1/2"}, "row 0 has a multiplier"),
    ("optimum", "plane", {"w": ["1/5"], "b": "0"}, "row 1 must not be beyond"),
    ("optimum", "multipliers.weights", ["1/32", "1/31"], "must have the same sum"),
    ("optimum", "multipliers.weights", ["1/31", "1/31"], "plane.w[0] must be that"),
    ("optimum", "multipliers.weights", ["-1/32", "1/32"], "must be positive"),
    ("optimum", "multipliers.weights", ["0/5", "1/32"], "must be positive"),
    ("optimum", "multipliers.rows", [0, 0], "multipliers must not name a row twice"),
    ("optimum", "multipliers.rows", [2, 1], "row 2 has a multiplier"),
    ("optimum", "multipliers", {"rows": [], "weights": []}, "plane.w[0] must be that"),
]


@pytest.mark.parametrize(("name", "path", "value", "reason"), BROKEN)
def test_each_condition_is_needed(name, path, value, reason):
    with pytest.raises(Rejected) as rejection:
        judge(changed(name, path, value), PROOFS[name][1])
    assert reason in str(rejection.value)


@pytest.mark.parametrize("name", PROOFS)
def test_every_entry_is_needed(name):
    for key in PROOFS[name][0]:
        with pytest.raises(Rejected):
            judge(changed(name, key, REMOVED), PROOFS[name][1])


def test_both_sides_must_have_rows():
    rows = sparse([[5.0], [7.0]], ["1", "1"])
    with pytest.raises(Rejected, match="both sides"):
        judge(make("separable", rows, 1, plane={"w": ["0"], "b": "1"}), rows)


def test_a_touching_plane_must_not_hold_all_rows():
    rows = TOUCH[:2]
    proof = PROOFS["touching"][0] | dict(
        zip(("rows", "data"), digest(rows, PROOFS["touching"][0]), strict=True)
    )
    with pytest.raises(Rejected, match="some row must not be on the plane"):
        judge(proof, rows)


def test_a_broken_seal_is_rejected():
    text = seal(PROOFS["touching"][0])
    with pytest.raises(Rejected, match="seal"):
        parse(text.replace('"3", "3"', '"4", "4"'))


def test_rows_of_other_labels_are_left_out_but_counted():
    rows = [("other", {0: float("nan")}), *TOUCH]
    proof = PROOFS["touching"][0] | {
        "on_plane": [1, 2],
        "witness": {"rows": [1, 2], "weights": ["1", "1"]},
    }
    judge(proof, rows)
    with pytest.raises(Rejected, match="row 0 must have one of the labels"):
        judge(proof | {"witness": {"rows": [0, 2], "weights": ["1", "1"]}}, rows)


def test_without_intercept():
    rows = sparse([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], ["1", "1", "-1"])
    plane = {"w": ["0", "1"], "b": "-0x0.0p+0"}
    witness = {"rows": [0, 2], "weights": ["1", "1"]}
    judge(
        make("touching", rows, 2, intercept=False, plane=plane, on_plane=[0, 2], witness=witness), rows
    )
    # The least w with x·w ≥ 1 for x = (1, 0) and (0, 2): w = (1, 1/2), of weights 1 and 1/4.
    rows = rows[:2]
    best = {
        "plane": {"w": ["1", "1/2"], "b": "0"},
        "multipliers": {"rows": [0, 1], "weights": ["1", "1/4"]},
    }
    judge(make("optimum", rows, 2, intercept=False, **best), rows)


def test_rows_of_zeros_overlap_without_intercept():
    rows = sparse([[0.0], [-0.0]], ["1", "-1"])
    sums = {
        "witness": {"rows": [0], "weights": ["1"]},
        "span": {"rows": [], "weights": [], "flat": [["1"]]},
    }
    judge(make("overlapping", rows, 1, intercept=False, **sums), rows)


EXTREME = [5e-324, 2.2250738585072014e-308 - 5e-324, 1e300, 2.0**53 + 2, 0.1, -1.7976931348623157e308]


@pytest.mark.parametrize("value", EXTREME)
@pytest.mark.parametrize("other", EXTREME)
def test_no_bit_is_lost(value, other):
    # The plane passes exactly through the first row, and 2^-1200 beside the second.
    x = (Fraction(value), Fraction(other))
    rows = [("1", {0: value, 1: other}), ("-1", {0: value, 1: other}), ("1", {0: value, 1: -other})]
    w = [Fraction(0), Fraction(-1 if other > 0 else 1)]
    b = -x[1] * w[1]
    witness = {"rows": [0, 1], "weights": ["1", "1"]}
    proof = make(
        "touching",
        rows,
        2,
        plane={"w": list(map(str, w)), "b": str(b)},
        on_plane=[0, 1],
        witness=witness,
    )
    judge(proof, rows)
    proof["plane"]["b"] = str(b + Fraction(1, 2**1200))
    with pytest.raises(Rejected, match="row 1 must not be beyond"):
        judge(proof, rows)


def test_minus_zero_is_zero():
    zero = sparse([[0.0, 1.0], [0.0, -1.0]], ["1", "-1"])
    proof = make("separable", zero, 2, plane={"w": ["0", "1"], "b": "0"})
    judge(proof, [(label, {0: -0.0, **row}) for label, row in zero])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_rows_must_be_finite(value):
    with pytest.raises(Rejected, match="row 1 must hold finite"):
        judge(PROOFS["separable"][0], [APART[0], ("-1", {0: value}), APART[2]])


@pytest.mark.parametrize("column", [-1, 1, 2**40])
def test_features_must_be_those_of_the_proof(column):
    with pytest.raises(Rejected, match="row 1 must have 1 features"):
        judge(PROOFS["separable"][0], [APART[0], ("-1", {column: 1.0}), APART[2]])


def test_integers_of_any_length():
    digits = "".join(str(k % 10) for k in range(1, 100_001))
    assert integer(digits) % 10**9 == int(digits[-9:])
    assert integer(digits) // 10**99_991 == int(digits[:9])
    limit = sys.get_int_max_str_digits()
    proof, rows = PROOFS["touching"]
    judge(proof | {"witness": {"rows": [0, 1], "weights": [digits, digits]}}, rows)
    with pytest.raises(Rejected, match="sum to zero"):
        judge(proof | {"witness": {"rows": [0, 1], "weights": [digits, digits[:-1] + "1"]}}, rows)
    judge(proof | {"plane": {"w": [digits], "b": f"-{digits}0/5"}}, rows)
    assert sys.get_int_max_str_digits() == limit


@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), max_size=6))
def test_rank_is_that_of_elimination_over_the_reals(vectors):
    expected = np.linalg.matrix_rank(np.array(vectors)) if vectors else 0
    assert rank_modulo(2**61 - 1, [dict(enumerate(v)) for v in vectors]) == expected


def test_rank_modulo_the_prime_is_a_lower_bound():
    assert rank_modulo(2**61 - 1, [{0: 2**61 - 1}]) == 0
    assert rank_modulo(2**61 - 1, [{0: 1, 1: 2**61}, {0: 1, 1: 1}]) == 1
    assert rank([{0: 2**61 - 1}], 1) == 1  # another prime tells


@pytest.mark.parametrize(
    ("label", "text"),
    [
        *[(" 1.0", "1"), ("+1", "1"), ("-0", "0"), ("1e3", "1000"), ("0.50", "0.5"), ("nan", "nan")],
        *[
            (" setosa ", "setosa"),
            ("1e999", "1e999"),
            ("True", "True"),
            ("", ""),
            ("1e22", "1" + "0" * 22),
        ],
    ],
)
def test_canonical_labels(label, text):
    assert canonical(label) == text == canonical(text)


# Malformed proofs.

STRANGE = [None, True, -1, 2**70, 10**4000, 1.5, "", "1_000", "١", "nan", "inf", "1.5", "1/0", "0x1p0"]
STRANGE += ["0x1.0000000000000p+5000", "\ud800", " 1", "1\n", [], [[]], {}, [None], [True], {"w": 1}]


def paths(value, path=""):
    """Yield the path of every entry of a JSON value."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield f"{path}{key}"
        if isinstance(part, dict | list):
            yield from paths(part, f"{path}{key}.")


@pytest.mark.parametrize("name", PROOFS)
def test_strange_entries_are_rejected(name):
    proof, rows = PROOFS[name]
    for path in paths(proof):
        for strange in STRANGE:
            mutated = changed(name, path, strange)
            if seal(mutated) == seal(proof):
                continue
            with pytest.raises(Rejected):
                judge(mutated, rows)


TEXTS = [
    "",
    "{",
    "[]",
    "null",
    "3",
    '"a"',
    "{}",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5000,
    "NaN",
    "\ufeff{}",
]
TEXTS += [
    '{"format": "maxmargin proof"}',
    '{"version": 1e0}',
    '{"version": Infinity}',
    '{"a": ' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_that_are_no_proofs_are_rejected(text):
    with pytest.raises(Rejected):
        parse(text)


def test_repeated_keys_are_rejected():
    text = seal(PROOFS["separable"][0])
    with pytest.raises(Rejected, match="repeated"):
        parse('{"kind": "separable", ' + text[1:])


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(STRANGE),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
    max_leaves=6,
)


@given(st.data(), st.sampled_from(sorted(PROOFS)), json_values)
def test_random_changes_are_rejected(data, name, value):
    proof, rows = PROOFS[name]
    path = data.draw(st.sampled_from(sorted(paths(proof))))
    mutated = changed(name, path, value)
    try:
        judge(mutated, rows)
    except Rejected:
        return
    # What may hold all the same: another plane or flat, or a label that no row has.
    assert seal(mutated) == seal(proof) or path.startswith(
        ("plane", "span.flat", "positive", "negative")
    )


# Files.


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


TWO = {"features": 2}
EXPECTED = [("1", {0: 1.5, 1: -2.0}), ("-1", {1: 1e-3})]


@pytest.mark.parametrize(
    ("name", "content", "entries"),
    [
        ("a.csv", "1.5,-2,1\n0,1e-3,-1\n", {}),
        ("a.csv", "u,v,class\n\n1.5,-2,1\n   \n0,1e-3,-1\n", {}),
        ("a.csv", '"u","v","the ""class"""\n"1.5",-2,"1"\n-0.0,0.001,"-1"\n', {"label": 'the "class"'}),
        ("a.csv", "\ufeffclass,u,v\r\n1,1.5,-2\r\n-1,0,1e-3\r\n", {"label": "class"}),
        ("a.csv", "class,u,v\n1,1.5,-2\n-1,0,1e-3\n", {"label": "0"}),
        ("a.csv", "1,1.5,-2\n-1,0,1e-3\n", {"label": "0"}),
        ("a.csv", "v,id,class,u\n-2,7,1,1.5\n1e-3,8,-1,0\n", {"label": "class", "columns": ["u", "v"]}),
        ("a.csv", "-2,7,1,1.5\n1e-3,8,-1,0\n", {"label": "2", "columns": ["3", "0"]}),
        ("a.tsv", "1.5\t-2\t1\n0\t1e-3\t-1\n", {}),
        ("a.svm", "1 qid:4 1:1.5 2:-2 # 3:4\n\n# all\n-1 1:0 2:1e-3\n", {}),
        ("a.TXT", "1 0:1.5 1:-2\n-1 1:1e-3", {"first_index": 0}),
    ],
)
def test_readers_of_text(tmp_path, name, content, entries):
    assert list(read(write(tmp_path, name, content), TWO | entries)) == EXPECTED


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i8", "<i4", "<i2", "|i1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reader_of_matrices(tmp_path, dtype, order):
    path = tmp_path / "a.npy"
    np.save(path, np.array([[3, 0, 1], [0, -4, -1]], dtype=dtype, order=order))
    rows = [(canonical(label), row) for label, row in read(str(path), TWO)]
    assert rows == [("1", {0: 3.0}), ("-1", {1: -4.0})]
    rows = [
        (canonical(label), row) for label, row in read(str(path), TWO | {"columns": ["2", "0"]}, "1")
    ]
    assert rows == [("0", {0: 1.0, 1: 3.0}), ("-4", {0: -1.0})]


def test_singles_are_read_exactly(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0.1, 1], [np.nan, 1]], dtype="<f4"))
    rows = read(str(tmp_path / "a.npy"), {"features": 1})
    assert next(rows) == ("1.0", {0: float(np.float32(0.1))})
    with pytest.raises(Unreadable, match="row 1"):
        next(rows)


@pytest.mark.parametrize(
    ("name", "content", "entries", "reason"),
    [
        ("a.xls", "", {}, "must be a file .csv, .tsv"),
        ("a.csv", "u,v,c\n1,x,1\n", {}, "a.csv:2: features must be finite numbers. Got 'x'"),
        ("a.csv", "u,v,c\n1,,1\n", {}, "a.csv:2: features"),
        ("a.csv", "u,v,c\n1,1_0,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n1,nan,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n1,1e999,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n\n1,2,3,1\n", {}, "a.csv:3: must have 3 fields"),
        ("a.csv", '1,2,1\n1,"2,1\n', {}, "a.csv:2: unexpected end"),
        ("a.csv", "1,2,3,1\n", {}, "must have 2 features"),
        ("a.csv", "1,2,1\n", {"label": "class"}, "a column must be a number from 0 to 2. Got 'class'"),
        ("a.csv", "u,v,c\n1,2,1\n", {"label": "w"}, "or a name"),
        ("a.csv", "u,u,c\n1,2,1\n", {"label": "u"}, "the header has once"),
        ("a.csv", "u,v,c\n1,2,1\n", {"columns": ["u", "c"]}, "besides the label"),
        ("a.csv", b"\xff\xfe,1\n", {}, "Save the file as UTF-8"),
        ("a.svm", "1 1:2 1:3\n", {}, "a.svm:1: indices must increase, from 1 to 2"),
        ("a.svm", "1\n1 2:2 1:3\n", {}, "a.svm:2: indices"),
        ("a.svm", "1 0:2\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 3:2\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 2:2\n", {"first_index": 0}, "from 0 to 1"),
        ("a.svm", "1 x\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 1:\n", {}, "a.svm:1: features"),
        ("a.svm", "1 1:1_0\n", {}, "a.svm:1: features"),
        ("a.svm", "1 1:inf\n", {}, "a.svm:1: features"),
        ("a.svm", "1:3 2:1\n", {}, "must begin with a label"),
        ("a.npy", "", {}, "must hold one matrix"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 9000, {}, "must hold one matrix"),
        ("a.npy", b"\x93NUMPY\x01\x00\x02\x00{}", {}, "must hold one matrix"),
    ],
)
def test_unusable_files_are_named_with_their_line(tmp_path, name, content, entries, reason):
    path = write(tmp_path, name, content)
    with pytest.raises(Unreadable) as trouble:
        list(read(path, TWO | entries))
    assert str(trouble.value).startswith(path)
    assert reason in str(trouble.value) and "\n" not in str(trouble.value)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2)])
def test_arrays_that_are_no_matrices_are_refused(tmp_path, shape):
    for order in "CF":
        np.save(tmp_path / "a.npy", np.ones(shape, order=order))
        with pytest.raises(Unreadable):
            list(read(str(tmp_path / "a.npy"), TWO))


@pytest.mark.parametrize("cut", [3, 9, 60, 100, -1])
def test_truncated_matrices_are_refused(tmp_path, cut):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    with pytest.raises(Unreadable):
        list(read(write(tmp_path, "b.npy", whole[:cut]), TWO))


# The command.

CSV = "u,class\n2,1\n2,-1\n5,1\n"


def run(tmp_path, capsys, proof_text, data=CSV, *options):
    """Run the command; return its status and what it printed."""
    files = write(tmp_path, "proof.json", proof_text), write(tmp_path, "data.csv", data)
    status = main([*files, *options])
    printed = capsys.readouterr()
    assert (printed.err == "") == (status != 2)
    assert (printed.out + printed.err).count("\n") == 1
    return status, printed.out + printed.err


def test_exit_codes(tmp_path, capsys):
    text = seal(PROOFS["touching"][0])
    assert run(tmp_path, capsys, text) == (
        0,
        "The proof holds: touching, 3 rows, 1 feature, 1 against -1.\n",
    )
    assert run(tmp_path, capsys, text, CSV, "--label", "class")[0] == 0
    status, line = run(tmp_path, capsys, text, CSV.replace("5", "6"))
    assert (status, line) == (1, "Rejected: the data must be those of the proof.\n")
    assert run(tmp_path, capsys, "{")[0] == 1
    assert run(tmp_path, capsys, "[")[0] == 2
    assert run(tmp_path, capsys, b"\xff")[0] == 2
    assert run(tmp_path, capsys, text, CSV + "x,1\n")[0] == 2
    assert run(tmp_path, capsys, text, CSV, "--label", "\u2265\nv")[0] == 2
    assert run(tmp_path, capsys, text, CSV, "--strange")[0] == 2
    for arguments in (
        [],
        ["proof.json"],
        ["no.json", "data.csv"],
        [str(tmp_path / "proof.json"), "no.csv"],
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


def other_digits(text):
    """Yield the text with one digit changed, at every position and in every way."""
    for position, character in enumerate(text):
        if character in "0123456789":
            for digit in "0123456789":
                if digit != character:
                    yield text[:position] + digit + text[position + 1 :]


def test_every_digit_of_the_proof_counts(tmp_path):
    text = seal(PROOFS["touching"][0])
    for changed_text in other_digits(text):
        with pytest.raises(Rejected):
            check(parse(changed_text), TOUCH)


def test_every_digit_of_the_data_counts(tmp_path):
    content = "u,v,class\n12.5,3e-2,1\n-0.25,7,-1\n4,-19,1\n"
    entries = {"features": 2, "positive": ["1"], "negative": ["-1"]}
    rows = list(read(write(tmp_path, "a.csv", content), entries))
    proof = make("separable", rows, 2, plane={"w": ["2", "-1"], "b": "0"})
    judge(proof, rows)
    for number, text in enumerate(other_digits(content)):
        with pytest.raises((Rejected, Unreadable)):
            judge(proof, read(write(tmp_path, f"{number}.csv", text), proof))


def test_the_checker_stands_alone(tmp_path):
    proof = write(tmp_path, "proof.json", seal(PROOFS["touching"][0]))
    data = write(tmp_path, "data.csv", CSV)
    command = [sys.executable, "-I", "-m", "maxmargin.checker", proof, data]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    script = "import sys, maxmargin.checker.__main__ as c; c.main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-I", "-c", script, proof, data]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[1].split()
    ours = {name for name in modules if name.startswith("maxmargin")}
    assert all(
        m in ("maxmargin", "maxmargin._version") or m.startswith("maxmargin.checker") for m in ours
    )
    foreign = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"maxmargin"}
    assert not {name for name in foreign if not name.startswith("_")}
