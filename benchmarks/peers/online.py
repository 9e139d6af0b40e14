"""Contestants of the perceptron: ten epochs in the order of the rows, or one row at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import maxmargin as mm
from benchmarks.peers.measure import Plane, Problem

EPOCHS = 10
CONSTANT = 11650396  # the feature that Vowpal Wabbit adds for the bias
Contest = tuple[Callable[[], Any], Callable[[Any], Plane]]  # the timed work, and the plane of its result


def plane_of(model: Any) -> Plane:
    """The plane of an estimator in scikit-learn's form."""
    w = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    return Plane(w.ravel().astype(np.float64), float(np.ravel(model.intercept_)[0]))


def ours(problem: Problem) -> Contest:
    """Our perceptron."""

    def plane(model: Any) -> Plane:
        found = plane_of(model)
        found.passes = int(model.n_iter_)
        return found

    return lambda: mm.Perceptron(max_iter=EPOCHS).fit(problem.X, problem.y), plane


def sklearn_perceptron(problem: Problem) -> Contest:
    """The same epochs by scikit-learn."""
    from sklearn.linear_model import Perceptron

    model = Perceptron(max_iter=EPOCHS, tol=None, shuffle=False)
    return lambda: model.fit(problem.X, problem.y), plane_of


def sklearn_sgd(problem: Problem) -> Contest:
    """Ten epochs of stochastic gradient descent on the hinge loss."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(max_iter=EPOCHS, tol=None, random_state=0)
    return lambda: model.fit(problem.X, problem.y), plane_of


def river(problem: Problem) -> Contest:
    """One pass of River's perceptron over dicts that are made beforehand."""
    from river import linear_model

    X = sparse.csr_matrix(problem.X)
    rows = [
        dict(zip(X.indices[i:j].tolist(), X.data[i:j].tolist(), strict=True))
        for i, j in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    labels = (problem.y > 0).tolist()

    def work() -> Any:
        model = linear_model.Perceptron()
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)
        return model

    def plane(model: Any) -> Plane:
        w = np.zeros(X.shape[1])
        for j, value in model.weights.items():
            w[j] = value
        return Plane(w, float(model.intercept), 1)

    return work, plane


def vowpal_text(X: Any, y: np.ndarray) -> str:
    """The rows in Vowpal Wabbit's own format."""
    X = sparse.csr_matrix(X)
    lines = []
    for label, i, j in zip(y.tolist(), X.indptr[:-1], X.indptr[1:], strict=True):
        pairs = zip(X.indices[i:j].tolist(), X.data[i:j].tolist(), strict=True)
        lines.append(f"{label} | " + " ".join(f"{k}:{v:.9g}" for k, v in pairs) + "\n")
    return "".join(lines)


def vowpal(problem: Problem, options: str = "", passes: int = EPOCHS) -> Contest:
    """Passes over a file that is written beforehand, with its adaptive steps on the hinge loss."""
    import vowpalwabbit

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "rows.vw"
    path.write_text(vowpal_text(problem.X, problem.y))
    d = problem.X.shape[1]
    bits = max(18, d.bit_length())
    words = f"--quiet --no_stdin --loss_function hinge -d {path} -b {bits} --holdout_off {options} "
    words += f"--passes {passes} -c -k" if passes > 1 else ""

    def plane(made: Any) -> Plane:
        assert folder.name  # the folder lives as long as the contest
        w = np.array([made.get_weight(j) for j in range(d)])
        b = made.get_weight(CONSTANT & ((1 << bits) - 1))
        return Plane(w, float(b), passes)

    return lambda: vowpalwabbit.Workspace(words), plane
