"""The record of a run: a line per epoch, a frame per update, and JSON that keeps every bit."""

import math

import numpy as np
import pandas as pd
import pytest

import maxmargin as mm
import twins
from bank import BANK, problem
from maxmargin.stopping import MaxUpdates, ValidationErrorStalls

COLUMNS = [
    "epoch",
    "mistakes",
    "training_error",
    "validation_error",
    "norm",
    "seconds",
    "risk",
    "running_error",
]
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def test_history_of_the_perceptron_is_that_of_the_twin():
    p = problem("overlap")
    history = mm.Perceptron(max_iter=6).fit(p.X, p.y).history_
    twin = twins.online(p.X, p.y, [range(60)] * 6)
    assert history.columns() == COLUMNS
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert history["mistakes"].tolist() == twin.per_epoch
    wrong = [twins.errors(p.X, p.y, z[:-1], z[-1]) / 60 for z in twin.ends]
    assert history["training_error"].tolist() == wrong
    np.testing.assert_allclose(history["norm"], [math.hypot(*z[:-1]) for z in twin.ends], rtol=1e-14)
    assert np.all(np.diff(history["seconds"]) >= 0)
    for column in ("validation_error", "risk", "running_error"):
        assert np.isnan(history[column]).all()


def test_history_reads_as_sequence_table_and_columns():
    p = problem("overlap")
    history = mm.Perceptron(max_iter=6).fit(p.X, p.y).history_
    assert len(history) == len(list(history)) == 6
    assert history[-1].epoch == 6
    assert [e.epoch for e in history[1:3]] == [2, 3]
    frame = pd.DataFrame(history.to_dicts())
    assert list(frame) == COLUMNS
    assert frame["mistakes"].tolist() == history["mistakes"].tolist()
    assert repr(history).startswith("History(6 epochs")
    with pytest.raises(KeyError, match="'loss' is not a column; the columns are"):
        history["loss"]


def test_a_run_without_end_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("maxmargin.core.history.MAX_LINES", 10)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    model = mm.Perceptron(max_iter=None, stop=MaxUpdates(2000)).fit(X, y)
    history = model.history_
    assert len(history) <= 10 and history[-1].epoch == model.n_iter_ > 50
    assert history["mistakes"].sum() == model.n_mistakes_
    model.partial_fit(X, y)
    assert model.history_[-1].epoch == model.n_iter_


def test_a_row_on_the_boundary_is_an_error_in_the_history():
    model = mm.Perceptron(fit_intercept=False, max_iter=1).fit([[1.0, 0.0], [0.0, 0.0]], [1, 0])
    assert model.history_["training_error"].tolist() == [0.5]


def moves(trace):
    """The weights before and after every update."""
    W = trace.weights
    return zip(trace, W[:-1], W[1:], strict=True)


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_trace_is_that_of_the_twin(p):
    model = mm.Perceptron(max_iter=10, record=True).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_)
    assert model.trace_.start.tolist() == [0.0] * (p.X.shape[1] + 1)
    assert [u.weights.tolist() for u in model.trace_] == [z for *_, z in twin.updates]
    assert [(u.step, u.row) for u in model.trace_] == [(step, row) for step, row, *_ in twin.updates]
    margins = [margin for _, _, margin, _ in twin.updates]
    size = np.abs(p.X).max() ** 2
    np.testing.assert_allclose([u.margin for u in model.trace_], margins, rtol=1e-12, atol=1e-12 * size)


def test_recording_changes_nothing():
    p = problem("virginica")
    for settings in (
        {},
        {"average": True},
        {"order": "shuffled", "random_state": 1},
        {"normalize": True},
    ):
        plain, recorded = (
            mm.Perceptron(max_iter=9, record=r, **settings).fit(p.X, p.y) for r in (False, True)
        )
        assert plain.coef_.tolist() == recorded.coef_.tolist()
        assert plain.history_["mistakes"].tolist() == recorded.history_["mistakes"].tolist()
        assert not hasattr(plain, "trace_")
        assert len(recorded.trace_) == recorded.n_mistakes_


def test_margins_of_a_trace_are_scaled_like_its_rows():
    p = problem("virginica")
    trace = mm.Perceptron(max_iter=5, normalize=True, record=True).fit(p.X, p.y).trace_
    twin = twins.online(p.X, p.y, [range(100)] * 5, normalize=True)
    np.testing.assert_allclose([u.margin for u in trace], [m for _, _, m, _ in twin.updates], atol=1e-13)


ROWS = {
    "online": lambda **k: mm.Perceptron(max_iter=5, record=True, **k),
    "pocket": lambda **k: mm.PocketPerceptron(60, record=True, **k),
}


@pytest.mark.parametrize(
    "settings", [{"multi_class": "ovo"}, {"stop": ValidationErrorStalls(9, fraction=0.3)}]
)
@pytest.mark.parametrize("new", ROWS.values(), ids=ROWS)
def test_rows_of_a_trace_are_indices_into_x(new, settings):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 3
    model = new(random_state=0, **settings).fit(X, y)
    for label, trace in model.trace_.items():
        positive = label[1] if isinstance(label, tuple) else label
        for update, before, after in moves(trace):
            sign = 1.0 if y[update.row] == positive else -1.0
            np.testing.assert_allclose(after - before, sign * np.append(X[update.row], 1.0), atol=1e-12)


def test_trace_of_the_batch_perceptron_has_a_frame_per_step():
    p = problem("overlap")
    model = mm.BatchPerceptron(0.5, max_iter=7, record=True).fit(p.X, p.y)
    path = [p.A[0].tolist(), *twins.batch(p.A.tolist(), p.A[0], 0.5, 7)]
    np.testing.assert_allclose(model.trace_.weights, path, rtol=1e-12, atol=1e-12)
    assert [(u.step, u.row) for u in model.trace_] == [(k, -1) for k in range(1, 8)]
    risks = [-twins.risk(p.A.tolist(), z) for z in path[:-1]]
    np.testing.assert_allclose([u.margin for u in model.trace_], risks, rtol=1e-12, atol=1e-12)


def test_trace_goes_on_in_partial_fit():
    p = problem("overlap")
    model = mm.Perceptron(record=True, stop=MaxUpdates(9)).fit(p.X, p.y)
    model.partial_fit(p.X, p.y)
    assert len(model.trace_) == model.n_mistakes_ > 9
    assert model.trace_[-1].weights.tolist() == [*model.coef_[0], model.intercept_[0]]
