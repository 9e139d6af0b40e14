"""A recorded run as a film: the rows in hand, the step, and the step in numbers.

The first updates pass slowly, the next ones fast, and of a long run the rest is left out up to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Trace
from maxmargin.core.parameters import check_count, check_number
from maxmargin.plots.data import Points, choose_view, read_points
from maxmargin.plots.film.captions import tell
from maxmargin.plots.film.film import Animation, find_writer
from maxmargin.plots.film.frames import Painter
from maxmargin.plots.style import pyplot

__all__ = ["Animation", "animate"]

MOST = 1_000  # updates in one film, which bounds its memory
LEAST = 0.02  # seconds: many viewers of GIF slow down anything shorter


def animate(
    trace: Trace,
    X: Any,
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    slow: int = 10,
    fast: int = 100,
    seconds_slow: float = 1.0,
    seconds_fast: float = 0.08,
    frames: int | None = None,
    features: Any = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    dpi: float = 100,
) -> Animation:
    """Show a recorded run update by update: x-space, and for two features without bias w-space.

    Parameters
    ----------
    trace : Trace
        ``trace_`` of a perceptron that was fitted with ``record=True``.
    X, y : array-like
        The data of the fit; two classes. For one machine of several, y == its label.
    path : path, optional
        Where to save it, as by :meth:`Animation.save`.
    slow, fast : int ≥ 0
        How many updates pass slowly, and how many fast after them.
    seconds_slow, seconds_fast : float ≥ 0.02
        How long a frame of each kind is seen.
    frames : int from 1 to 1000, optional
        How many updates are shown one by one before the film jumps to the last; default slow + fast.
    features : pair of columns or "projection", optional
        What to show of more than two features; default the projection on the final w.
    names : sequence of str, optional
        Names of the features; default those of a data frame, or x0, x1 and so on.
    title : str, optional
        The first words of each caption; default "Perceptron" or "Batch perceptron".
    dpi : float, default 100
        Dots per inch: two panels are 900 dots wide at 100.

    Returns
    -------
    Animation

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.film.animation import animate
    >>> X, y = [[2, 1], [1, 3], [-1, -1], [-2, 1]], [1, 1, -1, -1]
    >>> model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
    >>> film = animate(model.trace_, X, y)
    >>> film.frames, film.durations  # the start, one update, the end
    (3, [1.0, 1.0, 2.0])
    >>> print(film.captions[1][2])
    w = (0, 0) + (+1)·(2, 1) = (2, 1)
    """
    pyplot()  # a sentence on how to get matplotlib, if it is not there
    if path is not None:
        find_writer(path)
    many_slow, many_fast = (_count(name, n) for name, n in (("slow", slow), ("fast", fast)))
    pause = check_number("seconds_slow", seconds_slow, least=LEAST)
    beat = check_number("seconds_fast", seconds_fast, least=LEAST)
    shown = many_slow + many_fast if frames is None else _count("frames", frames)
    if not 1 <= shown <= MOST:
        raise InputError(
            f"slow + fast, or frames if given, must be from 1 to {MOST} updates. Got {shown} instead. "
            "The last update is always shown."
        )
    points = read_points(X, y, names=names)
    _check(trace, points)
    batch = trace[0].row < 0
    if title is None:
        title = "Batch perceptron" if batch else "Perceptron"
    story = tell(trace, points, shown, title)
    durations = [pause] * (1 + min(many_slow, shown)) + [beat] * max(0, shown - many_slow)
    durations = durations[: 1 + len(trace)]
    if len(trace) > shown:
        durations.append(pause)  # after the jump
    durations.append(2 * pause)
    end = trace[-1].weights
    view = choose_view(points.X, end[:-1], features, None, points.names)
    bias = bool(trace.start[-1]) or any(u.weights[-1] != 0 for u in trace)
    both = points.X.shape[1] == 2 and not bias and features != "projection"
    dots = check_number("dpi", dpi, least=20, below=601)
    film = Animation(story, durations, lambda: Painter(points, view, both, bias, dots, batch))
    if path is not None:
        film.save(path)
    return film


def _count(name: str, value: Any) -> int:
    count = check_count(name, value, least=0)
    assert count is not None
    return count


def _check(trace: Trace, points: Points) -> None:
    """Raise unless the trace can be one of a run on these points."""
    if not isinstance(trace, Trace):
        raise InputError(
            f"trace must be a Trace, such as trace_ after a fit with record=True. "
            f"Got {type(trace).__name__} instead. Of several classes, take trace_[label]."
        )
    if len(points.classes) != 2:
        raise InputError(
            f"y must hold two classes. Got {len(points.classes)} instead. For the trace of one machine "
            "against the rest pass y == label."
        )
    if not len(trace):
        raise InputError(
            "trace must hold at least one update. Got none instead: the first weights were right for "
            "every row, and there is nothing to show."
        )
    n, d = points.X.shape
    if any(z.shape != (d + 1,) for z in (trace.start, *(u.weights for u in trace))):
        given = len(np.ravel(trace.start)) - 1
        raise InputError(
            f"X must have as many columns as the run that made the trace. Got {d} columns and a trace "
            f"for {given} instead. Pass the X of the fit."
        )
    if any(not -1 <= u.row < n for u in trace):
        row = next(u.row for u in trace if not -1 <= u.row < n)
        raise InputError(
            f"X must hold every row of the trace. Got {n} rows and an update of row {row} instead. "
            "Pass the X of the fit."
        )
    if not all(np.all(np.isfinite(z)) for z in (trace.start, *(u.weights for u in trace))):
        raise InputError("trace must hold finite weights. Got nan or inf instead.")
