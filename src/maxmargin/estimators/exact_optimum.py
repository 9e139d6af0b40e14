"""The hard margin in fractions: its optimum, and a second opinion where floating point gives up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from maxmargin.certificates.proof import fraction_text
from maxmargin.certificates.verdict import ExactOptimum, Verdict
from maxmargin.core.parameters import NEVER, OutOfTimeError
from maxmargin.estimators.separability import Question, confirm, judge, plane_text
from maxmargin.solvers.exact.hard_margin import exact_hard_margin, uniform, within_reach
from maxmargin.solvers.exact.separability import guess_from
from maxmargin.solvers.margin.tasks import Solved

SUPPORT_GAP = 1e-9  # gap at which the support of a guess is likely that of the optimum


def exact_optimum(question: Question) -> tuple[Verdict, ExactOptimum | None]:
    """The verdict, and if the classes are separable and there is time the largest margin, exactly."""
    verdict, finding = judge(question, SUPPORT_GAP)
    if not verdict.separable:
        return verdict, None
    start = {}
    if finding.guess is not None:
        start = dict(zip(finding.guess.support.tolist(), finding.guess.alpha.tolist(), strict=True))
    rows = uniform(question.exact_rows())
    try:
        point = exact_hard_margin(rows, start)
    except OutOfTimeError:
        return verdict, None
    # Exact rows are 10^places times those of the user, and their columns 2^-k times that.
    unit = Fraction(2) ** rows.powers[0] / 10**question.places
    w = tuple(v / unit for v in point.w)
    which = sorted(point.alpha)
    alpha = {int(question.given([i])[0]): point.alpha[i] / unit**2 for i in which}
    content = question.header("optimum")
    content["plane"] = plane_text(question, [*w, point.b])
    weights = [fraction_text(v) for v in alpha.values()]
    content["multipliers"] = {"rows": question.numbered(which).tolist(), "weights": weights}
    proof = question.proof(content)
    confirm(replace(question, deadline=NEVER), proof, which)
    square = 1 / sum([v * v for v in w], Fraction(0))
    return verdict, ExactOptimum(w, point.b, alpha, square, proof, point.solves, point.exact_rows)


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
