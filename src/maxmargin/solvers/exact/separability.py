"""Separable, touching or overlapping: the ladder from floating point to exact proof.

Begin with all planes. Ask for one that is strictly positive on all rows. If there is one, the classes
are separable. Otherwise rows cancel with positive weights, the witness; no plane is positive on them,
and one that is not negative anywhere contains them. So ask again among the planes that contain them,
for the rows outside their span, until a plane is found (touching) or no rows are left (overlapping).

1. Each question is put to the hard-margin machine first. It finds the plane of largest margin, or
   multipliers that grow without bound on a few rows. Nothing of it is trusted: signs and sums are
   checked in integers.
   Of fewer rows than columns any plane will do if the largest margin takes too long, and in every later
   question (see :mod:`wide_rows <maxmargin.solvers.exact.wide_rows>`).
2. Where columns nearly depend on others, all that is asked of rows that no plane separates is asked in
   other coordinates (see :mod:`conditioning <maxmargin.solvers.exact.conditioning>`).
3. If that fails too, long floating-point numbers are tried: to fit a plane to fewer rows than columns,
   then in the simplex method (see :mod:`long_simplex <maxmargin.solvers.exact.long_simplex>`). The
   answer is checked likewise. What is left, and small data, is for the simplex method in integers.
4. Few questions are needed, since :func:`widest` finds as many rows as possible at once that every
   weakly separating plane must contain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.rows import Rows
from maxmargin.rows.base import draw
from maxmargin.solvers.exact.conditioning import Conditioned, condition, nearly_dependent
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, as_integers, opposites, zero_rows
from maxmargin.solvers.exact.linear_algebra import cancel, cancel_near
from maxmargin.solvers.exact.long_simplex import fitting_plane as fitting_long_plane
from maxmargin.solvers.exact.long_simplex import long_guess
from maxmargin.solvers.exact.signs import Signs, from_doubles, revalued, rounded, signs
from maxmargin.solvers.exact.simplex import Outcome, meet_or_separate
from maxmargin.solvers.exact.sparse_rows import (
    NO_VIOLATION,
    cancel_few,
    cancel_many,
    least_violations,
)
from maxmargin.solvers.exact.wide_rows import MAX_ROWS, fitting_plane, least_violations_of_wide
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.tasks import SMALL_ENTRIES, Budget, Solved, Task, one_thread

FACE_GAP = 0.5  # gap that will do for a plane through a face


class Guess(NamedTuple):
    """What floating point says."""

    w: np.ndarray
    b: float
    support: np.ndarray  # rows on the edges of the slab, or rows that may cancel
    alpha: np.ndarray  # their multipliers
    meets: bool
    passes: int


def guess_plane(
    rows: Rows, y: np.ndarray, pad: float, tol: float, deadline: Deadline, passes: float = np.inf
) -> Guess | None:
    """Ask the hard-margin machine; None if numbers leave the range of doubles."""
    try:
        with np.errstate(all="ignore"):  # whatever comes out is checked
            budget = Budget(passes, deadline.end)
            (solved,) = solve_margins(rows, [Task(y, None)], pad, tol, budget)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # numbers out of range
        return None
    return guess_from(solved)


def guess_from(solved: Solved) -> Guess:
    """What the hard-margin machine found, as a guess."""
    support = np.flatnonzero(solved.alpha)
    return Guess(solved.w, solved.b, support, solved.alpha[support], solved.meets, solved.passes)


def guess_inside(face: Face, alive: np.ndarray, tol: float) -> Guess | None:
    """The same among the planes that contain a face, for the rows that are left.

    Large rows need no more than some plane, since it has no margin to be reported.
    """
    G = face.quotient_rows(alive)
    if not np.all(np.isfinite(G.column_reach)):
        return None
    tol = tol if G.entries <= SMALL_ENTRIES else max(tol, FACE_GAP)
    return guess_plane(G, np.ones(len(alive)), 0.0, tol, face.rows.deadline)


POOL_ROWS = 2_000  # rows to begin with, and to add at most
POOL_ENTRIES = 1 << 21  # numbers of a pool whose dense factorisation is worth while
ROUNDED_ZERO = 1e-9  # relative size of a value that is zero up to rounding
POOL_ROWS_PER_COLUMN = 4  # of sparse rows that are asked first whether they cancel
FEW_COLUMNS = 200  # of sparse rows, which are likely to be separable if none are opposite
MIN_POOL_ROWS = 16_384  # of them: fewer are asked all at once
MAX_PASSES = 128  # of the hard-margin machine over sparse rows that a plane is known to separate
MAX_PASSES_OF_WIDE = 1_000  # over fewer rows than columns, whose plane is found in other ways, too
MAX_WEIGHT = 64  # random weights are whole numbers below this

Weights = tuple[dict[int, int], dict[int, int]]


def widest(rows: ExactRows, face: Face, alive: np.ndarray) -> Weights | None:
    """Return weights as ``cancel`` does for a face that is as wide as can be, or None.

    Take independent rows B among the rows T, with weights c > 0 at random. If −Σ c_i a_i lies in the
    cone of T, the rows that show it cancel together with B, and span all of T (Steinitz 1913). If not,
    the residual of the least-squares problem with non-negative weights is a plane z with a_i·z ≥ 0 on
    T; the face lies in the rows with a_i·z = 0, so go on with those. All of it in floating point; the
    weights found are then computed exactly, and checked.
    """
    if min(len(alive), POOL_ROWS) * len(face.Q) > POOL_ENTRIES:
        return None
    rng = np.random.default_rng(0)
    T = alive
    with one_thread(True), np.errstate(all="ignore"):
        while len(T):
            rows.deadline.check()
            found = _settle(rows, face, T, rng)
            if not isinstance(found, np.ndarray):
                if found is None:
                    return None
                support, given = found
                return cancel(rows, support, face.free, given)
            if len(found) == len(T):
                return None
            T = found
    return None


def _settle(
    rows: ExactRows, face: Face, T: np.ndarray, rng: np.random.Generator
) -> tuple[list[int], dict[int, int]] | np.ndarray | None:
    """Rows that cancel with given weights on others, or the rows on a plane with T on one side."""
    pool = T[draw(len(T), max(POOL_ROWS, min(10 * rows.D, POOL_ENTRIES // rows.D)))]
    while True:
        rows.deadline.check()
        G = face.quotient(rows.block(pool))
        if not np.all(np.isfinite(G)):
            return None
        Q, R, order = qr(G.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int(np.count_nonzero(size > 1e-10 * size[0])) if size[0] > 0 else 0
        if not rank:
            return None
        chosen, basis = order[:rank], Q[:, :rank]
        c = rng.integers(1, MAX_WEIGHT, size=rank)
        C = G @ basis
        target = -(c @ C[chosen])
        try:
            weights, residual = nnls(C.T, target, maxiter=30 * rank)
        except (RuntimeError, ValueError):  # too many steps, or numbers out of range
            return None
        used = np.flatnonzero(weights)
        if residual <= ROUNDED_ZERO * float(np.linalg.norm(target)):
            given = dict(zip(pool[chosen].tolist(), c.tolist(), strict=True))
            return pool[used].tolist(), given
        u = basis @ (C.T @ weights - target)
        z = face.lift_rounded(u / np.max(np.abs(u)))
        values = rows.values(z)[T]
        level = ROUNDED_ZERO * max(float(np.max(np.abs(values))), 1e-3)
        violated = np.flatnonzero(values < -level)
        fresh = np.setdiff1d(T[violated], pool)
        if not len(fresh):
            return np.union1d(T[np.abs(values) <= level], pool[used])
        if len(fresh) > POOL_ROWS:
            worst = T[violated[np.argsort(values[violated])]]
            fresh = np.setdiff1d(worst[: 2 * POOL_ROWS], pool)[:POOL_ROWS]
        pool = np.concatenate([pool, fresh])


SIMPLEX_ENTRIES = 1 << 13  # data with fewer numbers,
SIMPLEX_FEATURES = 12  # and no more features, goes to the simplex method at once
PLANE_BITS = 12, 24, 53  # of the coordinates of a plane through a face
NEGLIGIBLE_WEIGHTS = 1e-6, 1e-9, 0.0  # weights against the largest, of rows that are taken to cancel
LONG_BITS = 256, 2_048  # of numbers in floating point, where doubles fail
MAX_UNKNOWNS = 2_000  # unknowns that the simplex method may have
MAX_LEVELLED_ENTRIES = 1 << 26  # numbers of rows that are copied with rows and columns of like size
SCALE_BITS = 10  # bits between the scales of columns that the machine takes as they are

Plane = Sequence[Number]


@dataclass
class Effort:
    """How the answer was reached."""

    passes: int = 0  # over the data in floating point, by the hard-margin machine
    pivots: int = 0  # of the simplex method in integers
    bits: int = 0  # of the longest whole number: a determinant, a weight or a coefficient
    exact_rows: int = 0  # rows whose side was decided in integers
    rounds: int = 0


@dataclass
class Finding:
    """The verdict in the coordinates of the exact rows."""

    kind: str
    plane: Plane | None = None
    on_plane: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    witness: dict[int, int] = field(default_factory=dict)
    face: Face | None = None
    guess: Guess | None = None  # of the plane, with its multipliers
    signs: Signs | None = None
    work: Effort = field(default_factory=Effort)


def find_verdict(
    rows: ExactRows, tol: float, known: Guess | None = None, margin: bool = True
) -> Finding:
    """Climb the ladder; ``tol`` is the gap at which the largest margin need not be improved.

    What the hard-margin machine said of these rows, if it is ``known``, is not asked for again. Without
    ``margin`` any plane will do. If the time ends first, the finding is "undecided", with a witness or
    the first guess if there is one.
    """
    ladder = _Ladder(rows, tol, _is_small(rows), known, margin)
    try:
        return ladder.climb()
    except OutOfTimeError:
        return Finding("undecided", witness=ladder.witness, guess=ladder.first, work=ladder.work)


def find_witness(rows: ExactRows) -> dict[int, int] | None:
    """Rows that cancel with positive weights, or None if a plane separates."""
    ladder = _Ladder(rows, 0.5, _is_small(rows))
    outcome = ladder.ask(Face(rows, {}), np.arange(rows.n))
    if ladder.better is not None:
        return find_witness(ladder.better.rows)
    return outcome.weights or None


def _is_small(rows: ExactRows) -> bool:
    return rows.n * rows.D <= SIMPLEX_ENTRIES and rows.D <= SIMPLEX_FEATURES


class _Ladder:
    def __init__(
        self,
        rows: ExactRows,
        tol: float,
        exact: bool,
        known: Guess | None = None,
        margin: bool = True,
    ) -> None:
        self.rows, self.tol, self.exact, self.known = rows, tol, exact, known
        self.margin, self.passes = margin, float("inf")
        self.work = Effort()
        self.guess: Guess | None = None
        self.first: Guess | None = known  # what floating point said of all rows
        self.witness: dict[int, int] = {}
        self.signs: Signs | None = None
        self.better: Conditioned | None = None  # other coordinates, where floating point fails in these
        self.conditioned = False  # whether they have been looked for

    def climb(
        self, weights: dict[int, int] | None = None, witness: dict[int, int] | None = None
    ) -> Finding:
        """Face after face, beginning with that of rows that are known to cancel."""
        rows, work = self.rows, self.work
        face = Face(rows, {})
        alive = np.arange(rows.n)
        witness = self.witness = witness or {}
        if weights is None:
            wide = rows.given.is_sparse or rows.n <= rows.D
            weights = opposites(rows) if wide and not self.exact else {}
            weights |= {} if self.exact else zero_rows(rows)
            witness = self.witness = dict(islice(weights.items(), 2))
        if weights:
            if self._is_dependent and self._has_better():
                return self._in_other_coordinates(weights, witness)
            face, alive = self._wider(face, alive, weights, {})
        while True:
            rows.deadline.check(doing=f"{len(alive):,} rows outside a face of rank {face.rank}")
            if not len(alive):
                alive = self._strays(face)
                if not len(alive):
                    return Finding("overlapping", None, witness=witness, face=face, work=work)
            work.rounds += 1
            many = self._many(face, alive)
            outcome = self.ask(face, alive) if many is None else many
            if self.better is not None:
                return self._in_other_coordinates(face.weights, witness)
            work.pivots += outcome.pivots
            numbers = [*outcome.weights.values(), *outcome.free.values(), *(outcome.plane or ())]
            work.bits = max([work.bits, outcome.bits, *[v.numerator.bit_length() for v in numbers]])
            if outcome.plane is None:
                witness = self.witness = witness or self._short_witness(outcome.weights)
                face, alive = self._wider(face, alive, outcome.weights, outcome.free)
                more = None
                if many is None and not self.exact and len(alive):
                    more = widest(rows, face, alive)
                if more is not None:
                    face, alive = self._wider(face, alive, *more)
                continue
            found = self.signs if self.signs is not None else self._signs(outcome.plane)
            strays = np.flatnonzero(found.of < 0)
            if not len(strays):
                kind = "touching" if witness else "separable"
                on = np.flatnonzero(found.of == 0)
                return Finding(kind, outcome.plane, on, witness, face, self.guess, found, work)
            alive = np.union1d(alive, strays)  # rows outside the face after all

    def _short_witness(self, weights: dict[int, int]) -> dict[int, int]:
        """Of rows that cancel at most D + 1 that do."""
        if len(weights) <= self.rows.D + 1:
            return weights
        which = np.array(sorted(weights))
        few = cancel_few(self.rows, which)
        if few:
            return few
        found = find_witness(self.rows.restricted(which)) or {}
        return {int(which[i]): w for i, w in found.items()}

    def _many(self, face: Face, alive: np.ndarray) -> Outcome | None:
        """Of sparse rows as many as can be seen to cancel at once, or a plane through a face."""
        if self.exact or not self.rows.is_very_sparse:
            return None
        if not face.weights and self.rows.D <= FEW_COLUMNS:  # a plane is quickly asked for
            return None
        size = max(POOL_ROWS_PER_COLUMN * len(face.Q), MIN_POOL_ROWS)
        pool = np.arange(len(alive)) if len(alive) <= 2 * size else draw(len(alive), size)
        A = self.rows.sparse_block(alive)
        if face.weights:
            A = face.quotient_rows(alive).matrix  # type: ignore[attr-defined]
        z = np.zeros(len(face.Q))
        while True:
            found = least_violations(A[pool], z, self.rows.deadline)
            if found is None:
                return None
            for least in NO_VIOLATION:
                some = np.flatnonzero(found.r > max(least * float(found.r.max()), 1e-9))
                which, weights = alive[pool[some]], None
                if len(some):
                    weights = cancel_many(self.rows, which, found.r[some], face.free)
                if weights is not None:
                    return Outcome(None, *weights, 0)
            z = found.z
            violated = np.flatnonzero(A @ z <= 0.0)
            if not len(np.setdiff1d(violated, pool)):
                break
            pool = np.union1d(pool, violated)
        self.guess = None
        for u in _with_bits(z):
            plane = face.lift(u)
            if np.any(self.rows.values(rounded(plane))[alive] < 0.0):
                continue  # too few bits
            self.signs = self._signs(plane)
            if np.all(self.signs.of[alive] > 0):
                return self._with_margin(face, alive, plane)
        return None

    def _with_margin(self, face: Face, alive: np.ndarray, plane: Plane) -> Outcome:
        """A plane that separates, or a better one if that is asked for and few passes find it."""
        better = None
        if self.margin and not face.weights:
            found, self.passes = self.signs, MAX_PASSES
            better, _ = self._ask_floats(face, alive)
            if better is None or better.plane is None:
                better, self.guess, self.signs = None, None, found
        return better or Outcome(plane, {}, {}, 0)

    def _wider(
        self, face: Face, alive: np.ndarray, weights: dict[int, int], free: dict[int, int]
    ) -> tuple[Face, np.ndarray]:
        """The face with more rows in it, and the rows that are not (nearly) in its span."""
        wider = face.joined(weights, free)
        if wider.rank == face.rank:  # rows that only seemed to be outside
            return face, alive[~face.contains(alive)]
        if not len(wider.Q):
            return wider, alive[:0]
        return wider, wider.outside(alive)

    def _strays(self, face: Face) -> np.ndarray:
        """Rows outside the span of the face: exactly, unless the proof shows them all to cancel."""
        if face.rows.n <= 2 * face.rows.D:
            return np.flatnonzero(~face.contains(np.arange(self.rows.n)))
        outside = np.zeros(self.rows.n, dtype=bool)
        for u in face.flats():
            outside |= self._signs(u).of != 0
        return np.flatnonzero(outside)

    def _signs(self, plane: Plane) -> Signs:
        found = signs(self.rows, plane)
        self.work.exact_rows = max(self.work.exact_rows, found.exact)
        return found

    def _in_other_coordinates(self, weights: dict[int, int], witness: dict[int, int]) -> Finding:
        """The finding there, carried back: the same rows and weights, and the plane of these rows."""
        better = self.better
        assert better is not None
        ladder = _Ladder(better.rows, self.tol, False, margin=self.margin)
        try:
            found, rows = ladder.climb(weights, witness), self.rows
        finally:
            self.witness = ladder.witness
        found.work.passes += self.work.passes
        if found.face is not None:
            found.face = Face(rows, found.face.weights)
        if found.guess is not None:
            found.guess = found.guess._replace(w=np.empty(0))
        if found.plane is not None:
            found.plane = as_integers(better.plane_of_base(found.plane))
            assert found.signs is not None
            found.signs = revalued(rows, found.plane, found.signs)
        return found

    def ask(self, face: Face, alive: np.ndarray) -> Outcome:
        """A plane through the face that is positive on all rows alive, or weights that cancel.

        Neither if floating point fails and ``better`` coordinates are found.
        """
        self.guess = self.signs = None
        if self.exact:
            outcome = meet_or_separate(self.rows, alive, face.free)
            if outcome.plane is None or not face.weights:
                return outcome
            better, _ = self._ask_floats(face, alive)  # a plane in the middle, not at a corner
            return outcome if better is None or better.plane is None else better
        answer, hint = self._ask_floats(face, alive)
        if answer is not None:
            return answer
        if self._has_better():
            return Outcome(None, {}, {}, 0)
        size = min(self.rows.D, len(alive) + face.rank)
        if size > MAX_UNKNOWNS:
            raise InputError(
                f"X must have at most {MAX_UNKNOWNS:,} rows or features where floating point finds "
                f"neither a plane nor rows that cancel. Got {self.rows.n:,} rows of {self.rows.d:,} "
                "features instead. Ask about fewer rows, or fewer features."
            )
        for bits in LONG_BITS:
            z = fitting_long_plane(self.rows, alive, face.free, bits)
            answer = None if z is None else self._confirmed(face.lift([z[j] for j in face.Q]), alive)
            if answer is not None:
                return answer
            answer, hint = self._ask_long_floats(face, alive, hint, bits)
            if answer is not None:
                return answer
        return meet_or_separate(self.rows, alive, face.free, hint)

    @cached_property
    def _is_dependent(self) -> bool:
        """Whether rows that cancel are not to be expected in these coordinates."""
        rows = self.rows
        return not rows.is_rounded and not rows.is_very_sparse and nearly_dependent(rows)

    def _has_better(self) -> bool:
        """Whether there are better coordinates: looked for once."""
        if not self.rows.is_rounded and not self.conditioned:
            self.better, self.conditioned = condition(self.rows), True
        return self.better is not None

    def _ask_long_floats(
        self, face: Face, alive: np.ndarray, hint: list[int], bits: int
    ) -> tuple[Outcome | None, list[int]]:
        """What floating point of so many bits finds, if confirmed; and rows to try first if not."""
        guess = long_guess(self.rows, alive, face.free, hint, bits)
        if guess is None:
            return None, hint
        if guess.plane is None:
            found = cancel(self.rows, guess.support, face.free)
            return (None if found is None else Outcome(None, *found, 0)), guess.support
        answer = self._confirmed(face.lift([guess.plane[j] for j in face.Q]), alive)
        return answer, [] if answer is not None else guess.support

    def _confirmed(self, plane: Plane, alive: np.ndarray) -> Outcome | None:
        """The plane as an answer, if it is positive on all rows alive."""
        if not any(plane):
            return None
        found = self._signs(plane)
        if not np.all(found.of[alive] > 0):
            return None
        self.signs = found
        return Outcome(plane, {}, {}, 0)

    def _ask_floats(self, face: Face, alive: np.ndarray) -> tuple[Outcome | None, list[int]]:
        """What floating point finds, if exact arithmetic confirms it; and rows to try first if not."""
        hint: list[int] = []
        for guess, planes in self._guesses(face, alive):
            self.work.passes += guess.passes
            if not face.weights and self.first is None:
                self.first = guess
            self.rows.deadline.check()
            hint = [int(i) for i in alive[guess.support]]
            if guess.meets:
                if self._is_dependent and self._has_better():
                    return Outcome(None, {}, {}, 0), hint
                for least in NEGLIGIBLE_WEIGHTS:  # rows of tiny weight may be rounding
                    held = guess.alpha > least * float(guess.alpha.max())
                    found = cancel(self.rows, alive[guess.support[held]].tolist(), face.free)
                    if found is not None:
                        return Outcome(None, *found, 0), []
                    if np.all(held):
                        break
                found = cancel_near(self.rows, alive[guess.support], guess.alpha, face.free)
                if found is not None:
                    return Outcome(None, *found, 0), []
                continue
            for plane in planes:
                answer = self._confirmed(plane, alive)
                if answer is not None:
                    self.guess = guess
                    return answer, []
        return None, hint

    def _guesses(self, face: Face, alive: np.ndarray) -> Iterator[tuple[Guess, Iterator[Plane]]]:
        """Guesses, each with its plane in the coordinates of the exact rows, in fewer or more bits."""
        rows = self.rows
        inside = len(alive) < rows.n or bool(face.weights)
        if inside or not self.margin:
            yield from self._fitting(face, alive)
        if inside:
            guess = guess_inside(face, alive, self.tol)
            if guess is not None:
                yield guess, (face.lift(u) for u in _with_bits(guess.w))
            return
        tol = self.tol if self.margin else max(self.tol, FACE_GAP)
        passes = min(self.passes, MAX_PASSES_OF_WIDE) if self._is_wide(face, alive) else self.passes
        given = rows.y, rows.pad, tol, rows.deadline, passes
        guess = self.known or guess_plane(rows.given, *given)
        if guess is not None:
            yield guess, iter([from_doubles(rows, guess.w, guess.b)] if _usable(guess) else [])
        uneven = np.ptp(rows.exponents) > SCALE_BITS or rows.rows is not rows.given
        if uneven and rows.n * rows.D <= MAX_LEVELLED_ENTRIES:
            level, exponents = rows.levelled()
            guess = guess_plane(level, rows.y, 0.0, *given[2:])
            if guess is not None:
                ratios = zip(guess.w.tolist(), exponents.tolist(), strict=True)
                z = [Fraction(v) * Fraction(2) ** e for v, e in ratios] if _usable(guess) else []
                other = guess._replace(w=np.empty(0))  # its multipliers belong to other coordinates
                yield other, iter([as_integers(z)] if z else [])
        if self.margin:
            yield from self._fitting(face, alive)

    def _is_wide(self, face: Face, alive: np.ndarray) -> bool:
        return len(alive) <= min(len(face.Q), MAX_ROWS) and self.rows.given.resident

    def _fitting(self, face: Face, alive: np.ndarray) -> Iterator[tuple[Guess, Iterator[Plane]]]:
        """Of fewer rows than columns a plane with any margin, or rows that cancel."""
        if not self._is_wide(face, alive):
            return
        G = face.quotient_rows(alive)
        found = least_violations_of_wide(G, self.rows.deadline)
        if found is None:
            return
        some = np.flatnonzero(found.r)
        guess = Guess(np.empty(0), 0.0, some, found.r[some], len(some) > 0, 0)
        yield guess, (face.lift(u) for u in _with_bits(found.z))
        z = fitting_plane(G, self.rows.deadline) if len(some) else None
        if z is not None:
            yield guess._replace(meets=False), (face.lift(u) for u in _with_bits(z))


def _usable(guess: Guess) -> bool:
    return bool(np.all(np.isfinite(guess.w)) and np.isfinite(guess.b) and np.any(guess.w))


def _with_bits(w: np.ndarray) -> Iterator[list[int]]:
    largest = float(np.max(np.abs(w)))
    for bits in PLANE_BITS if 0.0 < largest < np.inf else ():
        yield [int(v) for v in np.rint(np.ldexp(w / largest, bits)).tolist()]
