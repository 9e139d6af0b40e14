"""Two classes among labelled rows, as exact arithmetic is asked about them.

A :class:`Question` knows its rows, where they stand in the user's data, and what doubles stand for. All
that a proof says of rows is written in its words: their numbers, labels, fingerprint and units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from maxmargin import checker
from maxmargin.certificates.proof import Proof, fingerprint, fraction_text, label_text
from maxmargin.core.errors import Witness
from maxmargin.core.parameters import NEVER, Deadline
from maxmargin.rows import Rows
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.exact.decimal_rows import Decimals
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, exponents_of, primitive
from maxmargin.solvers.exact.separability import Finding
from maxmargin.solvers.exact.signs import from_doubles, signs


class Among(NamedTuple):
    """What is known of all rows of a question, of which only some are here."""

    n: int
    reach: np.ndarray  # the largest |x_ij|, for every feature j
    fingerprint: Callable[[], str]
    on_plane: np.ndarray  # the rows on the plane that was found, by their numbers in the user's data


@dataclass(frozen=True)
class Question:
    """Two classes, or one against all others, among labelled rows."""

    rows: Rows  # of both sides
    y: np.ndarray  # ±1 for each of them
    members: np.ndarray | None  # where they stand in the user's data; None for all, in order
    positive: Hashable
    negative: Hashable  # None: all others
    others: Sequence[Hashable]  # the labels of the negative side
    features: tuple[str, ...]
    fit_intercept: bool = True
    partial: bool = False  # rows of these labels were left out: the proof is about X[members] alone
    whole: Rows | None = None  # the rows of all classes, if ``rows`` is a copy of some of them
    deadline: Deadline = NEVER  # when exact arithmetic has to end
    among: Among | None = None  # what is known of all rows, if ``rows`` are only some of them
    decimal: bool = False  # a double stands for the shortest decimal that rounds to it

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients: of the features, and one that is none of them."""
        last = "intercept"
        while last in self.features:
            last = f"({last})"
        return (*self.features, last)

    @property
    def count(self) -> int:
        """How many rows the proof is about."""
        return self.rows.n if self.among is None else self.among.n

    @property
    def reach(self) -> np.ndarray:
        """The largest |x_ij| of all rows, for every feature j."""
        return self.rows.column_reach if self.among is None else self.among.reach

    @cached_property
    def decimals(self) -> Decimals | None:
        """The rows as decimals, if that is what they stand for."""
        return Decimals.of(self.rows) if self.decimal else None

    @property
    def places(self) -> int:
        """The rows in exact arithmetic are 10^places times those given."""
        return 0 if self.decimals is None else self.decimals.places

    def in_units(self, margin: float, up: bool = False) -> float:
        """A margin of the exact rows in the units of the user, rounded down or up."""
        if not self.places or math.isinf(margin):
            return margin
        return margin / 10.0**self.places * (1 + 1e-15 if up else 1 - 1e-15)

    def signs_of(self, rows: ExactRows, w: np.ndarray, b: float) -> np.ndarray:
        """On which side of a plane of the user each row is, decided exactly."""
        *z, last = from_doubles(rows, w, b) if self.fit_intercept else [*from_doubles(rows, w, b), 0]
        z = [*z, last * 10**self.places] if self.fit_intercept else z
        return signs(rows, z).of

    def exact_rows(self) -> ExactRows:
        """The rows in exact arithmetic."""
        if self.decimals is not None:
            return self.decimals.exact_rows(self.y, float(self.fit_intercept), self.deadline)
        exponents = exponents_of(self.reach)
        pad, used = float(self.fit_intercept), self.reach > 0
        return ExactRows(self.rows, self.y, pad, exponents, used, self.deadline)

    def header(self, kind: str) -> dict[str, Any]:
        """The entries that all proofs have."""
        return {
            "format": "maxmargin proof",
            "version": 1,
            "kind": kind,
            "intercept": self.fit_intercept,
            "features": self.rows.d,
            "rows": self.count,
            "positive": [label_text(self.positive)],
            "negative": [label_text(label) for label in self.others],
            **({"numbers": "decimal"} if self.decimal else {}),
        }

    def proof(self, content: dict[str, Any]) -> Proof:
        """A proof about these rows; their fingerprint is taken when it is needed.

        Until then the user's rows are held, but no copies of them.
        """
        if self.among is not None:
            return Proof(content, self.among.fingerprint)
        rows, y, whole, members = self.rows, self.y, self.whole, self.members
        if whole is None or members is None:
            return Proof(content, partial(fingerprint, rows, y))
        return Proof(content, lambda: fingerprint(whole.select(members), y))

    def labelled(self) -> Iterator[checker.Row]:
        """The rows as the independent checker reads them, with rows of other classes left blank."""
        one = label_text(self.positive)
        others = cycle([label_text(label) for label in self.others])  # which of them is all the same
        number = 0
        for where, block in self.rows.blocks():
            for i, row in zip(
                range(where.start, where.stop), block.take(np.arange(block.n)).tolist(), strict=True
            ):
                here = i if self.members is None or self.partial else int(self.members[i])
                for _ in range(number, here):
                    yield "\0", {}
                number = here + 1
                yield one if self.y[i] > 0 else next(others), {j: v for j, v in enumerate(row) if v}

    def numbered(self, which: Iterable[int]) -> np.ndarray:
        """Row numbers in the data that the proof is about."""
        return np.array(list(which), dtype=np.int64) if self.partial else self.given(which)

    def given(self, which: Iterable[int]) -> np.ndarray:
        """Row numbers in the user's data."""
        rows = np.array(list(which), dtype=np.int64)
        return rows if self.members is None else self.members[rows]

    def on_plane(self, finding: Finding) -> np.ndarray:
        """The rows on the plane of a finding, by their numbers in the user's data."""
        return self.given(finding.on_plane) if self.among is None else self.among.on_plane

    def numbered_on_plane(self, finding: Finding) -> np.ndarray:
        """The same by their numbers in the data that the proof is about."""
        return self.numbered(finding.on_plane) if self.among is None else self.among.on_plane


