"""How many training errors a plane must make at least: a proof by disjoint witnesses."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core.errors import Witness, plural
from maxmargin.core.parameters import NEVER, OutOfTimeError, check_count
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.question import Question, witness_of
from maxmargin.estimators.separability import Options, judge, question_of, read_labelled
from maxmargin.estimators.validation import check_two_classes, refuse_partitions
from maxmargin.rows.training_data import machines_of
from maxmargin.solvers.exact.integer_rows import ExactRows
from maxmargin.solvers.exact.packing import pack
from maxmargin.solvers.exact.separability import guess_plane
from maxmargin.stopping import MaxSeconds

MIN_POCKET_SECONDS = 0.1  # that the pocket algorithm has in any case
MAX_SCALE_BITS = 300  # between the scales of columns that the pocket algorithm takes as they are


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
        Whether ``max_witnesses`` or ``max_seconds`` ended the packing, and ``lower`` might be larger.
    late : bool
        Whether it was ``max_seconds``.

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
    late: bool = False

    def __str__(self) -> str:
        found = f"{plural(self.upper, 'error')} found"
        if self.lower == self.upper:
            return f"{found}; no plane makes fewer."
        ended = "the time was over first" if self.late else "packing stopped at max_witnesses"
        more = f" ({ended})" if self.limited else ""
        return f"{found}; no plane makes fewer than {self.lower}{more}."


def error_bounds(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    max_witnesses: int = 1_000,
    numbers: str = "binary",
    random_state: Any = 0,
    max_seconds: float | None = None,
    verbose: int = 0,
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
    numbers : "binary" or "decimal", default "binary"
        The doubles as they are stored, or the numbers as they are written: see
        :func:`maxmargin.separability`.
    random_state : int, RandomState or None, default 0
        Seed of the pocket algorithm.
    max_seconds : float, optional
        Budget of time. If it ends first, the bounds are those found so far.
    verbose : int, default 0
        1 shows how it is going after half a second.

    Returns
    -------
    ErrorBounds

    Examples
    --------
    >>> import maxmargin as mm
    >>> print(mm.error_bounds([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    1 error found; no plane makes fewer.
    """
    check_count("max_witnesses", max_witnesses, least=0)
    with time_limit("error_bounds", max_seconds, verbose) as deadline:
        options = Options(fit_intercept, numbers=numbers, deadline=deadline)
        refuse_partitions(X)
        data, features = read_labelled(X, y, numbers)
        check_two_classes(data.classes, "error_bounds")
        (machine,) = machines_of(data, "ovr", np.ones(2))
        question = question_of(data, machine, features, options)
        return _bounded(question, max_witnesses, random_state)


def _bounded(question: Question, max_witnesses: int, random_state: Any) -> ErrorBounds:
    """Bound the errors of a question, as tightly as there is time for."""
    verdict, _ = judge(question)
    exact = question.exact_rows()
    whole = replace(
        question, deadline=NEVER
    ).exact_rows()  # the errors of planes are counted in any case
    if verdict.separable and verdict.w is not None and verdict.b is not None:
        wrong = _errors(question, whole, verdict.w, verdict.b)
        return ErrorBounds(0, len(wrong), verdict.w, verdict.b, (), limited=False)
    w, b = _pocket(question, exact, random_state)
    wrong = _errors(question, whole, w, b)
    limit = min(max_witnesses, len(wrong))
    found, late = list[dict[int, int]](), False
    try:
        for witness in pack(exact, wrong, limit):
            found += [witness]
        left = np.setdiff1d(np.arange(exact.n), [i for weights in found for i in weights])
        other = _separating(question, left) if len(found) < limit else None
        if other is not None:  # a plane that is right on all rows outside the witnesses
            errors = _errors(question, whole, *other)
            if len(errors) < len(wrong):
                (w, b), wrong = other, errors
    except OutOfTimeError:
        late = True
    return ErrorBounds(
        lower=len(found),
        upper=len(wrong),
        w=w,
        b=b,
        witnesses=tuple([witness_of(question, whole, weights) for weights in found]),
        limited=len(found) < len(wrong) and (late or len(found) == max_witnesses),
        late=late,
    )


def _pocket(question: Question, rows: ExactRows, random_state: Any) -> tuple[np.ndarray, float]:
    """A plane with few errors, found with all columns scaled to the size of one where they are not."""
    even = question.decimal or (np.ptp(rows.exponents) <= MAX_SCALE_BITS and rows.rows is rows.given)
    scaled = question.rows if even else rows.even()
    left = question.deadline.end - time.perf_counter()
    pocket = PocketPerceptron(
        fit_intercept=question.fit_intercept,
        max_witnesses=0,
        stop=MaxSeconds(max(left, MIN_POCKET_SECONDS)) if math.isfinite(left) else None,
        random_state=random_state,
    )
    with np.errstate(all="ignore"):
        pocket.fit(scaled, rows.y)
        back = np.zeros(rows.d) if even else -rows.exponents
        w = np.ldexp(pocket.coef_[0], back.astype(np.int32))
    return np.where(np.isfinite(w), w, 0.0), float(pocket.intercept_[0])


def _errors(question: Question, rows: ExactRows, w: np.ndarray, b: float) -> np.ndarray:
    """The rows that a plane has on the wrong side, or on it; decided exactly."""
    if not np.any(w) and not b:
        return np.arange(rows.n)
    return np.flatnonzero(question.signs_of(rows, w, b) <= 0)


def _separating(question: Question, rows: np.ndarray) -> tuple[np.ndarray, float] | None:
    """A plane that floating point finds to separate some rows."""
    y = question.y[rows]
    if len(np.unique(y)) < 2:
        return None
    pad = float(question.fit_intercept)
    guess = guess_plane(question.rows.select(rows), y, pad, 0.1, question.deadline)
    return None if guess is None or guess.meets else (guess.w, guess.b)
