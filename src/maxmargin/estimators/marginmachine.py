"""What a fitted margin machine shows: weights, multipliers, slacks, margin and certificate."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.estimators.base import LinearClassifier
from maxmargin.solvers.margin.tasks import Pass

__all__ = ["MarginAttributes", "MarginMachine", "Slab"]


class Slab:
    """The slab between the two edges of a machine, by its weights."""

    coef_: np.ndarray
    intercept_: float

    @property
    def margin_(self) -> float:
        """The geometric margin 1/‖w‖; inf if w = 0."""
        length = float(np.linalg.norm(self.coef_))
        return 1.0 / length if length > 0.0 else math.inf

    @property
    def slab_width_(self) -> float:
        """The width 2/‖w‖ of the slab between the two edges."""
        return 2.0 * self.margin_

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) = w·x + b for every row of X."""
        return np.asarray(X @ self.coef_) + self.intercept_


@dataclass(frozen=True)
class MarginMachine(Slab):
    """One binary margin machine, with its multipliers and its certificate.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    support_: np.ndarray  # training rows with α_i > 0
    support_dual_: np.ndarray  # their α_i
    support_bound_: np.ndarray  # whether α_i = C_i
    late_: np.ndarray  # training rows with ξ_i > 0
    late_slack_: np.ndarray  # their ξ_i
    certificate_: Certificate
    n_passes_: int
    n_rows: int
    progress_: tuple[Pass, ...] = ()  # primal and dual value after each pass, the last as certified
    solver_: str = "newton"  # "newton", "descent" or "mixed"

    @property
    def dual_(self) -> np.ndarray:
        """α_i for every training row."""
        return self._spread(self.support_, self.support_dual_)

    @property
    def slack_(self) -> np.ndarray:
        """ξ_i = max(0, 1 − y_i f(x_i)) for every training row."""
        return self._spread(self.late_, self.late_slack_)

    @property
    def free_support_(self) -> np.ndarray:
        """Training rows with 0 < α_i < C_i: they lie on the edges of the slab."""
        return np.asarray(self.support_[~self.support_bound_])

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i: inside the slab, or on the wrong side."""
        return np.asarray(self.support_[self.support_bound_])

    def _spread(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        whole = np.zeros(self.n_rows)
        whole[rows] = values
        return whole


class MarginAttributes(LinearClassifier):
    """The attributes of an estimator made of margin machines."""

    machines_: dict[Hashable, MarginMachine]
    n_passes_: int
    n_iter_: int
    _Z: np.ndarray

    def _weights(self) -> np.ndarray:
        return self._Z

    def _each(self, name: str) -> Any:
        """The value of the only machine, or one row (or entry) per machine."""
        values = [getattr(machine, name) for machine in self._fitted(name)]
        return values[0] if len(values) == 1 else np.array(values)

    def _fitted(self, name: str) -> list[MarginMachine]:
        """The machines, of which an attribute is asked for."""
        if "machines_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no {name} before fit.")
        return list(self.machines_.values())

    @property
    def margin_(self) -> Any:
        """1/‖w‖; with more than two classes one per machine."""
        return self._each("margin_")

    @property
    def slab_width_(self) -> Any:
        """2/‖w‖; with more than two classes one per machine."""
        return self._each("slab_width_")

    @property
    def dual_(self) -> np.ndarray:
        """α_i for every training row; with more than two classes one row per machine."""
        return np.asarray(self._each("dual_"))

    @property
    def slack_(self) -> np.ndarray:
        """ξ_i for every training row; with more than two classes one row per machine."""
        return np.asarray(self._each("slack_"))

    @property
    def support_(self) -> np.ndarray:
        """Training rows with α_i > 0, of any machine."""
        return np.unique(np.concatenate([m.support_ for m in self._fitted("support_")]))

    @property
    def certificate_(self) -> Certificate:
        """The certificate; with more than two classes that of the machine with the largest gap."""
        machines = self._fitted("certificate_")
        worst = max(machines, key=lambda machine: machine.certificate_.relative_gap)
        proof: Certificate = worst.certificate_
        if len(machines) == 1:
            return proof
        whose = f"{worst.label!r}, the largest gap of {len(machines)} machines"
        return replace(proof, problem=f"{proof.problem}: {whose}")

    @property
    def solver_(self) -> str:
        """How the machines were found: "newton", "descent", or "mixed" (both)."""
        words = {m.solver_ for m in self._fitted("solver_")}
        return words.pop() if len(words) == 1 else "mixed"

    @property
    def free_support_(self) -> np.ndarray:
        """Training rows with 0 < α_i < C_i in some machine: they lie on the edges of its slab."""
        return np.unique(np.concatenate([m.free_support_ for m in self._fitted("free_support_")]))

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i in some machine: inside its slab, or on the wrong side."""
        return np.unique(np.concatenate([m.bound_support_ for m in self._fitted("bound_support_")]))
