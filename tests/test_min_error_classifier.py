"""The classifier with the fewest errors: the bounds of ``min_errors``, of one machine or several."""

import pickle
from fractions import Fraction

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from clocks import HOUR, Clock
from clocks import clock as clock
from commands import fresh_folder as fresh_folder
from commands import run, write
from maxmargin.estimators import min_error_classifier
from maxmargin.estimators.error_bounds import errors_of as read_errors
from maxmargin.estimators.min_error_classifier import in_canonical_form
from maxmargin.estimators.separability import Options
from maxmargin.plots import write_report
from maxmargin.plots.machine import stand_in
from maxmargin.saving import audit, from_liblinear, load, save, to_liblinear
from maxmargin.saving.model_file import from_dict, to_dict
from test_error_bounds import errors_of, grid, least_cost

IRIS = load_iris(return_X_y=True)
TWO = IRIS[0][50:], IRIS[1][50:]
EXACT = {"max_seconds": None}  # whatever the machine


def noisy(seed, n=30, d=2, classes=2):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, size=(n, d)).astype(float), rng.integers(0, classes, n)


def signs(y):
    return np.where(np.asarray(y) == np.max(y), 1, -1)


def margins(w, b, X, s):
    return s * (np.asarray(X) @ w + b)


# Two classes


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_are_those_of_brute_force_and_of_min_errors(seed, intercept):
    X, y = grid(seed)
    if not intercept:
        X[~X.any(axis=1)] = 1.0
    model = mm.MinErrorClassifier(fit_intercept=intercept, **EXACT).fit(X, y)
    truth = least_cost(X, y, intercept)
    assert model.best_error_ == model.error_lower_bound_ == float(truth / len(y))
    assert model.proven_ and model.proof_.verify(X, y)
    found = mm.min_errors(X, y, fit_intercept=intercept, **EXACT)
    mine = model.bounds_
    assert (mine.lower, mine.upper, mine.n_overlap) == (found.lower, found.upper, found.n_overlap)
    assert mine.given_up.tolist() == found.given_up.tolist() and mine.proof == found.proof
    assert list(model.machines_) == [1] and model.machines_[1].bounds_ is mine
    if mine.plane_is_exact:
        assert errors_of(model.coef_[0], model.intercept_[0], X, y) == truth


def test_the_plane_is_the_hard_margin_of_the_rows_kept():
    for X, y in (TWO, noisy(0), noisy(1), (IRIS[0][:100], IRIS[1][:100])):
        model = mm.MinErrorClassifier(**EXACT).fit(X, y)
        kept = np.setdiff1d(np.arange(len(y)), model.bounds_.given_up)
        hard = mm.HardMarginSVC().fit(X[kept], y[kept])
        np.testing.assert_allclose(hard.margin_, model.bounds_.margin, rtol=1e-5)
        np.testing.assert_allclose(model.coef_, hard.coef_, rtol=0, atol=2e-3 * abs(hard.coef_).max())
        values = margins(model.coef_[0], model.intercept_[0], X[kept], signs(y)[kept])
        np.testing.assert_allclose(values.min(), 1.0, rtol=1e-9)
        predicted = model.predict(X[kept])
        assert predicted.tolist() == y[kept].tolist()


def test_a_plane_that_rounding_would_change_stays_as_it_is():
    X, y = np.array([[1.0], [1.0 + 2.0**-52], [3.0]]), [0, 1, 1]
    errors = read_errors(X, y, None, Options(), "test")
    found = mm.min_errors(X, y)
    w, b = in_canonical_form(errors, found)
    assert errors.wrong(w, b).tolist() == found.given_up.tolist() == []
    model = mm.MinErrorClassifier().fit(X, y)
    assert (model.coef_[0].tolist(), model.intercept_[0]) == (w.tolist(), b)
    assert model.predict(X).tolist() == y


