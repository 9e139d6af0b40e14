"""Is my data linearly separable? A verdict with an exact proof."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.cluster.collections import is_remote
from maxmargin.core.params import check_bool, check_number
from maxmargin.estimators.door import remote
from maxmargin.estimators.judging import judge
from maxmargin.estimators.machines import build_machines
from maxmargin.estimators.question import Labelled, ask, read_labelled
from maxmargin.solvers.problem import Machine

__all__ = ["answered", "asked", "decide", "decide_labelled", "separability"]

Answer = Verdict | MulticlassVerdict


def separability(X: Any, y: Any = None, *, fit_intercept: bool = True, tol: float = 0.05) -> Answer:
    """Decide whether a plane separates the classes, and prove it.

    Every verdict is exact for the numbers as they are stored: the plane is proven on every row, or the
    witness cancels exactly, in integers. Floating point is used to find them, and its error bounds where
    they decide. There is no tolerance and no undecided case. The independent checker confirms the whole
    proof on data of up to 65,536 numbers, and the witness, the span and their ranks on any;
    ``verdict.proof.verify(X, y)`` has it confirm every row.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows of finite numbers of any size; float32 and float64 are used as they are. The partitions of a
        Dask collection stay where they are: a verdict on some rows is put before all, and rows that
        contradict it join them, until none does.
    y : array-like of shape (n,)
        Labels; two or more distinct values. Rows of a file bring their own; for a Dask collection a
        Dask array or series with the same partitions.
    fit_intercept : bool, default True
        Allow for any plane; otherwise only planes through the origin.
    tol : float in (0, 1), default 0.05
        On larger data, stop looking for a better plane when the bounds on the largest margin are within
        half of this share of each other, as far as floating point goes. It has no influence on the
        verdict.

    Returns
    -------
    Verdict or MulticlassVerdict
        With more than two classes, a verdict for each class against the rest and for each pair.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]).kind
    'overlapping'
    >>> mm.separability([[0.0], [5e-324]], ["no", "yes"]).kind
    'separable'
    """
    return decide(X, y, fit_intercept=fit_intercept, tol=tol)


def decide(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    tol: float = 0.05,
    names: Sequence[str] | None = None,
    sides: tuple[Hashable, Hashable] | None = None,
) -> Answer:
    """Decide for given feature names, and for the classes asked for: (one, other), None: all others."""
    check_bool("fit_intercept", fit_intercept)
    check_number("tol", tol, above=0, below=1)
    if is_remote(X):
        return cast(Answer, remote("separability").decide_remote(X, y, fit_intercept, tol, names, sides))
    data = read_labelled(X, y)
    data = data if names is None else data._replace(features=tuple(names))
    return decide_labelled(data, fit_intercept, tol, sides)


def decide_labelled(
    data: Labelled, fit_intercept: bool, tol: float, sides: tuple[Hashable, Hashable] | None = None
) -> Answer:
    """Decide for data that has been checked."""
    rows, classes, codes, features = data
    labels = classes.tolist()

    def verdict(machine: Machine) -> Verdict:
        whole = len(machine.members) == rows.n
        part = rows if whole else rows.select(machine.members)
        signs = machine.signs(codes[machine.members])
        question = ask(machine, part, signs, labels, features, fit_intercept, whole=rows)
        return judge(question, tol)

    return answered([verdict(machine) for machine in asked(classes, codes, sides)], classes)


def asked(
    classes: np.ndarray, codes: np.ndarray, sides: tuple[Hashable, Hashable] | None
) -> list[Machine]:
    """The pairs of sides to decide on: (one, other), other None: all others; without ``sides`` all."""
    labels = classes.tolist()
    ones = np.ones(len(labels))
    if sides is not None:
        positive, negative = (None if s is None else labels.index(s) for s in sides)
        assert positive is not None
        mine = (codes == positive) | (negative is None or codes == negative)
        return [Machine(sides, positive, negative, np.flatnonzero(mine), ones)]
    everything = np.arange(len(codes))
    machines = build_machines(classes, codes, "ovr", everything, ones)
    if len(labels) > 2:
        machines = [*machines, *build_machines(classes, codes, "ovo", everything, ones)]
    return machines


def answered(verdicts: Sequence[Verdict], classes: np.ndarray) -> Answer:
    """The verdicts on all of :func:`asked` as one answer."""
    if len(verdicts) == 1:
        return verdicts[0]
    labels, k = classes.tolist(), len(classes)
    pairs = list(combinations(labels, 2))
    return MulticlassVerdict(
        dict(zip(labels, verdicts[:k], strict=True)), dict(zip(pairs, verdicts[k:], strict=True))
    )
