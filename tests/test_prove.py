"""The exact optimum: equal to that of brute force in fractions, and proven by its own conditions."""

import copy
import json
import math
import pickle
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

import maxmargin as mm
from exact import hard_margin, in_fractions


def signs(y):
    """+1 for the larger of two labels, as the machine has it."""
    y = np.asarray(y)
    return [1 if label == y.max() else -1 for label in y.tolist()]


def check_optimum(optimum, X, y, intercept=True, rows=None):
    """The conditions of Karush, Kuhn and Tucker in integers; X holds the ``rows`` of the data."""
    numbers = list(range(len(y))) if rows is None else rows
    rows, s = in_fractions(X), signs(y)
    w, b = optimum.w, optimum.b
    alpha = {numbers.index(i): v for i, v in optimum.alpha.items()}
    common = math.lcm(1, *(q.denominator for row in rows for q in row))
    whole = [[int(v * common) for v in row] for row in rows]
    scale = math.lcm(b.denominator, *(v.denominator for v in w))
    plane = [int(v * scale) for v in w]
    for i, (row, side) in enumerate(zip(whole, s, strict=True)):
        slack = side * (sum(map(mul, plane, row)) + int(b * scale) * common) - scale * common
        assert slack >= 0
        assert slack == 0 or i not in alpha
    assert all(v > 0 for v in alpha.values())
    total = [sum((a * s[i] * rows[i][j] for i, a in alpha.items()), Fraction(0)) for j in range(len(w))]
    assert list(w) == total
    if intercept:
        assert sum(a * s[i] for i, a in alpha.items()) == 0
    else:
        assert b == 0
    assert optimum.squared_margin == 1 / sum(v * v for v in w)
    assert optimum.support.tolist() == sorted(optimum.alpha)


def check_against_brute_force(X, y, intercept):
    """Equal fractions, or an error where no plane separates; tell which."""
    model = mm.HardMarginSVC(fit_intercept=intercept)
    truth = hard_margin(in_fractions(X), signs(y), intercept)
    if truth is None:
        with pytest.raises(mm.NotSeparableError) as caught:
            model.prove(X, y)
        assert caught.value.verdict.proof.verify(X, y)
        return False
    optimum = model.prove(X, y)
    assert (list(optimum.w), optimum.b, optimum.squared_margin) == (truth.w, truth.b, truth.square)
    assert all(type(v) is Fraction for v in (*optimum.w, optimum.b, *optimum.alpha.values()))
    check_optimum(optimum, X, y, intercept)
    assert optimum.proof.kind == "optimum"
    assert optimum.proof.verify(X, y)
    return True