def ask(
    machine: Machine,
    part: Rows,
    y: np.ndarray,
    labels: Sequence[Hashable],
    features: tuple[str, ...],
    fit_intercept: bool,
    partial: bool = False,
    whole: Rows | None = None,
    deadline: Deadline = NEVER,
    decimal: bool = False,
) -> Question:
    """Ask whether the two sides of a machine are separable; ``part`` holds the rows of its members.

    ``partial`` says that some rows of their classes are not among them; ``whole`` are all rows. After
    the ``deadline`` whoever answers raises :class:`OutOfTimeError`.
    """
    others = [k for k in range(len(labels)) if k != machine.positive]
    members = machine.members
    everything = len(members) == 0 or int(members[-1]) == len(members) - 1
    return Question(
        part,
        y,
        None if everything else members,
        labels[machine.positive],
        None if machine.negative is None else labels[machine.negative],
        [labels[k] for k in (others if machine.negative is None else [machine.negative])],
        features,
        fit_intercept,
        partial,
        whole,
        deadline,
        decimal=decimal,
    )


def witness_of(question: Question, rows: ExactRows, weights: dict[int, int]) -> Witness:
    """Rows that cancel, as the user sees them."""
    sides = {s: [i for i in sorted(weights) if rows.y[i] == s] for s in (1.0, -1.0)}
    totals = {s: sum([weights[i] for i in which]) for s, which in sides.items()}
    if not question.fit_intercept:
        totals = dict.fromkeys(totals, sum(totals.values()))
    shares = {s: [Fraction(weights[i], totals[s]) for i in which] for s, which in sides.items()}
    best = 1.0 if sides[1.0] else -1.0
    some = rows.given.select(np.array(sides[best]))
    mean = some.combine(np.array([shares[best]], dtype=np.float64))[0]
    return Witness(
        positive=question.given(sides[1.0]),
        positive_weights=np.array(shares[1.0], dtype=object),
        negative=question.given(sides[-1.0]),
        negative_weights=np.array(shares[-1.0], dtype=object),
        point=mean,
        means=question.fit_intercept,
    )


def user_plane(question: Question, rows: ExactRows, z: Sequence[Number]) -> list[Number]:
    """A plane of the exact rows in the coordinates of the user, up to a positive factor."""
    most = max([0, *rows.powers])
    unit = 10**question.places
    scaled = [v * (unit << most - k) for v, k in zip(z, rows.powers, strict=False)]
    scaled += [v * (1 << most) for v in z[rows.d :]]
    return primitive(scaled) if set(map(type, scaled)) == {int} else scaled


def plane_text(question: Question, numbers: Sequence[Number]) -> dict[str, Any]:
    """A plane of the user as text."""
    w = [fraction_text(v) for v in numbers[: question.rows.d]]
    return {"w": w, "b": fraction_text(numbers[-1]) if question.fit_intercept else "0"}
