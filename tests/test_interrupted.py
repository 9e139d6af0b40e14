"""An estimator is as it was before when a fit fails, and when Ctrl-C ends it."""

import copy
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import maxmargin as mm
from bank import problem
from maxmargin.solvers import problem as examples
from maxmargin.solvers.perceptron import online

P = problem("overlap")
NEW = {
    "online": lambda **k: mm.Perceptron(
        average=True, order="shuffled", random_state=0, record=True, **k
    ),
    "batch": lambda **k: mm.BatchPerceptron(0.5, record=True, **k),
    "pocket": lambda **k: mm.PocketPerceptron(50, record=True, **k),
}
each = pytest.mark.parametrize("new", NEW.values(), ids=NEW)
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def everything(model):
    """All that can be asked of a model, as plain values."""
    state = {"keys": sorted(vars(model)), "params": model.get_params()}
    if hasattr(model, "classes_"):
        state["weights"] = copy.deepcopy((model.coef_.tolist(), model.intercept_.tolist()))
        state["counts"] = (model.n_mistakes_, model.n_iter_, model.n_features_in_, model.stop_reason_)
        state["classes"] = model.classes_.tolist()
        state["history"] = [m.history_["mistakes"].tolist() for m in model.machines_.values()]
        state["traces"] = [len(m.trace_) for m in model.machines_.values()]
        state["running"] = model._state.Z.tolist()
    return state


BAD = {
    "bad rows": lambda m: m.fit([[np.nan] * 4, [1.0] * 4], [0, 1]),
    "one class": lambda m: m.fit(P.X, np.ones(60)),
    "bad parameter": lambda m: m.set_params(multi_class="x").fit(P.X, P.y),
    "bad start": lambda m: m.fit(P.X, P.y, coef_init=[1.0]),
    "bad validation": lambda m: m.fit(P.X, P.y, X_val=P.X, y_val=P.y[:3]),
    "other width": lambda m: m.partial_fit(P.X[:, :2], P.y, classes=[-1, 1]),
    "other classes": lambda m: m.partial_fit(P.X, P.y, classes=[5, 6, 7]),
    "strange label": lambda m: m.partial_fit(P.X, np.arange(60), classes=[-1, 1]),
}


@each
@pytest.mark.parametrize("fitted", [False, True], ids=["fresh", "fitted"])
@pytest.mark.parametrize("attempt", BAD.values(), ids=BAD)
def test_a_failed_fit_changes_nothing(new, fitted, attempt):
    model = new()
    if fitted:
        model.fit(P.X[::-1], P.y[::-1])
    elif attempt is BAD["other width"] or attempt is BAD["other classes"]:
        model.partial_fit(P.X, P.y, classes=[-1, 1])
    before = everything(model)
    with pytest.raises(ValueError, match=r"\S"):
        attempt(model)
    if attempt is BAD["bad parameter"]:
        model.set_params(multi_class="ovr")
    assert everything(model) == before


@pytest.mark.parametrize("x", [[np.nan, 1.0], [1e300, 1.0], {"a": np.nan}, {"a": 1.0}])
@each
def test_a_failed_first_example_changes_nothing(new, x):
    model = new()  # it records, which does not go together with dicts
    with pytest.raises(ValueError, match=r"\S"):
        model.learn_one(x, 1)
    assert not hasattr(model, "classes_")
    assert model.predict_one([1.0, 2.0, 3.0]) is None


@each
def test_a_failed_later_example_changes_nothing(new):
    model = new().learn_one([1.0, 2.0], "a").learn_one([0.0, 1.0], "b")
    before = everything(model)
    for x, y in [([np.nan, 1.0], "a"), ([1.0], "a"), ([1.0, 1.0], "c"), ({"q": 1.0}, "a")]:
        with pytest.raises(ValueError, match=r"\S"):
            model.learn_one(x, y)
        assert everything(model) == before


def interrupt_after(monkeypatch, calls):
    """Let a kernel do its work so many times, and then be interrupted by Ctrl-C."""
    left = [calls]

    def interrupted(kernel):
        def work(*args):
            kernel(*args)
            left[0] -= 1
            if left[0] <= 0:
                raise KeyboardInterrupt

        return work

    monkeypatch.setattr(online, "sweep", interrupted(online.sweep))
    monkeypatch.setattr(examples, "decide", interrupted(examples.decide))
    monkeypatch.setattr(examples, "products", interrupted(examples.products))


@each
@pytest.mark.parametrize("calls", [1, 4])
@pytest.mark.parametrize("warm_start", [False, True])
def test_ctrl_c_in_fit_changes_nothing(new, calls, warm_start, monkeypatch):
    for fitted in (False, True):
        model = new(warm_start=warm_start)
        if fitted:
            model.fit(P.X[::-1], P.y[::-1])
        before = everything(model)
        with monkeypatch.context() as patch:
            interrupt_after(patch, calls)
            with pytest.raises(KeyboardInterrupt):
                model.fit(P.X, P.y)
        assert everything(model) == before


@each
def test_ctrl_c_in_partial_fit_changes_nothing(new, monkeypatch):
    y = np.arange(60) % 3
    model = new(multi_class="ovo").fit(P.X, y)
    before = everything(model)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(P.X[::-1], y[::-1])
    assert everything(model) == before


LONG_FITS = """
import itertools, signal, time, warnings
import numpy as np
import maxmargin as mm
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
rng = np.random.default_rng(0)
X, y = rng.standard_normal((200_000, 40)), rng.integers(0, 2, 200_000)
pocket = mm.PocketPerceptron(10**9, polish=False)
for model in (mm.Perceptron(max_iter=None), mm.BatchPerceptron(max_iter=None), pocket):
    # As large as the fit to come: a Ctrl-C while kernels are compiled would be lost.
    model.set_params(stop=mm.stopping.MaxUpdates(50)).fit(X, y).set_params(stop=None)
    keys, coef = sorted(vars(model)), model.coef_.tolist()
    clock, readings = time.perf_counter, itertools.count(1)

    def told_of():
        if next(readings) == 10:  # between pieces of the work the clock is read
            print("fitting", type(model).__name__, flush=True)
        return clock()

    time.perf_counter = told_of
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print(sorted(vars(model)) == keys and model.coef_.tolist() == coef, flush=True)
    time.perf_counter = clock
"""


def test_a_real_ctrl_c_ends_a_long_fit():
    command = [sys.executable, "-c", LONG_FITS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        guard = threading.Timer(300, child.kill)  # a fit that does not end is ended
        guard.start()
        try:
            for name in ("Perceptron", "BatchPerceptron", "PocketPerceptron"):
                assert child.stdout.readline() == f"fitting {name}\n"
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "True\n", name  # as it was before
            assert child.wait(300) == 0
        finally:
            guard.cancel()
            child.kill()
