"""The certificate of a margin machine: primal, dual, gap and the four KKT residuals.

The certificates of several machines, one per class or pair of classes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Certificate:
    """How far a plane can be from the optimum, at most.

    The primal value of a feasible plane is never below the optimum, and the dual value of a feasible α
    never above: ``gap`` bounds the distance of both. It is a bound for the stored doubles, rounding
    included: ``primal`` is not below the exact value of (``coef_``, ``intercept_``), and ``dual`` not
    above that of an α with 0 ≤ α_i ≤ C_i and Σ α_i y_i = 0 exactly. So the gap is never negative, and
    never less than the true one; bounds on rounding add no more than some 1e-12 of the primal value.
    The four residuals are measured, and tell where a gap comes from.

    Attributes
    ----------
    problem : str
        The problem in words.
    primal : float
        ½‖w‖² + Σ C_i ξ_i with the slacks ξ_i that the plane needs, rounded up. Hard margin: ½‖w‖² of
        the plane at margin 1; inf if it does not separate.
    dual : float
        Σ α_i − ½‖Σ α_i y_i x_i‖² of multipliers that are feasible exactly, rounded down: clipped to
        their bounds, and on the heavier side in proportion less, until they balance. 0 if that is more.
    gap, relative_gap : float
        primal − dual, and its share of the primal value.
    stationarity : float
        ‖w − Σ α_i y_i x_i‖ / ‖w‖.
    primal_infeasibility : float
        Hard margin: by how much a row falls short of y_i (w·x_i + b) ≥ 1, at most. Soft margin: 0, since
        the slacks are those that the plane needs.
    dual_infeasibility : float
        abs(Σ α_i y_i) / Σ α_i, or the largest violation of 0 ≤ α_i ≤ C_i in proportion, if
        that is larger: of the multipliers as they are stored.
    complementarity : float
        The largest α_i (y_i (w·x_i + b) − 1 + ξ_i) or (C_i − α_i) ξ_i, as a share of the primal value.
    margin : (float, float)
        Hard margin: bounds on the largest margin γ, attained by this plane and implied by the dual,
        the one rounded down and the other up.
    n_passes : int
        Passes over the data, those of the certificate included.
    findings : tuple of str
        What an audit found, in words.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.SoftMarginSVC(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> certificate = model.certificate_
    >>> round(certificate.primal, 9), round(certificate.dual, 9), certificate.relative_gap < 1e-9
    (2.888888889, 2.888888889, True)
    """

    problem: str
    primal: float
    dual: float
    stationarity: float
    primal_infeasibility: float
    dual_infeasibility: float
    complementarity: float
    n_passes: int
    margin: tuple[float, float] | None = None
    findings: tuple[str, ...] = field(default=())

    @property
    def gap(self) -> float:
        """Primal − dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal value."""
        if self.primal == 0.0:
            return 0.0 if self.gap == 0.0 else math.inf
        return self.gap / self.primal if math.isfinite(self.primal) else math.inf

    def __str__(self) -> str:
        lines = [f"Certificate: {self.problem}"]
        table = [
            ("primal value", self.primal, "attained by this plane"),
            ("dual value", self.dual, "no plane has less"),
            ("gap", self.gap, f"{self.relative_gap:.1e} of the primal value"),
        ]
        if self.margin is not None:
            lower, upper = self.margin
            table += [
                ("margin", lower, "of this plane, 1/‖w‖ at margin 1"),
                ("margin, at most", upper, "of any plane"),
            ]
        table += [
            ("stationarity", self.stationarity, "‖w − Σ α y x‖ / ‖w‖"),
            ("primal infeasibility", self.primal_infeasibility, "y f ≥ 1 − ξ, ξ ≥ 0"),
            ("dual infeasibility", self.dual_infeasibility, "Σ α y = 0, 0 ≤ α ≤ C"),
            ("complementarity", self.complementarity, "α (y f − 1 + ξ) = (C − α) ξ = 0"),
        ]
        for name, value, meaning in table:
            shown = (
                f"{value:.12g}" if name.startswith(("primal v", "dual v", "margin")) else f"{value:.1e}"
            )
            lines.append(f"  {name:<21} {shown:>18}   {meaning}")
        lines.append(f"  {'passes':<21} {self.n_passes:>18}   over the data")
        lines += [f"  · {finding}" for finding in self.findings]
        return "\n".join(lines)


class Certificates(dict[Hashable, Certificate]):
    """A dict from class, or pair of classes, to certificate, that prints as a summary.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], ["a", "b", "c"]
    >>> found = mm.certify(mm.SoftMarginSVC(C=1.0).fit(X, y), X, y)
    >>> print(found)  # doctest: +ELLIPSIS
    3 certificates: soft margin, C = 1, audited. The largest relative gap is ..., that of ...
    · 'a': gap ... This is the optimum of the textbook problem, ...
    · 'b': gap ... This is the optimum of the textbook problem, ...
    · 'c': gap ... This is the optimum of the textbook problem, ...
    >>> sorted(found)
    ['a', 'b', 'c']
    """

    def __str__(self) -> str:
        if not self:
            return "No certificates."
        worst = max(self, key=lambda label: self[label].relative_gap)
        lines = [
            f"{len(self)} certificates: {self[worst].problem}. "
            f"The largest relative gap is {_gap(self[worst])}, that of {worst!r}."
        ]
        for label, proof in self.items():
            said = f" {proof.findings[0]}" if proof.findings else ""
            lines.append(f"· {label!r}: gap {_gap(proof)}.{said}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        gaps = ", ".join(f"{label!r}: gap {_gap(proof)}" for label, proof in self.items())
        return f"Certificates({gaps})"


def _gap(proof: Certificate) -> str:
    return f"{proof.relative_gap:.1e}"
