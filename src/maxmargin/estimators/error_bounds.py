"""How many training errors a plane must make: bounds from both sides, and their proof.

:func:`error_bounds` is quick: a plane from the pocket algorithm, and disjoint witnesses. The search for
the fewest errors is in :mod:`min_errors <maxmargin.estimators.min_errors>`; both return the same value.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin import checker
from maxmargin.certificates.proof import Proof, fraction_text, in_doubles, integer_text
from maxmargin.core.errors import Witness, listed, plural
from maxmargin.core.parameters import NEVER, OutOfTimeError, check_count
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.question import Question, plane_text, user_plane, witness_of
from maxmargin.estimators.separability import Options, question_of, read_labelled
from maxmargin.estimators.validation import check_two_classes, read_weight, refuse_partitions
from maxmargin.rows.training_data import machines_of
from maxmargin.solvers.errors.branching import unit_of
from maxmargin.solvers.exact.hard_margin import separated
from maxmargin.solvers.exact.integer_rows import ExactRows, primitive
from maxmargin.solvers.exact.packing import pack
from maxmargin.solvers.exact.separability import find_verdict, guess_plane
from maxmargin.solvers.exact.signs import signs
from maxmargin.stopping import MaxSeconds

MIN_POCKET_SECONDS = 0.1  # that the pocket algorithm has in any case
MAX_SCALE_BITS = 300  # between the scales of columns that the pocket algorithm takes as they are
PLANE_BITS = 60  # of the largest coefficient of a plane found in floating point
MARGIN_GAP = 1e-6  # to which the margin of the plane is the largest, relative, as far as doubles go
MAX_LISTED = 8  # rows that a sentence lists
MAX_NUMBERS_CHECKED = 1 << 18  # of data on which the independent checker confirms the proof at once


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds on the fewest training errors of any plane, or on the least weight of them.

    Attributes
    ----------
    lower : int or float
        No plane makes fewer errors.
    upper : int or float
        The errors of the plane, rows on the plane included.
    w, b : array and float
        That plane: of all that are right on the same rows, the one with the largest margin. If only
        fractions give it (see ``plane_is_exact``), they stand in the proof, and here what is nearest.
    given_up : array of int
        The rows it has wrong, or on it.
    margin : float
        Its distance from the nearest row that it has right.
    witnesses : tuple of Witness
        Sets of rows each of which no plane has right: those that the proof of ``lower`` uses.
    n_overlap : tuple
        Bounds on the least weight of rows without which there is complete or quasi-complete separation,
        in the words of Christmann and Rousseeuw (2001): rows on the plane are no errors. ``lower`` and
        ``upper`` bound their n_complete, the same for complete separation.
    plane_is_exact : bool
        Whether (w, b) is the plane of the proof, and not only the nearest one in doubles.
    limited : bool
        Whether a budget ended the search, and ``lower`` might be larger or ``upper`` less.
    late : bool
        Whether that was ``max_seconds``.
    proof : Proof
        Of both bounds; :meth:`Proof.verify` has the independent checker confirm it.

    Examples
    --------
    >>> import maxmargin as mm
    >>> bounds = mm.error_bounds([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> bounds.lower, bounds.upper, bounds.proven, len(bounds.witnesses)
    (1, 1, True, 1)
    """

    lower: float
    upper: float
    w: np.ndarray
    b: float
    witnesses: tuple[Witness, ...]
    limited: bool
    late: bool
    given_up: np.ndarray
    margin: float
    n_overlap: tuple[float, float]
    plane_is_exact: bool
    proof: Proof

    @property
    def proven(self) -> bool:
        """Whether no plane makes fewer errors than this one."""
        return self.lower == self.upper

    @property
    def n_complete(self) -> tuple[float, float]:
        """Bounds on the least weight of rows without which there is complete separation."""
        return self.lower, self.upper

    def __repr__(self) -> str:
        known = "proven" if self.proven else f"at least {self.lower:g}"
        return f"ErrorBounds({self.upper:g} errors, {known})"

    def __str__(self) -> str:
        weighted = "costs" in self.proof.content
        errors = f"Errors of weight {self.upper:g}" if weighted else plural(int(self.upper), "error")
        if self.proven:
            head = f"{errors} found; no plane makes fewer."
        else:
            ended = "time ended first" if self.late else "packing stopped at max_witnesses"
            more = f" ({ended})" if self.limited else ""
            head = f"{errors} found; no plane makes fewer than {self.lower:g}{more}."
        if not len(self.given_up):
            return head
        given_up = listed(self.given_up.tolist(), MAX_LISTED)
        rows = f"row {given_up}" if len(self.given_up) == 1 else f"rows {given_up}"
        margin = f" The margin of the others is {self.margin:.6g}." if np.isfinite(self.margin) else ""
        least = f"{'Least weight' if weighted else 'Fewest rows'} to leave out"
        complete, overlap = _interval(self.n_complete), _interval(self.n_overlap)
        lines = [
            head,
            f"· Wrong or on the plane: {rows}.{margin}",
            f"· {least} for complete separation (n_complete): {complete}; for complete or "
            f"quasi-complete separation (n_overlap): {overlap}.",
        ]
        wrap = textwrap.TextWrapper(100, subsequent_indent="  ", break_on_hyphens=False)
        return "\n".join(map(wrap.fill, lines))


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
    plane makes an error, each proven in exact arithmetic. A row on the plane is an error. This is quick;
    :func:`maxmargin.min_errors` goes on until the bounds meet.

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
    >>> print(mm.error_bounds([[0], [1], [2], [3], [4], [5], [6]], [0, 0, 0, 1, 1, 0, 1]))
    1 error found; no plane makes fewer.
    · Wrong or on the plane: row 5. The margin of the others is 0.5.
    · Fewest rows to leave out for complete separation (n_complete): 1; for complete or quasi-complete
      separation (n_overlap): 1.
    """
    check_count("max_witnesses", max_witnesses, least=0)
    with time_limit("error_bounds", max_seconds, verbose) as deadline:
        options = Options(fit_intercept, numbers=numbers, deadline=deadline)
        errors = errors_of(X, y, None, options, "error_bounds")
        return quick_bounds(errors, max_witnesses, random_state)


def quick_bounds(errors: Errors, max_witnesses: int, random_state: Any) -> ErrorBounds:
    """Bound errors as tightly as disjoint witnesses do, if there is time for them."""
    plane, exact = errors.without_errors(), errors.question.exact_rows()
    if plane is not None:
        return errors.bounds(plane, Lower())
    wrong, paid = errors.first_wrong(random_state), np.flatnonzero(errors.paid)
    some = exact if len(paid) == exact.n else exact.restricted(paid)
    wrong_paid = np.flatnonzero(np.isin(paid, wrong))
    limit = min(max_witnesses, len(wrong_paid))
    found, late = list[dict[int, int]](), False
    try:
        for witness in pack(some, wrong_paid, limit):
            found += [{int(paid[i]): weight for i, weight in witness.items()}]
        left = np.setdiff1d(paid, [i for weights in found for i in weights])
        other = _separating(errors.question, left) if len(found) < limit else None
        if other is not None:  # a plane that is right on all rows outside the witnesses
            wrong = min(wrong, errors.wrong(*other), key=errors.cost)
    except OutOfTimeError:
        late = True
    shares = [min([errors.costs[i] for i in weights]) for weights in found]
    leaf = Leaf((), dict(enumerate(shares)))
    bound = -(-sum(shares, Fraction(0)) // errors.unit) * errors.unit
    lower = Lower(bound, found, [], [leaf])
    limited = bound < errors.cost(wrong) and (late or len(found) == max_witnesses)
    return errors.bounds(errors.plane_without(wrong), lower, limited, late)


def _separating(question: Question, rows: np.ndarray) -> tuple[np.ndarray, float] | None:
    """A plane that floating point finds to separate some rows."""
    y = question.y[rows]
    if len(np.unique(y)) < 2:
        return None
    pad = float(question.fit_intercept)
    guess = guess_plane(question.rows.select(rows), y, pad, 0.1, question.deadline)
    return None if guess is None or guess.meets else (guess.w, guess.b)


class Leaf(NamedTuple):
    """Rows that are wrong on the way to a leaf of the tree, and the shares of witnesses there."""

    wrong: tuple[int, ...]
    shares: dict[int, Fraction]


class Fork(NamedTuple):
    """A row, and the numbers of the nodes in which it is wrong and right: forks first, then leaves."""

    row: int
    wrong: int
    right: int


@dataclass(frozen=True)
class Lower:
    """A lower bound and what proves it: witnesses, and a tree of forks with shares at its leaves.

    ``swept`` says that all planes have been gone through, which the checker does again.
    """

    bound: Fraction = Fraction(0)
    witnesses: Sequence[dict[int, int]] = ()
    forks: Sequence[Fork] = ()
    leaves: Sequence[Leaf] = (Leaf((), {}),)
    swept: bool = False


class Plane(NamedTuple):
    """A plane of the user, and as text; the rows it has strictly wrong, or on it, and its margin."""

    w: np.ndarray
    b: float
    text: dict[str, Any]
    wrong: np.ndarray
    on: np.ndarray
    margin: float
    doubles: bool = True  # whether the text says the same as w and b


@dataclass(frozen=True)
class Errors:
    """The errors of planes on labelled rows, each at the cost of its row."""

    question: Question
    costs: list[Fraction]
    weighted: bool = False

    @cached_property
    def rows(self) -> ExactRows:
        """The rows in exact arithmetic: what planes have wrong is counted however late it is."""
        return replace(self.question, deadline=NEVER).exact_rows()

    @cached_property
    def paid(self) -> np.ndarray:
        """Which rows cost something."""
        return np.array([bool(cost) for cost in self.costs])

    def cost(self, which: np.ndarray) -> Fraction:
        """What errors on some rows cost."""
        return sum([self.costs[i] for i in which.tolist()], Fraction(0))

    def wrong(self, w: np.ndarray, b: float) -> np.ndarray:
        """The rows that a plane has on the wrong side, or on it; decided exactly."""
        if not np.any(w) and not b:
            return np.arange(self.rows.n)
        return np.flatnonzero(self.question.signs_of(self.rows, w, b) <= 0)

    def wrong_side(self, z: np.ndarray) -> np.ndarray:
        """The rows that a plane of the exact rows, of doubles, has wrong or on it."""
        numbers = np.rint(np.ldexp(z / (np.max(np.abs(z)) or 1.0), PLANE_BITS)).tolist()
        return np.flatnonzero(signs(self.rows, [int(v) for v in numbers]).of <= 0)

    def first_wrong(self, random_state: Any) -> np.ndarray:
        """What a plane with few errors has wrong: the pocket's, or one with all rows on one side."""
        found = [self.wrong(*self.pocket(random_state))]
        if self.question.fit_intercept:
            found += [np.flatnonzero(self.rows.y == side) for side in (1.0, -1.0)]
        return min(found, key=self.cost)

    def pocket(self, random_state: Any) -> tuple[np.ndarray, float]:
        """A plane with few errors, found with all columns scaled alike where they are not."""
        question, rows = self.question, self.rows
        if len(np.unique(rows.y[self.paid])) < 2:
            return np.zeros(rows.d), 0.0
        narrow = np.ptp(rows.exponents) <= MAX_SCALE_BITS and rows.rows is rows.given
        even = question.decimal or narrow
        left = question.deadline.end - time.perf_counter()
        pocket = PocketPerceptron(
            fit_intercept=question.fit_intercept,
            max_witnesses=0,
            stop=MaxSeconds(max(left, MIN_POCKET_SECONDS)) if math.isfinite(left) else None,
            random_state=random_state,
        )
        weight = np.array([float(cost) for cost in self.costs]) if self.weighted else None
        with np.errstate(all="ignore"):
            pocket.fit(question.rows if even else rows.even(), rows.y, sample_weight=weight)
            back = np.zeros(rows.d) if even else -rows.exponents
            w = np.ldexp(pocket.coef_[0], back.astype(np.int32))
        return np.where(np.isfinite(w), w, 0.0), float(pocket.intercept_[0])

    def without_errors(self) -> Plane | None:
        """A plane that has all rows right that cost something, if there is one, found in time."""
        some = self.question.exact_rows()
        if not np.all(self.paid):
            some = some.restricted(np.flatnonzero(self.paid))
        if find_verdict(some, MARGIN_GAP).kind != "separable":
            return None
        return self.plane_without(np.flatnonzero(~self.paid))

    def plane_without(self, wrong: np.ndarray) -> Plane:
        """Of the planes that have all other rows right, the one with the largest margin."""
        question, rows = self.question, self.rows
        kept = np.setdiff1d(np.arange(rows.n), wrong)
        if not len(kept):
            everything = np.arange(rows.n)
            return Plane(
                np.zeros(rows.d), 0.0, in_doubles(np.zeros(rows.d), 0.0), everything[:0], everything, 0.0
            )
        if question.fit_intercept and len(np.unique(rows.y[kept])) < 2:
            w, b, margin, doubles = np.zeros(rows.d), float(rows.y[kept[0]]), math.inf, True
            text, of = in_doubles(w, b), rows.y * b
        else:
            some = rows.restricted(kept)
            answer = separated(some, find_verdict(some, MARGIN_GAP), MARGIN_GAP)
            w, b, margin = answer.w, answer.b / 10.0**question.places, question.in_units(answer.lower)
            text, of = (
                plane_text(question, user_plane(question, rows, answer.plane)),
                signs(rows, answer.plane).of,
            )
            doubles = answer.doubles and not question.places
            text = in_doubles(w, b) if doubles else text
        return Plane(w, b, text, np.flatnonzero(of < 0), np.flatnonzero(of == 0), margin, doubles)

    def bounds(
        self, plane: Plane, lower: Lower, limited: bool = False, late: bool = False
    ) -> ErrorBounds:
        """What is known, with its proof."""
        question, costs = self.question, self.cost
        given_up = np.union1d(plane.wrong, plane.on)
        upper = costs(given_up)
        spanning = self._overlap(lower)
        return ErrorBounds(
            lower=_number(lower.bound),
            upper=_number(upper),
            w=plane.w,
            b=plane.b,
            witnesses=tuple([witness_of(question, self.rows, weights) for weights in lower.witnesses]),
            limited=limited,
            late=late,
            given_up=question.given(given_up),
            margin=plane.margin,
            n_overlap=(_number(min(spanning, costs(plane.wrong))), _number(costs(plane.wrong))),
            plane_is_exact=plane.doubles,
            proof=self._proof(plane, given_up, lower, upper),
        )

    def _overlap(self, lower: Lower) -> Fraction:
        """What every plane with some row off it has strictly wrong at least.

        If it had no row of a witness strictly wrong, it would contain the witness; it cannot if the rows
        of the witness span all others. So the shares of these alone count.
        """
        full = int(np.count_nonzero(self.rows.used)) + 1
        least = []
        for leaf in lower.leaves:
            shares = [x for s, x in leaf.shares.items() if len(lower.witnesses[s]) == full]
            least.append(sum(shares, self.cost(np.array(leaf.wrong, dtype=np.int64))))
        return -(-min(least) // self.unit) * self.unit

    @cached_property
    def unit(self) -> Fraction:
        """The largest number of which all costs are multiples."""
        return unit_of(self.costs)

    def _proof(self, plane: Plane, given_up: np.ndarray, lower: Lower, upper: Fraction) -> Proof:
        """Write the bounds down; the independent checker confirms them on small data."""
        question = self.question
        content = question.header("errors")
        content |= {
            "plane": plane.text,
            "given_up": question.numbered(given_up).tolist(),
            "lower": fraction_text(lower.bound),
            "upper": fraction_text(upper),
        }
        if self.weighted:
            content["costs"] = list(map(fraction_text, self.costs))
        if lower.swept:
            content["sweep"] = True
        else:
            content["witnesses"] = [self._sum(weights) for weights in lower.witnesses]
            forks = [
                {"row": int(question.numbered([f.row])[0]), "wrong": f.wrong, "right": f.right}
                for f in lower.forks
            ]
            leaves = [
                {
                    "witnesses": list(leaf.shares),
                    "shares": list(map(fraction_text, leaf.shares.values())),
                }
                for leaf in lower.leaves
            ]
            content["tree"] = {"branches": forks, "leaves": leaves}
        proof = question.proof(content)
        if question.rows.n * question.rows.d <= MAX_NUMBERS_CHECKED and not lower.swept:
            try:
                checker.check(proof.parsed(), question.labelled())
            except checker.Rejected as error:
                raise AssertionError(
                    f"the independent checker rejects the proof: {error}. This is a mistake in "
                    "maxmargin; please report it with the data."
                ) from error
        return proof

    def _sum(self, weights: dict[int, int]) -> dict[str, Any]:
        which = sorted(weights)
        values = primitive([weights[i] for i in which])
        rows = self.question.numbered(which).tolist()
        return {"rows": rows, "weights": [integer_text(v) for v in values]}


def errors_of(X: Any, y: Any, sample_weight: Any, options: Options, function: str) -> Errors:
    """The errors of planes on labelled rows of two classes, which are checked."""
    refuse_partitions(X)
    data, features = read_labelled(X, y, options.numbers)
    check_two_classes(data.classes, function)
    (machine,) = machines_of(data, "ovr", np.ones(2))
    question = question_of(data, machine, features, options)
    if sample_weight is None:
        return Errors(question, [Fraction(1)] * question.rows.n)
    weight = read_weight(sample_weight, data.rows.n)[machine.members]
    return Errors(question, [Fraction(v) for v in weight.tolist()], weighted=True)


def _interval(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{high:g}" if low == high else f"{low:g} to {high:g}"


def _number(value: Fraction) -> float:
    """An integer if it is one, else the nearest double."""
    return int(value) if value.denominator == 1 else float(value)
