"""Bounds on the fewest errors of any plane: brute force in fractions lies between them."""

import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

import maxmargin as mm
from exact import in_fractions, meeting_weights
from maxmargin.saving.model_file import from_dict, to_dict
from maxmargin.solvers.exact import packing
from thorough import THOROUGH, further


def least_cost(X, y, intercept=True, cost=None):
    """The least total cost of rows without which a plane is right on all others, strictly."""
    rows, n = in_fractions(X), len(y)
    cost = [Fraction(1)] * n if cost is None else [Fraction(c) for c in cost]
    sets = [out for k in range(n + 1) for out in combinations(range(n), k)]
    for out in sorted(sets, key=lambda out: sum(cost[i] for i in out)):
        left = [i for i in range(n) if i not in out]
        if not left:
            return sum(cost[i] for i in out)
        if intercept and len({y[i] for i in left}) < 2:
            return sum(cost[i] for i in out)
        if meeting_weights([rows[i] for i in left], [int(y[i]) for i in left], intercept) is None:
            return sum(cost[i] for i in out)
    raise AssertionError("no rows are separable")


def errors_of(w, b, X, y):
    """Rows with y f(x) ≤ 0, exactly."""
    w, b = [Fraction(v) for v in w.tolist()], Fraction(b)
    values = [
        int(s) * (sum(map(lambda p, q: p * q, w, x)) + b)
        for x, s in zip(in_fractions(X), y, strict=True)
    ]
    return sum(v <= 0 for v in values)


def check_witness(witness, X, y, intercept=True):
    """Positive weights under which the rows of the two sides meet."""
    rows = in_fractions(X)
    assert all(y[i] == 1 for i in witness.positive) and all(y[i] == -1 for i in witness.negative)
    sides = [
        (witness.positive.tolist(), witness.positive_weights.tolist()),
        (witness.negative.tolist(), witness.negative_weights.tolist()),
    ]
    assert all(type(v) is Fraction and v > 0 for _, weights in sides for v in weights)
    first, second = (
        [
            sum((v * rows[i][j] for i, v in zip(*side, strict=True)), Fraction(0))
            for j in range(len(rows[0]))
        ]
        for side in sides
    )
    if intercept:
        assert first == second
        assert [sum(weights) for _, weights in sides] == [1, 1]
    else:  # the sign of the label is in the sum
        assert first == second
        assert sum(v for _, weights in sides for v in weights) == 1
    assert len(witness.rows) <= len(rows[0]) + 2
    return set(witness.rows.tolist())


def check_bounds(bounds, X, y, intercept=True):
    used = [check_witness(witness, X, y, intercept) for witness in bounds.witnesses]
    assert len(used) == bounds.lower
    assert sum(map(len, used)) == len(set().union(*used))  # disjoint
    assert 0 <= bounds.lower <= bounds.upper
    if bounds.plane_is_exact:
        assert errors_of(bounds.w, bounds.b, X, y) == bounds.upper == len(bounds.given_up)
    assert intercept or bounds.b == 0
    assert f"{bounds.upper} error" in str(bounds)


def grid(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 3))
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("start", [0, further(20), further(40)])
def test_brute_force_lies_between(start, intercept):
    tight = 0
    for seed in range(start, start + 20):
        X, y = grid(seed)
        if not intercept:
            X[~X.any(axis=1)] = 1.0  # the origin is always on the plane
        bounds = mm.error_bounds(X, y, fit_intercept=intercept)
        check_bounds(bounds, X, y, intercept)
        truth = least_cost(X, y, intercept)
        assert bounds.lower <= truth <= bounds.upper
        assert (bounds.upper == 0) == (truth == 0) == (bounds.lower == 0)
        assert not bounds.limited
        tight += bounds.lower == bounds.upper
    assert tight >= 12


