"""Contestants of the margin machines that learn from X and y: ours, and the libraries of classifiers.

The hard margin is asked of them as the soft margin with a very high price of slack. Conversion to a
library's own format is not timed. ``effort`` is the tolerance, or the number of epochs for SGD.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

import maxmargin as mm
from benchmarks.peers.measure import Plane, Problem
from benchmarks.peers.online import Contest, plane_of

HARD = 1e6  # the price of slack that stands for the hard margin
MANY = 1_000_000  # iterations, where the tolerance shall decide


def price(problem: Problem) -> float:
    """C, or what stands for infinity."""
    return problem.C if problem.kind == "soft" else HARD


def ours(problem: Problem) -> Contest:
    """Our machines, to the gap that they promise by default, or to another."""
    tol = {} if problem.effort is None else {"tol": problem.effort}
    make = mm.HardMarginSVC if problem.kind == "hard" else mm.SoftMarginSVC
    given = tol if problem.kind == "hard" else {"C": problem.C, **tol}

    def plane(model: Any) -> Plane:
        found = plane_of(model)
        found.passes = int(model.n_passes_)
        return found

    return lambda: make(**given).fit(problem.X, problem.y), plane


def linear_svc(problem: Problem) -> Contest:
    """scikit-learn's copy of LIBLINEAR; it penalises b."""
    from sklearn.svm import LinearSVC

    more = {} if problem.effort is None else {"tol": problem.effort, "max_iter": MANY}
    model = LinearSVC(loss="hinge", C=price(problem), random_state=0, **more)
    return lambda: model.fit(problem.X, problem.y), plane_of


def svc(problem: Problem) -> Contest:
    """scikit-learn's copy of LIBSVM."""
    from sklearn.svm import SVC

    more = {} if problem.effort is None else {"tol": problem.effort}
    model = SVC(kernel="linear", C=price(problem), **more)
    return lambda: model.fit(problem.X, problem.y), plane_of


def intelex(problem: Problem) -> Contest:
    """The same class as patched by scikit-learn-intelex."""
    from sklearnex.svm import SVC

    more = {} if problem.effort is None else {"tol": problem.effort}
    model = SVC(kernel="linear", C=price(problem), **more)
    return lambda: model.fit(problem.X, problem.y), plane_of


def sgd(problem: Problem) -> Contest:
    """Stochastic gradient descent on the objective divided by nC."""
    from sklearn.linear_model import SGDClassifier

    alpha = 1.0 / (len(problem.y) * price(problem))
    more = {} if problem.effort is None else {"max_iter": int(problem.effort), "tol": None}
    model = SGDClassifier(alpha=alpha, random_state=0, **more)
    return lambda: model.fit(problem.X, problem.y), plane_of


def liblinear(problem: Problem) -> Contest:
    """LIBLINEAR's dual coordinate descent on the hinge loss; b is a feature, and penalised."""
    from liblinear.liblinearutil import parameter, train
    from liblinear.liblinearutil import problem as own

    d = problem.X.shape[1]
    data = own(problem.y.astype(np.float64), problem.X, bias=1)
    rule = "" if problem.effort is None else f" -e {problem.effort!r}"
    settings = parameter(f"-s 3 -B 1 -q -c {price(problem)!r}{rule}")

    def plane(model: Any) -> Plane:
        z = model.label[0] * np.array(model.w[: d + 1])
        return Plane(z[:-1], float(z[-1]))

    return lambda: train(data, settings), plane


def libsvm(problem: Problem) -> Contest:
    """LIBSVM with the linear kernel."""
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train

    X = problem.X if sparse.issparse(problem.X) else np.ascontiguousarray(problem.X)
    data = svm_problem(problem.y.astype(np.float64), X)
    rule = "" if problem.effort is None else f" -e {problem.effort!r}"
    settings = svm_parameter(f"-t 0 -q -c {price(problem)!r}{rule}")

    def plane(model: Any) -> Plane:
        side, support = model.get_labels()[0], np.array(model.get_sv_indices()) - 1
        w = side * (problem.X[support].T @ np.ravel(model.get_sv_coef()))
        return Plane(np.asarray(w).ravel(), -side * model.rho[0])

    return lambda: svm_train(data, settings), plane


def snap(problem: Problem) -> Contest:
    """Snap ML's support vector machine on all cores; b is a feature, and penalised."""
    from snapml import SupportVectorMachine

    more = {} if problem.effort is None else {"tol": problem.effort, "max_iter": 10_000}
    strength = 1.0 / price(problem)
    settings = {"fit_intercept": True, "random_state": 0, "n_jobs": os.cpu_count(), **more}
    model = SupportVectorMachine(regularizer=strength, **settings)
    return lambda: model.fit(problem.X, problem.y), plane_of


def skglm(problem: Problem) -> Contest:
    """The LinearSVC of skglm; it has no b, so a column of ones is added beforehand, and penalised."""
    from skglm import LinearSVC

    if sparse.issparse(problem.X):
        Z = sparse.csc_matrix(sparse.hstack([problem.X, np.ones((len(problem.y), 1))]))
    else:
        Z = np.asfortranarray(np.hstack([problem.X, np.ones((len(problem.y), 1))]))
    tol = {} if problem.effort is None else {"tol": problem.effort}
    model = LinearSVC(C=price(problem), max_iter=1000, fit_intercept=False, **tol)

    def plane(fitted: Any) -> Plane:
        z = np.asarray(fitted.coef_).ravel()
        return Plane(z[:-1], float(z[-1]))

    return lambda: model.fit(Z, problem.y), plane
