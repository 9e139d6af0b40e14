"""The words of an animated run: what each frame says, in numbers.

Numbers are written as people write them, and a step as a sum: w = (1, −2) + (+1)·(3, 1) = (4, −1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError, plural
from maxmargin.core.history import Trace, Update
from maxmargin.plots.data import Points
from maxmargin.rows import as_rows
from maxmargin.solvers.problem import Examples

DIGITS = 4  # significant digits of a number in the text
VECTOR_ENTRIES = 3  # entries of a vector that are written out
INVISIBLE_STEP = 1e-7  # of the length of the weights: a step that is shorter cannot be seen

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
    shown = [number(float(v)) for v in values[:VECTOR_ENTRIES]]
    return "(" + ", ".join([*shown, "…"] if len(values) > VECTOR_ENTRIES else shown) + ")"


def same(*values: Any) -> str:
    """= if the numbers are written as they are, ≈ if they were rounded."""
    flat = np.concatenate([np.ravel(v)[:VECTOR_ENTRIES] for v in values])
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
    if float(np.linalg.norm(step)) <= INVISIBLE_STEP * float(np.linalg.norm(after)):
        near = rounded(after)
        bias = f", b ≈ {number(near[-1])}" if near[-1] else ""
        return [f"w ≈ {vector(near[:-1])}{bias}: a hair across a crease of the risk, not to be seen"]
    if not after[-1] and not before[-1]:
        pull = np.append(pull[:-1], 0.0)
    square = float(pull @ pull)
    eta = _tidy(float(pull @ step) / square) if square > 0 else 0.0
    pure = eta > 0 and np.allclose(eta * pull, step, rtol=1e-6, atol=1e-9 * np.abs(step).max())
    if not pure:  # an exact step goes along several gradients, and keeps the length of w
        step = rounded(step, INVISIBLE_STEP * float(np.linalg.norm(after)))
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
    small = INVISIBLE_STEP * float(np.linalg.norm(z)) if small is None else small
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


WEIGHTS_AT_ONCE = 64  # weights of which all rows are judged together


@dataclass(frozen=True)
class Still:
    """One picture of the film: (w, b) before and after, and what is written below."""

    before: np.ndarray
    after: np.ndarray
    lines: tuple[str, ...]
    update: bool = False  # or the start, or the end
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # current
    wrong: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # afterwards


def make_stills(trace: Trace, points: Points, shown: int, title: str) -> list[Still]:
    """The start, the first ``shown`` updates, the last one if it is not among them, and the end."""
    return _StillMaker(trace, points, title).make(shown)


class _StillMaker:
    def __init__(self, trace: Trace, points: Points, title: str) -> None:
        self.trace, self.points, self.title = trace, points, title
        self.examples = Examples(as_rows(points.X), points.codes, 1.0)
        self.batch = trace[0].row < 0
        self.mistakes = self._count_mistakes() if self.batch else np.arange(1, len(trace) + 1)

    def make(self, shown: int) -> list[Still]:
        total = len(self.trace)
        picked = [*range(min(shown, total)), *([total - 1] if total > shown else [])]
        start, end = self.trace.start, self.trace[-1].weights
        blank = "" if np.any(start[:-1]) else ": no boundary yet"
        lines = f"{self.title} · start · {plural(total, 'update')} to come", self._state(start) + blank
        frames = [Still(start, start, lines, wrong=self.wrong(start))]
        for place, k in enumerate(picked):
            left_out = k - picked[place - 1] - 1 if place else 0
            frames.append(self._update(k, left_out))
        left, n = self.wrong(end), len(self.points.X)
        verdict = f"{len(left)} of {n} rows are wrong" if len(left) else "every row is on its side"
        lines = f"{self.title} · end · {self._total()}", f"{self._state(end)}: {verdict}"
        return [*frames, Still(end, end, lines, wrong=left)]

    def _update(self, k: int, left_out: int) -> Still:
        update, before = self.trace[k], self._before(k)
        left, n = self.wrong(update.weights), len(self.points.X)
        made = f" · {plural(int(self.mistakes[k]), 'mistake')} so far" if len(self.mistakes) else ""
        head = f"{self.title} · update {k + 1} of {len(self.trace)}{made}"
        head += f" · {len(left)} of {n} rows misclassified"
        gap = f"{plural(left_out, 'update')} left out before this one. " if left_out else ""
        held, text, sums = self._row(update, before) if update.row >= 0 else self._rows(update, before)
        lines = (head, f"{gap}Step {update.step}: {text} before the update", *sums)
        return Still(before, update.weights, lines, True, held, left)

    def _row(self, update: Update, before: np.ndarray) -> tuple[np.ndarray, str, list[str]]:
        """One current row."""
        points = self.points
        row, y = points.X[update.row], float(points.signs[update.row])
        check_step(before, update, row, y)
        value = y * float(row @ before[:-1] + before[-1])
        if math.isclose(value, update.margin, rel_tol=1e-6, abs_tol=1e-9):
            value = update.margin  # without the rounding of this sum
        label, sign = points.labels[points.codes[update.row]], "+1" if y > 0 else "−1"
        name = "" if plain_sign(label) == sign else f", label {short(label)}"
        text = f"row {update.row}{name} (y = {sign}), y·f(x) {same(value)} {number(value)}"
        return np.array([update.row]), text, row_step(before, update.weights, row, y)

    def _rows(self, update: Update, before: np.ndarray) -> tuple[np.ndarray, str, list[str]]:
        """All rows that are wrong pull together: each of them counts as a mistake."""
        held, risk = self.wrong(before), abs(update.margin)
        text = "the wrong row pulls" if len(held) == 1 else f"the {len(held)} wrong rows pull together"
        text += f"; risk {same(risk)} {number(risk)}"
        signs = self.points.signs[held]
        pull = np.append(signs @ self.points.X[held], signs.sum())
        return held, text, sum_step(before, update.weights, pull)

    def _total(self) -> str:
        updates = plural(len(self.trace), "update")
        if not len(self.mistakes):
            return updates
        mistakes = plural(int(self.mistakes[-1]), "mistake")
        return f"{mistakes}{' (wrong rows, added up)' if self.batch else ''}, {updates}"

    def _state(self, z: np.ndarray) -> str:
        equal = same(z)
        z = rounded(z) if self.batch else z  # an exact step leaves a hair
        return f"w {equal} {vector(z[:-1])}" + (f", b {equal} {number(z[-1])}" if z[-1] else "")

    def _before(self, k: int) -> np.ndarray:
        return self.trace[k - 1].weights if k else self.trace.start

    def _margins(self, Z: np.ndarray) -> np.ndarray:
        """y·f(x) by weights and rows, summed as the run sums it, so that no row is judged otherwise."""
        return np.asarray(self.points.signs * self.examples.ordered_values(Z))

    def wrong(self, z: np.ndarray) -> np.ndarray:
        """The rows with y·f(x) ≤ 0."""
        return np.flatnonzero(self._margins(z[None])[0] <= 0)

    def _count_mistakes(self) -> np.ndarray:
        """Mistakes up to each batch update; none if the run was not about just these rows."""
        Z = self.trace.weights[:-1]
        risk = np.array([-update.margin for update in self.trace])
        many = np.empty(len(Z), dtype=np.int64)
        for k in range(0, len(Z), WEIGHTS_AT_ONCE):
            margins = self._margins(Z[k : k + WEIGHTS_AT_ONCE])
            many[k : k + WEIGHTS_AT_ONCE] = np.count_nonzero(margins <= 0, axis=1)
            found = np.maximum(0.0, -margins).sum(axis=1)
            if not np.allclose(found, risk[k : k + WEIGHTS_AT_ONCE], rtol=1e-6, atol=1e-9 * found.max()):
                return np.empty(0, dtype=np.int64)
        return np.cumsum(many)


def check_step(before: np.ndarray, update: Update, row: np.ndarray, y: float) -> None:
    """Raise unless the update is a multiple ≥ 0 of y x: otherwise the picture would tell a lie."""
    step = update.weights - before
    eta = factor_of(step, row, y)
    rest = float(np.linalg.norm(step[:-1] - eta * y * row))
    small = 1e-6 * float(np.linalg.norm(step)) + 1e-9 * float(np.linalg.norm(before))
    if rest > small or eta < -1e-9:
        raise InputError(
            "trace must be that of a run on these X and y, from its start. Got an update at step "
            f"{update.step} that does not add a multiple of y·x of row {update.row} instead. "
            "Pass the X and y of the fit and the whole trace; of several classes, y == label."
        )


def plain_sign(label: Any) -> str:
    """A label as −1 and +1 are written."""
    text = str(label).replace("-", "−")
    return f"+{text}" if text == "1" else text


def short(label: Any, most: int = 16) -> str:
    """The label, cut if it is long."""
    text = str(label)
    return text if len(text) <= most else text[: most - 1] + "…"
