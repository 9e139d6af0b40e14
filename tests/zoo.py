"""Models of every kind, fitted or midway in a stream; and what it means that two are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.core.errors import BudgetWarning
from maxmargin.stopping import MaxEpochs, MaxSeconds, MaxUpdates, NeverStops, WeightsSettle

__all__ = ["NAMES", "STREAMS", "X", "assert_same", "model", "quietly", "y"]

X, y = load_iris(return_X_y=True)
WORDS = np.array(["setosa", "versicolor", "virginica"])[y]
TWO = slice(50, 150)  # two classes that overlap
STREAMS = {  # learn as examples arrive
    "online": mm.Perceptron,
    "averaged": lambda **k: mm.Perceptron(average=True, **k),
    "normalised": lambda **k: mm.Perceptron(normalize=True, threshold=0.1, **k),
    "batch": lambda **k: mm.BatchPerceptron(0.5, **k),
    "exact batch": mm.BatchPerceptron,
    "pocket": mm.PocketPerceptron,
}


def _streamed(model, average=False):
    model.set_params(random_state=3, **({"average": True} if average else {}))
    for x, label in zip(X[40:60], WORDS[40:60].tolist(), strict=True):
        model.learn_one({f"x{j}": v for j, v in enumerate(x) if j < 2 or label == "versicolor"}, label)
    return model


def _part(model, **options):
    model.set_params(random_state=1, **options)
    for k in range(3):
        model.partial_fit(X[k::3], y[k::3], classes=[0, 1, 2])
    return model


MAKE = {
    "unfitted": lambda: mm.Perceptron(stop=MaxSeconds(60) | (WeightsSettle(1e-9) & MaxUpdates(9))),
    "perceptron": lambda: mm.Perceptron().fit(X[:100], y[:100]),
    "averaged": lambda: mm.Perceptron(average=True, record=True, max_iter=5).fit(X, WORDS),
    "never stops": lambda: mm.Perceptron(stop=NeverStops(2) | MaxEpochs(9)).fit(X[TWO], y[TWO]),
    "pairs": lambda: mm.Perceptron(multi_class="ovo", class_weight={0: 2, 1: 1.5}, max_iter=7).fit(X, y),
    "shuffled": lambda: _part(mm.Perceptron(order="shuffled", average=True)),
    "one class": lambda: mm.Perceptron().learn_one([1.0, 2.0], "b"),
    "stream": lambda: _streamed(mm.Perceptron()),
    "averaged stream": lambda: _streamed(mm.Perceptron(normalize=True), average=True),
    "batch": lambda: mm.BatchPerceptron(record=True, max_iter=6).fit(X[TWO], WORDS[TWO]),
    "batch stream": lambda: _streamed(mm.BatchPerceptron()),
    "batch parts": lambda: _part(mm.BatchPerceptron(step=0.1), multi_class="ovo"),
    "pocket": lambda: mm.PocketPerceptron(
        200, "random", random_state=np.random.RandomState(4), record=True
    ).fit(pd.DataFrame(X, columns=list("abcd")), y),
    "pocket stream": lambda: _streamed(mm.PocketPerceptron()),
    "pocket parts": lambda: _part(mm.PocketPerceptron(order="shuffled")),
    "hard": lambda: mm.HardMarginSVC().fit(X[:100], y[:100] == 1),
    "hard, short": lambda: mm.HardMarginSVC(max_passes=1, fit_intercept=False).fit(X[:100], y[:100]),
    "soft": lambda: mm.SoftMarginSVC(np.float64(2), class_weight="balanced").fit(
        pd.DataFrame(X, columns=list("abcd")), WORDS
    ),
    "soft pairs": lambda: mm.SoftMarginSVC(multi_class="ovo", warm_start=True).fit(X, y),
    "fewest errors": lambda: mm.MinErrorClassifier(class_weight={"versicolor": 2}).fit(
        pd.DataFrame(X[TWO], columns=list("abcd")), WORDS[TWO], np.arange(100) % 3 + 0.5
    ),
    "fewest errors of pairs": lambda: mm.MinErrorClassifier(multi_class="ovo").fit(X, y),
    "cv": lambda: mm.SoftMarginSVCCV(Cs=np.array([0.1, 1.0]), cv=3, scoring="accuracy").fit(X, y),
}
NAMES = list(MAKE)


def quietly(model, *data, **more):
    """Fit the model, ours or scikit-learn's, without a warning that a budget ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **more)


def model(name):
    """Return a model of the zoo, made anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        return MAKE[name]()


# Made again when needed, or looked up in training rows, which no model takes along.
DERIVED = {"_machines_key", "_machines_kept", "_rows", "_support_vectors", "_n_support"}


def written(attributes):
    """Return what is written of some attributes: not what is made again, nor bounds nobody asked for."""
    unasked = any(map(callable, attributes.get("_lower_bounds") or ()))
    left_out = DERIVED | ({"_lower_bounds"} if unasked else set())
    return {key: value for key, value in attributes.items() if key not in left_out}


def assert_same(a, b, where="model"):
    """Every attribute has the same type and bits; sentences with remedies are stored as plain text."""
    if isinstance(a, str) and isinstance(b, str):
        assert str(a) == str(b), where
        return
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), where
    elif isinstance(a, dict):
        mine, theirs = written(a), written(b)
        assert mine.keys() == theirs.keys(), where
        for key, value in mine.items():
            assert_same(value, theirs[key], f"{where}.{key}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for k, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{k}]")
    elif isinstance(a, np.random.Generator):
        assert a.bit_generator.state == b.bit_generator.state, where
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state(), b.get_state(), where)
    elif type(a).__name__ == "Proof":
        assert a == b, where
    elif type(a).__name__ == "Verdict":  # as it is copied, with all that it finds on demand
        assert_same(a.__getstate__(), b.__getstate__(), where)
    elif hasattr(a, "__dict__"):
        assert_same(vars(a), vars(b), where)
    elif hasattr(a, "__slots__") and not isinstance(a, np.generic):
        for name in a.__slots__:
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    else:
        assert repr(a) == repr(b), where
