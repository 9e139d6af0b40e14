"""The certificate: the same numbers by plain code, and residuals that grow when something is wrong."""

import copy
import math
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from bank import FORMS, OVERLAPPING, SEPARABLE, as_form, problem
from maxmargin.certificates.certificate import Point, certificate
from maxmargin.rows import as_rows
from planes import dual_value, margins, primal_value, signs

RESIDUALS = ("stationarity", "primal_infeasibility", "dual_infeasibility", "complementarity")


def by_hand(X, y, C, w, b, alpha, bias=True):
    """The numbers of a certificate, row by row; C is infinite for a hard margin."""
    n, hard = len(y), bool(np.isinf(C[0]))
    m = [math.fsum(w[j] * X[i][j] for j in range(len(w))) + b for i in range(n)]
    m = [y[i] * m[i] for i in range(n)]
    slack = [0.0 if hard else max(0.0, 1.0 - m[i]) for i in range(n)]
    outside = [0.0] + [-a for a in alpha]
    if not hard:
        outside += [(alpha[i] - C[i]) / C[i] for i in range(n)]
    alpha = [min(max(alpha[i], 0.0), C[i]) for i in range(n)]
    held = [0.0 if not slack[i] else abs((C[i] - alpha[i]) * slack[i]) for i in range(n)]
    loose = [abs(alpha[i] * (m[i] - 1 + slack[i])) for i in range(n)]
    total = math.fsum(alpha)
    sides = {s: math.fsum(alpha[i] for i in range(n) if y[i] == s) for s in (1.0, -1.0)}
    if bias:  # the heavier side in proportion less
        less = min(sides.values())
        alpha = [alpha[i] * less / sides[y[i]] if sides[y[i]] else 0.0 for i in range(n)]
    v = np.array([math.fsum(alpha[i] * y[i] * X[i][j] for i in range(n)) for j in range(len(w))])
    length = math.sqrt(math.fsum(wj * wj for wj in w))
    primal = 0.5 * length**2
    if hard:  # that of the plane at margin 1
        primal = math.inf if min(m) <= 0 else primal / min(m) ** 2
    else:
        primal += math.fsum(C[i] * slack[i] for i in range(n))
    balance = abs(sides[1.0] - sides[-1.0]) if bias else 0.0
    return {
        "primal": primal,
        "dual": max(0.0, math.fsum(alpha) - 0.5 * float(v @ v)),
        "stationarity": float(np.linalg.norm(np.asarray(w) - v)) / length,
        "primal_infeasibility": max(0.0, *(1 - slack[i] - m[i] for i in range(n))),
        "dual_infeasibility": max([balance / total if total else 0.0, *outside]),
        "complementarity": max(held + loose) / primal,
    }


def assert_agrees(proof, hand, dual_rounding=0.0):
    for name, value in hand.items():
        tiny = max(dual_rounding, 1e-10 * max(1.0, abs(proof.primal))) if name == "dual" else 1e-11
        assert getattr(proof, name) == pytest.approx(value, rel=1e-8, abs=tiny), name


def rounding_of_dual(X, y, alpha):
    """How far Σα − ½‖v‖² is off, to first order, where v = Σ α_i y_i x_i is summed in doubles.

    A sum of n terms is right but for n units in the last place of the sum of their sizes, in any order.
    """
    signed = alpha * y
    size = np.abs(signed) @ np.abs(X)  # of the terms of v, which may cancel
    return len(y) * np.finfo(float).eps * (np.abs(alpha).sum() + np.abs(signed @ X) @ size)


def bounds(C, n):
    return np.full(n, float(C))


def point_of(model, X, y, C, bias=True):
    (machine,) = model.machines_.values()
    return Point(machine.coef_, machine.intercept_, y, machine.dual_, bounds(C, len(y)), bias)


def measured(X, point):
    return certificate(as_rows(np.asarray(X, dtype=np.float64)), point, "a problem", 3).proof


