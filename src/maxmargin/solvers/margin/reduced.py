"""The problem on the rows at hand, and a point of it: weights and multipliers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.core.state_forms import Form, count, flag, number, numbers, record
from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.margin.gaps import as_good_a_bound, as_good_a_plane, relative_gap

__all__ = ["Iterate", "Reduced", "iterate_form"]


@dataclass(frozen=True)
class Reduced:
    """The problem on the rows at hand."""

    frame: Frame
    C: np.ndarray
    v0: np.ndarray
    s0: float = 0.0
    fixed: float = 0.0  # Σ α_j of the rows left out
    unit: np.ndarray | None = None  # stiffness of the rows against σ, if it is not C_i

    @property
    def hard(self) -> bool:
        """Whether the constraints must hold."""
        return bool(np.isinf(self.C[0]))


@dataclass
class Iterate:
    """A point: weights, multipliers, and what follows from them."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    sigma: float
    primal: float = math.inf
    dual: float = -math.inf
    meets: bool = False  # the hulls of the two classes meet to rounding: no plane separates
    steps: int = 0
    reads: int = 0  # products with all rows of the problem

    @property
    def gap(self) -> float:
        """The relative gap; what rounding puts below zero is none."""
        return relative_gap(self.primal, min(self.dual, self.primal))

    def joined(self, other: Iterate) -> Iterate:
        """Return the better plane and the better multipliers; ``other`` wins where they tie."""
        plane = other if as_good_a_plane(other.primal, self.primal) else self
        bound = other if other.meets or as_good_a_bound(other.dual, self.dual) else self
        return replace(
            other, w=plane.w, b=plane.b, primal=plane.primal, alpha=bound.alpha, dual=bound.dual
        )


def iterate_form(n: int, d: int) -> Form:
    """What a point on n rows of d features must look like; see ``core.state_forms``."""
    return record(
        Iterate,
        w=numbers(d),
        b=number,
        alpha=numbers(n),
        sigma=number,
        primal=number,
        dual=number,
        meets=flag,
        steps=count,
        reads=count,
    )
