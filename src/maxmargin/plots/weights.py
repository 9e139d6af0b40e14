"""Weight space with a bias, (w₁, w₂, b): what the hard-margin machine searches, and where it ends.

Each training point is the plane y (w·x + b) = 1, and the feasible weights lie on one side of all of
them. The optimum is the feasible point with the least ‖w‖, the one nearest to the axis w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.params import check_choice, check_number
from maxmargin.estimators.hardmargin import HardMarginSVC
from maxmargin.plots.data import read_points
from maxmargin.plots.keys import key, key_below
from maxmargin.plots.planes import draw_planes
from maxmargin.plots.section import draw_section
from maxmargin.plots.solid import solid_axes
from maxmargin.plots.style import axes
from maxmargin.plots.weightspace import WeightSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WeightSpaceDisplay"]

KINDS = ("3d", "section")


@dataclass(repr=False)
class WeightSpaceDisplay:
    """The constraints of the hard margin in (w₁, w₂, b), the feasible region and the optimum.

    Made by :meth:`from_estimator`, of a :class:`maxmargin.HardMarginSVC` with a bias, two classes and
    two features. Only rows that matter are drawn: those that bound the feasible region in the picture,
    of the support first, at most eight, each in its own colour.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    rows : array of int
        The training rows whose constraints are drawn, support of largest α first.
    planes_ : dict
        Their planes (in a section: lines), by row.
    region_ : artist or None
        The feasible region, as far as it is in the picture; None if no part of it is.
    optimum_ : artist or None
        The optimum; None in a section without it.
    nearest_ : artist or None
        In a section without the optimum: its feasible weights of least ‖w‖.
    rim_ : artist or list
        Where ‖w‖ is as at the optimum: a circle, or two lines across a section.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.weights import WeightSpaceDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.HardMarginSVC().fit(X, y)
    >>> display = WeightSpaceDisplay.from_estimator(model, X, y, kind="section")
    >>> sorted(display.planes_)
    [0, 1, 2]
    """

    space: WeightSpace

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "3d",
        w1: float | None = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weight space of a fitted hard-margin machine.

        Parameters
        ----------
        estimator : fitted HardMarginSVC
            With a bias, of two classes in two features.
        X, y : array-like
            Its training data.
        kind : "3d" or "section", default "3d"
            The planes in three dimensions, or a section at one w₁.
        w1 : float, optional
            Where to cut; default the w₁ of the optimum.
        names : sequence of str, optional
            Names of the features, beside their weights; default those of a data frame.
        ax : matplotlib Axes, optional
            Where to draw, with ``projection="3d"`` for planes; default a new figure.
        """
        check_is_fitted(estimator)
        points = read_points(X, y, estimator, names)
        flat = points.X.shape[1] == 2 and len(points.classes) == 2
        if not isinstance(estimator, HardMarginSVC) or not flat or not estimator.fit_intercept:
            raise InputError(
                "weight space is drawn for a HardMarginSVC with a bias, of two classes in two features. "
                f"Got {estimator!r} of {len(points.classes)} classes in "
                f"{points.X.shape[1]} features instead. XSpaceDisplay draws any linear classifier, "
                "WSpaceDisplay planes through the origin."
            )
        if len(estimator.dual_) != len(points.X):
            raise InputError(
                f"X must be the {len(estimator.dual_)} training rows. Got {len(points.X)} rows instead."
            )
        w, b = estimator.coef_[0], float(estimator.intercept_[0])
        return cls(WeightSpace(points, w, b, estimator.dual_)).plot(ax, kind, w1)

    @property
    def constraints(self) -> np.ndarray:
        """a_i = y_i (x_i, 1), one per row: feasible are the z = (w₁, w₂, b) with a_i·z ≥ 1."""
        return self.space.constraints

    @property
    def box(self) -> np.ndarray:
        """[low, high] of w₁, w₂ and b in the picture."""
        return self.space.box

    @property
    def rows(self) -> np.ndarray:
        """The rows that matter: those that bound the region in the box, of the support first."""
        return self.space.rows

    def plot(self, ax: Axes | None = None, kind: str = "3d", w1: float | None = None) -> Self:
        """Draw on ``ax``, or on a new figure: the planes, or a section at ``w1``."""
        check_choice("kind", kind, KINDS)
        self.nearest_: Any = None
        shown: Any
        if kind == "section":
            self.ax_ = ax = axes(ax)
            at = float(self.space.w[0]) if w1 is None else check_number("w1", w1)
            shown = draw_section(ax, self.space, at)
            self.nearest_ = shown.nearest
            key(ax)
        else:
            if w1 is not None:
                raise InputError(
                    f'w1 must be left out for kind="3d". Got {w1!r} instead. Use kind="section".'
                )
            self.ax_ = ax = solid_axes(ax, "3d", (7.0, 6.5))
            shown = draw_planes(ax, self.space)
            key_below(ax, drop=0.1)
        self.planes_: dict[int, Any] = shown.planes
        self.region_: Any = shown.region
        self.optimum_: Any = shown.optimum
        self.rim_: Any = shown.rim
        return self
