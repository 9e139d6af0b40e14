"""``numbers="decimal"``: a double is the shortest decimal that rounds to it, and the proof says so."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from commands import fresh_folder, run, write  # noqa: F401
from exact import hard_margin
from maxmargin.checker import Rejected, check, parse, signed
from maxmargin.rows import as_rows
from maxmargin.solvers.exact.decimal_rows import Decimals
from proofs import seal
from separation import decide


def written(X):
    """The decimals in whole numbers of the last place of all, and that place."""
    table = [[Fraction(Decimal(repr(float(v)))) for v in row] for row in np.asarray(X)]
    places = max([-Decimal(repr(float(v))).normalize().as_tuple().exponent for v in np.ravel(X)] + [0])
    return [[int(v * 10**places) for v in row] for row in table], places


def oracle(X, y, intercept):
    """The verdict on the decimals, by enumeration."""
    rows, places = written(X)
    one = [10**places] * intercept
    return decide([[int(s) * v for v in [*row, *one]] for row, s in zip(rows, y, strict=True)])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("long", [False, True])
def test_the_verdict_is_that_of_the_decimals(seed, long):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 8)), 2)) / 10.0
    X = np.column_stack([X, np.round(X[:, 0] + X[:, 1], 1)])  # as written, the sum of the others
    if long:  # too many digits for whole numbers that doubles hold
        X[:, 1] += np.array([0.0, 1e-17])[rng.integers(0, 2, len(X))]
        X = np.column_stack([X, 1e9 + np.arange(len(X))])
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    intercept = bool(seed % 2)
    verdict = mm.separability(X, y, numbers="decimal", fit_intercept=intercept)
    truth = oracle(X, y, intercept)
    assert verdict.kind == truth.kind
    assert verdict.kind != "touching" or verdict.on_plane.tolist() == truth.on
    assert verdict.kind != "overlapping" or verdict.rank == truth.rank
    assert verdict.proof.to_dict()["numbers"] == "decimal"
    verdict.proof.check(X, y)
    verdict.proof.check(sparse.csr_array(X), y)
    if verdict.plane_is_exact and verdict.w is not None:
        rows, places = written(X)
        plane = [*map(Fraction, verdict.w.tolist()), Fraction(verdict.b) * 10**places]
        for row, side in zip(rows, y.tolist(), strict=True):
            value = side * sum(p * q for p, q in zip(plane, [*row, 1], strict=True))
            assert value > 0 or (verdict.kind == "touching" and value == 0)


@pytest.mark.parametrize("seed", range(10))
def test_numbers_of_seventeen_digits(seed):
    rng = np.random.default_rng([1, seed])
    X, y = rng.standard_normal((7, 2)) * [1e-7, 1e5], np.where(rng.permutation(7) % 2, 1, -1)
    assert not Decimals.of(as_rows(X)).short
    verdict = mm.separability(X, y, numbers="decimal")
    assert verdict.kind == oracle(X, y, True).kind
    verdict.proof.check(X, y)
    low, high = verdict.margin or (0.0, 0.0)
    truth = hard_margin([[Fraction(Decimal(repr(v))) for v in x] for x in X.tolist()], y.tolist(), True)
    assert truth is None or Fraction(low) ** 2 <= truth.square <= Fraction(high) ** 2


def test_both_forms_of_decimals_are_tried():
    assert Decimals.of(as_rows(np.array([[0.1, 0.25], [3.0, 1e3]]))).short
    assert Decimals.of(as_rows(np.array([[0.1, 0.25], [3.0, 1e3]]))).places == 2
    assert not Decimals.of(as_rows(np.array([[0.1, 1e15]]))).short
    assert not Decimals.of(as_rows(np.array([[1 / 3]]))).short


def test_a_total_is_the_sum_of_its_parts():
    prices = np.random.default_rng(0).integers(1, 10_000, (300, 2)) / 100.0
    X = np.column_stack([prices, np.round(prices.sum(axis=1), 2)])
    y = np.random.default_rng(1).choice([0, 1], 300)
    stored, as_written = (mm.separability(X, y, numbers=kind) for kind in ("binary", "decimal"))
    assert stored.precision.dependent == ("x2 = x0 + x1",)
    assert "rests on the last digits" in str(stored)
    assert (as_written.kind, as_written.rank) == ("overlapping", 3)
    assert as_written.precision.dependent == () and "last digits" not in str(as_written)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_margin_and_the_optimum_are_in_the_units_of_the_data(intercept):
    X, y = np.array([[0.1, 0.7], [0.3, 1.1], [2.3, 0.2], [1.9, 0.55]]), [-1, -1, 1, 1]
    rows = [[Fraction(Decimal(repr(v))) for v in row] for row in X.tolist()]
    truth = hard_margin(rows, y, intercept)
    low, high = mm.separability(X, y, numbers="decimal", fit_intercept=intercept).margin
    assert Fraction(low) ** 2 <= truth.square <= Fraction(high) ** 2
    assert high <= low * (1 + 1e-9)
    best = mm.HardMarginSVC(fit_intercept=intercept).prove(X, y, numbers="decimal")
    assert (list(best.w), best.b, best.squared_margin) == (truth.w, truth.b, truth.square)
    assert best.proof.verify(X, y)
    for j in range(2):
        assert best.w[j] == sum(a * y[i] * rows[i][j] for i, a in best.alpha.items())


def test_error_bounds_of_decimals():
    X = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.9], [0.1, 0.5, 0.6], [0.4, 0.2, 0.6]]
    assert mm.error_bounds(X, [0, 0, 1, 1]).upper == 0
    bounds = mm.error_bounds(X, [0, 0, 1, 1], numbers="decimal")
    assert bounds.lower == bounds.upper == 1


@pytest.mark.parametrize("kind", ["separable", "touching", "overlapping", "optimum"])
def test_forged_variants_are_refused(kind):
    X, y = {
        "separable": ([[0.1, 0.3], [0.7, 0.7]], ["a", "b"]),
        "touching": ([[0.1, 0.2], [0.3, 0.6], [0.2, 0.4], [0.7, 0.1]], ["a", "a", "b", "b"]),
        "overlapping": ([[0.1, 0.2], [0.3, 0.6], [0.2, 0.4], [0.6, 1.2]], ["a", "a", "b", "b"]),
        "optimum": ([[0.1, 0.3], [0.7, 0.7]], ["a", "b"]),
    }[kind]
    if kind == "optimum":
        proof = mm.HardMarginSVC().prove(X, y, numbers="decimal").proof
    else:
        proof = mm.separability(X, y, numbers="decimal").proof
    assert proof.kind == kind and proof.verify(X, y)
    rows = [(label, dict(enumerate(row))) for row, label in zip(X, y, strict=True)]
    entries = proof.to_dict()
    check(parse(json.dumps(entries)), rows)
    for value in ("binary", "Decimal", 10, None):
        with pytest.raises(Rejected, match="numbers"):
            parse(seal({**entries, "numbers": value}))
    as_stored = {k: v for k, v in entries.items() if k != "numbers"}
    if kind != "separable":  # sums that cancel in decimals do not in doubles, and the other way round
        with pytest.raises(Rejected):
            check(parse(seal(as_stored)), rows)
    moved = [[0.1000001, *X[0][1:]], *X[1:]]
    assert not proof.verify(moved, y)


def test_the_checker_reads_decimals():
    values = [0.1, -2.5, 1e22, 1.5e-7, 5e-324, 123456789.123456789, 1e16, 0.30000000000000004]
    columns, integers, scale = signed(-1, list(range(8)), values, decimal=True)
    assert columns == list(range(8))
    assert [Fraction(n, scale) for n in integers] == [-Fraction(Decimal(repr(v))) for v in values]


def test_single_precision_and_numbers_that_are_no_decimals_of_doubles_are_refused():
    with pytest.raises(mm.InputError, match="float32"):
        mm.separability(np.array([[0.1], [0.2]], np.float32), [0, 1], numbers="decimal")
    with pytest.raises(mm.InputError, match="numbers must be one of 'binary', 'decimal'"):
        mm.separability([[0.0], [1.0]], [0, 1], numbers="octal")
    with pytest.raises(mm.InputError, match="at most 290 digits"):
        mm.separability([[1e-300], [1.0]], [0, 1], numbers="decimal")
    one, two = Decimal("0.1"), Decimal("0.2")
    verdict = mm.separability([[one], [two]], [0, 1], numbers="decimal")
    assert verdict.proof.verify([[0.1], [0.2]], [0, 1])
    with pytest.raises(mm.InputError, match="as they are written"):
        mm.separability([[Decimal("0.1000000000000000000001")], [two]], [0, 1], numbers="decimal")


def test_the_command_judges_decimals():
    lines = ["a,b,total,y", "0.1,0.2,0.3,n", "0.4,0.5,0.9,n", "0.1,0.5,0.6,y", "0.4,0.2,0.6,y"]
    write("data.csv", "\n".join(lines) + "\n")
    assert run("separable", "data.csv")[0] == 0
    code, out, _ = run("separable", "data.csv", "--decimal", "--proof", "proof.json")
    assert code == 1 and out.startswith("Overlapping")
    assert run("verify", "proof.json", "data.csv")[0] == 0
    assert mm.Proof.load("proof.json").content["numbers"] == "decimal"
