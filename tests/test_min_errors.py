"""The fewest errors of any plane: all subsets in fractions, SciPy's programs, and the checker agree."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris

import maxmargin as mm
from clocks import clock  # noqa: F401
from maxmargin.core.parameters import NEVER
from maxmargin.estimators.error_bounds import errors_of as errors_asked
from maxmargin.estimators.min_errors import fewest_errors
from maxmargin.estimators.separability import Options
from maxmargin.solvers.errors.branching import Search
from maxmargin.solvers.errors.packing import Packing
from maxmargin.solvers.errors.sweep import sweep
from maxmargin.solvers.errors.witnesses import Points, Witnesses
from test_error_bounds import check_witness, errors_of, least_cost
from thorough import THOROUGH

CASES = 2_000 if THOROUGH else 120


def small(seed, largest=9):
    """Integers with many ties and equal rows, in up to four dimensions; sometimes weights."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, largest)), int(rng.integers(1, 5))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    weight = [None, rng.integers(0, 4, n) + 0.0, rng.random(n)][seed % 3]
    if weight is not None and not weight.any():
        weight[0] = 1.0
    return X, y, weight, bool(rng.integers(2))


def check_found(found, X, y, weight, intercept):
    """The bounds hold for the plane, the rows and the witnesses, and the checker confirms them."""
    cost = np.ones(len(y)) if weight is None else weight
    assert found.proof.verify(X, y)
    assert found.upper == pytest.approx(float(cost[found.given_up].sum()), rel=1e-15)
    for witness in found.witnesses:
        check_witness(witness, X, y, intercept)
    kept = np.setdiff1d(np.arange(len(y)), found.given_up)
    if found.plane_is_exact:
        assert errors_of(found.w, found.b, X[kept], y[kept]) == 0
    assert found.n_overlap[0] <= found.n_overlap[1] <= found.upper == found.n_complete[1]


@pytest.mark.parametrize("block", range(4))
def test_as_many_as_all_subsets_say(block):
    for seed in range(block, CASES, 4):
        X, y, weight, intercept = small(seed)
        found = mm.min_errors(X, y, sample_weight=weight, fit_intercept=intercept)
        truth = least_cost(X, y, intercept, weight)
        assert found.proven, seed
        assert found.lower == pytest.approx(float(truth), rel=1e-15), seed
        check_found(found, X, y, weight, intercept)


