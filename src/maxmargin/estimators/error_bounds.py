"""How many training errors a plane must make at least: a proof by disjoint witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError, count
from maxmargin.core.parameters import NEVER, check_bool, check_count
from maxmargin.core.witness import Witness
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.proofs import Question, ask
from maxmargin.estimators.separability import judge, read_labelled, witness_of
from maxmargin.solvers.exact.integer_rows import ExactRows
from maxmargin.solvers.exact.packing import pack
from maxmargin.solvers.exact.separability import guess_plane
from maxmargin.solvers.exact.signs import from_doubles, signs

EVEN = 300  # bits between the scales of columns that the pocket algorithm takes as they are


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds on the fewest training errors of any plane.

    Attributes
    ----------
    lower : int
        No plane makes fewer errors: the number of disjoint witnesses.
    upper : int
        The errors of the plane (w, b), rows on the plane included.
    w, b : array and float
        That plane.
    witnesses : tuple of Witness
        Disjoint sets of rows, each of which no plane has right.
    limited : bool
        Whether ``max_witnesses`` ended the packing, and ``lower`` might be larger.

    Examples
    --------
    >>> import maxmargin as mm
    >>> bounds = mm.error_bounds([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> bounds.lower, bounds.upper, len(bounds.witnesses)
    (1, 1, 1)
    """

    lower: int
    upper: int
    w: np.ndarray
    b: float
    witnesses: tuple[Witness, ...]
    limited: bool

    def __str__(self) -> str:
        found = f"{count(self.upper, 'error')} found"
        if self.lower == self.upper:
            return f"{found}; no plane makes fewer."
        more = " (packing stopped at max_witnesses)" if self.limited else ""
        return f"{found}; no plane makes fewer than {self.lower}{more}."


def error_bounds(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    max_witnesses: int = 1_000,
    random_state: Any = 0,
) -> ErrorBounds:
    """Bound the fewest training errors of any plane from both sides, for two classes.

    From above by the pocket algorithm; from below by disjoint witnesses, sets of rows on which every
    plane makes an error, each proven in exact arithmetic. A row on the plane is an error.

    Parameters
    ----------
    X, y : array-like
        Training rows and labels of two classes.
    fit_intercept : bool, default True
        Allow for any plane; otherwise only planes through the origin.
    max_witnesses : int, default 1,000
        Stop packing at this lower bound.
    random_state : int, RandomState or None, default 0
        Seed of the pocket algorithm.

    Returns
    -------
    ErrorBounds

    Examples
    --------
    >>> import maxmargin as mm
    >>> print(mm.error_bounds([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    1 error found; no plane makes fewer.
    """
    check_bool("fit_intercept", fit_intercept)
    check_count("max_witnesses", max_witnesses, least=0)
    rows, classes, codes, features = read_labelled(X, y)
    if len(classes) > 2:
        raise InputError(
            f"y must hold two classes. Got {len(classes)} instead. Bound each machine by itself: "
            "error_bounds(X, y == label)."
        )
    (machine,) = build_machines(classes, codes, "ovr", np.arange(rows.n), np.ones(2))
    question = ask(machine, rows, machine.signs(codes), classes.tolist(), features, fit_intercept)
    verdict = judge(question)
    exact = question.exact_rows()
    if verdict.separable and verdict.w is not None and verdict.b is not None:
        wrong = _errors(exact, verdict.w, verdict.b)
        return ErrorBounds(0, len(wrong), verdict.w, verdict.b, (), limited=False)
    w, b = _pocket(exact, fit_intercept, random_state)
    wrong = _errors(exact, w, b)
    limit = min(max_witnesses, len(wrong))
    found = list(pack(exact, wrong, limit))
    left = np.setdiff1d(np.arange(rows.n), [i for weights in found for i in weights])
    other = _separating(question, left) if len(found) < limit else None
    if other is not None:  # a plane that is right on all rows outside the witnesses
        errors = _errors(exact, *other)
        if len(errors) < len(wrong):
            (w, b), wrong = other, errors
    return ErrorBounds(
        lower=len(found),
        upper=len(wrong),
        w=w,
        b=b,
        witnesses=tuple(witness_of(question, exact, weights) for weights in found),
        limited=len(found) == max_witnesses < len(wrong),
    )


def _pocket(rows: ExactRows, fit_intercept: bool, random_state: Any) -> tuple[np.ndarray, float]:
    """A plane with few errors, found with all columns scaled to the size of one where they are not."""
    even = np.ptp(rows.exponents) <= EVEN and rows.rows is rows.given
    scaled = rows.given if even else rows.even()
    pocket = PocketPerceptron(fit_intercept=fit_intercept, max_witnesses=0, random_state=random_state)
    with np.errstate(all="ignore"):
        pocket.fit(scaled, rows.y)
        back = np.zeros(rows.d) if even else -rows.exponents
        w = np.ldexp(pocket.coef_[0], back.astype(np.int32))
    return np.where(np.isfinite(w), w, 0.0), float(pocket.intercept_[0])


def _errors(rows: ExactRows, w: np.ndarray, b: float) -> np.ndarray:
    """The rows that a plane has on the wrong side, or on it; decided exactly."""
    if not np.any(w) and not b:
        return np.arange(rows.n)
    return np.flatnonzero(signs(rows, from_doubles(rows, w, b)).of <= 0)


def _separating(question: Question, rows: np.ndarray) -> tuple[np.ndarray, float] | None:
    """A plane that floating point finds to separate some rows."""
    y = question.y[rows]
    if len(np.unique(y)) < 2:
        return None
    guess = guess_plane(question.rows.select(rows), y, float(question.fit_intercept), 0.1, NEVER)
    return None if guess is None or guess.meets else (guess.w, guess.b)
