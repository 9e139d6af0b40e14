"""A certificate cannot flatter: what it states bounds the exact values, rounding included."""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

import maxmargin as mm
from bank import problem
from certified import exact_dual, exact_least, exact_primal
from maxmargin.certificates.certificate import Point, certificate
from maxmargin.rows import as_rows
from maxmargin.rows.survey import survey
from partitions import blocks
from planes import signs
from simulated import Serial

CLOSE = 1e-12  # what bounds on rounding may add to a relative gap


@dataclass(frozen=True)
class Case:
    """A plane and multipliers on rows, with one bound C_i per row."""

    X: object
    y: np.ndarray
    C: np.ndarray
    w: np.ndarray
    b: float
    alpha: np.ndarray
    bias: bool = True

    @property
    def dense(self):
        return np.asarray(self.X.toarray() if sparse.issparse(self.X) else self.X, dtype=np.float64)


def stated(case):
    point = Point(case.w, case.b, case.y, case.alpha, case.C, case.bias)
    return certificate(as_rows(case.X), point, "a problem", 0).proof


def check(case, close, proof=None):
    """The stated values bound the exact ones, and are not far from them."""
    proof = stated(case) if proof is None else proof
    X = case.dense
    primal = exact_primal(X, case.y, case.C, case.w, case.b)
    dual = exact_dual(X, case.y, case.C, case.alpha, case.bias)
    assert proof.primal >= primal
    assert 0.0 <= proof.dual <= dual
    if primal == math.inf:
        return
    assert proof.gap >= primal - dual >= 0
    assert Fraction(proof.gap) - (primal - dual) <= close * primal
    if proof.margin is not None:
        lower, upper = proof.margin
        assert 2 * Fraction(lower) ** 2 * primal <= 1
        assert upper == math.inf or 2 * Fraction(upper) ** 2 * dual >= 1


# --- the bank ---------------------------------------------------------------------------------------


def pixels(a, b, unit=1.0, rows=None):
    X, y = load_digits(return_X_y=True)
    mine = (y == a) | (y == b)
    return X[mine][:rows] * unit, signs(y[mine])[:rows]


def blobs(shift=0.0, unit=1.0):
    p = problem("integer blobs")
    return (p.X + shift) * unit, p.y.astype(float)


def overlap(shift=0.0, unit=1.0):
    p = problem("overlap")
    return (p.X + shift) * unit, p.y.astype(float)


def scales():
    p = problem("scales")
    return p.X, p.y.astype(float)


def twice():
    """Rows that come twice, with equal and with opposite labels."""
    X, y = overlap()
    return np.vstack([X, X[:20], X[10:30]]), np.concatenate([y, y[:20], -y[10:30]])


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], signs(y)[:200]  # from 0.001 to 4000, not scaled


# name: rows and labels, C
BANK = {
    "gaussian": (overlap(), 1.0),
    "gaussian, cheap slack": (overlap(), 1e-3),
    "gaussian, dear slack": (overlap(), 1e6),
    "pixels 0-1": (pixels(0, 1), 1e8),
    "pixels 1-8": (pixels(1, 8, rows=150), 1e4),
    "pixels 3-8": (pixels(3, 8), 1e8),
    "pixels 8-9": (pixels(8, 9), 1e8),
    "pixels of 256 levels 1-8": (pixels(1, 8, 16.0), 1e4),
    "pixels of 256 levels 8-9": (pixels(8, 9, 16.0), 1e4),
    "P far below C": (blobs(), 1e8),
    "P far below C, far away": (blobs(1e6), 1e8),
    "integers at 1e9": (blobs(1e9), 1.0),
    "integers at 1e9, dear slack": (blobs(1e9), 1e4),
    "gaussian at 1e9": (overlap(1e9), 1.0),
    "uneven scales": (scales(), 1.0),
    "uneven scales, dear slack": (scales(), 1e6),
    "not scaled": (cancer(), 1.0),
    "rows twice": (twice(), 10.0),
    "small units": (overlap(unit=1e-100), 1e200),
    "large units": (overlap(unit=1e100), 1e-200),
    "large units, dear slack": (blobs(unit=1e40), 1.0),
    "hard": (blobs(), math.inf),
    "hard, at 1e6": (blobs(1e6), math.inf),
    "hard, pixels": (pixels(0, 1), math.inf),
    "hard, uneven scales": (scales(), math.inf),
    "hard, small units": (blobs(unit=1e-100), math.inf),
    "hard, large units": (blobs(unit=1e100), math.inf),
}


