"""Perceptrons on partitions, in one process: the runs of a local fit, and of the textbook's mixing."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from maxmargin.kernels.perceptron import SEEN
from maxmargin.rows.survey import survey
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron import batch, pocket_partitions
from maxmargin.solvers.perceptron.batch import RemoteRisk, breaks, lowest
from maxmargin.solvers.perceptron.epochs import visiting_order
from maxmargin.solvers.perceptron.online import partitions_in_turn
from maxmargin.solvers.problem import Form, RemoteExamples
from maxmargin.stopping import (
    MaxSeconds,
    MaxUpdates,
    NeverStops,
    TrainingErrorStalls,
    ValidationErrorStalls,
    WeightsSettle,
)
from partitions import blocks
from simulated import Costs, Serial, Simulated

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def fitted(model, X, y, cuts, **more):
    data = survey(Serial(blocks(X, y, cuts)))
    if model.warm_start and hasattr(model, "classes_"):
        data = data.among(model.classes_)
    model._fit_data(data, **more)
    return model


def some_rows(n, d, classes=2, seed=0, noise=0.3, whole=False):
    """Rows, and labels that a plane (or the largest of several values) nearly tells."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, d)).astype(float) if whole else rng.normal(size=(n, d))
    F = X @ rng.normal(size=(d, classes)) + noise * rng.normal(size=(n, classes))
    y = np.argmax(F, axis=1)
    y[:classes] = range(classes)
    return X, y


def separable(n, d, seed=0, gap=0.2):
    X, _ = some_rows(n, d, seed=seed)
    w = np.random.default_rng(seed).normal(size=d)
    f = X @ w / np.linalg.norm(w)
    return X + np.outer(gap * np.sign(f), w / np.linalg.norm(w)), np.where(f > 0, "yes", "no")


def same_run(model, local):
    """All that two runs leave behind, but the seconds."""
    assert model._state.Z.tobytes() == local._state.Z.tobytes()
    assert model.coef_.tobytes() == local.coef_.tobytes()
    assert model.intercept_.tobytes() == local.intercept_.tobytes()
    assert (model.n_mistakes_, model.n_iter_) == (local.n_mistakes_, local.n_iter_)
    assert model.stop_reason_ == local.stop_reason_
    for label, machine in model.machines_.items():
        other = local.machines_[label]
        assert machine.stop_reason_ == other.stop_reason_
        for name in ("mistakes", "training_error", "validation_error", "norm", "running_error"):
            assert np.array_equal(machine.history_[name], other.history_[name], equal_nan=True), name


OPTIONS = st.fixed_dictionaries(
    {
        "threshold": st.sampled_from([0.0, 0.7]),
        "eta0": st.sampled_from([1.0, 0.3]),
        "fit_intercept": st.booleans(),
        "normalize": st.booleans(),
        "average": st.booleans(),
        "multi_class": st.sampled_from(["ovr", "ovo"]),
        "class_weight": st.sampled_from([None, "balanced", {1: 3.0}]),
        "track_error": st.booleans(),
        "max_iter": st.integers(1, 6),
        "stop": st.sampled_from(
            [None, MaxUpdates(7), TrainingErrorStalls(1), WeightsSettle(0.3), MaxSeconds(1e6)]
        ),
    }
)


@given(
    st.integers(0, 10**6),
    st.integers(4, 60),
    st.integers(1, 4),
    st.integers(2, 4),
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from([np.float64, np.float32, sparse.csr_array]),
    OPTIONS,
)
def test_handed_from_partition_to_partition_it_is_the_run_in_memory_bit_for_bit(
    seed, n, d, classes, cuts, form, options
):
    X, y = some_rows(n, d, classes, seed)
    X = form(X) if form is sparse.csr_array else X.astype(form)
    model = fitted(mm.Perceptron(**options), X, y, [min(cut, n) for cut in cuts])
    same_run(model, mm.Perceptron(**options).fit(X, y))


def test_validation_rows_here_or_in_partitions():
    X, y = some_rows(200, 3, 3)
    V, v = some_rows(90, 3, 3, seed=7)
    options = {"stop": ValidationErrorStalls(2), "max_iter": 30}
    local = mm.Perceptron(**options).fit(X, y, X_val=V, y_val=v)
    same_run(fitted(mm.Perceptron(**options), X, y, [70, 150], held_out=(V, v)), local)
    assert "validation_error_stalls" in local.stop_reason_.rule