def test_the_search_without_a_sweep():
    """In few dimensions planes are swept; branches find the same."""
    for seed in range(CASES // 2):
        X, y, weight, intercept = small(seed, 12)
        asked = errors_asked(X[:, :2], y, weight, Options(intercept), "min_errors")
        points = Points(asked.rows, asked.costs)
        cost, wrong = sweep(points, asked.unit, NEVER)
        assert cost == sum((points.costs[i] for i in wrong.tolist()), Fraction(0))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("maxmargin.estimators.min_errors.MAX_COORDINATES", 0)
            found = fewest_errors(asked, 0)
        assert found.proven, seed
        assert found.lower == pytest.approx(float(cost + points.unavoidable), rel=1e-15), seed
        assert "sweep" not in found.proof.content


def test_disjoint_witnesses_of_many_rows_with_weights(monkeypatch):
    """Beyond what fractional packings hold, a witness costs what its cheapest row does."""
    monkeypatch.setattr("maxmargin.estimators.min_errors.MAX_SEARCHED", 0)
    above = 0
    for seed in range(CASES // 2):
        X, y, weight, intercept = small(seed, 12)
        found = mm.min_errors(X, y, sample_weight=weight, fit_intercept=intercept)
        truth = float(least_cost(X, y, intercept, weight))
        assert found.lower <= truth * (1 + 1e-15) and truth <= found.upper * (1 + 1e-15), seed
        check_found(found, X, y, weight, intercept)
        above += found.lower > 0 and weight is not None
    assert above > 5


def overlapping(n, d, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_costs_of_any_size(scale):
    """The search depends on how costs compare, not on the unit that they are in."""
    X, y = overlapping(40, 4, 5, noise=0.5)
    for weight in (np.ones(40), np.random.default_rng(0).random(40) + 0.1):
        found, same = (mm.min_errors(X, y, sample_weight=weight * s) for s in (scale, 1.0))
        assert found.proven and same.proven
        assert found.upper == pytest.approx(same.upper * scale, rel=1e-12)
        assert found.proof.verify(X, y)


def test_a_tree_of_branches_and_its_proof(tmp_path):
    X, y = overlapping(60, 5, 4)
    found = mm.min_errors(X, y)
    assert found.proven
    tree = found.proof.content["tree"]
    assert len(tree["branches"]) >= 1 and len(tree["leaves"]) == len(tree["branches"]) + 1
    found.proof.save(tmp_path / "proof.json")
    assert mm.Proof.load(tmp_path / "proof.json").verify(X, y)
    assert not found.proof.verify(X, -y)
    check_found(found, X, y, None, True)


def test_the_margin_is_the_largest_of_the_rows_kept():
    X, y = overlapping(50, 3, 1)
    found = mm.min_errors(X, y)
    kept = np.setdiff1d(np.arange(50), found.given_up)
    best = mm.HardMarginSVC().fit(X[kept], y[kept])
    assert found.margin == pytest.approx(best.margin_, rel=1e-5)
    assert np.min(y[kept] * (X[kept] @ found.w + found.b)) > 0


def test_packings_are_those_of_scipy():
    for seed in range(6):
        X, y = overlapping(40, 3, seed)
        asked = errors_asked(X, y, 1.0 + np.arange(40) % 3, Options(), "min_errors")
        points = Points(asked.rows, asked.costs)
        witnesses = Witnesses(points, np.random.default_rng(seed), NEVER)
        for _ in range(30):
            _, found = witnesses.look(witnesses.rng.random(points.n), np.ones(points.n, dtype=bool))
            for some in found[:4]:
                assert len(some) <= 5
                witnesses.add(some.tolist())
        first = witnesses.members[0, : witnesses.sizes[0]]
        for wrong, right in ((), ()), ((3, 7), (11,)), ((int(first[0]),), tuple(map(int, first[1:2]))):
            packing = Packing(witnesses, wrong, right)
            assert packing.solve()
            free = np.setdiff1d(np.arange(points.n), [*wrong, *right])
            rows = witnesses.contains[~witnesses.contains[:, list(wrong)].any(axis=1)][:, free]
            known = linprog(points.cost[free], A_ub=-rows.astype(float), b_ub=-np.ones(len(rows)))
            expected = known.fun + points.cost[list(wrong)].sum()
            assert packing.value == pytest.approx(expected, rel=1e-6)


def test_points_that_cannot_all_be_right():
    X, y = overlapping(40, 2, 0)
    asked = errors_asked(X, y, None, Options(), "min_errors")
    points = Points(asked.rows, asked.costs)
    witnesses = Witnesses(points, np.random.default_rng(0), NEVER)
    _, found = witnesses.look(np.ones(points.n), np.ones(points.n, dtype=bool))
    witnesses.add(found[0].tolist())
    assert witnesses.confirm(0)
    assert not Packing(witnesses, (), tuple(found[0].tolist())).solve()


def test_witnesses_that_only_seem_to_cancel():
    """Rows one ulp from cancelling: exact arithmetic has the last word."""
    X = np.array([[0.0], [1.0], [np.nextafter(1.0, 2.0)], [3.0]])
    found = mm.min_errors(X, [0, 0, 1, 1])
    assert (found.lower, found.upper) == (0, 0)
    Z = np.column_stack([X, X[::-1], X**2, np.ones((4, 2))])
    Z = np.vstack([Z, Z[[1, 2]]])
    found = mm.min_errors(Z, [0, 0, 1, 1, 1, 0])
    assert (found.lower, found.upper) == (2, 2)


def test_a_packing_left_without_witnesses():
    """If those it held only seemed to cancel, it holds none, and proves no error."""
    rng = np.random.default_rng(148)
    n, d = int(rng.integers(6, 40)), int(rng.integers(3, 7))
    X = rng.integers(-1, 2, size=(n, d)) + 1e-12 * rng.integers(-1, 2, size=(n, d))
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    weight = rng.integers(1, 4, n).astype(float)
    found = mm.min_errors(X, y, sample_weight=weight, fit_intercept=False)
    assert found.lower == found.upper == least_cost(X, y, False, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_rows_of_two_classes(weighted):
    """Each pair costs the less of its rows; with any weights, fractions say so for many pairs."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((220, 4))
    t = np.where(Z @ [1.0, 2.0, -1.0, 0.5] > 0, 1, -1)
    weight = np.r_[rng.random(220) + 1.0, rng.random(220) + 0.1] if weighted else np.ones(440)
    X, y = np.vstack([Z, Z]), np.r_[t, -t]
    found = mm.min_errors(X, y, sample_weight=weight)
    assert found.proven and found.lower == pytest.approx(weight[220:].sum(), rel=1e-12)
    assert found.proof.verify(X, y)


def test_what_fractions_do_not_show_ends_the_search(monkeypatch):
    """If a packing is too large to be solved in integers, there is an interval, and an end."""
    monkeypatch.setattr("maxmargin.solvers.errors.packing.MAX_CORNER", 0)
    X, y = overlapping(30, 4, 5, noise=0.5)
    weight = np.random.default_rng(0).random(30) + 0.1
    asked = errors_asked(X, y, weight, Options(), "min_errors")
    points, rng = Points(asked.rows, asked.costs), np.random.default_rng(0)
    search = Search(points, asked.wrong_side, np.arange(points.n), NEVER, rng, max_nodes=500)
    assert not search.run()
    assert search.nodes < 500
    assert search.best.cost * (1 - Fraction(1, 10**5)) < search.lower() < search.best.cost


def test_sweeps_are_such_as_the_checker_does_again(monkeypatch):
    """It takes so many different rows, those that cost nothing among them, and numbers so long."""
    X, y = overlapping(60, 2, 3, noise=4.0)
    for module in ("checker.errors", "estimators.min_errors"):
        monkeypatch.setattr(f"maxmargin.{module}.SWEPT_BITS", 2**30)
        monkeypatch.setattr(f"maxmargin.{module}.SWEPT_ROWS", 60)
    more, labels = np.vstack([X, [[7.0, 7.0]]]), np.append(y, 1)
    for rows, of, weight, swept in (
        (X, y, None, True),
        (X * 1e-300, y, None, False),
        (more, labels, np.append(np.ones(60), 0.0), False),
    ):
        found = mm.min_errors(rows, of, sample_weight=weight, max_seconds=1.0)
        assert ("sweep" in found.proof.content) == swept
        assert found.proof.verify(rows, of)


def test_known_data():
    X, y = load_iris(return_X_y=True)
    found = mm.min_errors(X[50:], y[50:])
    assert (found.lower, found.upper, found.n_overlap[1]) == (1, 1, 1)
    X, y = load_breast_cancer(return_X_y=True)
    assert mm.min_errors(X, y).upper == 0


def test_forms_of_rows_and_labels():
    X, y = overlapping(60, 5, 2)
    first = mm.min_errors(X, np.where(y > 0, "yes", "no"))
    for form in (sparse.csr_array(X), np.asfortranarray(X), X.tolist()):
        other = mm.min_errors(form, y)
        assert (other.lower, other.upper) == (first.lower, first.upper)
        assert other.given_up.tolist() == first.given_up.tolist()


def test_numbers_as_they_are_written():
    X, y = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.9], [0.1, 0.5, 0.6], [0.4, 0.2, 0.6]], [0, 0, 1, 1]
    assert mm.min_errors(X, y).upper == 0
    found = mm.min_errors(X, y, numbers="decimal")
    assert (found.lower, found.upper) == (1, 1)
    assert found.proof.content["numbers"] == "decimal" and found.proof.verify(X, y)


def test_one_class_left_and_rows_of_zeros():
    found = mm.min_errors(np.zeros((5, 2)), [0, 1, 1, 1, 0])
    assert (found.lower, found.upper, found.given_up.tolist()) == (2, 2, [0, 4])
    assert found.margin == np.inf and found.b == 1.0
    found = mm.min_errors(np.zeros((5, 2)), [0, 1, 1, 1, 0], fit_intercept=False)
    assert (found.lower, found.upper) == (5, 5)
    assert found.proof.verify(np.zeros((5, 2)), [0, 1, 1, 1, 0])


def test_words():
    X, y = overlapping(40, 2, 3)
    found = mm.min_errors(X, y)
    assert repr(found) == f"ErrorBounds({found.upper} errors, proven)"
    text = str(found)
    assert text.startswith(f"{found.upper} errors found; no plane makes fewer.")
    assert "n_complete" in text and "n_overlap" in text


@pytest.mark.parametrize("hours", [1, 3, 10, 40])
def test_bounds_whenever_the_time_ends(clock, hours):  # noqa: F811
    X, y = overlapping(60, 6, 7)
    found = mm.min_errors(X, y, max_seconds=hours * 3600.0)
    assert 0 <= found.lower <= found.upper
    assert found.late == (not found.proven)
    assert found.proof.verify(X, y)


def test_bad_input():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    with pytest.raises(mm.InputError, match="max_seconds must be"):
        mm.min_errors(X, y, max_seconds=0)
    with pytest.raises(mm.InputError, match=r"two classes\. Got 3"):
        mm.min_errors(X, [0, 1, 2])
    with pytest.raises(mm.InputError, match="sample_weight must hold"):
        mm.min_errors(X, y, sample_weight=[1.0, -1.0, 1.0])
    with pytest.raises(mm.InputError, match="numbers must be one of"):
        mm.min_errors(X, y, numbers="roman")
    with pytest.raises(mm.InputError, match="random_state"):
        mm.min_errors(X, y, random_state="x")