def fitted(X, y, C, weight=None, **options):
    model = mm.HardMarginSVC(**options) if math.isinf(C) else mm.SoftMarginSVC(C, tol=1e-9, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return model.fit(X, y, weight)


def case_of(model, X, y, C, weight=1.0):
    (machine,) = model.machines_.values()
    bounds = C * np.broadcast_to(weight, (len(y),))
    w, b = machine.coef_, float(machine.intercept_)
    return Case(X, y, bounds, w, b, machine.dual_, model.fit_intercept)


@pytest.mark.parametrize("name", BANK)
def test_a_fit_states_no_less_than_the_exact_gap(name):
    (X, y), C = BANK[name]
    model = fitted(X, y, C)
    check(case_of(model, X, y, C), CLOSE, model.certificate_)


@pytest.mark.parametrize("form", ["float32", "csr", "csr float32", "blocks"])
@pytest.mark.parametrize("name", ["gaussian", "pixels 0-1", "not scaled", "hard"])
def test_in_any_form(name, form, monkeypatch):
    (X, y), C = BANK[name]
    X = X.astype(np.float32) if "float32" in form else X
    rows = sparse.csr_array(X) if "csr" in form else X
    case = case_of(fitted(X, y, C), rows, y, C)
    if form == "blocks":
        monkeypatch.setattr("maxmargin.rows.base.Rows.block_length", lambda *_: 7)
    check(case, CLOSE)


@pytest.mark.parametrize("C", [1.0, 1e6])
def test_with_weights_and_through_the_origin(C):
    X, y = overlap(3.0)
    weight = np.arange(len(y)) % 4 + 0.5
    check(case_of(fitted(X, y, C, weight), X, y, C, weight), CLOSE)
    model = fitted(X, y, C, weight, fit_intercept=False)
    check(case_of(model, X, y, C, weight), CLOSE, model.certificate_)


# --- any point --------------------------------------------------------------------------------------


@st.composite
def cases(draw):
    """Any plane, any multipliers, on rows of any size and place: most of them bad."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 9))
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-8, 8))
    X *= 10.0 ** rng.integers(-draw(st.integers(0, 6)), 1, d)
    X += draw(st.sampled_from([0.0, 1.0, 1e9]))
    y = rng.permutation(np.resize([1.0, -1.0], n))
    hard = draw(st.booleans())
    C = np.full(n, math.inf) if hard else 10.0 ** rng.uniform(-3, draw(st.integers(-2, 8)), n)
    w = rng.standard_normal(d) * 10.0 ** draw(st.integers(-3, 3)) / np.abs(X).max(axis=0)
    b = float(rng.normal()) - float(w @ X.mean(axis=0))
    kind = draw(st.sampled_from(["any", "balanced", "zero", "one side", "outside"]))
    alpha = np.where(rng.random(n) < 0.7, rng.random(n), 0.0) * np.where(hard, 1.0, C)
    if kind == "balanced":
        alpha = np.full(n - n % 2, float(alpha.min(initial=1.0, where=alpha > 0)))
        alpha = np.append(alpha, np.zeros(n % 2))
    if kind == "zero":
        alpha[:] = 0.0
    if kind == "one side":
        alpha[y > 0] = 0.0
    if kind == "outside":
        alpha = 3.0 * alpha - np.where(hard, 1.0, C)
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    form = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    return Case(form(X.astype(dtype)), y, C, w, b, alpha, draw(st.booleans()))


@given(cases())
def test_any_point_is_bounded(case):
    check(case, math.inf)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e9]), st.integers(0, 12))
def test_margins_within_rounding_of_one(seed, shift, power):
    """Rows so near the edge that only exact sums tell the side; C is up to 1e12."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (10, 3)) / 4 + shift
    w = rng.integers(-4, 5, 3) / 3
    b = -float(w @ X[0]) - 1.0  # the first row, and those on a parallel, have margin 1 to rounding
    y = np.resize([-1.0, 1.0], 10)
    C = np.full(10, 10.0**power)
    check(Case(X, y, C, w, b, 0.1 * C), CLOSE)


@given(st.integers(0, 2**32 - 1))
def test_an_audit_is_about_the_given_plane(seed):
    rng = np.random.default_rng(seed)
    p = problem("gaussian")
    y = p.y.astype(float)
    model = mm.HardMarginSVC().fit(p.X, y)
    factor = 10.0 ** rng.uniform(-3, 3)
    w = factor * (model.coef_[0] + 0.02 * rng.standard_normal(4))
    b = factor * float(model.intercept_[0])
    proof = mm.certify((w, b), p.X, y, C=math.inf)
    primal = exact_primal(p.X, y, np.full(len(y), math.inf), w, b)
    assert proof.primal >= primal
    if primal < math.inf:
        assert proof.primal <= (1 + Fraction(CLOSE)) * primal
        square = sum(Fraction(v) ** 2 for v in w.tolist())
        assert Fraction(proof.margin[0]) ** 2 * square <= exact_least(p.X, y, w, b) ** 2
    soft = mm.certify((w, b), p.X, y, C=3.0)
    primal = exact_primal(p.X, y, np.full(len(y), 3.0), w, b)
    assert primal <= soft.primal <= (1 + Fraction(CLOSE)) * primal


def test_slacks_that_are_many_add_up():
    n = 20_000
    X, y = np.zeros((n, 1)), np.where(np.arange(n) > 0, 1.0, -1.0)
    check(Case(X, y, np.full(n, 0.3), np.array([0.5]), 0.9, np.full(n, 0.1)), CLOSE)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_is_out_of_range_is_not_passed_over(form):
    X, y = form(np.array([[1e200, 1e200], [-1e100, 1.0], [2.0, 1.0]])), np.array([1.0, -1.0, 1.0])
    for w, b in ([-1e150, 1e150], 0.0), ([-1e150, 0.0], 0.0), ([1.0, 1e300], 1e300), ([1e160, 0.0], 0.0):
        for C in (1.0, math.inf):
            case = Case(X, y, np.full(3, C), np.array(w), b, np.array([0.0, 0.0, 0.0]))
            proof = stated(case)
            assert proof.primal == math.inf and proof.dual == 0.0 and proof.relative_gap == math.inf
    proof = stated(Case(X, y, np.full(3, 1e300), np.ones(2), 0.0, np.array([1e250, 1e250, 0.0])))
    assert proof.dual == 0.0


# --- slack that is rounding alone -------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e8, 1e12])
def test_a_plane_that_is_short_by_rounding_is_better_longer(C):
    """All rows have margin 1 or more but for some 1e-15, at a price far above the primal value."""
    X, y = pixels(0, 1)
    (machine,) = mm.HardMarginSVC().fit(X, y).machines_.values()
    bounds = np.full(len(y), C)
    w, b = machine.coef_ * (1 - 1e-15), machine.intercept_ * (1 - 1e-15)
    point = Point(w, b, y, machine.dual_, bounds)
    proof, slack, factor = certificate(as_rows(X), point, "", 0)
    assert proof.relative_gap > 1e-9 and 0.0 < slack.max() < 1e-12 and 1.0 < factor < 1 + 1e-12
    longer = point._replace(w=factor * w, b=factor * b)
    better, slack, again = certificate(as_rows(X), longer, "", 0)
    assert better.relative_gap < 1e-12 and not slack.any() and again == 1.0


def test_true_slack_is_left_alone():
    X, y = overlap()
    model = fitted(X, y, 1e6)
    (machine,) = model.machines_.values()
    point = Point(machine.coef_, machine.intercept_, y, machine.dual_, np.full(len(y), 1e6))
    assert certificate(as_rows(X), point, "", 0).factor == 1.0


def raw_pixels_end_at_the_optimum(fit, a, b, unit, C):
    """Without a warning: no more than rounding is left of the gap."""
    X, y = pixels(a, b, unit)
    model = mm.SoftMarginSVC(C, tol=1e-9)
    fit(model, X, y)
    assert model.certificate_.relative_gap < 1e-11
    check(case_of(model, X, y, C), CLOSE, model.certificate_)


@pytest.mark.parametrize("case", [(1, 8, 16.0, 1e4), (8, 9, 16.0, 1e4), (3, 8, 1.0, 1e4)])
def test_a_fit_of_raw_pixels(case):
    raw_pixels_end_at_the_optimum(mm.SoftMarginSVC.fit, *case)


def test_a_fit_of_raw_pixels_in_partitions():
    def fit(model, X, y):
        model._fit_data(survey(Serial(blocks(X, y, [40, 100, 101]))))

    raw_pixels_end_at_the_optimum(fit, 8, 9, 16.0, 1e4)
