"""Is my data linearly separable? A verdict with an exact proof.

:func:`judge` turns what exact arithmetic finds on the rows of a :class:`Question` into a
:class:`Verdict` with its proof, which is written down in text, and confirmed by the independent checker
before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin import checker
from maxmargin.certificates.proof import (
    Proof,
    fingerprint_of,
    fraction_text,
    in_doubles,
    integer_text,
    label_text,
    streams_of,
)
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict, Work
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import (
    NEVER,
    Deadline,
    OutOfTimeError,
    check_bool,
    check_choice,
    check_number,
)
from maxmargin.estimators.precision import on_demand
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.question import Among, Question, ask, plane_text, user_plane, witness_of
from maxmargin.estimators.validation import check_exact_survey, feature_names, names_of, read_training
from maxmargin.rows.survey import gather
from maxmargin.rows.training_data import Machine, Part, Partitions, TrainingData, machines_of
from maxmargin.solvers.exact.hard_margin import (
    Separated,
    exact_hard_margin,
    separated,
    uniform,
    within_reach,
)
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive
from maxmargin.solvers.exact.separability import Finding, Guess, find_verdict, guess_from
from maxmargin.solvers.exact.signs import from_doubles, nearest, not_exceeded, rounded
from maxmargin.solvers.margin.tasks import Solved

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
            return judge_partitions(data, machines, features, options)
        data = gather(data)
        machines = [machine.on(data.codes) for machine in machines]
    verdicts = []
    for machine in machines:
        question = question_of(data, machine, features, options, partial)
        verdicts.append(judge(question, options.tol, margin=options.margin)[0])
    return verdicts


def judge_partitions(
    data: TrainingData,
    machines: Sequence[Machine],
    features: tuple[str, ...],
    options: Options,
) -> list[Verdict]:
    """The verdicts on machines whose rows stay in partitions; only those that matter come here.

    A verdict on some rows is put before all, and rows that contradict it join them, until none does. The
    proof is about all rows: its fingerprint is taken partition by partition.
    """
    from maxmargin.solvers.exact.objections import decide_on_partitions
    from maxmargin.solvers.margin.questions import BinaryTask

    if options.numbers == "decimal":
        raise InputError(
            "numbers must be 'binary' for rows in partitions. Got 'decimal' instead. compute() rows "
            "that fit into memory."
        )
    rows, labels, pad = data.rows, data.classes.tolist(), float(options.fit_intercept)
    verdicts = []
    tasks = [BinaryTask(machine.positive, machine.negative, None, pad) for machine in machines]
    found = decide_on_partitions(data, tasks, options.tol, options.deadline)
    for machine, task, one in zip(machines, tasks, found, strict=True):
        pool, finding = one.pool, one.finding
        machine = replace(machine, members=rows.offsets[pool.part] + pool.number)
        on = [
            start + some for start, some in zip(rows.offsets, one.on, strict=False) if some is not None
        ]
        among = Among(
            one.n,
            data.reach,
            partial(fingerprint_of_partitions, rows, task, one.n),
            np.concatenate([np.empty(0, np.int64), *on]),
        )
        asking = ask(machine, pool.rows, pool.y, labels, features, options.fit_intercept)
        question = replace(asking, among=among)
        one.rows.deadline = NEVER
        if finding.kind == "undecided":
            verdicts.append(undecided(question, one.rows, replace(finding, guess=None)))
            continue
        finding.work.exact_rows = one.exact
        filtered = 0 if finding.plane is None else one.n - one.exact
        verdicts.append(put_into_words(question, one.rows, finding, one.answer, filtered))
    return verdicts


def fingerprint_of_partitions(rows: Partitions, task: Any, count: int) -> str:
    """The fingerprint of the rows of a machine, which are brought here partition by partition."""
    parts = (part for k in range(rows.parts) for part in rows.along(_streams, None, [k], [task]))
    return fingerprint_of(parts, count, rows.d)


def _streams(part: Part, task: Any, _: None) -> list[list[np.ndarray]]:
    which = task.members(part.codes)
    rows = part.rows if len(which) == part.rows.n else part.rows.select(which)
    return list(streams_of(rows, task.signs(part.codes[which])))


def read_labelled(X: Any, y: Any, numbers: str = "binary") -> tuple[TrainingData, tuple[str, ...]]:
    """Check X and y: finite numbers of any size, and labels that differ as text; name the features."""
    reader = BaseEstimator()
    data = provable(read_training(reader, X, y, numbers=numbers))
    return data, feature_names(names_of(reader), data.rows.d)


def provable(data: TrainingData) -> TrainingData:
    """Refuse numbers that doubles do not hold, and labels that a proof, which is text, mixes up."""
    labels = data.classes.tolist()
    if len({label_text(label) for label in labels}) < len(labels):
        raise InputError(
            f"y must hold labels that are told apart by their values. Got {labels} instead, of "
            "which some read the same in a proof. Give them distinct names."
        )
    return check_exact_survey(data)


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


def second_opinion(question: Question, first: Solved) -> tuple[Verdict, Solved | None]:
    """What exact arithmetic says of rows that floating point could not separate.

    The weights with which it saw them cancel are tried at once. Returns the verdict, and if the classes
    are separable after all a plane with multipliers.
    """
    verdict, _ = judge(question, known=guess_from(first) if first.meets else None)
    if verdict.kind == "undecided":
        raise OutOfTimeError
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