def test_all_rows_kept_are_of_one_class():
    X, y = [[0.0], [0.0], [0.0]], ["a", "b", "b"]
    model = mm.MinErrorClassifier(**EXACT).fit(X, y)
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[0.0]], [1.0])
    assert model.best_error_ == model.error_lower_bound_ == 1 / 3
    assert model.predict([[9.0]]).tolist() == ["b"]
    through = mm.MinErrorClassifier(fit_intercept=False, **EXACT).fit(X, y)  # no row can be right
    assert (through.best_error_, through.proven_) == (1.0, True)


@pytest.mark.parametrize("seed", range(6))
def test_weights_of_rows_and_classes_are_costs(seed):
    X, y = (part[:7] for part in grid(seed))
    weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 4
    factor = {1: 3.0, -1: 0.5}
    cost = [Fraction(v) * Fraction(factor[s]) for v, s in zip(weight.tolist(), y.tolist(), strict=True)]
    model = mm.MinErrorClassifier(class_weight=factor, **EXACT).fit(X, y, weight)
    truth = least_cost(X, y, cost=cost)
    assert Fraction(model.bounds_.upper) == Fraction(model.bounds_.lower) == truth
    np.testing.assert_allclose(model.best_error_, float(truth / sum(cost)), rtol=1e-15)
    assert model.proof_.verify(X, y)
    found = mm.min_errors(X, y, sample_weight=[float(v) for v in cost], **EXACT)
    assert (found.lower, found.upper) == (model.bounds_.lower, model.bounds_.upper)


def test_balanced_weights_are_fractions():
    X, y = noisy(3, 33)
    counts = np.bincount(y)
    model = mm.MinErrorClassifier(class_weight="balanced", **EXACT).fit(X, y)
    assert model.proven_ and model.proof_.verify(X, y)
    costs = [Fraction(len(y), 2 * int(counts[k])) for k in y]
    assert [Fraction(text) for text in model.proof_.content["costs"]] == costs
    assert model.bounds_.upper == float(sum(costs[i] for i in model.bounds_.given_up))
    weight = np.arange(33) % 3  # a class counts by the weight of its rows
    weighted = mm.MinErrorClassifier(class_weight="balanced", **EXACT).fit(X, y, weight)
    again = np.repeat(np.arange(33), weight)
    assert weighted.bounds_.upper == pytest.approx(
        mm.MinErrorClassifier(class_weight="balanced", **EXACT).fit(X[again], y[again]).bounds_.upper
    )


def test_rows_of_weight_zero_are_left_out():
    X, y = TWO
    weight = np.ones(100)
    weight[[33, 40]] = 0.0  # the row that stood in the way, and another
    model = mm.MinErrorClassifier(**EXACT).fit(X, y, weight)
    assert model.best_error_ == 0.0 and model.proven_
    used = weight > 0
    assert model.proof_.verify(X[used], y[used]) and not model.proof_.verify(X, y)
    weight[[33, 40]] = 1.0, 0.0
    model = mm.MinErrorClassifier(**EXACT).fit(X, y, weight)
    assert model.bounds_.given_up.tolist() == [33]  # its number in X
    assert model.best_error_ == 1 / 99


