"""Numbers as people write them, and one step of a run as a sum: w = (1, −2) + (+1)·(3, 1) = (4, −1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["factor_of", "number", "rounded", "row_step", "same", "sum_step", "vector"]

DIGITS = 4  # significant digits of a number in the text
LONG = 3  # entries of a vector that are written out
HAIR = 1e-7  # of the length of the weights: a step that is shorter cannot be seen

Part = tuple[str, Any]  # a factor as text and as a value


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


def same(*values: Any) -> str:
    """= if the numbers are written as they are, ≈ if they were rounded."""
    flat = np.concatenate([np.ravel(v)[:LONG] for v in values])
    written = [float(number(v).replace("−", "-")) for v in flat.tolist()]
    return "=" if np.allclose(written, flat, rtol=1e-12, atol=1e-12 * np.abs(flat).max()) else "≈"


def row_step(before: np.ndarray, after: np.ndarray, row: np.ndarray, y: float) -> list[str]:
    """The step of one row, which adds η·y·x to w and η·y to b."""
    step = _difference(before, after)
    # η times whatever scales this row: class weights, rows of unit length.
    eta = factor_of(step, row, y)
    factors: list[Part] = [] if eta == 1.0 else [(number(eta), eta)]
    factors.append((f"({'+' if y > 0 else '−'}1)", y))
    pure = math.isclose(float(step[-1]), eta * y, rel_tol=1e-6)
    return _sums(before, after, [*factors, _part(row)], factors if pure else [_part(step[-1])])


def sum_step(before: np.ndarray, after: np.ndarray, pull: np.ndarray) -> list[str]:
    """The step of several rows, whose sum is ``pull``: ε times that sum, or whatever it was."""
    step = _difference(before, after)
    if float(np.linalg.norm(step)) <= HAIR * float(np.linalg.norm(after)):
        near = rounded(after)
        bias = f", b ≈ {number(near[-1])}" if near[-1] else ""
        return [f"w ≈ {vector(near[:-1])}{bias}: a hair across a crease of the risk, not to be seen"]
    if not after[-1] and not before[-1]:
        pull = np.append(pull[:-1], 0.0)
    square = float(pull @ pull)
    eta = _tidy(float(pull @ step) / square) if square > 0 else 0.0
    pure = eta > 0 and np.allclose(eta * pull, step, rtol=1e-6, atol=1e-9 * np.abs(step).max())
    if not pure:  # an exact step goes along several gradients, and keeps the length of w
        step = rounded(step, HAIR * float(np.linalg.norm(after)))
        return _sums(rounded(before), rounded(after), [_part(step[:-1])], [_part(step[-1])])
    factors: list[Part] = [] if eta == 1.0 else [(number(eta), eta)]
    return _sums(before, after, [*factors, _part(pull[:-1])], [*factors, _part(pull[-1])])


def factor_of(step: np.ndarray, row: np.ndarray, y: float) -> float:
    """The η of a step η·y·(x, 1)."""
    square = float(row @ row)
    eta = y * float(row @ step[:-1]) / square if square > 0 else y * float(step[-1])
    return _tidy(eta)


def _tidy(eta: float) -> float:
    return float(f"{eta:.9g}")  # a difference of weights has lost its last digits


def rounded(z: np.ndarray, small: float | None = None) -> np.ndarray:
    """Weights without entries that are a hair long, or as small as is said."""
    small = HAIR * float(np.linalg.norm(z)) if small is None else small
    return np.where(np.abs(z) < small, 0.0, z)


def _difference(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return rounded(after - before, 1e-12 * float(np.abs(after).max(initial=0.0)))


def _part(value: Any) -> Part:
    """A vector, or a number that is put into brackets if it is negative."""
    if np.ndim(value):
        return vector(value), value
    return f"({number(value)})" if value < 0 else number(value), value


def _sums(before: np.ndarray, after: np.ndarray, w: Sequence[Part], b: Sequence[Part]) -> list[str]:
    lines = [_sum("w", before[:-1], w, after[:-1])]
    if before[-1] or after[-1]:
        lines.append(_sum("b", before[-1], b, after[-1]))
    return lines


def _sum(name: str, start: Any, parts: Sequence[Part], end: Any) -> str:
    """Write w = (1, −2) + 0.5·(−1)·(3, 1) = (−0.5, −2.5)."""
    write = vector if np.ndim(start) else number
    sign = same(start, end, *(value for _, value in parts))
    return f"{name} {sign} {write(start)} + {'·'.join(text for text, _ in parts)} {sign} {write(end)}"