def test_a_warm_start_goes_on_and_a_start_is_taken():
    X, y = some_rows(120, 3)
    begin = np.array([[0.5, -1.0, 2.0]]), np.array([0.25])
    local = mm.Perceptron(max_iter=2, warm_start=True).fit(X, y, *begin)
    model = mm.Perceptron(max_iter=2, warm_start=True)
    fitted(model, X, y, [50, 60], begin=begin)
    same_run(model, local)
    same_run(fitted(model, X, y, [30]), local.fit(X, y))
    with pytest.raises(mm.InputError, match="labels must be among the classes"):
        fitted(model, X, y + 1, [30])


def test_an_exact_proof_ends_a_run_that_never_would():
    X, y = some_rows(60, 2, noise=3.0)
    options = {"stop": NeverStops(2), "max_iter": None, "order": "shuffled", "random_state": 0}
    model = fitted(mm.Perceptron(**options), X, y, [20, 40])
    local = mm.Perceptron(**options).fit(X, y)
    assert model.stop_reason_.rule == local.stop_reason_.rule == "never_stops"
    assert not model.stop_reason_.verdict.separable and model.n_iter_ == 2


@pytest.mark.parametrize("order", ["shuffled", "random"])
def test_other_orders_visit_partitions_in_turn_and_their_rows_as_in_memory(order):
    X, y = some_rows(90, 3)
    cuts = [0, 25, 60, 90]
    model = fitted(mm.Perceptron(order=order, max_iter=2, random_state=3), X, y, cuts[1:-1])
    rng = np.random.default_rng(np.random.RandomState(3).randint(2**31))
    visited = []
    for _ in range(2):
        epoch = []
        for k, seed in partitions_in_turn(order, 3, rng):
            rows = np.arange(cuts[k], cuts[k + 1])
            epoch.append(visiting_order(order, rows, np.random.default_rng(seed)))
        visited.append(np.concatenate(epoch))
    assert not np.array_equal(*visited)
    if order == "shuffled":
        assert all(np.array_equal(np.sort(epoch), np.arange(90)) for epoch in visited)
    everything = np.concatenate(visited)
    local = mm.Perceptron(max_iter=1).fit(X[everything], y[everything])
    assert model.coef_.tobytes() == local.coef_.tobytes()
    assert model.n_mistakes_ == local.n_mistakes_


def mixing(parts, average, most):
    """McDonald, Hall and Mann (2010), in exact fractions: z after each epoch, and the mistakes in it."""
    z = [Fraction(0)] * (len(parts[0][0][0]) + 1)
    total, steps, path = [Fraction(0)] * len(z), 0, []
    for _ in range(most):
        ends, mistakes = [], 0
        for X, y in parts:
            own = list(z)
            for x, sign in zip(X, y, strict=True):
                a = [sign * v for v in (*x, 1)]
                if sum(v * w for v, w in zip(a, own, strict=True)) <= 0:
                    own = [w + v for v, w in zip(a, own, strict=True)]
                    mistakes += 1
                total = [t + w for t, w in zip(total, own, strict=True)]
                steps += 1
            ends.append(own)
        z = [sum(column) / len(parts) for column in zip(*ends, strict=True)]
        path.append(([t / steps for t in total] if average else z, mistakes))
        if not mistakes:
            break
    return path


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.booleans())
def test_mixing_is_the_mean_over_partitions_of_an_epoch_each(seed, parts, average):
    X, y = some_rows(40, 2, seed=seed, noise=0.0, whole=True)
    cuts = np.linspace(0, 40, parts + 1).astype(int)
    exact = [
        ([[Fraction(v) for v in row] for row in X[a:b].tolist()], (2 * y[a:b] - 1).tolist())
        for a, b in pairwise(cuts.tolist())
    ]
    model = mm.Perceptron(partitions="mixing", average=average, max_iter=6)
    fitted(model, X, y, cuts[1:-1].tolist())
    path = mixing(exact, average, most=model.n_iter_)  # a cycle may end it before
    assert model.history_["mistakes"].tolist() == [mistakes for _, mistakes in path]
    z = np.append(model.coef_[0], model.intercept_)
    assert z == pytest.approx(np.array([float(v) for v in path[-1][0]]), rel=1e-12, abs=1e-12)
    if not average and model.stop_reason_.rule == "all_correct":
        assert model.score(X, y) == 1.0


