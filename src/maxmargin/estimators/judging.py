"""From a question to its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import Verdict, Work
from maxmargin.core.witness import Witness
from maxmargin.estimators.question import Question, in_doubles, in_integers, user_numbers, write_proof
from maxmargin.solvers.exact.doubles import nearest
from maxmargin.solvers.exact.separated import Separated, separated
from maxmargin.solvers.exact.verdict import Finding, find_verdict
from maxmargin.solvers.exact.whole import ExactRows, Number

__all__ = ["judge", "judged", "put_into_words", "witness_of"]


def judge(question: Question, tol: float = 0.05) -> Verdict:
    """Find the verdict on one question, and put it into words and proof."""
    return judged(question, tol)[0]


def judged(question: Question, tol: float = 0.05) -> tuple[Verdict, Finding]:
    """The same, with what the solver found."""
    rows = question.exact_rows()
    finding = find_verdict(rows, tol)
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