# Several classes


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("weight", [None, {0: 2.0, 1: 0.5, 2: 1.0}])
def test_every_machine_is_a_call_of_min_errors(multi_class, weight):
    X, y = noisy(5, 40, classes=3)
    model = mm.MinErrorClassifier(multi_class=multi_class, class_weight=weight, **EXACT).fit(X, y)
    labels = [0, 1, 2] if multi_class == "ovr" else [(0, 1), (0, 2), (1, 2)]
    assert list(model.machines_) == labels == list(model.best_error_) == list(model.proof_)
    for k, (label, machine) in enumerate(model.machines_.items()):
        pair = label if multi_class == "ovo" else (None, label)
        mine = np.isin(y, pair) if multi_class == "ovo" else np.ones(40, dtype=bool)
        cost = [1.0 if weight is None else weight[v] for v in y[mine].tolist()]
        if multi_class == "ovr":
            cost = [c if v == label else 1.0 for c, v in zip(cost, y[mine].tolist(), strict=True)]
        found = mm.min_errors(X[mine], y[mine] == pair[1], sample_weight=cost, **EXACT)
        bounds = machine.bounds_
        assert (bounds.lower, bounds.upper) == (found.lower, found.upper) and bounds.proven
        assert set(bounds.given_up) <= set(np.flatnonzero(mine))
        assert model.best_error_[label] == found.upper / sum(cost)
        assert model.error_lower_bound_[label] == model.best_error_[label]
        assert model.proof_[label].verify(X, y)
        if bounds.plane_is_exact:
            s = np.where(y == pair[1], 1, -1)
            wrong = margins(model.coef_[k], model.intercept_[k], X, s) <= 0
            assert np.flatnonzero(wrong & mine).tolist() == bounds.given_up.tolist()
    assert model.proven_ is True
    assert model.score(X, y) > 1 / 3


def test_machines_share_the_time(monkeypatch):
    answer, ends = mm.min_errors([[0.0], [1.0]], [0, 1]), []

    def solve(errors, random_state):
        ends.append(errors.question.deadline.end)
        return answer

    monkeypatch.setattr(min_error_classifier, "fewest_errors", solve)
    with Clock().ticking():  # seven hours; an hour passes before each of three machines
        mm.MinErrorClassifier(7 * HOUR).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert np.diff(ends).tolist() == [
        1.5 * HOUR,
        2.5 * HOUR,
    ]  # ends at 3, 4.5 and 7: what is left counts


# Budgets


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("hours", [50, 200])
def test_an_interval_when_the_time_is_over(hours):
    X, y = noisy(7, 60, 5)
    with pytest.warns(mm.BudgetWarning, match="time was over before") as caught:
        model = mm.MinErrorClassifier(3600.0 * hours).fit(X, y)
    bounds = model.bounds_
    assert bounds.late and 1 <= bounds.lower < bounds.upper < 60
    assert not model.proven_
    assert model.error_lower_bound_ == bounds.lower / 60 < model.best_error_ == bounds.upper / 60
    assert model.proof_.verify(X, y)
    text = str(caught[0].message)
    assert f"makes {bounds.upper} errors, and no plane makes fewer than {bounds.lower}. " in text
    assert text.endswith("Raise max_seconds, or use PocketPerceptron for a quick answer.")


def test_the_warning_names_machines():
    X, y = noisy(7, 60, 5, classes=3)
    with pytest.warns(mm.BudgetWarning, match=r"fewest errors of 3 of 3 machines .*\. 0: The plane"):
        mm.MinErrorClassifier(1e-9).fit(X, y, np.full(60, 0.25))


def test_many_rows_are_bounded_by_disjoint_witnesses(monkeypatch):
    monkeypatch.setattr("maxmargin.estimators.min_errors.MAX_SEARCHED", 10)
    X, y = noisy(7, 60, 4)
    with pytest.warns(mm.BudgetWarning, match="Disjoint witnesses") as caught:
        model = mm.MinErrorClassifier(**EXACT).fit(X, y)
    assert not model.bounds_.late and not model.proven_
    assert "max_seconds" not in str(caught[0].message)


# Whatever comes in


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "float32", "frame", "list"])
def test_all_kinds_of_rows_have_the_same_model(kind):
    X, y = noisy(2, 40, 4)
    dense = mm.MinErrorClassifier(**EXACT).fit(X, y)
    rows = {"float32": X.astype(np.float32), "frame": pd.DataFrame(X), "list": X.tolist()}.get(kind)
    rows = sparse.coo_array(X).asformat(kind) if rows is None else rows
    other = mm.MinErrorClassifier(**EXACT).fit(rows, y)
    assert other.bounds_.given_up.tolist() == dense.bounds_.given_up.tolist()
    assert other.proof_ == dense.proof_
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-12, atol=0)
    assert other.predict(rows).tolist() == dense.predict(X).tolist()
    assert mm.separability(rows, y).kind == "overlapping"