def test_mixing_separates_within_the_bound_of_its_theorem():
    X, y = separable(400, 3)
    bound = mm.mistake_bound(X, y).bound
    for parts in (2, 5, 20):
        cuts = np.linspace(0, 400, parts + 1).astype(int)[1:-1].tolist()
        model = fitted(mm.Perceptron(partitions="mixing", max_iter=None), X, y, cuts)
        assert model.stop_reason_.rule == "all_correct"
        assert model.history_["mistakes"][-1] == 0 and model.score(X, y) == 1.0
        assert model.n_mistakes_ <= parts * bound
        assert model._state.counts[0, SEEN] == 400 * model.n_iter_


def test_mixing_with_one_partition_is_the_run_in_memory():
    X, y = some_rows(80, 3, 3)
    options = {"partitions": "mixing", "average": True, "max_iter": 5}
    same_run(fitted(mm.Perceptron(**options), X, y, []), mm.Perceptron(**options).fit(X, y))


def test_mixing_takes_the_mean_of_partitions_with_rows_of_the_pair():
    X, y = some_rows(90, 2, 3)
    order = np.argsort(y, kind="stable")  # the first partition has one class only
    X, y = X[order], y[order]
    cut = int(np.count_nonzero(y == 0))
    model = mm.Perceptron(multi_class="ovo", partitions="mixing", max_iter=4)
    fitted(model, X, y, [cut])
    pair = np.flatnonzero(y != 0)  # all in the second partition: a run of its own
    alone = mm.Perceptron(max_iter=4).fit(X[pair], y[pair])
    assert np.array_equal(model.machines_[1, 2].coef_, alone.coef_[0])


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 50), max_size=4),
    st.sampled_from(["ovr", "ovo"]),
    st.sampled_from([None, {0: 2.0}]),
    st.sampled_from([1.0, 0.25]),
)
def test_fixed_batch_steps_on_whole_numbers_are_those_in_memory(seed, cuts, scheme, weight, step):
    X, y = some_rows(50, 2, 3, seed, whole=True)
    options = {"multi_class": scheme, "class_weight": weight, "max_iter": 10}
    local = mm.BatchPerceptron(step, **options).fit(X, y)
    model = fitted(mm.BatchPerceptron(step, **options), X, y, cuts)
    same_run(model, local)
    for label, machine in model.machines_.items():
        assert np.array_equal(machine.history_["risk"], local.machines_[label].history_["risk"])


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_exact_batch_steps_find_the_risks_of_a_local_run_in_few_rounds(form, normalize):
    X, y = some_rows(30_000, 4)
    options = {"max_iter": 6, "normalize": normalize}
    model = fitted(mm.BatchPerceptron(**options), form(X), y, [12_000, 12_000, 20_000])
    local = mm.BatchPerceptron(**options).fit(X, y)
    assert model.history_["risk"] == pytest.approx(local.history_["risk"], rel=1e-6)
    assert model.coef_ == pytest.approx(local.coef_, rel=1e-6)
    # The survey, the first look; and for each step the line, in one round or two, and a look.
    assert model.n_passes_ <= 2 + 6 * 3
    assert model.bytes_moved_ <= model.n_passes_ * 3 * 4096 * 3 * 8


line = st.tuples(st.integers(-6, 6), st.integers(-6, 6), st.integers(1, 4))