def test_rows_at_the_origin_are_errors_of_every_plane_through_it():
    X, y = [[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [-1.0, 0.0]], [1, -1, 1, -1]
    bounds = mm.error_bounds(X, y, fit_intercept=False)
    check_bounds(bounds, X, y, intercept=False)
    assert 1 <= bounds.lower <= bounds.upper == 2  # each of the two is a witness by itself


def test_all_rows_in_witnesses():
    # Each row of a pair is the other's contradiction, and no row is left over.
    for intercept in (True, False):
        for X in ([[1.0], [1.0]], [[1.0], [1.0], [2.0], [2.0]]):
            y = [1, -1] * (len(X) // 2)
            bounds = mm.error_bounds(X, y, fit_intercept=intercept)
            check_bounds(bounds, X, y, intercept)
            assert bounds.lower == bounds.upper == len(X) // 2


def test_contradictory_duplicates():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], 5, axis=0)
    y = np.array([1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1])
    bounds = mm.error_bounds(X, y)
    check_bounds(bounds, X, y)
    assert bounds.lower >= 3  # two at the first point, one at the second
    assert bounds.lower <= 3 + 0 + 5 and bounds.upper >= 3


@pytest.mark.parametrize("n", [1, 7, 40])
def test_equal_rows_of_two_classes(n):
    X, y = np.zeros((2 * n, 3)), np.array([1, -1] * n)
    bounds = mm.error_bounds(X, y)
    check_bounds(bounds, X, y)
    assert bounds.lower == bounds.upper == n


def test_separable_data_need_no_error():
    X, y = load_iris(return_X_y=True)
    s = np.where(y == 0, 1, -1)
    for intercept in (True, False):
        bounds = mm.error_bounds(X, s, fit_intercept=intercept)
        check_bounds(bounds, X, s, intercept)
        assert (bounds.lower, bounds.upper, bounds.witnesses, bounds.limited) == (0, 0, (), False)
        assert str(bounds) == "0 errors found; no plane makes fewer."


def narrow(seed):
    """Numbers beyond 2^53, a few ulps apart, so that f(x) in doubles says nothing about its sign."""
    rng = np.random.default_rng(seed)
    X = 2.0**53 * 3 + 4.0 * rng.integers(-2, 3, size=(5, 2))
    X *= 2.0 ** rng.integers(-30, 30, size=2)
    y = rng.choice([-1, 1], 5)
    y[:2] = 1, -1
    return X, y


def test_the_upper_bound_counts_errors_exactly():
    for seed in range(25 if THOROUGH else 8):
        X, y = narrow(seed)
        bounds = mm.error_bounds(X, y)
        assert bounds.lower <= least_cost(X, y) <= bounds.upper
        assert bounds.proof.verify(X, y)
        check_bounds(bounds, X, y)


def test_max_witnesses_and_the_limited_flag():
    X, y = np.zeros((20, 1)), np.array([1, -1] * 10)
    for limit in range(13):
        bounds = mm.error_bounds(X, y, max_witnesses=limit)
        assert (bounds.lower, bounds.upper) == (min(limit, 10), 10)
        assert bounds.limited == (limit < 10)
        assert ("max_witnesses" in str(bounds)) == (limit < 10)
        check_bounds(bounds, X, y)
    assert "fewer than 3" in str(mm.error_bounds(X, y, max_witnesses=3))


@pytest.mark.parametrize("bad", [-1, 1.5, "many", None, True])
def test_bad_max_witnesses(bad):
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(mm.InputError, match="max_witnesses must be"):
        mm.error_bounds(X, y, max_witnesses=bad)
    with pytest.raises(mm.InputError, match="max_witnesses must be"):
        mm.PocketPerceptron(max_witnesses=bad).fit(X, y)


def test_bad_input():
    with pytest.raises(mm.InputError, match=r"two classes\. Got 3"):
        mm.error_bounds([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(mm.InputError, match="two classes"):
        mm.error_bounds([[0.0], [1.0]], [0, 0])
    with pytest.raises(mm.InputError, match="finite"):
        mm.error_bounds([[0.0], [np.nan]], [0, 1])
    with pytest.raises(mm.InputError, match="fit_intercept"):
        mm.error_bounds([[0.0], [1.0]], [0, 1], fit_intercept=1)


def noisy(seed=0, n=120, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] > 0, 1, -1)
    flip = rng.choice(n, 8, replace=False)
    y[flip] *= -1
    return X, y


def test_equal_seeds_give_equal_bounds():
    X, y = noisy()
    one, two = (mm.error_bounds(X, y, random_state=5) for _ in range(2))
    assert (one.lower, one.upper, one.b) == (two.lower, two.upper, two.b)
    assert np.array_equal(one.w, two.w)
    assert [v.rows.tolist() for v in one.witnesses] == [v.rows.tolist() for v in two.witnesses]
    default = mm.error_bounds(X, y)
    assert default.upper <= 8


def test_any_labels_and_any_kind_of_rows():
    X, y = noisy(1, 60)
    X = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32)
    dense = mm.error_bounds(X, y)
    check_bounds(dense, X, y)
    for rows in (sparse.csr_array(X), sparse.csr_matrix(X), X.astype(float), X.tolist()):
        other = mm.error_bounds(rows, np.where(y == 1, "yes", "no"))
        check_bounds(other, X, y)
        assert other.lower >= 1