def test_rows_of_a_file_and_names_of_features(tmp_path):
    X, y = TWO
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    table.to_csv(tmp_path / "d.csv", index=False)
    rows = mm.open_rows(tmp_path / "d.csv", label="kind")
    of_file = mm.MinErrorClassifier(**EXACT).fit(rows)
    of_frame = mm.MinErrorClassifier(**EXACT).fit(table[list("abcd")], table.kind)
    assert of_file.proof_ == of_frame.proof_
    assert of_file.feature_names_in_.tolist() == of_frame.feature_names_in_.tolist() == list("abcd")
    assert of_file.bounds_.given_up.tolist() == [33]


def test_what_is_refused():
    X, y = TWO
    with pytest.raises(mm.InputError, match=r"Dask collections can be given to .* compute\(\)"):
        mm.MinErrorClassifier().fit(da.from_array(X), da.from_array(y))
    with pytest.raises(mm.InputError, match="doubles hold exactly"):
        mm.MinErrorClassifier().fit([[2**53 + 1], [0]], [0, 1])
    with pytest.raises(mm.InputError, match="NaN in row 1"):
        mm.MinErrorClassifier().fit([[0.0], [np.nan]], [0, 1])
    with pytest.raises(mm.InputError, match="at least two classes"):
        mm.MinErrorClassifier().fit(X, np.zeros(100))


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "max_seconds": [0, -1, "long", float("nan"), True],
        "fit_intercept": ["yes", 1, None],
        "multi_class": ["crammer", None],
        "class_weight": ["heavy", 3, {1: -1}, {7: 1.0}],
        "random_state": ["abc", -5, 1.5],
        "verbose": [-1, None],
    }.items(),
)
def test_bad_parameters_are_named(name, values):
    for value in values:
        model = mm.MinErrorClassifier(**{name: value})
        with pytest.raises(mm.InputError, match=rf"^{name}\b.* must (be|hold|name) .+ Got "):
            model.fit([[0.0], [1.0]], [0, 1])
        assert not hasattr(model, "n_features_in_")  # as it was before


def test_nothing_is_known_before_fit():
    for name in ("best_error_", "error_lower_bound_", "proven_", "proof_", "bounds_", "coef_"):
        with pytest.raises(AttributeError, match="before fit"):
            getattr(mm.MinErrorClassifier(), name)


def test_parameters_set_after_fit_change_no_prediction():
    X, y = IRIS
    model = mm.MinErrorClassifier(multi_class="ovo", **EXACT).fit(X, y)
    before = model.decision_function(X)
    model.set_params(multi_class="ovr", fit_intercept=False)
    assert np.array_equal(model.decision_function(X), before)


# The house around it


def test_copies_have_the_bounds_and_the_proof(tmp_path):
    X, y = IRIS
    model = mm.MinErrorClassifier(multi_class="ovo", **EXACT).fit(X, y)
    save(model, tmp_path / "model.json")
    copies = [
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "model.json"),
        from_dict(to_dict(model)),
    ]
    for other in copies:
        assert other.best_error_ == model.best_error_ and other.proven_
        assert other.predict(X).tolist() == model.predict(X).tolist()
        assert other.proof_ == model.proof_ and other.proof_[1, 2].verify(X, y)
        assert str(other.bounds_[1, 2]) == str(model.bounds_[1, 2])
    assert not hasattr(clone(model), "classes_")


def test_a_damaged_proof_in_a_file_is_refused():
    content = to_dict(mm.MinErrorClassifier(**EXACT).fit(*TWO))
    content["state"]["machines"][0]["bounds"]["proof"]["lower"] = "0"
    with pytest.raises(mm.InputError, match="proof must be unchanged"):
        from_dict(content)


