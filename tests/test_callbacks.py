"""scikit-learn's callbacks (from version 1.9 on): told of every epoch, heard when they ask to stop."""

import subprocess
import sys

import numpy as np
import pytest

import maxmargin as mm
from bank import problem

callback = pytest.importorskip("sklearn.callback")

P = problem("virginica")
ESTIMATORS = {
    "online": lambda: mm.Perceptron(max_iter=8),
    "averaged": lambda: mm.Perceptron(average=True, max_iter=8),
    "batch": lambda: mm.BatchPerceptron(max_iter=8),
    "pocket": lambda: mm.PocketPerceptron(200, polish=False),
}


class Watcher:
    """Counts epochs, asks for a stop, and predicts with the model as it stands."""

    def __init__(self, stop_after=None, predict_on=None):
        self.stop_after, self.predict_on = stop_after, predict_on
        self.epochs, self.scores, self.calls = 0, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name != "epoch":
            return False
        self.epochs += 1
        if self.predict_on is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return self.epochs == self.stop_after


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_callback_sees_every_epoch_and_changes_nothing(new):
    watcher = Watcher()
    model = new().set_callbacks(watcher).fit(P.X, P.y)
    assert watcher.epochs == model.n_iter_ > 2
    assert watcher.calls == ["setup", "teardown"]
    assert model.coef_.tolist() == new().fit(P.X, P.y).coef_.tolist()


@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_callback_stops_the_fit(new):
    model = new().set_callbacks(Watcher(stop_after=2)).fit(P.X, P.y)
    assert model.n_iter_ == 2
    assert model.stop_reason_.rule == "callback"
    assert "callback asked" in str(model.stop_reason_)


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_callback_can_predict_with_the_weights_of_each_epoch(new):
    watcher = Watcher(predict_on=P.X)
    model = new().set_callbacks(watcher).fit(P.X, P.y)
    # A row on the boundary is an error for both classes but predicted negative: none lies on it here.
    np.testing.assert_allclose(watcher.scores, 1 - model.history_["training_error"], atol=1e-12)


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_scikit_learns_own_monitor_works(new):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = new().set_callbacks(monitor).fit(P.X, P.y)
    scores = [entry["accuracy"] for entry in monitor.get_logs().data]
    np.testing.assert_allclose(scores, 1 - model.history_["training_error"], atol=1e-12)


WITHOUT = """
import builtins

def find(name, globals=None, locals=None, fromlist=(), level=0):
    if name == "sklearn" and "callback" in (fromlist or ()):
        raise ImportError("as in the versions that have none")
    return found(name, globals, locals, fromlist, level)

found, builtins.__import__ = builtins.__import__, find
import maxmargin as mm
X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
models = mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron, mm.HardMarginSVC, mm.SoftMarginSVC
for model in (kind() for kind in models):
    print(model.fit(X, y).predict(X).tolist(), hasattr(model, "set_callbacks"))
"""


def test_the_models_need_no_callbacks():
    command = [sys.executable, "-W", "error", "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    assert done.stdout.splitlines() == ["[0, 0, 1, 1] False"] * 5
