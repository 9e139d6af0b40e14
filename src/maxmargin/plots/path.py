"""The error against the price of slack C, along a path: where it is least, and which C is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.plots.style import BLACK, CURVE_SIZE, TRAINING, VALIDATION, axes, finish_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# An axis of errors that begins at 0, and shows small ones also where one of them is large.

HIDING_RATIO = 8.0  # times the least error but zero, at which the largest one would hide it
MIN_AXIS_TOP = 0.02  # of an axis
TICKS = (0.0, *(m * 10.0**e for e in range(-5, 0) for m in (1, 2, 5)), 1.0)
TICK_DISTANCE = 0.1  # of the axis, between two ticks


def scale_errors(ax: Axes, *curves: np.ndarray) -> None:
    """Begin the axis at 0 and end it above the curves; by square roots if they differ a lot."""
    shown = np.concatenate(curves)
    shown = shown[~np.isnan(shown)]
    top = min(1.02, 1.1 * max(float(shown.max(initial=0.0)), MIN_AXIS_TOP))
    label = "share of rows misclassified"
    some = shown[shown > 0]
    if len(some) and some.max() > HIDING_RATIO * some.min():
        label = "share misclassified (√ scale)"
        ax.set_yscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
        ticks = _ticks(top)
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_ylim(0.0, top)
    ax.set_ylabel(label)


def _ticks(top: float) -> list[float]:
    """Round numbers up to the top, each far enough from the last."""
    kept = [0.0]
    for tick in (t for t in TICKS if t <= top):
        if np.sqrt(tick) - np.sqrt(kept[-1]) >= TICK_DISTANCE * np.sqrt(top):
            kept.append(tick)
    return kept


BAND_COLOUR = "#F9E5D8"  # the colour of the validation curve, thinned
TIE_TOLERANCE = 1e-12  # means that differ by less are equal but for rounding


@dataclass(repr=False)
class PathDisplay:
    """Error against the price of slack C, on a logarithmic axis, with the chosen C.

    Made by :meth:`from_path`, of machines along a path, or by :meth:`from_estimator`, of the folds of a
    cross-validation, whose lowest and highest values are a band. Of several C with the least error the
    smallest is chosen, since its margin is the widest; all of them are ringed.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    training_, validation_ : Line2D or None
        The curves; of a cross-validation the mean over the folds.
    band_ : artist or None
        From the lowest to the highest fold.
    chosen_ : Line2D or None
        The chosen C, a line whose label says which of several it is, and why.
    ties_ : Line2D or None
        Rings around all C with the best value, if there are several.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.path import PathDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = mm.SoftMarginSVC().path(X[::2], y[::2], [0.01, 1.0, 100.0])
    >>> PathDisplay.from_path(path, X[::2], y[::2], X[1::2], y[1::2]).chosen
    1.0
    """

    Cs: np.ndarray
    training: np.ndarray | None
    folds: np.ndarray  # (folds, Cs); one fold for a validation set, none for neither
    chosen: float | None = None
    measure: str = "error"
    title: str = ""
    names: tuple[str, str] = field(default=("training error", "validation error"))

    @classmethod
    def from_path(
        cls,
        path: Sequence[Any],
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the training error, and the validation error, of machines along a path.

        Parameters
        ----------
        path : list of SoftMarginSVC
            What :meth:`maxmargin.SoftMarginSVC.path` returns.
        X, y : array-like
            The training data.
        X_val, y_val : array-like, optional
            Data that C is chosen on: the least error, the smallest C of several.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        models = sorted(path, key=lambda model: float(model.C))
        if not models:
            raise InputError("path must hold at least one fitted machine. Got none instead.")
        if (X_val is None) != (y_val is None):
            raise InputError("X_val and y_val must be given together. Got one of them instead.")
        Cs = np.array([float(model.C) for model in models])
        training = np.array([_error(model, X, y) for model in models])
        folds = np.empty((0, len(Cs)))
        chosen = None
        if X_val is not None:
            folds = np.array([[_error(model, X_val, y_val) for model in models]])
            chosen = float(Cs[int(np.argmin(folds[0]))])
        return cls(Cs, training, folds, chosen, title="Error against C").plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the cross-validation of a fitted ``SoftMarginSVCCV``."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "scores_"):
            raise InputError(
                f"estimator must be a fitted SoftMarginSVCCV. Got {type(estimator).__name__} instead. "
                "For a list of machines use PathDisplay.from_path."
            )
        folds, measure = np.asarray(estimator.scores_), "error"
        if estimator.scoring in (None, "accuracy"):
            folds = 1.0 - folds
        else:
            measure = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        names = "", f"{measure}, mean of {len(folds)} folds"
        name = f"{type(estimator).__name__}: {measure} against C"
        return cls(estimator.Cs_, None, folds, float(estimator.C_), measure, name, names).plot(ax)

    @property
    def best(self) -> np.ndarray:
        """All C with the best mean over the folds, to rounding, ascending."""
        if not len(self.folds):
            return np.empty(0)
        mean = self.folds.mean(axis=0)
        off = mean - mean.min() if self.measure == "error" else mean.max() - mean
        return np.asarray(self.Cs[off <= TIE_TOLERANCE * np.abs(mean).max(initial=1.0)])

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax, figsize=CURVE_SIZE)
        self.training_: Any = None
        self.validation_: Any = None
        self.band_: Any = None
        look: dict[str, Any] = {"ms": 4, "clip_on": False, "zorder": 3}
        if self.training is not None:
            (self.training_,) = ax.plot(self.Cs, self.training, **TRAINING, **look)
            self.training_.set_label(self.names[0])
        if len(self.folds):
            (self.validation_,) = ax.plot(self.Cs, self.folds.mean(axis=0), **VALIDATION, **look)
            self.validation_.set_label(self.names[1])
        if len(self.folds) > 1:
            low, high = self.folds.min(axis=0), self.folds.max(axis=0)
            self.band_ = ax.fill_between(self.Cs, low, high, color=BAND_COLOUR, lw=0, zorder=0.5)
            self.band_.set_label("lowest to highest fold")
        ax.set_xscale("log")
        self._draw_chosen(ax)
        if self.measure == "error":
            scale_errors(ax, *self.folds, *([] if self.training is None else [self.training]))
        else:
            ax.set_ylabel(self.measure)
        finish_curves(ax, self.title, "C, the price of slack")
        return self

    def _draw_chosen(self, ax: Axes) -> None:
        self.chosen_: Any = None
        self.ties_: Any = None
        if self.chosen is None:
            return
        best = self.best
        label = f"chosen: C = {self.chosen:.4g}"
        if len(best) > 1:
            why = f"smallest C of {len(best)} equally good ones,\nso the widest margin"
            if self.chosen != best[0]:
                why = f"one of {len(best)}, equal to rounding"
            label += f"\n{why}"
            least = "the least error" if self.measure == "error" else f"the best {self.measure}"
            (self.ties_,) = ax.plot(best, self.folds.mean(axis=0)[np.isin(self.Cs, best)], "o", ms=10)
            self.ties_.set(mfc="none", mec=BLACK, clip_on=False, zorder=4, label=least)
        self.chosen_ = ax.axvline(self.chosen, color=BLACK, lw=1.2, ls="--", zorder=1, label=label)


def _error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) != np.asarray(y)))
