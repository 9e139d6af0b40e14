"""The rows as a margin machine works on them: signed, centred and scaled.

a_i = y_i (x_i − c)/s with a centre c and a power of two s. Moving the origin changes only b, and
scaling by s changes w by 1/s and C by s², so nothing is lost; but sums no longer cancel, and products
stay within the range of doubles. In these coordinates the margin of row i is m_i = a_i·w + y_i b.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.params import LARGEST, SMALLEST
from maxmargin.kernels.multipliers import sign
from maxmargin.rows import DenseRows, Rows
from maxmargin.rows.room import room
from maxmargin.solvers.margin.products import Products

__all__ = ["TOO_WIDE", "Frame", "Frames", "NotFiniteError", "Scene", "draw", "set_scene"]

SAMPLE = 2_000  # rows from which centre and scale are estimated: any will do, if not too far off
SAMPLED = 1 << 22  # entries of these rows, at most
DENSE_SHARE = 0.08  # a working set with more nonzeros than this share is faster as a dense matrix
UNEVEN = 1e3  # ratio of the scales of two features beyond which a Gram matrix loses the smaller
TOO_WIDE = 1 << 24  # entries of sparse rows that are not made dense
MEAN_SAMPLE = 1_000  # rows that tell how long rows are
CHUNK = 4_096  # rows taken at a time
VECTORS = 12  # numbers per row that a solver keeps beside the rows: margins, multipliers, …


class NotFiniteError(ArithmeticError):
    """A row holds nan or an infinity, or a number so large that its products do."""


class Scene(NamedTuple):
    """Where the coordinates of the solver lie in those of the user."""

    centre: np.ndarray
    scale: float
    uneven: bool = False  # whether features differ much in scale

    def outside(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Return (w, b) in the user's coordinates."""
        w = w / self.scale
        return w, float(b - w @ self.centre)

    def inside(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Return (w, b) in the solver's coordinates."""
        return w * self.scale, float(b + w @ self.centre)


def draw(n: int, size: int) -> np.ndarray:
    """Return some rows, in order; drawn at random, and always the same."""
    if size >= n:
        return np.arange(n)
    return np.unique(np.random.default_rng(0).integers(n, size=size))


def set_scene(rows: Rows, pad: float) -> Scene:
    """Choose centre and scale; through the origin (pad = 0) the centre has to stay where it is."""
    X = rows.take(draw(rows.n, max(1, min(SAMPLE, SAMPLED // rows.d))))
    _check(X)
    centre = X.mean(axis=0) if pad else np.zeros(rows.d)
    reach = np.max(np.abs(X - centre), axis=0, initial=0.0)
    reach = reach[reach > 0]
    if not len(reach):
        return Scene(centre, 1.0)
    uneven = bool(reach.max() > UNEVEN * reach.min())
    if not SMALLEST <= reach.max() <= LARGEST:
        raise NotFiniteError
    return Scene(centre, float(2.0 ** np.round(np.log2(reach.max()))), uneven)


class Frame:
    """Rows a_i = y_i (x_i − c)/s, and the column y that the bias sees (zero without a bias)."""

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        pad: float,
        scene: Scene,
        ready: bool = False,
        blur: float = 1e-13,
        shared: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.rows = rows
        self.y = y
        self.bias = y * pad
        self.pad = pad
        self.scene = scene
        self.blur = blur  # relative precision of the rows, and of sums of them
        self.ready = ready  # the rows are signed, centred and scaled already
        self.n, self.d = rows.n, rows.d
        self.shared = {} if shared is None else shared  # what machines on the same rows compute once

    @cached_property
    def products(self) -> Products:
        """Inner products of rows that have been in the band."""
        return Products(self.n, self.d)

    @cached_property
    def most(self) -> int:
        """How many rows a working set may hold: all, or what a copy of rows in a file has room for."""
        return self.n if self.rows.resident else max(1, room(VECTORS * self.n) // self.d)

    @cached_property
    def chunk(self) -> int:
        """How many rows are taken at a time."""
        return CHUNK if self.rows.resident else min(CHUNK, 1 + self.rows.block_length() // 2)

    @cached_property
    def reach(self) -> np.ndarray:
        """max_i |a_ij| for every feature j, or somewhat more."""
        reach = self.rows.column_reach
        if not self.ready:
            reach = (reach + np.abs(self.scene.centre)) / self.scene.scale
        return np.asarray(reach)

    @cached_property
    def mean_square(self) -> float:
        """About the mean of ‖a_i‖², from some rows; 1 if they are all zero."""
        some = self.take(draw(self.n, MEAN_SAMPLE))
        return float(np.mean(np.einsum("ij,ij->i", some, some))) or 1.0

    def values(self, w: np.ndarray, b: float) -> np.ndarray:
        """The margins m_i = a_i·w + y_i b: one pass."""
        if self.ready:
            f = self.rows.times(w[:, None])[:, 0]
            return f + b * self.bias if b else f
        v = w / self.scene.scale
        f = self.rows.times(v[:, None])[:, 0]
        sign(f, self.y, self.pad * b - float(v @ self.scene.centre))
        return f

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Σ α_i a_i: one pass, or less if most α are zero."""
        some = np.flatnonzero(alpha)
        if 8 * len(some) < self.n:
            return self.pull_of(some, alpha[some])
        if self.ready:
            return np.asarray(self.rows.combine(alpha[None])[0])
        signed = alpha * self.y
        total = self.rows.combine(signed[None])[0] - float(signed.sum()) * self.scene.centre
        return np.asarray(total / self.scene.scale)

    def pull_of(self, which: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Σ α_i a_i over a few rows."""
        if self.rows.is_sparse:
            signed = alpha * self.y[which]
            total = self.rows.select(which).combine(signed[None])[0]
            return np.asarray(total - float(signed.sum()) * self.scene.centre) / self.scene.scale
        total = np.zeros(self.d)
        for start in range(0, len(which), self.chunk):
            part = slice(start, start + self.chunk)
            total += alpha[part] @ self.take(which[part])
        return total

    def take(self, which: np.ndarray) -> np.ndarray:
        """A few rows a_i, as a dense matrix."""
        A = self.rows.take(which)
        if not self.ready:
            A -= self.scene.centre
            A *= (self.y[which] / self.scene.scale)[:, None]
        return A

    def restricted(self, which: np.ndarray) -> Frame:
        """Only some rows, as a copy: dense and ready to use, or sparse where that is smaller."""
        y, pad = self.y[which], self.pad
        if len(which) > self.most:
            return Frame(self.rows.select(which), y, pad, self.scene)
        if self.rows.is_sparse:
            rows = self.rows.select(which)
            if rows.entries < DENSE_SHARE * rows.n * rows.d:
                _check(rows.arrays[0])
                return Frame(rows, y, pad, self.scene)
        A = np.empty((len(which), self.d))
        for start in range(0, len(which), self.chunk):
            part = slice(start, start + self.chunk)
            A[part] = self.take(which[part])
        _check(A)
        return Frame(DenseRows(A), y, pad, self.scene, ready=True)


class Frames(Sequence[Frame]):
    """The same rows for several machines; the scene is set when the first frame is asked for."""

    def __init__(self, rows: Rows, labels: Sequence[np.ndarray], pad: float) -> None:
        self._rows, self._labels, self._pad = rows, labels, pad
        self._shared: dict[str, np.ndarray] = {}

    @cached_property
    def scene(self) -> Scene:
        """One for all."""
        return set_scene(self._rows, self._pad)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, k: Any) -> Any:
        return Frame(self._rows, self._labels[k], self._pad, self.scene, shared=self._shared)


def _check(values: np.ndarray) -> None:
    if not np.isfinite(values.sum()):
        raise NotFiniteError
