"""Which machine a curve is about, if there are several: its rows, their signs, and its name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError

__all__ = ["machine_title", "one_machine", "rows_of"]


def one_machine(estimator: Any, label: Hashable = None) -> Any:
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


def machine_title(machine: Any, estimator: Any) -> str:
    """The estimator's name, and which of its machines."""
    name = type(estimator).__name__
    if len(estimator.machines_) == 1:
        return name
    if isinstance(machine.label, tuple):
        return f"{name}: {machine.label[1]} against {machine.label[0]}"
    return f"{name}: {machine.label} against the rest"
