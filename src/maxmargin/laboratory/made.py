"""How the made presets are made. Clouds are rounded to a thousandth, so that links stay short."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin import datasets
from maxmargin.laboratory.state import LABELS, NAMES

__all__ = [
    *("Made", "blobs", "five", "iris", "outlier"),
    *("overlapping", "separable", "spiral", "three", "touching", "xor"),
]

UNIT = 5 / 128  # of margins: sums of it are exact in doubles, and a tilted plane can have it


class Made(NamedTuple):
    """Points with class codes."""

    X: np.ndarray
    y: np.ndarray
    labels: tuple[str, ...] = LABELS
    names: tuple[str, str] = NAMES
    sentence: str = ""


def _clouds(
    centres: np.ndarray, counts: list[int], noise: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Round clouds about some centres, in a random order."""
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.repeat(np.arange(len(centres)), counts))
    X = centres[which] + noise * rng.standard_normal((len(which), 2))
    return np.round(X, 3) + 0.0, which


def _equal(n: int, parts: int) -> list[int]:
    return [len(part) for part in np.array_split(np.arange(n), parts)]


def _two(n: int, balance: float) -> list[int]:
    positive = min(max(round(balance * n), 1), n - 1)
    return [n - positive, positive]


def blobs(n: int, noise: float, balance: float, seed: int) -> Made:
    """Two clouds."""
    X, y = _clouds(np.array([[-1.5, -1.0], [1.5, 1.0]]), _two(n, balance), noise, seed)
    return Made(X, y)


def separable(n: int, noise: float, balance: float, margin: float, seed: int) -> Made:
    """Two classes of a known margin."""
    exact = max(1, round(margin / UNIT)) * UNIT
    spread = max(noise, 0.05)
    X, y, known = datasets.make_separable(n, 2, exact, balance=balance, spread=spread, random_state=seed)
    sentence = f"Two classes whose largest margin is exactly {known!r}, known before any solver has run."
    return Made(X, (y > 0).astype(np.int64), sentence=sentence)


def touching(n: int, noise: float, balance: float, seed: int) -> Made:
    """Two classes that touch."""
    X, y = datasets.make_touching(n, 2, balance=balance, spread=max(noise, 0.05), random_state=seed)
    return Made(X, (y > 0).astype(np.int64))


def overlapping(n: int, noise: float, balance: float, seed: int) -> Made:
    """Two classes that overlap: the more noise, the more."""
    X, y = datasets.make_overlapping(
        n,
        2,
        distance=2.0 / max(noise, 0.05),
        balance=balance,
        spread=max(noise, 0.05),
        random_state=seed,
    )
    return Made(X, (y > 0).astype(np.int64))


def outlier(n: int, noise: float, seed: int) -> Made:
    """Two clouds far apart and one point between them."""
    X, y = _clouds(np.array([[-2.0, -1.0], [2.0, 1.5]]), _two(n - 1, 0.5), noise, seed)
    return Made(np.vstack([X, [[-0.6, 0.2]]]), np.append(y, 1))


def xor(n: int, noise: float, seed: int) -> Made:
    """Four clouds, opposite ones of the same class."""
    corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    X, y = _clouds(corners, _equal(n, 4), noise, seed)
    return Made(X, (y >= 2).astype(np.int64))


def spiral(n: int, noise: float, seed: int) -> Made:
    """Two arms, one and a half turns each."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], _two(n, 0.5)))
    t = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 3.0 * np.pi * t + np.pi * y
    X = 2.0 * t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Made(np.round(X + noise * rng.standard_normal((n, 2)), 3) + 0.0, y)


def iris(seed: int) -> Made:
    """Petals of two species, as scikit-learn ships them; nothing in it is random."""
    from sklearn.datasets import load_iris

    data = load_iris()
    pair = data.target > 0
    X, y = data.data[pair][:, 2:4], data.target[pair] - 1
    return Made(X, y, ("versicolor", "virginica"), ("petal length, cm", "petal width, cm"))


def three(n: int, noise: float, seed: int) -> Made:
    """Three clouds around the origin."""
    return _circle(n, noise, seed, 3)


def five(n: int, noise: float, seed: int) -> Made:
    """Five clouds around the origin."""
    return _circle(n, noise, seed, 5)


def _circle(n: int, noise: float, seed: int, parts: int) -> Made:
    angles = np.pi / 2 + 2 * np.pi * np.arange(parts) / parts
    centres = 2.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    X, y = _clouds(centres, _equal(n, parts), noise, seed)
    return Made(X, y, tuple("ABCDE"[:parts]))
