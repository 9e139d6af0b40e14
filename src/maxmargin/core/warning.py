"""Warnings that point at the line of the caller, wherever in the package they are raised."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

# Who may stand between a caller and us: wrappers of scikit-learn, its pipelines and searches.
BETWEEN = {"maxmargin", "sklearn", "joblib"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame that is neither of this package nor of those that call it for others."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
