"""The certificate of a margin machine: primal, dual, gap and the four KKT residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """How far a plane can be from the optimum, at most.

    The primal value of a feasible plane is never below the optimum, and the dual value of a feasible α
    never above: ``gap`` bounds the distance of both. The bound is true because the dual point is
    feasible: 0 ≤ α_i ≤ C_i, and Σ α_i y_i = 0 to rounding.

    Attributes
    ----------
    problem : str
        The problem in words.
    primal : float
        ½‖w‖² + Σ C_i ξ_i (hard margin: ½‖w‖²); inf if the plane does not separate (hard margin).
    dual : float
        Σ α_i − ½‖Σ α_i y_i x_i‖².
    gap, relative_gap : float
        primal − dual, and its share of the primal value.
    stationarity : float
        ‖w − Σ α_i y_i x_i‖ / ‖w‖.
    primal_infeasibility : float
        The largest violation of y_i (w·x_i + b) ≥ 1 − ξ_i and of ξ_i ≥ 0.
    dual_infeasibility : float
        abs(Σ α_i y_i) / Σ α_i, or the largest violation of 0 ≤ α_i ≤ C_i in proportion, if
        that is larger.
    complementarity : float
        The largest α_i (y_i (w·x_i + b) − 1 + ξ_i) or (C_i − α_i) ξ_i, as a share of the primal value.
    margin : (float, float)
        Hard margin: bounds on the largest margin γ, attained by this plane and implied by the dual.
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

    def _share(self) -> str:
        if self.gap < 0.0:
            return f"but for rounding, {-self.relative_gap:.1e} of the primal value"
        return f"{self.relative_gap:.1e} of the primal value"

    def __str__(self) -> str:
        lines = [f"Certificate: {self.problem}"]
        table = [
            ("primal value", self.primal, "attained by this plane"),
            ("dual value", self.dual, "no plane has less"),
            ("gap", max(self.gap, 0.0), self._share()),
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
