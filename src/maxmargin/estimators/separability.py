"""Is my data linearly separable? A verdict with an exact proof.

A :class:`Question` is about two classes, or one against the rest; :func:`judge` turns what exact
arithmetic finds into a :class:`Verdict` with a :class:`Proof`. The hard-margin machine asks here for a
second opinion, and for its exact optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, cycle
from typing import Any, NamedTuple, cast

import numpy as np
from flint import fmpz
from sklearn.base import BaseEstimator

from maxmargin import checker
from maxmargin.certificates.proof import Proof, fingerprint, label_text
from maxmargin.certificates.verdict import ExactOptimum, MulticlassVerdict, Verdict, Work
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode, find_classes
from maxmargin.core.parameters import NEVER, Deadline, check_bool, check_number
from maxmargin.core.witness import Witness
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.validation import (
    check_exact,
    check_finite,
    feature_names,
    names_of,
    read_Xy,
    remote,
)
from maxmargin.rows import Rows
from maxmargin.solvers.exact.hard_margin import (
    Separated,
    exact_hard_margin,
    separated,
    uniform,
    within_reach,
)
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, as_integers, exponents_of, primitive
from maxmargin.solvers.exact.separability import Finding, Guess, find_verdict, guess_from
from maxmargin.solvers.exact.signs import nearest
from maxmargin.solvers.margin.tasks import Solved
from maxmargin.solvers.problem import Machine

CHECKED = 1 << 16  # numbers of data that is checked again as a whole by the independent checker


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

    @property
    def count(self) -> int:
        """How many rows the proof is about."""
        return self.rows.n if self.among is None else self.among.n

    @property
    def reach(self) -> np.ndarray:
        """The largest |x_ij| of all rows, for every feature j."""
        return self.rows.column_reach if self.among is None else self.among.reach

    def exact_rows(self) -> ExactRows:
        """The rows in exact arithmetic."""
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
        }

    def proof(self, content: dict[str, Any]) -> Proof:
        """A proof about these rows; their fingerprint is taken when it is needed.

        Until then the user's rows are held, but no copies of them.
        """
        if self.among is not None:
            return Proof(content, self.among.fingerprint)
        rows, y, whole, members = self.rows, self.y, self.whole, self.members
        if whole is None or members is None:
            return Proof(content, lambda: fingerprint(rows, y))
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
    )


class Labelled(NamedTuple):
    """Data as all questions about proofs begin with it."""

    rows: Rows
    classes: np.ndarray
    codes: np.ndarray
    features: tuple[str, ...]


def read_labelled(X: Any, y: Any) -> Labelled:
    """Check X and y: finite numbers of any size that doubles hold, and labels that differ as text."""
    reader = BaseEstimator()
    rows, y = read_Xy(reader, X, y, check=False)
    check_exact(X)
    check_finite(rows, names_of(reader))
    classes = find_classes(y)
    distinct_labels(classes.tolist())
    return Labelled(rows, classes, encode(y, classes), feature_names(reader, rows.d))


def distinct_labels(labels: Sequence[Hashable]) -> None:
    """Refuse labels that a proof, where they are text, cannot tell apart."""
    if len({label_text(label) for label in labels}) < len(labels):
        raise InputError(
            f"y must hold labels that are told apart by their values. Got {list(labels)} instead, of "
            "which some read the same in a proof. Give them distinct names."
        )


def in_doubles(w: np.ndarray, b: float) -> dict[str, Any]:
    """A plane of doubles as text, exactly."""
    return {"w": [float(v).hex() for v in w], "b": float(b).hex()}


def in_integers(rows: ExactRows, z: Sequence[Number]) -> dict[str, Any]:
    """A plane of the exact rows as text, in the coordinates of the user, in integers."""
    return _text(rows, as_integers(user_numbers(rows, z)))


def user_numbers(rows: ExactRows, z: Sequence[Number]) -> list[Number]:
    """A plane of the exact rows in the coordinates of the user, up to a positive factor."""
    most = max([0, *rows.powers])
    scaled = [v * (1 << most - k) for v, k in zip(z, [*rows.powers, 0], strict=False)]
    return primitive(scaled) if all(isinstance(v, int) for v in scaled) else scaled


def _text(rows: ExactRows, numbers: Sequence[Number]) -> dict[str, Any]:
    w = [fraction_text(v) for v in numbers[: rows.d]]
    return {"w": w, "b": fraction_text(numbers[rows.d]) if rows.pad else "0"}


def integer_text(value: int) -> str:
    """Decimal digits, also of integers with many thousands of them, which str() refuses."""
    return str(fmpz(value))


def fraction_text(value: Number) -> str:
    """A whole number or a fraction as text."""
    p, q = integer_text(value.numerator), value.denominator
    return p if q == 1 else f"{p}/{integer_text(q)}"


def write_proof(question: Question, rows: ExactRows, finding: Finding, plane: dict[str, Any]) -> Proof:
    """Write down what was found; the independent checker confirms it."""
    content = question.header(finding.kind)
    weights: dict[int, int] = {}
    if plane:
        content["plane"] = plane
    if finding.kind == "touching":
        assert finding.plane is not None
        content["plane"] = _text(rows, user_numbers(rows, finding.plane))  # shorter with fractions
        content["on_plane"] = question.numbered_on_plane(finding).tolist()
    if finding.witness:
        content["witness"] = _sum(question, finding.witness)
    if finding.kind == "overlapping":
        assert finding.face is not None
        weights, flats = finding.face.weights, list[list[Number]]()
        if len(finding.face.Q) and rows.n == question.count <= 2 * rows.D:
            weights = finding.face.with_all_rows()  # then nothing is left to be spanned
        elif len(finding.face.Q):
            flats = [user_numbers(rows, u) for u in finding.face.flats()]
        flat = [[fraction_text(v) for v in u] for u in flats]
        content["span"] = {**_sum(question, weights), "flat": flat}
    proof = question.proof(content)
    named = dict(finding.witness)
    if finding.kind == "overlapping":
        named |= weights
    confirm(question, proof, list(named))
    return proof


def _sum(question: Question, weights: dict[int, int]) -> dict[str, Any]:
    which = sorted(weights)
    values = primitive([weights[i] for i in which])
    return {"rows": question.numbered(which).tolist(), "weights": [integer_text(v) for v in values]}


def confirm(question: Question, proof: Proof, named: Sequence[int]) -> None:
    """Let the checker confirm the sums and ranks of a proof, and the whole of it on small data."""
    try:
        if question.rows.n == question.count <= CHECKED / question.rows.d:
            checker.check(proof.parsed(), question.labelled(), question.deadline.check)
        else:
            _confirm_sums(question, proof, named)
    except checker.Rejected as error:
        raise AssertionError(
            f"the independent checker rejects the proof: {error}. This is a mistake in maxmargin; "
            "please report it with the data."
        ) from error


def _confirm_sums(question: Question, proof: Proof, named: Sequence[int]) -> None:
    kept = {}
    for i in dict.fromkeys(named):
        question.deadline.check()
        row = question.rows.take(np.array([i]))[0]
        columns = np.flatnonzero(row).tolist()
        values = [*row[columns].tolist(), *([1.0] if question.fit_intercept else [])]
        if question.fit_intercept:
            columns.append(question.rows.d)
        kept[int(question.numbered([i])[0])] = checker.signed(int(question.y[i]), columns, values)
    seen = np.flatnonzero(np.append(question.reach > 0, question.fit_intercept)).tolist()
    checker.require_sums(proof.content, kept, seen, question.deadline.check)


def judge(question: Question, tol: float = 0.05) -> Verdict:
    """Find the verdict on one question, and put it into words and proof."""
    return judged(question, tol)[0]


def judged(question: Question, tol: float = 0.05, known: Guess | None = None) -> tuple[Verdict, Finding]:
    """The same, with what the solver found; it begins with what is ``known`` in floating point."""
    rows = question.exact_rows()
    finding = find_verdict(rows, tol, known)
    answer = separated(rows, finding, tol) if finding.kind == "separable" else None
    filtered = 0 if finding.signs is None else rows.n - finding.signs.exact
    return put_into_words(question, rows, finding, answer, filtered), finding


def put_into_words(
    question: Question, rows: ExactRows, finding: Finding, answer: Separated | None, filtered: int
) -> Verdict:
    """What was found as a verdict with its proof; floating point decided ``filtered`` rows."""
    w, b, exact, margin = None, None, True, None
    plane: dict[str, Any] = {}
    if answer is not None:
        w, b, exact, margin = answer.w, answer.b, answer.doubles, (answer.lower, answer.upper)
        plane = in_doubles(w, b) if exact else in_integers(rows, answer.plane)
    elif finding.plane is not None:
        w, b = nearest(rows, finding.plane)
        plane = in_integers(rows, finding.plane)
        exact = _is_multiple(w, b, user_numbers(rows, finding.plane))
    work = finding.work
    return Verdict(
        kind=finding.kind,
        w=w,
        b=b,
        plane_is_exact=exact,
        margin=margin,
        witness=witness_of(question, rows, finding.witness) if finding.witness else None,
        on_plane=question.on_plane(finding) if finding.kind == "touching" else np.empty(0, np.int64),
        negative=question.negative,
        positive=question.positive,
        rank=finding.face.rank if finding.kind == "overlapping" and finding.face else None,
        proof=write_proof(question, rows, finding, plane),
        work=Work(work.passes, filtered, work.exact_rows, work.pivots),
        features=question.features,
    )


def _is_multiple(w: np.ndarray, b: float, plane: Sequence[Number]) -> bool:
    """Whether doubles are in exact proportion to a plane."""
    ratios = [float(v).as_integer_ratio() for v in (*w.tolist(), b)]
    k = next(k for k, v in enumerate(plane) if v)
    (p, q), one = ratios[k], plane[k]
    pairs = zip(ratios, plane, strict=False)  # without an intercept there is no b
    return p != 0 and all(u * q * one == p * v * e for (u, v), e in pairs)


def witness_of(question: Question, rows: ExactRows, weights: dict[int, int]) -> Witness:
    """Rows that cancel, as the user sees them."""
    sides = {s: [i for i in sorted(weights) if rows.y[i] == s] for s in (1.0, -1.0)}
    totals = {s: sum(weights[i] for i in which) for s, which in sides.items()}
    if not question.fit_intercept:
        totals = dict.fromkeys(totals, sum(totals.values()))
    shares = {s: tuple(Fraction(weights[i], totals[s]) for i in which) for s, which in sides.items()}
    mean = np.zeros(rows.d)
    best = 1.0 if sides[1.0] else -1.0
    for i, share in zip(sides[best], shares[best], strict=True):
        mean += float(share) * rows.given.take(np.array([i]))[0]
    return Witness(
        positive=question.given(sides[1.0]),
        positive_weights=np.array(shares[1.0], dtype=object),
        negative=question.given(sides[-1.0]),
        negative_weights=np.array(shares[-1.0], dtype=object),
        point=mean,
        means=question.fit_intercept,
    )


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


NARROW = 1e-9  # gap at which the support of a guess is likely that of the optimum


def exact_optimum(question: Question) -> tuple[Verdict, ExactOptimum | None]:
    """The verdict, and if the classes are separable the largest margin in rational numbers."""
    verdict, finding = judged(question, NARROW)
    if not verdict.separable:
        return verdict, None
    start = {}
    if finding.guess is not None:
        start = dict(zip(finding.guess.support.tolist(), finding.guess.alpha.tolist(), strict=True))
    rows = uniform(question.exact_rows())
    point = exact_hard_margin(rows, start)
    unit = Fraction(2) ** rows.powers[0]
    w = tuple(v / unit for v in point.w)
    which = sorted(point.alpha)
    alpha = {int(question.given([i])[0]): point.alpha[i] / unit**2 for i in which}
    content = question.header("optimum")
    content["plane"] = {"w": [fraction_text(v) for v in w], "b": fraction_text(point.b)}
    weights = [fraction_text(v) for v in alpha.values()]
    content["multipliers"] = {"rows": question.numbered(which).tolist(), "weights": weights}
    proof = question.proof(content)
    confirm(question, proof, which)
    square = 1 / sum((v * v for v in w), Fraction(0))
    return verdict, ExactOptimum(w, point.b, alpha, square, proof, point.solves, point.exact_rows)


def second_opinion(question: Question, first: Solved) -> tuple[Verdict, Solved | None]:
    """What exact arithmetic says of rows that floating point could not separate.

    The weights with which it saw them cancel are tried at once. Returns the verdict, and if the classes
    are separable after all a plane with multipliers.
    """
    verdict, _ = judged(question, known=guess_from(first) if first.meets else None)
    passes = first.passes
    if not verdict.separable or verdict.w is None or verdict.b is None:
        return verdict, None
    alpha = np.zeros(question.rows.n)
    rows = question.exact_rows()
    if not within_reach(rows):
        m = question.y * (question.rows.times(verdict.w[:, None])[:, 0] + verdict.b)
        least = max(float(m.min()), np.finfo(float).tiny)
        return verdict, Solved(verdict.w / least, verdict.b / least, alpha, passes + 1)
    rows = uniform(rows)
    point = exact_hard_margin(rows, {})
    unit = Fraction(2) ** rows.powers[0]
    for i, value in point.alpha.items():
        alpha[i] = float(value / unit**2)
    return verdict, Solved(np.array([float(v / unit) for v in point.w]), float(point.b), alpha, passes)