REAL = {  # the data, the class that is told from the others, the intercept
    "breast cancer": (load_breast_cancer, 1, True),
    "digits": (load_digits, 8, True),
    "iris": (load_iris, 1, True),
    "iris through the origin": (load_iris, 2, False),
}


@pytest.mark.parametrize("name", REAL)
def test_real_data(name):
    load, one, intercept = REAL[name]
    X, y = (part[:600] for part in load(return_X_y=True))
    y = np.where(y == one, 1, -1)
    bounds = mm.error_bounds(X, y, fit_intercept=intercept, max_witnesses=8)
    check_bounds(bounds, X, y, intercept)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert (bounds.lower == 0) == verdict.separable
    pocket = mm.PocketPerceptron(
        fit_intercept=intercept, max_witnesses=8, max_updates=3000, random_state=0
    ).fit(X, y)
    assert 0 <= pocket.error_lower_bound_ <= pocket.best_error_
    assert round(pocket.best_error_ * len(y)) >= bounds.lower
    assert round(pocket.error_lower_bound_ * len(y)) <= bounds.upper


# The bound of the pocket, in which errors weigh as their classes do.


@pytest.mark.parametrize("class_weight", [None, {1: 3.0, -1: 0.25}, {1: 0.1, -1: 1.0}, "balanced"])
def test_the_weighted_optimum_lies_between(class_weight):
    positive = 0
    for seed in range(10):
        X, y = (part[:6] for part in grid(seed))
        pocket = mm.PocketPerceptron(class_weight=class_weight, max_updates=300, random_state=0)
        pocket.fit(X, y)
        weight = {1: 1.0, -1: 1.0}
        if class_weight == "balanced":
            weight = {s: len(y) / (2 * np.count_nonzero(y == s)) for s in (1, -1)}
        elif class_weight is not None:
            # In a binary machine both weights count.
            weight = class_weight
        cost = [weight[s] for s in y.tolist()]
        truth = float(least_cost(X, y, cost=cost) / sum(map(Fraction, cost)))
        assert pocket.error_lower_bound_ <= truth * (1 + 1e-12)
        assert truth <= pocket.best_error_ * (1 + 1e-12)
        assert pocket.error_lower_bound_ <= pocket.best_error_
        positive += pocket.error_lower_bound_ > 0
    assert positive >= 3


@pytest.mark.parametrize("settings", [{"normalize": True}, {"fit_intercept": False}, {"polish": False}])
def test_the_bound_holds_under_other_settings(settings):
    intercept = settings.get("fit_intercept", True)
    for seed in range(20):
        X, y = grid(seed)
        X[~X.any(axis=1)] = 1.0
        pocket = mm.PocketPerceptron(random_state=0, max_updates=300, **settings).fit(X, y)
        truth = least_cost(X, y, intercept) / len(y)
        assert pocket.error_lower_bound_ <= truth + 1e-12
        assert truth <= pocket.best_error_ + 1e-12


def test_the_number_of_witnesses_bounds_the_bound():
    X, y = np.zeros((20, 1)), np.array([1, -1] * 10)
    for limit in (0, 1, 4, 10, 99):
        pocket = mm.PocketPerceptron(max_witnesses=limit).fit(X, y)
        assert pocket.error_lower_bound_ == pytest.approx(min(limit, 10) / 20)
    assert mm.PocketPerceptron(max_witnesses=10).fit(X, y).best_error_ == 0.5


