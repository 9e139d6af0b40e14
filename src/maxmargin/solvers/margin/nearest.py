"""Which rows the soft margin is solved on: those that may have multipliers between their bounds."""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.margin.frame import Frame

__all__ = ["ROOM", "SHARE", "can_balance", "is_short", "near", "nearest"]

SHARE = 0.2  # so many of the rows are copied at most
ROOM = 0.9  # share of what the rows at hand could balance that the others may need


def can_balance(frame: Frame, C: np.ndarray, alpha: np.ndarray, which: np.ndarray) -> bool:
    """Whether the multipliers of these rows can make up for those of the others, with room to spare."""
    if not len(which):
        return False
    y, room = frame.bias[which], C[which]
    others = float(alpha @ frame.bias - alpha[which] @ y)
    up, down = float(room[y > 0].sum()), float(room[y < 0].sum())
    return not frame.pad or -ROOM * up <= others <= ROOM * down


def near(m: np.ndarray, alpha: np.ndarray, C: np.ndarray, extra: np.ndarray, least: int) -> np.ndarray:
    """Rows between their bounds, rows at the wrong bound, and the nearest ones to the margin."""
    keep = (alpha > 0.0) & (alpha < C)
    count = max(10 * int(np.count_nonzero(keep)), least)
    keep |= np.where(alpha > 0.0, m > 1.0, m < 1.0)
    keep[extra] = True
    far = np.abs(1.0 - m)
    if count < len(m):
        keep[np.argpartition(far, count)[:count]] = True
    else:
        keep[:] = True
    return np.flatnonzero(keep)


def is_short(frame: Frame) -> bool:
    """Whether a working set is kept small for want of room."""
    return frame.most < SHARE * frame.n


def nearest(which: np.ndarray, m: np.ndarray, most: int) -> np.ndarray:
    """The nearest rows to the margin, as many as there is room for."""
    if len(which) <= most:
        return which
    far = np.abs(1.0 - m[which])
    return np.sort(which[np.argpartition(far, most)[:most]])