# --- agreement --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "origin"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", OVERLAPPING, ids=lambda p: p.name)
def test_a_soft_margin_by_plain_code(p, form, bias):
    X = as_form(p.X, form)
    same = np.asarray(X, dtype=np.float64) if form == "float32" else p.X
    y = p.y.astype(float)
    model = mm.SoftMarginSVC(C=0.7, fit_intercept=bias).fit(X, y)
    assert "0.7" in model.certificate_.problem and "soft" in model.certificate_.problem
    where = point_of(model, same, y, 0.7, bias)
    if not np.any(where.w):
        assert model.certificate_.primal == pytest.approx(primal_value(same, y, 0.7, where.w, where.b))
        return
    hand = by_hand(same, y, where.C, where.w, where.b, where.alpha, bias)
    assert_agrees(model.certificate_, hand)


@pytest.mark.parametrize("p", SEPARABLE, ids=lambda p: p.name)
def test_a_hard_margin_by_plain_code(p):
    y = p.y.astype(float)
    # Features of scale 1e6 beside 1e-6: no multipliers in doubles give a gap below some 1e-8.
    model = mm.HardMarginSVC(tol=1e-6 if p.name == "scales" else 1e-9).fit(p.X, y)
    where = point_of(model, p.X, y, math.inf)
    proof = model.certificate_
    hand = by_hand(p.X, y, where.C, where.w, where.b, where.alpha)
    hand.pop("primal_infeasibility"), hand.pop("complementarity")
    if p.name == "scales":
        hand.pop("stationarity")  # rounding
    assert_agrees(proof, hand, rounding_of_dual(p.X, y, where.alpha))
    attained, largest = proof.margin
    least = margins(p.X, y, where.w, where.b).min()
    assert attained == pytest.approx(least / np.linalg.norm(where.w), rel=1e-9)
    assert largest == pytest.approx(1 / math.sqrt(2 * proof.dual), rel=1e-9)
    assert attained <= largest * (1 + 1e-9)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_weights_and_many_blocks_by_plain_code(form):
    rng = np.random.default_rng(0)
    X = np.rint(8 * rng.standard_normal((20_000, 4))) / 8
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1.0, -1.0)
    weight = rng.integers(1, 4, 20_000)
    model = mm.SoftMarginSVC(C=0.01).fit(sparse.csr_array(X) if form == "csr" else X, y, weight)
    (machine,) = model.machines_.values()
    C = 0.01 * weight
    hand = by_hand(X, y, C, machine.coef_, machine.intercept_, machine.dual_)
    assert_agrees(model.certificate_, hand)
    needed = np.maximum(0.0, 1.0 - margins(X, y, machine.coef_, machine.intercept_))
    assert machine.slack_ == pytest.approx(needed, abs=1e-13)


def test_the_machines_of_several_classes_each_have_theirs():
    X, y = load_iris(return_X_y=True)
    model = mm.SoftMarginSVC().fit(X, y)
    for label, machine in model.machines_.items():
        side = np.where(y == label, 1.0, -1.0)
        proof = machine.certificate_
        primal = primal_value(X, side, 1.0, machine.coef_, machine.intercept_)
        assert proof.primal == pytest.approx(primal, rel=1e-10)
        assert proof.dual == pytest.approx(dual_value(X, side, machine.dual_), rel=1e-9)