@given(st.lists(line, min_size=1, max_size=60), st.lists(st.integers(0, 60), max_size=3), st.booleans())
def test_the_line_search_brackets_the_minimum_of_all_partitions(rows, cuts, ties):
    m, q, _ = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    if not ties:
        m = m * (1.0 + np.arange(len(m)) / 1024.0)
    X, y = np.column_stack([m, q]), np.arange(len(m)) % 2
    signs = 2.0 * y - 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "BREAKPOINTS", 4)
        patch.setattr(batch, "GROUPS", 2)
        weight = np.array([1.0, 3.0])
        parts = blocks(X * signs[:, None], y, [min(cut, len(m)) for cut in cuts])
        data = survey(Serial([*parts, (np.zeros((2, 2)), np.array([0, 1]))]))
        machine = Machine(1, 1, 0, np.empty(0), weight)
        risk = RemoteRisk(RemoteExamples(data, Form(0.0)), [machine])
        z, d = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
        (t,) = risk.lengths(z, d)
    best = lowest(
        breaks(np.append(m, [0.0, 0.0]), np.append(q, [0.0, 0.0]), weight[np.append(y, [0, 1])])
    )
    assert t == pytest.approx(best, rel=1e-12)


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 80), max_size=4),
    st.sampled_from(["ovr", "ovo"]),
    st.sampled_from([None, {1: 4.0}]),
    st.sampled_from([5, 60, 150]),
)
def test_a_pocket_that_judges_every_update_is_the_one_in_memory(seed, cuts, scheme, weight, most):
    X, y = some_rows(80, 3, 3, seed, noise=1.0)
    options = {"multi_class": scheme, "class_weight": weight, "polish": False, "max_witnesses": 0}
    local = mm.PocketPerceptron(most, **options).fit(X, y)
    model = fitted(mm.PocketPerceptron(most, **options), X, y, cuts)
    same_run(model, local)
    assert model.best_error_ == pytest.approx(local.best_error_)
    assert model.best_update_ == local.best_update_


def errors(model, X, y):
    return float(np.mean((2 * y - 1) * model.decision_function(X) <= 0))


@pytest.mark.parametrize("polish", [False, True])
def test_errors_of_a_pocket_are_those_on_all_rows(polish, monkeypatch):
    X, y = some_rows(5_000, 4, noise=1.5)
    monkeypatch.setattr(pocket_partitions, "SAMPLED_ENTRIES", 4_000)
    options = {"polish": polish, "random_state": 0}
    model = fitted(mm.PocketPerceptron(2_000, **options), X, y, [1_000, 1_000, 2_500])
    assert model.best_error_ == errors(model, X, y)
    assert model.history_["mistakes"].max() > 64  # so some were not judged
    first = mm.PocketPerceptron(2_000, **options).fit(X, y)
    assert model.best_error_ <= 1.2 * first.unpolished_error_
    assert 0 < model.error_lower_bound_ <= model.best_error_
    assert model.best_error_ <= model.unpolished_error_
    assert model.history_["training_error"][-1] == model.unpolished_error_


def test_a_sample_of_all_rows_polishes_as_in_memory():
    X, y = some_rows(300, 3, noise=1.5)
    local = mm.PocketPerceptron(60, random_state=1).fit(X, y)
    model = fitted(mm.PocketPerceptron(60, random_state=1), X, y, [100, 220])
    assert np.array_equal(model.coef_, local.coef_)
    assert model.best_error_ == local.best_error_ < local.unpolished_error_
    assert model.error_lower_bound_ == local.error_lower_bound_ > 0


def test_passes_and_bytes_are_reported_and_forgotten_by_a_local_fit():
    X, y = some_rows(200, 3)
    model = fitted(mm.Perceptron(max_iter=5, track_error=False), X, y, [50, 100])
    assert model.n_passes_ == 1 + 5 + 1  # the survey, the epochs, the error of the last one
    state = 8 * (4 + 4) * 2  # z and the counts, to every partition and from it
    assert 5 * 3 * state <= model.bytes_moved_ <= 5 * 3 * 20 * state
    model.fit(X, y)
    assert not hasattr(model, "n_passes_") and not hasattr(model, "bytes_moved_")


def test_a_simulated_cluster_lets_one_worker_learn_at_a_time():
    X, y = some_rows(4_000, 4)
    costs = Costs(workers=10, latency=0.5, task=0.0, disk=1e8, network=1e12, memory=1e9)
    cuts = np.linspace(0, 4_000, 41).astype(int)[1:-1].tolist()
    executor = Simulated(blocks(X, y, cuts), costs, stand_for=1e6)
    model = mm.Perceptron(max_iter=3, track_error=False)
    model._fit_data(survey(executor))
    read = 1e6 * X.nbytes
    rounds = 2 * 0.5 + 5 * read / (10 * 1e8)
    learned = 3 * (4 * 0.5 + read / 1e9)  # four graphs of ten partitions in each epoch
    assert executor.clock == pytest.approx(rounds + learned, rel=1e-3)
