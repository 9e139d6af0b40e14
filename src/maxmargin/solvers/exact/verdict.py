"""Separable, touching or overlapping: the ladder from floating point to exact proof.

Begin with all planes. Ask for one that is strictly positive on all rows. If there is one, the classes
are separable. Otherwise rows cancel with positive weights, the witness; no plane is positive on them,
and one that is not negative anywhere contains them. So ask again among the planes that contain them,
for the rows outside their span, until a plane is found (touching) or no rows are left (overlapping).

Each question is put to the hard-margin machine first, and its answer is checked exactly. If it fails,
or if the data is small, the simplex method in integers answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from maxmargin.solvers.exact.dependence import cancel
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.guess import Guess, guess_inside, guess_plane
from maxmargin.solvers.exact.signs import Signs, signs
from maxmargin.solvers.exact.simplex import Outcome, meet_or_separate
from maxmargin.solvers.exact.whole import ExactRows, as_integers

__all__ = ["Finding", "find_verdict"]

SMALL, FEW = 1 << 13, 12  # entries and features of data that goes to the simplex method at once
NEAR = 1e-11  # a row this near to a face (in proportion) may lie in it


@dataclass
class Work:
    """How the answer was reached."""

    passes: int = 0  # over the data in floating point, by the hard-margin machine
    pivots: int = 0  # of the simplex method in integers
    exact_rows: int = 0  # rows whose side was decided in integers
    rounds: int = 0


@dataclass
class Finding:
    """The verdict in the coordinates of the exact rows."""

    kind: str
    plane: list[int] | None = None
    on_plane: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    witness: dict[int, int] = field(default_factory=dict)
    face: Face | None = None
    guess: Guess | None = None  # of the plane, with its multipliers
    signs: Signs | None = None
    work: Work = field(default_factory=Work)


def find_verdict(rows: ExactRows, tol: float, exact: bool = False) -> Finding:
    """Climb the ladder; ``exact`` goes to the simplex method at once."""
    exact = exact or (rows.n * rows.D <= SMALL and rows.D <= FEW)
    return _Ladder(rows, tol, exact).climb()


class _Ladder:
    def __init__(self, rows: ExactRows, tol: float, exact: bool) -> None:
        self.rows, self.tol, self.exact = rows, tol, exact
        self.work = Work()
        self.guess: Guess | None = None
        self.signs: Signs | None = None

    def climb(self) -> Finding:
        """Face after face."""
        rows, work = self.rows, self.work
        face = Face(rows, {})
        alive = np.arange(rows.n)
        witness: dict[int, int] = {}
        while len(alive):
            work.rounds += 1
            outcome = self._ask(face, alive)
            work.pivots += outcome.pivots
            if outcome.plane is not None:
                found = self.signs if self.signs is not None else self._signs(outcome.plane)
                kind = "touching" if witness else "separable"
                on = np.flatnonzero(found.of == 0)
                return Finding(kind, outcome.plane, on, witness, face, self.guess, found, work)
            witness = witness or outcome.weights
            wider = face.joined(outcome.weights, outcome.free)
            if wider.rank == face.rank:  # rows that lie in the span already
                alive = alive[~wider.contains(alive)]
            else:
                alive = self._outside(wider, alive)
            face = wider
        return Finding("overlapping", None, witness=witness, face=face, work=work)

    def _signs(self, plane: list[int]) -> Signs:
        found = signs(self.rows, plane)
        self.work.exact_rows += found.exact
        return found

    def _outside(self, face: Face, alive: np.ndarray) -> np.ndarray:
        """The rows that are not in the span of the face."""
        if not face.Q:
            return alive[:0]
        near = []
        for start in range(0, len(alive), 4_096):
            part = alive[start : start + 4_096]
            near.append(np.max(np.abs(face.quotient(self.rows.block(part))), axis=1) <= NEAR)
        close = alive[np.concatenate(near)]
        return np.setdiff1d(alive, close[face.contains(close)], assume_unique=True)

    def _ask(self, face: Face, alive: np.ndarray) -> Outcome:
        """A plane through the face that is positive on all rows alive, or weights that cancel."""
        self.guess = self.signs = None
        hint: list[int] = []
        if not self.exact:
            answer, hint = self._ask_floats(face, alive)
            if answer is not None:
                return answer
        return meet_or_separate(self.rows, alive, face.free, hint)

    def _ask_floats(self, face: Face, alive: np.ndarray) -> tuple[Outcome | None, list[int]]:
        first = not face.weights
        if first:
            guess = guess_plane(self.rows.given, self.rows.y, self.rows.pad, self.tol)
        else:
            guess = guess_inside(face, self.rows, alive, self.tol)
        if guess is None:
            return None, []
        self.work.passes += guess.passes
        support = [int(i) for i in (guess.support if first else alive[guess.support])]
        if guess.meets:
            found = cancel(self.rows, support, face.free)
            return (None if found is None else Outcome(None, *found, 0)), support
        plane = self._plane(face, guess, first)
        if plane is not None:
            answer = self._signs(plane)
            if np.all(answer.of[alive] > 0):
                self.guess, self.signs = guess, answer
                return Outcome(plane, {}, {}, 0), []
        return None, support

    def _plane(self, face: Face, guess: Guess, first: bool) -> list[int] | None:
        """The guess as an exact plane, in the coordinates of the exact rows."""
        if not np.all(np.isfinite(guess.w)) or not np.isfinite(guess.b) or not np.any(guess.w):
            return None
        u = [float(v) for v in guess.w]
        if not first:
            return face.lift(as_integers([_fraction(v) for v in u]))
        z = [_fraction(v, int(k)) for v, k in zip(u, self.rows.exponents, strict=True)]
        if self.rows.pad:
            z.append(_fraction(guess.b))
        return as_integers(z)


def _fraction(value: float, exponent: int = 0) -> Fraction:
    """value · 2^exponent."""
    return Fraction(value) * (Fraction(2) ** exponent)