@st.composite
def points(draw):
    """Any plane, any multipliers: most of them bad."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    X, y = rng.integers(-5, 6, (n, d)) / 2, rng.choice([-1.0, 1.0], n)
    C = rng.integers(1, 9, n) / 4
    alpha = draw(st.sampled_from([0.5, 1.0, 1.5])) * C * rng.integers(-1, 3, n) / 2
    return X, y, C, rng.integers(-4, 5, d) / 2 + 0.25, float(rng.integers(-4, 5)), alpha


@given(points(), st.booleans())
def test_any_point_is_measured_as_by_plain_code(case, bias):
    X, y, C, w, b, alpha = case
    proof = measured(X, Point(w, b, y, alpha, C, bias))
    assert_agrees(proof, by_hand(X, y, C, w, b, alpha, bias))
    assert proof.gap == proof.primal - proof.dual
    first, second, *_ = str(proof).splitlines()
    assert first == "Certificate: a problem"
    assert second.split()[:3] == ["primal", "value", f"{proof.primal:.12g}"]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 20.0]))
def test_no_feasible_point_is_on_the_wrong_side(seed, C):
    """Weak duality: any plane is above any balanced multipliers within their bounds."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-5, 6, (8, 2)) / 2, np.array([1.0, -1.0] * 4)
    alpha = C * rng.integers(0, 5, 4)[[0, 0, 1, 1, 2, 2, 3, 3]] / 4
    w, b = rng.standard_normal(2), float(rng.normal())
    proof = measured(X, Point(w, b, y, alpha, bounds(C, 8)))
    assert proof.dual_infeasibility <= 1e-15 and proof.primal_infeasibility == 0.0
    best = mm.SoftMarginSVC(C=C).fit(X, y).certificate_
    assert proof.primal >= best.dual and proof.dual <= best.primal


# --- every check can fail ---------------------------------------------------------------------------

X, Y = load_breast_cancer(return_X_y=True)
X, Y = StandardScaler().fit_transform(X), signs(Y)


@pytest.fixture(scope="module")
def good():
    """An optimum: all residuals are rounding."""
    point = point_of(mm.SoftMarginSVC(C=0.5, tol=1e-10).fit(X, Y), X, Y, 0.5)
    proof = measured(X, point)
    assert all(getattr(proof, name) < 1e-7 for name in RESIDUALS)
    assert 0.0 <= proof.relative_gap < 1e-10
    return point, proof


def changed(array, i, by):
    array = array.copy()
    array[i] += by
    return array


def grown(good, **change):
    """Which residuals are no longer small."""
    point, _ = good
    proof = measured(X, point._replace(**change))
    return {name for name in RESIDUALS if getattr(proof, name) > 1e-4}, proof


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
def test_a_changed_w_is_not_stationary(good, factor):
    names, proof = grown(good, w=good[0].w * factor)
    assert "stationarity" in names
    assert proof.stationarity == pytest.approx(abs(1 - 1 / factor), rel=1e-3)


def test_a_changed_w_is_a_worse_plane(good):
    for j in range(0, 30, 7):
        _, proof = grown(good, w=changed(good[0].w, j, 0.1))
        assert proof.primal > good[1].primal and proof.dual == good[1].dual
        assert proof.relative_gap > 1e-5


@pytest.mark.parametrize("by", [-0.1, 0.1])
def test_a_changed_b_is_not_complementary(good, by):
    names, proof = grown(good, b=good[0].b + by)
    assert names == {"complementarity"}
    assert proof.primal > good[1].primal and proof.dual == good[1].dual


def test_unbalanced_multipliers_are_infeasible(good):
    alpha = good[0].alpha
    i = int(np.flatnonzero((alpha > 0.1) & (alpha < 0.4))[0])
    names, proof = grown(good, alpha=changed(alpha, i, -0.05))
    assert {"stationarity", "dual_infeasibility"} <= names
    assert proof.dual_infeasibility == pytest.approx(0.05 / (alpha.sum() - 0.05), rel=1e-6)


def test_multipliers_outside_their_bounds_are_infeasible(good):
    alpha = good[0].alpha
    up = [int(np.flatnonzero((alpha >= 0.5) & (side == Y))[0]) for side in (1.0, -1.0)]
    more = alpha.copy()
    more[up] += 0.1  # balanced, but above C
    names, proof = grown(good, alpha=more)
    assert "dual_infeasibility" in names and proof.dual_infeasibility == pytest.approx(0.2, rel=1e-6)
    zero = [int(np.flatnonzero((alpha == 0) & (side == Y))[0]) for side in (1.0, -1.0)]
    less = alpha.copy()
    less[zero] -= 0.01
    names, proof = grown(good, alpha=less)
    assert "dual_infeasibility" in names and proof.dual_infeasibility >= 0.01


