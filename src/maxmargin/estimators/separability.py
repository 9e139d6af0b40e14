"""Is my data linearly separable? A verdict with an exact proof.

:func:`judge` turns what exact arithmetic finds on a question into a :class:`Verdict` with its proof.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.certificates.proof import label_text
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict, Work
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode, find_classes
from maxmargin.core.parameters import check_bool, check_number
from maxmargin.core.witness import Witness
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.proofs import Question, ask, in_doubles, in_integers, user_numbers, write_proof
from maxmargin.estimators.validation import check_exact, check_finite, names_of, read_Xy, remote
from maxmargin.rows import Rows
from maxmargin.solvers.exact.hard_margin import Separated, separated
from maxmargin.solvers.exact.integer_rows import ExactRows, Number
from maxmargin.solvers.exact.separability import Finding, Guess, find_verdict
from maxmargin.solvers.exact.signs import nearest
from maxmargin.solvers.problem import Machine


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


def feature_names(estimator: Any, d: int) -> tuple[str, ...]:
    """The names of the columns of a data frame, or x0, x1 and so on."""
    return tuple(map(str, getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(d)])))


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
