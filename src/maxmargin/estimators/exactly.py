"""What exact arithmetic adds to the hard-margin machine: a second opinion, and the exact optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from maxmargin.certificates.optimum import ExactOptimum
from maxmargin.certificates.verdict import Verdict
from maxmargin.estimators.judging import judged
from maxmargin.estimators.question import Question, confirm, fraction_text
from maxmargin.solvers.exact.optimum import exact_hard_margin
from maxmargin.solvers.exact.separated import uniform, within_reach
from maxmargin.solvers.margin.tasks import Solved

__all__ = ["exact_optimum", "second_opinion"]

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


def second_opinion(question: Question, passes: int) -> tuple[Verdict, Solved | None]:
    """What exact arithmetic says of rows that floating point could not separate.

    Returns the verdict, and if the classes are separable after all a plane with multipliers.
    """
    verdict, _ = judged(question)
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
