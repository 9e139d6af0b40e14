"""The bound on the mistakes of one run, or the reason why it has none.

The bound R²/γ² is Novikoff's (1962); its proof is in two lines in :mod:`maxmargin.estimators.bound`.
Whether there is a γ > 0 at all is decided exactly where floating point finds none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.estimators.bound import MistakeBound, mistake_bound
from maxmargin.estimators.separability import decide

__all__ = ["run_bound"]

LARGE = 1 << 25  # n d min(n, d) up to which the exact verdict is asked for: about a second
CLASSES = {"touching": "the classes touch", "overlapping": "the classes overlap"}


def run_bound(estimator: Any, machine: Any, X: Any, signs: np.ndarray) -> tuple[float, str]:
    """The bound on the mistakes and what it is; or inf and why there is none."""
    start = None if machine.trace_ is None else machine.trace_.start
    if estimator.class_weight is not None:
        return math.inf, "class weights scale the steps"
    if (start is not None and np.any(start)) or (start is None and estimator.warm_start):
        return math.inf, "the start was not zero"
    intercept, name = estimator.fit_intercept, "R²/γ²"
    found = mistake_bound(X, signs, fit_intercept=intercept, normalize=estimator.normalize)
    if not math.isfinite(found.bound):
        if _work(X) > LARGE:
            return math.inf, "no separating plane was found (the data is too large to prove it here)"
        verdict = decide(X, signs, fit_intercept=intercept)
        assert isinstance(verdict, Verdict)  # of two classes
        if not verdict.separable:
            return math.inf, f"not separable, {CLASSES[verdict.kind]} (proven)"
        proven = _of_plane(verdict, X, signs, intercept)
        if proven is None:
            return math.inf, "separable (proven), but R²/γ² is beyond doubles"
        found, name = proven, f"{name}, γ of a proven plane"
    threshold = float(getattr(estimator, "threshold", 0.0))
    if threshold == 0.0:
        return found.bound, f"bound {name}"
    # ‖z‖² grows by at most η²R² + 2ηδ with each mistake.
    longest = found.R**2 + 2.0 * threshold / float(estimator.eta0)
    return longest / found.gamma**2, f"bound {name.replace('R²', '(R² + 2δ/η)')}"


def _of_plane(verdict: Verdict, X: Any, signs: np.ndarray, intercept: bool) -> MistakeBound | None:
    """The bound with the margin that the proven plane attains on the padded rows.

    It holds for normalised rows too: there R = 1, and γ is at least γ/R of the rows as they are.
    """
    assert verdict.w is not None and verdict.b is not None and verdict.margin is not None
    length = float(np.linalg.norm(verdict.w))
    gamma = verdict.margin[0] * (length / math.hypot(length, verdict.b) if length > 0 else 0.0)
    if not gamma > 0.0:
        return None
    try:
        return mistake_bound(X, signs, gamma=gamma, fit_intercept=intercept)
    except OverflowError:
        return None


def _work(X: Any) -> float:
    n, d = np.shape(X)
    return float(n * d * min(n, d))