def test_separable_rows_have_the_bound_zero():
    pocket = mm.PocketPerceptron().fit([[0.0], [1.0]], [0, 1])
    assert pocket.error_lower_bound_ == pocket.best_error_ == 0.0


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_one_bound_per_machine(multi_class):
    X, y = load_iris(return_X_y=True)
    pocket = mm.PocketPerceptron(multi_class=multi_class, max_updates=2000, random_state=0).fit(X, y)
    bounds = pocket.error_lower_bound_
    labels = [0, 1, 2] if multi_class == "ovr" else [(0, 1), (0, 2), (1, 2)]
    assert list(bounds) == list(pocket.best_error_) == labels
    for label, bound in bounds.items():
        assert 0 <= bound <= pocket.best_error_[label]
        verdict = mm.separability(X, y)
        verdict = verdict.rest[label] if multi_class == "ovr" else verdict.pairs[label]
        assert (bound == 0) == verdict.separable


def test_streams_have_the_bound_zero():
    X, y = noisy(2, 40)
    pocket = mm.PocketPerceptron(random_state=0).fit(X, y)
    assert pocket.error_lower_bound_ > 0
    pocket.partial_fit(X, y)
    assert pocket.error_lower_bound_ == 0
    pocket = mm.PocketPerceptron(random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert pocket.error_lower_bound_ == 0
    pocket.fit(X, y)
    assert pocket.error_lower_bound_ > 0
    pocket = mm.PocketPerceptron().learn_one({"a": 1.0}, 1).learn_one({"a": 1.0}, -1)
    assert pocket.error_lower_bound_ == 0


def test_max_witnesses_is_a_parameter_like_others():
    pocket = mm.PocketPerceptron(max_witnesses=3)
    assert pocket.get_params()["max_witnesses"] == clone(pocket).max_witnesses == 3
    assert mm.PocketPerceptron().max_witnesses == 10
    X, y = np.zeros((20, 1)), np.array([1, -1] * 10)
    assert pocket.fit(X, y).error_lower_bound_ == pytest.approx(3 / 20)
    assert pocket.set_params(max_witnesses=5).fit(X, y).error_lower_bound_ == pytest.approx(5 / 20)


def test_a_finished_checkpoint_has_the_bound(tmp_path):
    X, y = noisy(2, 40)
    known = mm.PocketPerceptron(random_state=0).fit(X, y).error_lower_bound_
    for _ in range(2):  # the second fit is read from the file
        pocket = mm.checkpoint(mm.PocketPerceptron(random_state=0), tmp_path / "fit.json").fit(X, y)
        assert pocket.error_lower_bound_ == known > 0


def test_the_bound_is_searched_for_when_it_is_first_asked_for(monkeypatch):
    X, y = noisy(2, 40)
    known = mm.PocketPerceptron(random_state=0).fit(X, y).error_lower_bound_
    searched = []
    search = packing.unavoidable
    monkeypatch.setattr(packing, "unavoidable", lambda *given: searched.append(1) or search(*given))
    pocket = mm.PocketPerceptron(random_state=0).fit(X, y)
    assert not searched
    pocket.set_params(max_witnesses=0)  # the fit is over: its own parameters count
    assert pocket.error_lower_bound_ == pocket.error_lower_bound_ == known > 0
    assert len(searched) == 1


@pytest.mark.parametrize(
    "copied", [lambda m: pickle.loads(pickle.dumps(m)), lambda m: from_dict(to_dict(m))]
)
def test_a_model_that_is_saved_keeps_a_bound_that_was_asked_for_and_no_rows(copied):
    X, y = noisy(2, 40)
    pocket = mm.PocketPerceptron(random_state=0).fit(X, y)
    other = copied(pocket)
    assert other.best_error_ == pocket.best_error_
    assert not hasattr(other, "error_lower_bound_")
    with pytest.raises(AttributeError, match=r"before saving, or use maxmargin\.error_bounds"):
        _ = other.error_lower_bound_
    assert copied(pocket).fit(X, y).error_lower_bound_ == pocket.error_lower_bound_ > 0
    assert copied(pocket).error_lower_bound_ == pocket.error_lower_bound_
    assert copied(other.partial_fit(X, y)).error_lower_bound_ == 0
