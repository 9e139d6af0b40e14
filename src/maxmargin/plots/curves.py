"""The error against the price of slack C, along a path; and which machine a curve is about."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.plots.style import BLACK, COLOURS, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TRAINING", "VALIDATION", "PathDisplay", "machine_title", "one_machine", "rows_of"]

TRAINING: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "lw": 1.8}
VALIDATION: dict[str, Any] = {"color": COLOURS[1], "marker": "s", "lw": 1.8}
PALE = "#F9E5D8"  # the colour of the validation curve, thinned


def one_machine(estimator: Any, label: Hashable = None) -> Any:
    """The machine of a label (one-vs-rest), of a pair (one-vs-one), or the only one."""
    check_is_fitted(estimator)
    machines = getattr(estimator, "machines_", None)
    if machines is None:
        raise InputError(
            "estimator must be a fitted classifier of this package, with machines_. "
            f"Got {type(estimator).__name__} instead."
        )
    if label is None and len(machines) == 1:
        return next(iter(machines.values()))
    if label is None or label not in machines:
        given = "none" if label is None else repr(label)
        raise InputError(
            f"label must name one of {len(machines)} machines: {', '.join(map(repr, machines))}. "
            f"Got {given} instead. Each of them is a picture of its own."
        )
    return machines[label]


def rows_of(machine: Any, estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a machine is about, and their signs ±1."""
    label, members = machine.label, np.arange(len(y))
    if len(estimator.classes_) > 2 and isinstance(label, tuple) and len(label) == 2:
        members = np.flatnonzero((y == label[0]) | (y == label[1]))
        label = label[1]
    return members, np.where(y[members] == label, 1.0, -1.0)


def machine_title(machine: Any, estimator: Any) -> str:
    """The estimator's name, and which of its machines."""
    name = type(estimator).__name__
    if len(estimator.machines_) == 1:
        return name
    if isinstance(machine.label, tuple):
        return f"{name}: {machine.label[1]} against {machine.label[0]}"
    return f"{name}: {machine.label} against the rest"


@dataclass
class PathDisplay:
    """Error against the price of slack C, on a logarithmic axis, with the chosen C.

    Made by :meth:`from_path`, of machines along a path, or by :meth:`from_estimator`, of the folds of a
    cross-validation, whose lowest and highest values are a band.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    training_, validation_ : Line2D or None
        The curves; of a cross-validation the mean over the folds.
    band_ : artist or None
        From the lowest to the highest fold.
    chosen_ : Line2D or None
        The chosen C: with the best validation value, the smallest of several.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.curves import PathDisplay
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
        return cls(Cs, training, folds, chosen, title="Error along the path of C").plot(ax)

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
        mean = f"{measure}, mean of {len(folds)} folds"
        names = "", mean
        title = f"{type(estimator).__name__}: {measure} along the path of C"
        return cls(estimator.Cs_, None, folds, float(estimator.C_), measure, title, names).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax, figsize=(7.0, 4.2))
        self.training_: Any = None
        self.validation_: Any = None
        self.band_: Any = None
        self.chosen_: Any = None
        if self.training is not None:
            (self.training_,) = ax.plot(self.Cs, self.training, ms=4, label=self.names[0], **TRAINING)
        if len(self.folds):
            mean = self.folds.mean(axis=0)
            (self.validation_,) = ax.plot(self.Cs, mean, ms=4, label=self.names[1], **VALIDATION)
        if len(self.folds) > 1:
            low, high = self.folds.min(axis=0), self.folds.max(axis=0)
            self.band_ = ax.fill_between(
                self.Cs, low, high, color=PALE, lw=0, zorder=0.5, label="lowest to highest fold"
            )
        if self.chosen is not None:
            label = f"chosen: C = {self.chosen:.4g}"
            self.chosen_ = ax.axvline(self.chosen, color=BLACK, lw=1.2, ls="--", zorder=1, label=label)
        ax.set_xscale("log")
        if self.measure == "error":
            shown = [self.folds.ravel()] + ([] if self.training is None else [self.training])
            ax.set_ylim(0.0, min(1.02, 1.1 * max(float(np.concatenate(shown).max()), 0.02)))
        ax.set_xlabel("C, the price of slack")
        ax.set_ylabel("share of rows misclassified" if self.measure == "error" else self.measure)
        ax.set_title(self.title)
        ax.grid(alpha=0.25)
        legend(ax)
        return self


def _error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) != np.asarray(y)))
