"""Is my data linearly separable? A verdict with an exact proof.

A :class:`Question` is about two classes, or one against the rest. :func:`judge` turns what exact
arithmetic finds on its rows into a :class:`Verdict` with its proof, which is written down in text, and
confirmed by the independent checker before anybody sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin import checker
from maxmargin.certificates.proof import (
    Proof,
    fingerprint,
    fraction_text,
    in_doubles,
    integer_text,
    label_text,
)
from maxmargin.certificates.verdict import MulticlassVerdict, OnDemand, Precision, Verdict, Work
from maxmargin.core.errors import InputError, Witness
from maxmargin.core.parameters import (
    NEVER,
    Deadline,
    OutOfTimeError,
    check_bool,
    check_choice,
    check_number,
)
from maxmargin.estimators.validation import check_exact_survey, feature_names, read_training, time_limit
from maxmargin.rows import Rows
from maxmargin.rows.survey import gather
from maxmargin.rows.training_data import Machine, TrainingData, machines_of
from maxmargin.solvers.exact.decimal_rows import Decimals
from maxmargin.solvers.exact.hard_margin import Separated, separated
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, exponents_of, primitive
from maxmargin.solvers.exact.separability import Finding, Guess, find_verdict
from maxmargin.solvers.exact.signs import from_doubles, nearest, not_exceeded, rounded, signs

NUMBERS = "binary", "decimal"
NUMBERS_AT_A_TIME = 1 << 14  # of rows whose sums are confirmed
MAX_NUMBERS_CHECKED = 1 << 16  # of data that the independent checker checks again as a whole


Answer = Verdict | MulticlassVerdict


@dataclass(frozen=True)
class Options:
    """What is asked for, beside rows and labels."""

    fit_intercept: bool = True
    tol: float = 0.05
    margin: bool = True
    numbers: str = "binary"
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        check_bool("fit_intercept", self.fit_intercept)
        check_number("tol", self.tol, above=0, below=1)
        check_bool("margin", self.margin)
        check_choice("numbers", self.numbers, NUMBERS)


def separability(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    tol: float = 0.05,
    margin: bool = True,
    numbers: str = "binary",
    max_seconds: float | None = None,
    verbose: int = 0,
) -> Answer:
    """Decide whether a plane separates the classes, and prove it.

    Every verdict is exact: the plane is proven on every row, or the witness cancels exactly, in
    integers. Floating point is used to find them, and its error bounds where they decide. There is no
    tolerance, and no undecided case but for want of time. The independent checker confirms the whole
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
    margin : bool, default True
        Look for a plane with a large margin. Otherwise any plane will do, and the bounds on the margin
        are whatever comes with it.
    numbers : "binary" or "decimal", default "binary"
        *binary*: the doubles as they are stored. *decimal*: the numbers as they are written. Each double
        stands for the shortest decimal that rounds to it, so that 0.1 + 0.2 is 0.3 and a total is the
        sum of its parts; the proof says so. X must hold doubles.
    max_seconds : float, optional
        Budget of time. If it ends first, the verdict is "undecided" and says what is known.
    verbose : int, default 0
        1 shows how it is going after half a second.

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
    >>> X = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.9], [0.1, 0.5, 0.6], [0.4, 0.2, 0.6]]
    >>> [mm.separability(X, [0, 0, 1, 1], numbers=kind).kind for kind in ("binary", "decimal")]
    ['separable', 'overlapping']
    """
    with time_limit("separability", max_seconds, verbose) as deadline:
        options = Options(fit_intercept, tol, margin, numbers, deadline)
        data, features = read_labelled(X, y, numbers)
        machines = asked(data)
        return answered(machines, judge_machines(data, machines, features, options))


def decide(
    X: Any,
    y: Any,
    options: Options,
    names: Sequence[str] | None = None,
    sides: tuple[Hashable, Hashable] | None = None,
) -> Answer:
    """Decide for given feature names, and for the classes asked for: (one, other), None: all others."""
    data, features = read_labelled(X, y, options.numbers)
    features, machines = features if names is None else tuple(names), asked(data, sides)
    return answered(machines, judge_machines(data, machines, features, options))


def asked(data: TrainingData, sides: tuple[Hashable, Hashable] | None = None) -> list[Machine]:
    """The machine of two sides, (one, other), other None: all others; without ``sides`` all machines."""
    labels, ones = data.classes.tolist(), np.ones(len(data.classes))
    if sides is not None:
        positive, negative = [None if side is None else labels.index(side) for side in sides]
        assert positive is not None
        return [Machine(sides, positive, negative, data.codes, ones).on(data.codes)]
    machines = machines_of(data, "ovr", ones)
    return machines if len(labels) == 2 else [*machines, *machines_of(data, "ovo", ones)]


def answered(machines: Sequence[Machine], verdicts: Sequence[Verdict]) -> Answer:
    """The verdicts on all of :func:`asked` as one answer."""
    if len(verdicts) == 1:
        return verdicts[0]
    rest, pairs = dict[Hashable, Verdict](), dict[Any, Verdict]()
    for machine, verdict in zip(machines, verdicts, strict=True):
        (rest if machine.negative is None else pairs)[machine.label] = verdict
    return MulticlassVerdict(rest, pairs)


def judge_machines(
    data: TrainingData,
    machines: Sequence[Machine],
    features: tuple[str, ...],
    options: Options,
    partial: bool = False,
) -> list[Verdict]:
    """The verdicts on machines; what partitions hold is brought here if it is not much.

    ``partial`` as for :func:`ask`.
    """
    if data.here is None:
        from maxmargin.solvers.exact.objections import SETTINGS

        if data.entries > SETTINGS.max_numbers_here:
            from maxmargin.estimators.separability_partitions import judge_partitions

            return judge_partitions(data, machines, features, options)
        data = gather(data)
        machines = [machine.on(data.codes) for machine in machines]
    verdicts = []
    for machine in machines:
        question = question_of(data, machine, features, options, partial)
        verdicts.append(judge(question, options.tol, margin=options.margin)[0])
    return verdicts


def read_labelled(X: Any, y: Any, numbers: str = "binary") -> tuple[TrainingData, tuple[str, ...]]:
    """Check X and y: finite numbers of any size, and labels that differ as text; name the features."""
    reader = BaseEstimator()
    data = provable(read_training(reader, X, y, numbers=numbers))
    return data, feature_names(reader, data.rows.d)


def provable(data: TrainingData) -> TrainingData:
    """Refuse numbers that doubles do not hold, and labels that a proof, which is text, mixes up."""
    labels = data.classes.tolist()
    if len({label_text(label) for label in labels}) < len(labels):
        raise InputError(
            f"y must hold labels that are told apart by their values. Got {labels} instead, of "
            "which some read the same in a proof. Give them distinct names."
        )
    return check_exact_survey(data)


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


def question_of(
    data: TrainingData,
    machine: Machine,
    features: tuple[str, ...],
    options: Options,
    partial: bool = False,
) -> Question:
    """Whether the two sides of a machine are separable; ``partial`` as for :func:`ask`."""
    assert data.here is not None
    rows, codes, _ = data.here
    members = machine.members
    return ask(
        machine,
        rows if len(members) == rows.n else rows.select(members),
        machine.signs(codes[members]),
        data.classes.tolist(),
        features,
        options.fit_intercept,
        partial,
        whole=rows,
        deadline=options.deadline,
        decimal=options.numbers == "decimal",
    )


def judge(
    question: Question, tol: float = 0.05, known: Guess | None = None, margin: bool = True
) -> tuple[Verdict, Finding]:
    """Return the verdict on a question with its proof, and what the solver found.

    The solver begins with what is ``known`` in floating point.
    """
    rows = question.exact_rows()
    finding, answer = find_verdict(rows, tol, known, margin), None
    if finding.kind == "separable":
        try:
            answer = separated(rows, finding, tol, margin)
        except OutOfTimeError:  # the margin is known less well
            rows.deadline = NEVER
            answer = separated(rows, finding, tol, margin=False)
        question = replace(question, deadline=NEVER)  # the proof is a pass away
    if finding.kind != "undecided":
        filtered = 0 if finding.signs is None else rows.n - finding.signs.exact
        with suppress(OutOfTimeError):
            return put_into_words(question, rows, finding, answer, filtered), finding
    rows.deadline = NEVER
    return undecided(question, rows, finding), replace(finding, kind="undecided")


def undecided(question: Question, rows: ExactRows, finding: Finding) -> Verdict:
    """What is known when the time is over before there is a proof."""
    guess, likely, margin = finding.guess, None, None
    if guess is not None and guess.meets:
        likely = False
    elif guess is not None and not finding.witness and np.any(guess.w) and np.all(np.isfinite(guess.w)):
        plane = rounded(from_doubles(rows, guess.w, guess.b))
        likely = True if np.all(rows.values(plane) > 0) else None
        upper = not_exceeded(rows, guess.support.tolist(), guess.alpha.tolist())
        margin = (0.0, question.in_units(upper, up=True)) if upper < np.inf else None
    return Verdict(
        kind="undecided",
        w=None,
        b=None,
        plane_is_exact=False,
        margin=margin,
        witness=witness_of(question, rows, finding.witness) if finding.witness else None,
        on_plane=np.empty(0, np.int64),
        negative=question.negative,
        positive=question.positive,
        rank=None,
        proof=None,
        work=work_of(finding, 0),
        features=question.features,
        likely_separable=likely,
    )


def put_into_words(
    question: Question, rows: ExactRows, finding: Finding, answer: Separated | None, filtered: int
) -> Verdict:
    """What was found as a verdict with its proof; floating point decided ``filtered`` rows."""
    w, b, exact, margin = None, None, True, None
    z = finding.plane if answer is None else answer.plane
    plane: dict[str, Any] = {}
    if z is not None:
        numbers = user_plane(question, rows, z)
        w, b = nearest(rows, z) if answer is None else (answer.w, answer.b)
        b /= 10.0**question.places
        exact = answer.doubles if answer is not None else _is_multiple(w, b, numbers)
        if exact and question.places:
            exact = answer is not None and bool(np.all(question.signs_of(rows, w, b) > 0))
        doubles = answer is not None and exact
        plane = in_doubles(w, b) if doubles else plane_text(question, numbers)
    if answer is not None:
        margin = question.in_units(answer.lower), question.in_units(answer.upper, up=True)
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
        work=work_of(finding, filtered),
        features=question.features,
        on_demand=on_demand(replace(question, deadline=NEVER), rows, finding, z),
    )


def on_demand(
    question: Question, rows: ExactRows, finding: Finding, z: Sequence[Number] | None
) -> OnDemand:
    """What a verdict with plane ``z`` finds when it is asked for: rarely, and it may take long."""

    def precision() -> Precision:
        from maxmargin.estimators.precision import measure

        rows.deadline = NEVER
        return measure(question, rows, finding, z)

    def directions() -> dict[str, int]:
        from maxmargin.estimators.precision import directions

        return directions(question, finding)

    if not question.rows.resident:  # a file may be gone by then
        measured = precision()
        return OnDemand(lambda: measured)
    if z is None or question.among is not None:
        return OnDemand(precision)
    return OnDemand(precision, directions, question.count * rows.D**2)


def work_of(finding: Finding, filtered: int) -> Work:
    """How a finding was reached; floating point decided ``filtered`` rows."""
    work = finding.work
    return Work(work.passes, filtered, work.exact_rows, work.pivots, work.bits)


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
    totals = {s: sum([weights[i] for i in which]) for s, which in sides.items()}
    if not question.fit_intercept:
        totals = dict.fromkeys(totals, sum(totals.values()))
    shares = {s: [Fraction(weights[i], totals[s]) for i in which] for s, which in sides.items()}
    best = 1.0 if sides[1.0] else -1.0
    mean = rows.given.select(np.array(sides[best])).combine(np.array([shares[best]], dtype=np.float64))[
        0
    ]
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


def write_proof(question: Question, rows: ExactRows, finding: Finding, plane: dict[str, Any]) -> Proof:
    """Write down what was found; the independent checker confirms it."""
    content = question.header(finding.kind)
    weights: dict[int, int] = {}
    if plane:
        content["plane"] = plane
    if finding.kind == "touching":
        content["on_plane"] = question.numbered_on_plane(finding).tolist()
    if finding.witness:
        content["witness"] = _sum(question, finding.witness)
    if finding.kind == "overlapping":
        assert finding.face is not None
        weights, flats = finding.face.weights, list[list[Number]]()
        if len(finding.face.Q) and rows.n == question.count <= 2 * rows.D:
            weights = finding.face.with_all_rows()  # then nothing is left to be spanned
        elif len(finding.face.Q):
            flats = [user_plane(question, rows, u) for u in finding.face.flats()]
        flat = [[fraction_text(v) for v in u] for u in flats]
        content["span"] = {**_sum(question, weights), "flat": flat}
    proof = question.proof(content)
    confirm(question, proof, list(finding.witness | weights))
    return proof


def _sum(question: Question, weights: dict[int, int]) -> dict[str, Any]:
    which = sorted(weights)
    values = primitive([weights[i] for i in which])
    return {"rows": question.numbered(which).tolist(), "weights": [integer_text(v) for v in values]}


def confirm(question: Question, proof: Proof, named: Sequence[int]) -> None:
    """Let the checker confirm the sums and ranks of a proof, and the whole of it on small data."""
    try:
        if question.rows.n == question.count <= MAX_NUMBERS_CHECKED / question.rows.d:
            checker.check(proof.parsed(), question.labelled(), question.deadline.check)
        else:
            _confirm_sums(question, proof, named)
    except checker.Rejected as error:
        raise AssertionError(
            f"the independent checker rejects the proof: {error}. This is a mistake in maxmargin; "
            "please report it with the data."
        ) from error


def _confirm_sums(question: Question, proof: Proof, named: Sequence[int]) -> None:
    kept, which = {}, list(dict.fromkeys(named))
    step = max(1, NUMBERS_AT_A_TIME // question.rows.d)
    for start in range(0, len(which), step):
        question.deadline.check()
        part = which[start : start + step]
        given = zip(part, question.numbered(part), question.rows.take(np.array(part)), strict=True)
        for i, number, row in given:
            columns = np.flatnonzero(row).tolist()
            values = [*row[columns].tolist(), *([1.0] if question.fit_intercept else [])]
            if question.fit_intercept:
                columns.append(question.rows.d)
            kept[int(number)] = checker.signed(int(question.y[i]), columns, values, question.decimal)
    seen = np.flatnonzero(np.append(question.reach > 0, question.fit_intercept)).tolist()
    checker.require_sums(proof.content, kept, seen, question.deadline.check)
