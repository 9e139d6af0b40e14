"""How far a verdict is from the last digits of its data, and which coefficients run which way."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from separation import check_verdict, decide, exactly, signed
from test_separability import _small


def runs_to(A, j, sign):
    """Whether some plane with no row on its wrong side has z_j of this sign: by enumeration."""
    one = [sign * int(k == j) for k in range(len(A[0]))]
    answer = decide([*A, one])
    return answer.kind == "separable" or (answer.kind == "touching" and len(A) not in answer.on)


@pytest.mark.parametrize("block", range(4))
def test_directions_are_those_of_enumeration(block):
    rng, seen = np.random.default_rng([5, block]), set()
    for k in range(25):
        X, y = _small(rng)
        intercept = bool(k % 2)
        verdict = mm.separability(sparse.csr_array(X) if k % 3 == 0 else X, y, fit_intercept=intercept)
        if verdict.kind == "overlapping":
            assert verdict.infinite == {}
            continue
        A, found = signed(X, y, intercept), {}
        for j, name in enumerate((*verdict.features, "intercept")[: len(A[0])]):
            up, down = runs_to(A, j, 1), runs_to(A, j, -1)
            if (up or down) and any(a[j] for a in A):
                found[name] = up - down
        assert verdict.infinite == found
        seen |= set(found.values()) | ({"finite"} if len(found) < len(A[0]) else set())
    assert seen == {1, -1, 0, "finite"}


def test_directions_in_words():
    X, y = [[0, 0], [1, 1], [1, 1], [2, 2]], [0, 0, 1, 1]
    text = " ".join(str(mm.separability(X, y)).split())
    assert "x0 (+∞ or −∞), x1 (+∞ or −∞), intercept (−∞)." in text
    weak = mm.separability([[0, 5], [1, 7], [0, 7], [0, 5]], [0, 1, 1, 1])
    assert weak.infinite == {"x0": 1, "x1": 1, "intercept": -1} or weak.kind == "touching"


def test_a_feature_called_intercept_is_not_overwritten():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"intercept": [1.0, 2.0, 5.0], "(intercept)": [0.0, 1.0, 0.0]})
    verdict = mm.separability(frame, [0, 0, 1])
    assert verdict.infinite.keys() == {"intercept", "(intercept)", "((intercept))"}
    assert verdict.infinite["intercept"] == 1 and verdict.infinite["((intercept))"] == -1
    assert "((intercept))" in str(verdict)


def test_many_directions_are_not_looked_for_by_printing(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    verdict = mm.separability(X, X[:, 0] > 0)
    assert not verdict.knows_directions
    monkeypatch.setattr("maxmargin.estimators.precision.directions", None)
    assert "Along this plane the coefficients run to infinity: x0 (+∞)" in " ".join(str(verdict).split())


def test_copies_have_no_data_to_ask():
    X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1]
    verdict = mm.separability(X, y)
    with pytest.raises(mm.InputError, match="needs the data"):
        _ = pickle.loads(pickle.dumps(verdict)).infinite
    assert "infinity" in str(pickle.loads(pickle.dumps(verdict)))
    known = verdict.infinite
    assert pickle.loads(pickle.dumps(verdict)).infinite == known


def distance_of(verdict, X, y):
    """The least |a·z| / Σ |a_j z_j| of rows off the plane of the proof, in fractions."""
    rows, one = exactly(X)
    plane = verdict.proof.to_dict()["plane"]
    z = [Fraction(float.fromhex(t)) if "0x" in t else Fraction(t) for t in (*plane["w"], plane["b"])]
    found = {}
    for i, row in enumerate(rows):
        parts = [p * q for p, q in zip(z, [*row, one], strict=True)]
        if sum(parts):
            found[i] = abs(sum(parts)) / sum(map(abs, parts))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_distance_is_that_of_fractions(seed):
    rng = np.random.default_rng([7, seed])
    X, y = rng.integers(-9, 10, (12, 2)) * rng.choice([1.0, 0.1]), None
    y = np.where(X @ [1, 2] + rng.integers(-3, 4) > 0, 1, 0)
    y[0] = 1 - y[1]
    if seed % 2:
        X[2] = X[3] + 1e-15
    verdict = mm.separability(X, y)
    if verdict.kind == "overlapping":
        assert verdict.precision.distance is None
        return
    truth = distance_of(verdict, X, y)
    assert verdict.precision.distance == pytest.approx(float(min(truth.values())), rel=1e-6)
    assert float(truth[verdict.precision.row]) == pytest.approx(verdict.precision.distance, rel=1e-6)


def test_a_series_its_lag_and_their_difference():
    """The residue of one rounded difference makes the verdict: it says so, and what else would hold."""
    seen = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        s = rng.standard_normal(101).cumsum()
        X, y = np.column_stack([s[1:], s[:-1], s[1:] - s[:-1]]), rng.choice([0, 1], 100)
        verdict = mm.separability(X, y)
        check_verdict(verdict, X, y)
        p = verdict.precision
        assert (p.numerical_rank, p.rank, p.dependent) == (3, 4, ("x2 = x0 − x1",))
        text = " ".join(str(verdict).split())
        assert "Numerical rank 3, exact rank 4. To rounding, x2 = x0 − x1." in text
        assert "This verdict rests on the last digits of the data" in text
        if verdict.kind == "touching":
            assert p.distance < 1e-15 and "fewer would be on the right side" in text
        else:
            assert "the coefficients would not be unique" in text or "would not be unique" in text
        seen.add(verdict.kind)
    assert "overlapping" in seen


def test_units_and_constants_are_named():
    rng = np.random.default_rng(3)
    pandas = pytest.importorskip("pandas")
    cm, celsius = rng.normal(170, 9, 200), rng.normal(15, 9, 200)
    frame = pandas.DataFrame(
        {"cm": cm, "inches": cm / 2.54, "celsius": celsius, "fahrenheit": celsius * 1.8 + 32}
    )
    verdict = mm.separability(frame, rng.choice([0, 1], 200))
    p = verdict.precision
    assert p.dependent == ("inches = 0.393701 cm", "fahrenheit = 1.8 celsius + 32")
    assert (p.numerical_rank, p.rank) == (3, 5) and p.rests_on_last_digits


def test_exact_dependence_is_no_matter_of_digits():
    rng = np.random.default_rng(4)
    level = rng.integers(0, 3, 90)
    X = np.column_stack([np.eye(3)[level], rng.integers(0, 9, (90, 2))])
    X = np.column_stack([X, X[:, 3] - X[:, 4], np.zeros(90)])
    y = rng.choice([0, 1], 90)
    p = mm.separability(X, y).precision
    assert (p.numerical_rank, p.rank, p.dependent) == (5, 5, ()) and not p.rests_on_last_digits
    assert mm.separability(X, y).rank == 5


def test_what_is_far_from_rounding_says_nothing_of_it():
    X = np.random.default_rng(5).standard_normal((300, 4))
    text = str(mm.separability(X, X[:, 0] > 0))
    assert "last digits" not in text and "rank" not in text and "Nearest row" in text
    one_ulp = mm.separability([[1.0], [np.nextafter(1.0, 2)]], [0, 1])
    assert one_ulp.precision.distance < 1e-15
    assert "the classes would touch at best" in " ".join(str(one_ulp).split())


def test_bounds_that_say_nothing_are_not_printed():
    verdict = mm.separability([[0.0], [1.0]], [0, 1])
    assert "The largest margin is at least 0.5" in str(verdict)
    assert "The largest margin" not in str(replace(verdict, margin=(7.4e-17, 7.52)))
    assert "The largest margin" not in str(replace(verdict, margin=(0.5, np.inf)))


def test_wide_data_is_not_measured():
    X = np.random.default_rng(7).standard_normal((10, 30))
    p = mm.separability(X, [0, 1] * 5).precision
    assert p.numerical_rank is None and p.distance > 0


def test_the_longest_number_is_told():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    work = mm.separability(X, y).work
    assert work.pivots > 0 and 0 < work.bits < 60
    assert f"numbers of up to {work.bits} bit" in " ".join(str(mm.separability(X, y)).split())
    rounded = np.column_stack([np.array(X) / 3.0, np.array(X).sum(axis=1) / 7.0])
    assert mm.separability(rounded, y).work.bits > work.bits


def test_precision_is_measured_once_when_it_is_asked_for(monkeypatch):
    from maxmargin.estimators import precision

    measured, measure = [], precision.measure
    monkeypatch.setattr(precision, "measure", lambda *given: measured.append(1) or measure(*given))
    verdict = mm.separability([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1])
    assert not measured
    copy = pickle.loads(pickle.dumps(verdict))
    assert copy.precision == verdict.precision and "Nearest row" in str(copy)
    assert len(measured) == 1
