"""The checker accepts proofs that hold, and rejects every other: conditions are broken one by one."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.checker import Rejected, canonical, parse, rank, rank_modulo
from maxmargin.checker.form import integer
from proofs import (
    APART,
    ONE_TWO_ONE,
    PROOFS,
    REMOVED,
    TOUCH,
    changed,
    digest,
    judge,
    make,
    seal,
    sparse,
)


@pytest.mark.parametrize("name", PROOFS)
def test_proofs_that_hold_are_accepted(name):
    judge(*PROOFS[name])


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
    (
        "overlapping",
        "span",
        {"rows": [*range(99)], "weights": ["1"] * 99, "flat": []},
        "span must have 0 to ",
    ),
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
        with pytest.raises(Rejected, match=f"^{key} must be|must have an entry '{key}'"):
            judge(changed(name, key, REMOVED), PROOFS[name][1])


def test_both_sides_must_have_rows():
    rows = sparse([[5.0], [7.0]], ["1", "1"])
    with pytest.raises(Rejected, match="both sides"):
        judge(make("separable", rows, 1, plane={"w": ["0"], "b": "1"}), rows)


def test_every_label_of_a_side_must_be_that_of_a_row():
    proof, rows = PROOFS["touching"]
    with pytest.raises(Rejected, match="some row must have the label 'nobody'"):
        judge(proof | {"positive": [*proof["positive"], "nobody"]}, rows)


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


def test_integers_of_many_digits():
    digits = "".join(str(k % 10) for k in range(1, 100_001))
    assert integer(digits) % 10**9 == int(digits[-9:])
    assert integer(digits) // 10**99_991 == int(digits[:9])
    digits = digits[:6000]  # of two weights, or of w and b: as long as they may be
    limit = sys.get_int_max_str_digits()
    proof, rows = PROOFS["touching"]
    judge(proof | {"witness": {"rows": [0, 1], "weights": [digits, digits]}}, rows)
    with pytest.raises(Rejected, match="sum to zero"):
        judge(proof | {"witness": {"rows": [0, 1], "weights": [digits, digits[:-1] + "1"]}}, rows)
    judge(proof | {"plane": {"w": [digits], "b": f"-{digits}0/5"}}, rows)
    assert sys.get_int_max_str_digits() == limit


def test_numbers_longer_than_their_equations_allow_are_rejected_unread():
    proof, rows = PROOFS["touching"]
    with pytest.raises(Rejected, match="at most 6000 digits"):
        judge(proof | {"witness": {"rows": [0, 1], "weights": ["1" * 10_000_000, "1"]}}, rows)
    with pytest.raises(Rejected, match="plane must hold numbers of at most 6000 digits"):
        judge(proof | {"plane": {"w": ["1"], "b": "1" * 10_000_000}}, rows)


def test_denominators_without_a_common_one_are_rejected():
    n = 400
    rows = sparse([[0.0] * n, [1.0] * n], ["-1", "1"])
    different = [f"1/{10**1000 + 2 * k + 1}" for k in range(n)]  # 400 kB that would become 160 MB
    with pytest.raises(Rejected, match="common denominator"):
        judge(make("separable", rows, n, plane={"w": different, "b": "-1/7"}), rows)


def test_a_few_fractions_among_doubles():
    rows = sparse([[0.0] * 20, [1.0] * 20], ["-1", "1"])
    plane = {"w": ["1/3", *[(1.5).hex()] * 19], "b": "-1/3"}
    judge(make("separable", rows, 20, plane=plane), rows)
    plane["b"] = "-173/6"  # 1/3 + 19 · 3/2: the plane through the second row
    with pytest.raises(Rejected, match="row 1 must not be on the plane"):
        judge(make("separable", rows, 20, plane=plane), rows)


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
