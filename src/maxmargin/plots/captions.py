"""The words of an animated run: what each frame says, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.trace import Trace, Update
from maxmargin.plots.data import Points

__all__ = ["Frame", "check_step", "number", "short", "tell", "vector"]

DIGITS = 4  # significant digits of a number in the text
LONG = 3  # entries of a vector that are written out


@dataclass(frozen=True)
class Frame:
    """One picture of the film: (w, b) before and after, and what is written below."""

    before: np.ndarray
    after: np.ndarray
    lines: tuple[str, ...]
    update: bool = False  # or the start, or the end
    row: int = -1  # the point in hand
    wrong: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # rows, afterwards


def number(value: float) -> str:
    """A number with four significant digits; whole ones in full."""
    value = float(f"{value:.12g}")  # 0.1 + 0.2 is written 0.3
    if value == int(value) and abs(value) < 1e7:
        text = str(int(value))
    else:
        text = f"{value:.{DIGITS}g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return text.replace("-", "−")


def vector(values: np.ndarray) -> str:
    """(1, −2); of more than three entries the first three and dots."""
    shown = [number(float(v)) for v in values[:LONG]]
    return "(" + ", ".join([*shown, "…"] if len(values) > LONG else shown) + ")"


def _same(*values: Any) -> str:
    """= if the numbers are written as they are, ≈ if they were rounded."""
    flat = np.concatenate([np.ravel(v)[:LONG] for v in values])
    written = [float(number(v).replace("−", "-")) for v in flat.tolist()]
    return "=" if np.allclose(written, flat, rtol=1e-12, atol=1e-12 * np.abs(flat).max()) else "≈"


def _sum(name: str, start: Any, parts: Sequence[tuple[str, Any]], end: Any) -> str:
    """Write w = (1, −2) + 0.5·(−1)·(3, 1) = (−0.5, −2.5); parts are factors as text and as values."""
    write = vector if np.ndim(start) else number
    sign = _same(start, end, *(value for _, value in parts))
    return f"{name} {sign} {write(start)} + {'·'.join(text for text, _ in parts)} {sign} {write(end)}"


def _arithmetic(before: np.ndarray, after: np.ndarray, row: np.ndarray | None, y: float) -> list[str]:
    """The step in numbers; of a row η·y·x, and of all misclassified rows together their sum."""
    step = after - before
    step[np.abs(step) < 1e-12 * np.abs(after).max(initial=0.0)] = 0.0
    w = [(vector(step[:-1]), step[:-1])]
    b = [(f"({number(step[-1])})" if step[-1] < 0 else number(step[-1]), step[-1])]
    if row is not None:
        # η times whatever scales this row: class weights, rows of unit length.
        eta = _factor(step, row, y)
        signed = (f"({'+' if y > 0 else '−'}1)", y)
        factors = ([] if eta == 1.0 else [(number(eta), eta)]) + [signed]
        w = [*factors, (vector(row), row)]
        if math.isclose(float(step[-1]), eta * y, rel_tol=1e-6):
            b = factors
    lines = [_sum("w", before[:-1], w, after[:-1])]
    if before[-1] or after[-1]:
        lines.append(_sum("b", before[-1], b, after[-1]))
    return lines


def _factor(step: np.ndarray, row: np.ndarray, y: float) -> float:
    square = float(row @ row)
    eta = y * float(row @ step[:-1]) / square if square > 0 else y * float(step[-1])
    return float(f"{eta:.9g}")  # a difference of weights has lost its last digits


def check_step(before: np.ndarray, update: Update, row: np.ndarray, y: float) -> None:
    """Raise unless the update is a multiple ≥ 0 of y x: otherwise the picture would tell a lie."""
    step = update.weights - before
    eta = _factor(step, row, y)
    rest = float(np.linalg.norm(step[:-1] - eta * y * row))
    small = 1e-6 * float(np.linalg.norm(step)) + 1e-9 * float(np.linalg.norm(before))
    if rest > small or eta < -1e-9:
        raise InputError(
            "trace must be that of a run on these X and y, from its start. Got an update at step "
            f"{update.step} that does not add a multiple of y·x of row {update.row} instead. "
            "Pass the X and y of the fit and the whole trace; of several classes, y == label."
        )


def tell(trace: Trace, points: Points, shown: int, title: str) -> list[Frame]:
    """The start, the first ``shown`` updates, the last one if it is not among them, and the end."""
    total = len(trace)
    picked = [*range(min(shown, total)), *([total - 1] if total > shown else [])]
    made = _mistakes(trace, points)
    n, signs = len(points.X), points.signs

    def wrong(z: np.ndarray) -> np.ndarray:
        return np.flatnonzero(signs * (points.X @ z[:-1] + z[-1]) <= 0)

    def state(z: np.ndarray) -> str:
        same = _same(z)
        return f"w {same} {vector(z[:-1])}" + (f", b {same} {number(z[-1])}" if z[-1] else "")

    start = trace.start
    blank = "" if np.any(start[:-1]) else ": no boundary yet"
    lines: tuple[str, ...] = (
        f"{title} · start · {_many(total, 'update')} to come",
        state(start) + blank,
    )
    frames = [Frame(start, start, lines, wrong=wrong(start))]
    for place, k in enumerate(picked):
        update, before = trace[k], trace[k - 1].weights if k else start
        left = wrong(update.weights)
        head = f"{title} · update {k + 1} of {total} · {_many(made[k], 'mistake')} so far"
        head += f" · {len(left)} of {n} rows wrong now"
        left_out = k - picked[place - 1] - 1 if place else 0
        gap = f"{_many(left_out, 'update')} left out before this one. " if left_out else ""
        if update.row >= 0:
            row, y = points.X[update.row], float(signs[update.row])
            check_step(before, update, row, y)
            value = y * float(row @ before[:-1] + before[-1])
            if math.isclose(value, update.margin, rel_tol=1e-6, abs_tol=1e-9):
                value = update.margin  # without the rounding of this sum
            label = short(points.labels[points.codes[update.row]])
            text = f"Step {update.step}: row {update.row}, label {label} (y = {'+' if y > 0 else '−'}1)"
            text += f", y·f(x) {_same(value)} {number(value)} before the update"
            sums = _arithmetic(before, update.weights, row, y)
        else:
            text = f"Step {update.step}: all misclassified rows together, risk "
            text += f"{_same(update.margin)} {number(abs(update.margin))} before the update"
            sums = _arithmetic(before, update.weights, None, 1.0)
        lines = (head, gap + text, *sums)
        frames.append(Frame(before, update.weights, lines, True, update.row, left))
    end = trace[-1].weights
    left = wrong(end)
    verdict = "every row is on its side" if not len(left) else f"{len(left)} of {n} rows are wrong"
    head = f"{title} · end · {_many(made[-1], 'mistake')}"
    frames.append(Frame(end, end, (head, f"{state(end)}: {verdict}"), wrong=left))
    return frames


def _mistakes(trace: Trace, points: Points) -> np.ndarray:
    """Mistakes up to each update: one per row in hand, and all misclassified rows of a batch step."""
    many = np.ones(len(trace), dtype=np.int64)
    for k, update in enumerate(trace):
        if update.row < 0:
            z = trace[k - 1].weights if k else trace.start
            many[k] = np.count_nonzero(points.signs * (points.X @ z[:-1] + z[-1]) <= 0)
    return np.cumsum(many)


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def short(label: Any, most: int = 16) -> str:
    """The label, cut if it is long."""
    text = str(label)
    return text if len(text) <= most else text[: most - 1] + "…"