def test_multipliers_of_the_wrong_rows_are_not_complementary(good):
    alpha = good[0].alpha
    m = margins(X, Y, good[0].w, good[0].b)
    far = [int(np.argmax(np.where(side == Y, m, -9.0))) for side in (1.0, -1.0)]
    more = alpha.copy()
    more[far] = 0.5
    names, proof = grown(good, alpha=more)
    assert {"complementarity", "stationarity"} <= names and "dual_infeasibility" not in names
    assert proof.dual < good[1].dual


def test_other_labels_are_noticed(good):
    names, _ = grown(good, y=-Y)
    assert {"stationarity", "complementarity"} <= names


def test_a_hard_margin_that_does_not_separate_has_no_value():
    p = problem("gaussian")
    y = p.y.astype(float)
    point = point_of(mm.HardMarginSVC().fit(p.X, y), p.X, y, math.inf)
    proof = measured(p.X, point._replace(b=point.b + 100.0))
    assert proof.primal == math.inf and proof.relative_gap == math.inf
    assert proof.primal_infeasibility > 1 and proof.margin[0] < 0
    assert "inf" in str(proof)
    half = measured(p.X, point._replace(w=point.w / 2, b=point.b / 2))
    assert half.primal_infeasibility == pytest.approx(0.5, rel=1e-6)
    assert half.margin[0] == pytest.approx(1 / np.linalg.norm(point.w), rel=1e-6)


# --- how it looks -----------------------------------------------------------------------------------


def test_it_prints_as_a_table(good):
    lines = str(mm.SoftMarginSVC(C=0.5).fit(X, Y).certificate_).splitlines()
    assert lines[0] == "Certificate: soft margin, C = 0.5"
    names = [line[2:23].strip() for line in lines[1:]]
    assert names == [
        "primal value",
        "dual value",
        "gap",
        "stationarity",
        "primal infeasibility",
        "dual infeasibility",
        "complementarity",
        "passes",
    ]
    assert all(len(line) <= 105 for line in lines)
    for line in lines[1:]:  # numbers end where the meanings begin
        float(line[24:42])
        assert line[42:45] == "   " and line[45] != " "
    assert float(lines[1][24:42]) == pytest.approx(good[1].primal, rel=1e-5)


def test_a_hard_margin_prints_its_margin_and_an_audit_its_findings():
    text = str(mm.HardMarginSVC().fit([[0.0], [2.0]], [0, 1]).certificate_)
    assert "hard margin" in text and "margin, at most" in text
    proof = mm.certify(([0.5], -0.9), [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=math.inf)
    assert f"· {proof.findings[0]}" in str(proof)


def test_the_certificate_of_several_machines_says_whose_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    model = mm.SoftMarginSVC().fit(X, y)
    whose = max(model.machines_, key=lambda label: model.machines_[label].certificate_.relative_gap)
    assert model.certificate_.problem == f"soft margin, C = 1: {whose!r}, the largest gap of 3 machines"


def test_it_is_a_frozen_value():
    proof = mm.SoftMarginSVC().fit([[0.0], [2.0]], [0, 1]).certificate_
    with pytest.raises(FrozenInstanceError):
        proof.primal = 0.0
    assert pickle.loads(pickle.dumps(proof)) == proof == copy.deepcopy(proof)
    assert replace(proof, primal=0.0, dual=0.0).relative_gap == 0.0
    assert replace(proof, primal=0.0, dual=-1.0).relative_gap == math.inf
    assert replace(proof, primal=4.0, dual=3.0).relative_gap == 0.25


def test_the_certificates_import_no_solver():
    code = (
        "import sys, maxmargin.certificates.certificate\n"
        "print([m for m in sys.modules if m.startswith(('maxmargin.solvers', 'maxmargin.estimators'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