def test_a_checkpoint_keeps_the_finished_fit(tmp_path):
    models = [
        mm.checkpoint(mm.MinErrorClassifier(**EXACT), tmp_path / "fit.json", every=0.0).fit(*TWO)
        for _ in range(2)
    ]
    assert models[0].proof_ == models[1].proof_
    assert models[0].coef_.tolist() == models[1].coef_.tolist()


def test_pipelines_and_searches():
    X, y = noisy(4, 30)
    pipe = make_pipeline(StandardScaler(), mm.MinErrorClassifier(**EXACT))
    search = GridSearchCV(pipe, {"minerrorclassifier__class_weight": [None, "balanced"]}, cv=2).fit(X, y)
    best = search.best_estimator_[-1]
    assert best.proven_ and best.proof_.verify(search.best_estimator_[0].transform(X), y)


def test_it_is_exported_and_audited(tmp_path):
    X, y = TWO
    model = mm.MinErrorClassifier(**EXACT).fit(X, y)
    to_liblinear(model, tmp_path / "model.txt")
    assert from_liblinear(tmp_path / "model.txt").predict(X).tolist() == model.predict(X).tolist()
    found = mm.certify(model, X, y, C=1.0)
    slack = np.maximum(0.0, 1.0 - margins(model.coef_[0], model.intercept_[0], X, signs(y)))
    np.testing.assert_allclose(
        found.primal, 0.5 * model.coef_[0] @ model.coef_[0] + slack.sum(), rtol=1e-9
    )
    assert audit(model, X, y, C=1.0).primal == pytest.approx(found.primal)
    apart = mm.MinErrorClassifier(**EXACT).fit(IRIS[0][:100], IRIS[1][:100])
    assert mm.certify(apart, IRIS[0][:100], IRIS[1][:100]).relative_gap < 1e-5  # the hard margin


def test_a_machine_of_several_stands_alone():
    X, y = IRIS
    model = mm.MinErrorClassifier(multi_class="ovo", **EXACT).fit(X, y)
    alone, rows, labels = stand_in(model, X, y, (1, 2))
    assert alone.best_error_ == model.best_error_[1, 2]
    assert np.count_nonzero(alone.predict(rows) != labels) == 1
    assert list(model.machines_) == [(0, 1), (0, 2), (1, 2)]


def test_the_commands_know_it():
    X, y = TWO
    lines = [
        ",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    write("d.csv", "\n".join(lines) + "\n")
    code, out, _ = run("fit", "d.csv", "--model", "min-errors", "--out", "m.json")
    assert code == 0 and "1 error found; no plane makes fewer." in out
    assert "Training error: 1.00 % (1 of 100 rows)" in out
    assert load("m.json").proof_.verify(X, y)
    assert run("predict", "m.json", "d.csv")[0] == 0
    code, out, _ = run("audit", "m.json", "d.csv", "--C", "1")
    assert code == 1 and "Not optimal" in out
    code, _, err = run("audit", "m.json", "d.csv")
    assert code == 2 and "--C" in err
    assert run("report", "d.csv", "--model", "min-errors", "--share", "0", "--out", "r.html")[0] == 0
    with open("r.html", encoding="utf-8") as page:
        assert "1 error found; no plane makes fewer." in page.read()


def test_a_report_on_many_machines_has_a_table_of_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.plots.report.page.MAX_PICTURED_MACHINES", 1)
    X, y = IRIS
    model = mm.MinErrorClassifier(multi_class="ovo", **EXACT).fit(X, y)
    page = write_report(tmp_path / "r.html", model, X, y).read_text(encoding="utf-8")
    assert "below: 3 of 3 are proven" in page and "0 errors found; no plane makes fewer." in page
    rest = page.split("2 more machines")[1].split("</details>")[0]
    for name in ("errors", "at least", "wrong"):
        assert f"<th>{name}</th>" in rest
    assert "<td>1</td><td>1</td><td>1</td>" in rest