def small_problem(seed):
    """A few rows on a coarse grid, so that many lie on the edges, many twice, many in a line."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    f = X @ rng.integers(-2, 3, size=d) + rng.integers(-1, 2) + 0.5
    y = np.where(f > 0, 1, -1)
    if seed % 4 == 0:
        y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    if seed % 3 == 0:
        X, y = np.vstack([X, X[::2]]), np.append(y, y[::2])
    if seed % 5 == 0:
        X[:, 0] = rng.integers(-1, 2)
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("start", range(0, 200, 50))
def test_small_integers_against_brute_force(start, intercept):
    separable = sum(
        check_against_brute_force(*small_problem(seed), intercept) for seed in range(start, start + 50)
    )
    assert 10 <= separable <= 45  # both answers occur, often


@pytest.mark.parametrize("seed", range(1, 40, 2))
def test_odd_numbers_against_brute_force(seed):
    X, y = small_problem(seed)
    rng = np.random.default_rng(seed)
    check_against_brute_force(X / 8 + rng.integers(-3, 4, size=X.shape) / 1024, y, True)  # dyadic
    check_against_brute_force(2.0**53 * 3 + 4 * X, y, True)  # beyond 2^53
    check_against_brute_force(X * 2.0 ** rng.integers(-60, 60, size=X.shape[1]), y, True)
    X[:, -1] *= 2.0**-70  # one feature much smaller than the others
    check_against_brute_force(X, y, bool(seed % 4 == 1))


@pytest.mark.parametrize("power", [-1000, -700, -301, -52, 53, 302, 900])
def test_powers_of_two_scale_the_optimum(power):
    for seed in (1, 2, 5, 7, 10):
        X, y = small_problem(seed)
        if hard_margin(in_fractions(X), signs(y)) is None:
            continue
        optimum, scaled = mm.HardMarginSVC().prove(X, y), mm.HardMarginSVC().prove(X * 2.0**power, y)
        unit = Fraction(2) ** power
        assert scaled.w == tuple(v / unit for v in optimum.w)
        assert scaled.b == optimum.b
        assert scaled.squared_margin == optimum.squared_margin * unit**2
        assert scaled.margin == pytest.approx(math.ldexp(optimum.margin, power), rel=1e-15)
        assert scaled.proof.verify(X * 2.0**power, y)


def test_subnormal_numbers():
    optimum = mm.HardMarginSVC().prove([[0.0], [5e-324]], [0, 1])
    assert optimum.w == (Fraction(2) ** 1075,)
    assert (optimum.b, optimum.squared_margin) == (-1, Fraction(1, 2**2150))
    assert optimum.proof.verify([[0.0], [5e-324]], [0, 1])


def test_many_rows_on_the_edges():
    # All of a grid's border, collinear on each side: w = (0, 1), b = 0, whatever the support.
    X = np.array([[k, s] for k in range(-20, 21) for s in (-1, 1)], dtype=float)
    y = X[:, 1].astype(int)
    optimum = mm.HardMarginSVC().prove(X, y)
    assert (optimum.w, optimum.b, optimum.squared_margin) == ((0, 1), 0, 1)
    check_optimum(optimum, X, y)
    assert len(optimum.alpha) <= 3


def gaussian(n, d, seed, gap):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = np.where(X @ w > 0, 1, -1)
    return X + gap * y[:, None] * w / np.linalg.norm(w), y


def iris():
    X, y = load_iris(return_X_y=True)
    return X, (y == 0).astype(int)


def zeros():
    X, y = load_digits(return_X_y=True)
    return X, (y == 0).astype(int)


LARGER = {
    "iris": iris,
    "many rows": lambda: gaussian(2000, 10, 0, 0.05),
    "many features": lambda: gaussian(300, 40, 1, 0.1),
    "more features than rows": lambda: gaussian(12, 30, 2, 0.0),
    "digits": zeros,
}


@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("intercept", [True, False])
def test_larger_data(name, intercept):
    X, y = LARGER[name]()
    model = mm.HardMarginSVC(fit_intercept=intercept)
    optimum = model.prove(X, y)
    check_optimum(optimum, X, y, intercept)
    assert len(optimum.alpha) <= X.shape[1] + intercept
    model.fit(X, y)
    assert model.margin_ == pytest.approx(optimum.margin, rel=1e-9)
    assert set(optimum.support) <= set(model.support_) or name == "digits"
    if not intercept or name == "digits":
        assert optimum.proof.verify(X, y)


def test_a_proof_is_about_its_data_alone(tmp_path):
    X, y = iris()
    optimum = mm.HardMarginSVC().prove(X, y)
    optimum.proof.save(tmp_path / "proof.json")
    proof = mm.Proof.load(tmp_path / "proof.json")
    assert proof.kind == "optimum"
    for one in (proof, optimum.proof, pickle.loads(pickle.dumps(optimum)).proof):
        assert one.verify(X, y)
        assert one.verify(X.tolist(), y.tolist())
        assert one.verify(sparse.csr_array(X), y)
    for i in (0, 25, 80, 149):
        changed = X.copy()
        changed[i, i % 4] = np.nextafter(changed[i, i % 4], 9)
        assert not proof.verify(changed, y)
        flipped = y.copy()
        flipped[i] = 1 - flipped[i]
        assert not proof.verify(X, flipped)
        assert not proof.verify(np.delete(X, i, axis=0), np.delete(y, i))
        assert not proof.verify(np.vstack([X, X[i]]), np.append(y, y[i]))
    assert not proof.verify(X[::-1], y[::-1])
    assert not proof.verify(X[:, ::-1], y)
    assert not proof.verify(X[:, :3], y)
    assert not proof.verify(X, 1 - y)
    assert not proof.verify(X, y[:-1])
    assert not proof.verify(np.where(X[3, 2] == X, np.nan, X), y)
    assert proof.verify(X, y.astype(float))  # 1.0 is written "1"
    assert not proof.verify(X, y + 1)


def resealed(proof, **changes):
    return mm.Proof({**proof.to_dict(), **changes})


def test_no_other_plane_or_multipliers_pass():
    # Two points on each side of the line x = 0, and one far away: the optimum is w = 1, b = 0.
    X, y = [[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, 1.0], [5.0, 5.0]], [1, 1, 0, 0, 1]
    proof = mm.HardMarginSVC().prove(X, y).proof
    plane, multipliers = proof.content["plane"], proof.content["multipliers"]
    assert plane == {"w": ["1", "0"], "b": "0"}
    assert resealed(proof).verify(X, y)
    for other in ({"w": ["2", "0"], "b": "0"}, {"w": ["1", "0"], "b": "1/3"}):
        assert not resealed(proof, plane=other).verify(X, y)
    weights = multipliers["weights"]
    for wrong in (["-1", *weights[1:]], ["0", *weights[1:]], ["2/3", *weights[1:]]):
        part = {"rows": multipliers["rows"], "weights": wrong}
        assert not resealed(proof, multipliers=part).verify(X, y)
    longer = {"rows": [*multipliers["rows"], 4], "weights": [*weights, "0"]}
    assert not resealed(proof, multipliers=longer).verify(X, y)
    assert not resealed(proof, kind="separable").verify(X, y)
    assert resealed(proof, intercept=False).verify(X, y)  # b = 0: also the best through the origin


def test_through_the_origin_the_proof_says_so():
    X, y = [[2.0, 1.0], [1.0, -3.0]], [1, 0]
    free, through = (mm.HardMarginSVC(fit_intercept=k).prove(X, y) for k in (True, False))
    assert (free.proof.content["intercept"], through.proof.content["intercept"]) == (True, False)
    assert free.squared_margin > through.squared_margin
    assert through.proof.content["plane"]["b"] == "0"


def test_one_class_alone_is_separable_from_the_origin_but_two_are_asked_for():
    with pytest.raises(mm.InputError, match="two classes"):
        mm.HardMarginSVC(fit_intercept=False).prove([[1.0], [2.0]], [1, 1])


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_iris_says_which_machines_are_not_separable(multi_class):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(multi_class=multi_class).prove(X, names)
    error = caught.value
    pair = ("versicolor", "virginica")
    assert set(error.verdicts) == (set(pair) if multi_class == "ovr" else {pair})
    assert error.verdict is next(iter(error.verdicts.values()))
    for verdict in error.verdicts.values():
        assert verdict.kind == "overlapping"
        assert verdict.proof.verify(X, names)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_three_blobs(multi_class):
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b", "c"], 15)[rng.permutation(45)]
    centres = {"a": (0, 0), "b": (9, 1), "c": (3, 8)}
    X = np.array([centres[k] for k in y]) + rng.uniform(-1, 1, size=(45, 2))
    found = mm.HardMarginSVC(multi_class=multi_class).prove(X, y)
    labels = ["a", "b", "c"] if multi_class == "ovr" else [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(found) == labels
    fitted = mm.HardMarginSVC(multi_class=multi_class).fit(X, y)
    for label, optimum in found.items():
        positive = label if multi_class == "ovr" else label[1]
        mine = np.arange(45) if multi_class == "ovr" else np.flatnonzero(np.isin(y, label))
        check_optimum(optimum, X[mine], y[mine] == positive, rows=mine.tolist())
        assert set(optimum.alpha) <= set(mine.tolist())  # rows of the data as given
        assert optimum.proof.verify(X, y)
        assert not optimum.proof.verify(X[::-1], y[::-1])
        assert fitted.machines_[label].margin_ == pytest.approx(optimum.margin, rel=1e-9)


def test_the_estimator_stays_as_it_is():
    X, y = iris()
    model = mm.HardMarginSVC()
    before = dict(vars(model))
    model.prove(X, y)
    assert vars(model) == before
    model.fit([[0.0], [1.0]], ["x", "y"])
    before = copy.deepcopy(vars(model))
    model.prove(X, y)
    with pytest.raises(mm.NotSeparableError, match="no plane separates the two classes"):
        model.prove([[0.0], [0.0]], [0, 1])
    assert vars(model).keys() == before.keys()
    assert np.array_equal(model.coef_, [[2.0]]) and model.classes_.tolist() == ["x", "y"]
    assert model.n_features_in_ == 1


@pytest.mark.parametrize(
    "make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, np.asfortranarray]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_kinds_of_rows(make, dtype):
    X, y = gaussian(40, 5, 4, 0.3)
    X = X.astype(dtype)
    X[np.abs(X) < 0.4] = 0
    optimum = mm.HardMarginSVC().prove(make(X), y)
    plain = mm.HardMarginSVC().prove(X.astype(float), y)
    assert (optimum.w, optimum.b) == (plain.w, plain.b)
    check_optimum(optimum, X, y)
    assert optimum.proof.verify(X.astype(float), y) and plain.proof.verify(make(X), y)
    assert optimum.proof.to_dict()["data"] == plain.proof.to_dict()["data"]


def test_data_frames_and_text_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0, 1, 4], "b": [0, 2, 3]})
    y = pandas.Series(["no", "no", "yes"])
    optimum = mm.HardMarginSVC().prove(frame, y)
    assert (optimum.w, optimum.b) == ((Fraction(3, 5), Fraction(1, 5)), -2)
    assert optimum.proof.verify(frame, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[0.0], [np.nan]], [0, 1], "NaN in row 1, column 0"),
        ([[0.0], [np.inf]], [0, 1], "infinity in row 1, column 0"),
        ([[0.0], [1.0]], [0, 0], "at least two classes"),
        ([[0.0], [1.0]], [0, 1, 1], "one label per row"),
        ([0.0, 1.0], [0, 1], "2D array"),
        ([[], []], [0, 1], r"0 feature"),
        ([], [], "2D array"),
        ([["a"], ["b"]], [0, 1], "X must hold numbers"),
    ],
)
def test_bad_input(X, y, words):
    with pytest.raises(ValueError, match=words):  # of scikit-learn or of this package
        mm.HardMarginSVC().prove(X, y)


def test_bad_parameters():
    with pytest.raises(mm.InputError, match="multi_class"):
        mm.HardMarginSVC(multi_class="both").prove([[0.0], [1.0]], [0, 1])
    with pytest.raises(mm.InputError, match="fit_intercept"):
        mm.HardMarginSVC(fit_intercept="yes").prove([[0.0], [1.0]], [0, 1])


@pytest.fixture(scope="module")
def long_fractions():
    # Numbers of all sizes: the fractions have more digits than int-to-str conversion allows for.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(7, 6)) * 2.0 ** rng.integers(-900, 900, size=(7, 6))
    y = [0, 1, 0, 1, 0, 1, 0]
    return X, y, mm.HardMarginSVC().prove(X, y)


def test_fractions_of_many_digits_are_printed_and_stored(long_fractions, tmp_path):
    X, y, optimum = long_fractions
    assert optimum.squared_margin.numerator.bit_length() > 14_300
    check_optimum(optimum, X, y)
    assert "digits" in str(optimum) and len(str(optimum)) < 500
    again = pickle.loads(pickle.dumps(optimum))
    for name in ("w", "b", "alpha", "squared_margin", "solves", "rows_exact"):
        assert getattr(again, name) == getattr(optimum, name)
    assert str(again) == str(optimum)
    assert again.proof.verify(X, y) and copy.deepcopy(optimum).proof.verify(X, y)
    optimum.proof.save(tmp_path / "long.json")
    assert mm.Proof.load(tmp_path / "long.json").verify(X, y)
    assert json.loads((tmp_path / "long.json").read_text())["kind"] == "optimum"


def test_fractions_of_many_digits_can_be_looked_at(long_fractions):
    # What a notebook shows.
    assert repr(long_fractions[2])


def test_small_fractions_are_printed():
    text = str(mm.HardMarginSVC().prove([[0, 0], [1, 2], [4, 3]], [0, 0, 1]))
    assert "its square 5/2" in text
    assert "2 support vectors" in text
    assert "1.58113883008419" in text  # √(5/2)
