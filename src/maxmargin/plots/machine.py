"""One machine of several, as a classifier of its own: what is drawn for two classes is drawn for it.

With more than two classes a picture is about one machine: a class against all others (one-vs-rest), or
a pair of classes (one-vs-one). Its stand-in has the same weights, multipliers, history and trace, the
rows it was trained on and two labels; nothing is fitted again.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.history import Trace, Update
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.min_error_classifier import ErrorMachine
from maxmargin.rows.training_data import class_weights, encode
from maxmargin.solvers.perceptron.epochs import State

REST = "all others"  # sorts before "class …", so the class is +1


def machine_name(label: Hashable) -> str:
    """What a machine tells apart, by its label or pair.

    Examples
    --------
    >>> from maxmargin.plots.machine import machine_name
    >>> machine_name("setosa"), machine_name((1, 2))
    ('setosa against all others', '2 against 1')
    """
    if isinstance(label, tuple) and len(label) == 2:
        return f"{label[1]} against {label[0]}"
    return f"{label} against {REST}"


def machine_title(machine: Any, estimator: Any) -> str:
    """The estimator's name, and which of its machines."""
    name = type(estimator).__name__
    return name if len(estimator.machines_) == 1 else f"{name}: {machine_name(machine.label)}"


def find_machine(estimator: Any, label: Hashable = None) -> Any:
    """The machine of a label (one-vs-rest), of a pair (one-vs-one), or the only one."""
    check_is_fitted(estimator)
    machines = getattr(estimator, "machines_", None)
    if machines is None:
        raise InputError(
            "estimator must be a fitted classifier of this package, with machines_. "
            f"Got {type(estimator).__name__} instead."
        )
    if label is None and len(machines) == 1:
        return next(iter(machines.values()))
    if label is None or label not in machines:
        given = "none" if label is None else repr(label)
        raise InputError(
            f"label must name one of {len(machines)} machines: {', '.join(map(repr, machines))}. "
            f"Got {given} instead. Each of them is a picture of its own."
        )
    return machines[label]


def rows_of(machine: Any, estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a machine is about, and their signs ±1."""
    label, members = machine.label, np.arange(len(y))
    if len(estimator.classes_) > 2 and isinstance(label, tuple) and len(label) == 2:
        members = np.flatnonzero((y == label[0]) | (y == label[1]))
        label = label[1]
    return members, np.where(y[members] == label, 1.0, -1.0)


def stand_in(estimator: Any, X: Any, y: Any, label: Hashable = None) -> tuple[Any, Any, np.ndarray]:
    """Return one machine of a fitted classifier as a two-class classifier, with its rows and labels.

    Parameters
    ----------
    estimator : fitted classifier of this package
        Of two or more classes.
    X, y : array-like
        Its training data.
    label : label or pair of labels, optional
        Which machine, as in ``machines_``; needed if there are more than two classes.

    Returns
    -------
    machine : classifier
        Of the same kind, for every picture of two classes. One-vs-rest has the labels "all others" and
        "class …", one-vs-one those of the pair. Of two classes it is the estimator itself.
    X : array-like
        The rows it was trained on.
    y : array
        Their two labels.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.machine import stand_in
    >>> X, y = [[0, 0], [1, 0], [4, 0], [5, 1], [0, 6], [1, 7]], [1, 1, 2, 2, 3, 3]
    >>> machine, rows, labels = stand_in(mm.HardMarginSVC().fit(X, y), X, y, 2)
    >>> machine.classes_.tolist(), machine.predict([[6, 0]]).tolist()
    (['all others', 'class 2'], ['class 2'])
    """
    machine = find_machine(estimator, label)
    labels, known = np.asarray(y), list(estimator.machines_)
    if len(known) == 1:
        return estimator, X, labels
    members, signs = rows_of(machine, estimator, labels)
    two = _two_labels(estimator, machine.label)
    Z = np.append(machine.coef_, machine.intercept_)[None]
    made = copy.copy(estimator)
    # Whatever is kept by label is now that of the only one.
    by_label = {
        name: value[machine.label]
        for name, value in vars(estimator).items()
        if isinstance(value, dict) and list(value) == known
    }
    vars(made).update(by_label, classes_=two)
    if getattr(estimator, "class_weight", None) is not None:
        made.class_weight = _factors(estimator, machine, labels, two)
    if isinstance(machine, MarginMachine):
        alone = replace(machine_among(machine, members), label=two[1:].tolist()[0])
        vars(made).update(machines_={alone.label: alone}, _Z=Z, n_passes_=machine.n_passes_)
        made.n_iter_ = machine.n_passes_
    elif isinstance(machine, ErrorMachine):  # its bounds count the rows of all classes
        positive = two[1:].tolist()[0]
        made.machines_ = {positive: replace(machine, label=positive)}
    else:
        log = copy.copy(estimator._logs[known.index(machine.label)])
        log.label, log.trace = two[1:].tolist()[0], _trace_among(machine.trace_, members)
        vars(made).update(_logs=[log], _state=State.begin(Z))
        if "_lower_bounds" in vars(estimator):  # of a pocket
            made._lower_bounds = [estimator._lower_bounds[known.index(machine.label)]]
        made._publish()
        made.n_iter_, made.n_mistakes_ = machine.n_iter_, machine.n_mistakes_
        made.stop_reason_ = machine.stop_reason_
    part = X if len(members) == len(labels) else _safe_indexing(X, members)
    return made, part, two[(signs > 0).astype(np.intp)]


def _two_labels(estimator: Any, label: Hashable) -> np.ndarray:
    """The labels of a machine: −1 first."""
    if isinstance(label, tuple) and len(label) == 2:
        return np.asarray(estimator.classes_[encode(np.array(label), estimator.classes_)])
    return np.array([REST, f"class {label}"])


def _factors(estimator: Any, machine: Any, labels: np.ndarray, two: np.ndarray) -> dict[Hashable, float]:
    """The class weights of a machine; the rest counts once."""
    classes = estimator.classes_
    weights = class_weights(estimator.class_weight, classes, encode(labels, classes))
    known = dict(zip(classes.tolist(), weights.tolist(), strict=True))
    pair = machine.label if isinstance(machine.label, tuple) else (None, machine.label)
    return {name: known.get(label, 1.0) for name, label in zip(two.tolist(), pair, strict=True)}


def machine_among(machine: MarginMachine, rows: np.ndarray) -> MarginMachine:
    """The machine with its support vectors and late rows counted among these rows, and no others."""
    support, late = np.isin(machine.support_, rows), np.isin(machine.late_, rows)
    return replace(
        machine,
        support_=np.searchsorted(rows, machine.support_[support]),
        support_dual_=machine.support_dual_[support],
        support_bound_=machine.support_bound_[support],
        late_=np.searchsorted(rows, machine.late_[late]),
        late_slack_=machine.late_slack_[late],
        n_rows=len(rows),
    )


def _trace_among(trace: Trace | None, members: np.ndarray) -> Trace | None:
    """The updates with their rows counted likewise; −1 stands for all rows, and stays."""
    if trace is None:
        return None
    rows = [u.row if u.row < 0 else int(np.searchsorted(members, u.row)) for u in trace]
    updates = [Update(u.step, row, u.margin, u.weights) for u, row in zip(trace, rows, strict=True)]
    return Trace(trace.start, updates)
