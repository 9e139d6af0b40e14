"""R²/γ²: no run from zero makes more mistakes, and γ is what brute force says."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import maxmargin as mm
from bank import OVERLAPPING, SEPARABLE, problem


def solve(M, v):
    """Solve M x = v in fractions; None if M is singular."""
    n = len(v)
    rows = [[*M[i], v[i]] for i in range(n)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [a / rows[k][k] for a in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def squared_distance(A):
    """Min ‖Σ λ_i a_i‖² over convex combinations, exactly: the least over all faces of the hull."""
    A = [[Fraction(v) for v in a] for a in A.tolist()]
    gram = [[sum(p * q for p, q in zip(a, b, strict=True)) for b in A] for a in A]
    best = min(gram[i][i] for i in range(len(A)))
    for size in range(2, min(len(A), len(A[0]) + 1) + 1):
        for face in combinations(range(len(A)), size):
            # Stationary on the affine hull: G λ = μ 1 and Σ λ = 1; the squared length is μ.
            M = [[*(gram[i][j] for j in face), Fraction(-1)] for i in face]
            M.append([Fraction(1)] * size + [Fraction(0)])
            answer = solve(M, [Fraction(0)] * size + [Fraction(1)])
            if answer is not None and all(v >= 0 for v in answer[:-1]):
                best = min(best, answer[-1])
    return best


def test_opposite_points():
    bound = mm.mistake_bound([[1, 1], [-1, -1]], [1, -1])
    assert (bound.R, bound.gamma) == pytest.approx((math.sqrt(3), math.sqrt(2)))
    assert bound.bound == pytest.approx(1.5)
    assert str(bound) == "At most 1 mistake: R²/γ² = 1.5, R = 1.73205, γ = 1.41421."
    far = mm.mistake_bound([[1.0], [-1.0]], [1, -1], gamma=1e-3)
    assert str(far).startswith("At most 2,000,000 mistakes: R²/γ² = 2e+06, ")


@pytest.mark.parametrize("n", range(2, 12))
@pytest.mark.parametrize("length", [1.0, 3.0, 0.1, 7e5])
def test_bound_holds_where_it_is_attained(n, length):
    # Orthogonal rows of one length: each is a mistake once, and R²/γ² = 1/(1/√n)² = n exactly.
    X, y = length * np.eye(n), [(-1) ** k for k in range(n)]
    model = mm.Perceptron(fit_intercept=False).fit(X, y)
    bound = mm.mistake_bound(X, y, fit_intercept=False)
    assert model.n_mistakes_ == n
    assert n <= bound.bound <= n * (1 + 1e-9)


@pytest.mark.parametrize("name", ["pass or fail", "opposite", "quarter", "collinear", "one feature"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gamma_is_that_of_brute_force(name, fit_intercept):
    p = problem(name)
    A = p.A if fit_intercept else p.y[:, None] * p.X
    bound = mm.mistake_bound(p.X, p.y, fit_intercept=fit_intercept)
    exact = squared_distance(A)
    assert pytest.approx(np.linalg.norm(A, axis=1).max(), rel=1e-14) == bound.R
    assert Fraction(bound.gamma) ** 2 <= exact  # rounded down, as promised
    assert bound.gamma == pytest.approx(math.sqrt(exact), rel=1e-9, abs=1e-12)
    assert bound.gamma_upper == pytest.approx(math.sqrt(exact), rel=1e-9, abs=1e-12)
    if exact == 0:
        assert bound.bound == math.inf


points = st.lists(st.tuples(*[st.integers(-6, 6)] * 2), min_size=2, max_size=7, unique=True)


@given(points, st.tuples(*[st.integers(-4, 4)] * 3), st.sampled_from(["cyclic", "shuffled", "random"]))
def test_mistakes_never_exceed_the_bound(rows, plane, order):
    X = np.array(rows)
    f = X @ plane[:2] + plane[2]
    assume(np.all(f != 0) and len(set(np.sign(f))) == 2)
    y = np.sign(f).astype(int)
    exact = squared_distance(y[:, None] * np.column_stack([X, np.ones(len(X), int)]))
    for normalize in (False, True):
        bound = mm.mistake_bound(X, y, normalize=normalize)
        model = mm.Perceptron(order=order, normalize=normalize, max_iter=None, random_state=0).fit(X, y)
        assert 0 < model.n_mistakes_ <= bound.bound
    bound = mm.mistake_bound(X, y)
    assert bound.gamma == pytest.approx(math.sqrt(exact), rel=1e-8)
    assert bound.bound == pytest.approx(float((np.square(X).sum(axis=1).max() + 1) / exact), rel=1e-8)


def test_gamma_is_rounded_down():
    # By hand: a = (1, 1, 1) and (1, 0, −1) are orthogonal, of squared lengths 3 and 2: γ² = 6/5.
    bound = mm.mistake_bound([[1, 1], [-1, 0]], [1, -1])
    assert Fraction(bound.gamma) ** 2 <= Fraction(6, 5)
    assert bound.gamma <= bound.gamma_upper
    assert bound.bound >= 2.5


@pytest.mark.parametrize("p", [p for p in SEPARABLE if p.name != "scales"], ids=lambda p: p.name)
@pytest.mark.parametrize("normalize", [False, True])
def test_mistakes_on_the_bank_stay_within_the_bound(p, normalize):
    bound = mm.mistake_bound(p.X, p.y, normalize=normalize)
    assert bound.gamma > 0
    for order in ("cyclic", "shuffled"):
        model = mm.Perceptron(order=order, normalize=normalize, max_iter=None, random_state=2)
        assert 0 < model.fit(p.X, p.y).n_mistakes_ <= bound.bound


@pytest.mark.parametrize("p", OVERLAPPING, ids=lambda p: p.name)
def test_no_bound_where_no_plane_separates(p):
    bound = mm.mistake_bound(p.X, p.y)
    assert (bound.gamma, bound.bound) == (0.0, math.inf)
    assert "no bound" in str(bound)


def test_given_gamma_is_used():
    bound = mm.mistake_bound([[3.0], [-3.0]], [1, -1], gamma=0.5)
    assert (bound.gamma, bound.bound) == (0.5, pytest.approx(40.0))
    with pytest.raises(mm.InputError, match=r"gamma must be a finite number > 0\. Got -1 instead"):
        mm.mistake_bound([[3.0], [-3.0]], [1, -1], gamma=-1)


def test_more_than_two_classes_are_refused():
    with pytest.raises(mm.InputError, match=r"two classes\. Got 3 instead"):
        mm.mistake_bound([[1.0], [2.0], [3.0]], [0, 1, 2])


def test_exact_arithmetic_finds_what_floating_point_does_not():
    """Points one ulp apart, and hills and valleys: separable, so that there is a bound."""
    ulp = mm.mistake_bound([[1.0], [1.0 + 2.0**-52]], [0, 1])
    assert ulp.kind == "separable"
    assert ulp.bound == pytest.approx(2.0 / (2.0**-53 / math.sqrt(2.0)) ** 2, rel=1e-12)
    rng = np.random.default_rng(0)
    X = 1000.0 + 1e-3 * rng.standard_normal((60, 8)).cumsum(axis=1)
    y = np.where(X[:, -1] > X[:, 0], 1, -1)
    for normalize in (False, True):
        hill = mm.mistake_bound(X, y, normalize=normalize)
        assert hill.kind == "separable" and math.isfinite(hill.bound) and hill.gamma > 0
    best = mm.HardMarginSVC(fit_intercept=False).prove(np.column_stack([X, np.ones(60)]), y)
    gamma = mm.mistake_bound(X, y).gamma
    assert Fraction(gamma) ** 2 <= best.squared_margin <= Fraction(gamma * (1 + 1e-12)) ** 2


def test_the_bound_is_tight_on_raw_data():
    X, y = load_breast_cancer(return_X_y=True)
    bound = mm.mistake_bound(X, y)
    assert bound.gamma >= bound.gamma_upper * (1 - 1e-9)
    assert bound.bound == pytest.approx(1.44593e16, rel=1e-5)


def test_what_is_proven_not_separable_has_no_bound():
    touching = mm.mistake_bound([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert (touching.kind, touching.bound) == ("touching", math.inf)
    assert "(touching): the number of mistakes has no bound" in str(touching)
    far = mm.mistake_bound([[1e120, 0.0], [1e120, 1e-120]], [0, 1])
    assert far.kind == "separable" and "no bound" not in str(far)
