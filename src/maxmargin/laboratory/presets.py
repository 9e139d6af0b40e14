"""Points to begin with: the lectures' examples, and made data with sliders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from maxmargin import datasets
from maxmargin.laboratory.state import LABELS, LIMITS, NAMES, read_choice, read_count, read_number

MARGIN_UNIT = 5 / 128  # of margins: sums of it are exact in doubles, and a tilted plane can have it


class Data(NamedTuple):
    """Points with class codes."""

    X: np.ndarray
    y: np.ndarray
    labels: tuple[str, ...] = LABELS
    names: tuple[str, str] = NAMES
    sentence: str = ""


class Preset(NamedTuple):
    """What the page lists, the sliders with their usual values, and how the points are made."""

    title: str
    sentence: str
    sliders: dict[str, float]
    make: Callable[..., Data]
    group: str = "made"


# How points are made. Clouds are rounded to a thousandth, so that links stay short.


def _clouds(centres: Any, counts: list[int], noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Round clouds about some centres, in a random order, and the number of each point's cloud."""
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.repeat(np.arange(len(centres)), counts))
    X = np.array(centres)[which] + noise * rng.standard_normal((len(which), 2))
    return np.round(X, 3) + 0.0, which


def _equal(n: int, parts: int) -> list[int]:
    return [len(part) for part in np.array_split(np.arange(n), parts)]


def _two(n: int, balance: float) -> list[int]:
    positive = min(max(round(balance * n), 1), n - 1)
    return [n - positive, positive]


def _blobs(n: int, noise: float, balance: float, seed: int) -> Data:
    return Data(*_clouds([[-1.5, -1.0], [1.5, 1.0]], _two(n, balance), noise, seed))


def _separable(n: int, noise: float, balance: float, margin: float, seed: int) -> Data:
    exact = max(1, round(margin / MARGIN_UNIT)) * MARGIN_UNIT
    spread = max(noise, 0.05)
    X, y, known = datasets.make_separable(n, 2, exact, balance=balance, spread=spread, random_state=seed)
    sentence = f"Two classes built so that the largest margin is exactly {known!r}."
    return Data(X, (y > 0).astype(np.int64), sentence=sentence)


def _touching(n: int, noise: float, balance: float, seed: int) -> Data:
    X, y = datasets.make_touching(n, 2, balance=balance, spread=max(noise, 0.05), random_state=seed)
    return Data(X, (y > 0).astype(np.int64))


def _overlapping(n: int, noise: float, balance: float, seed: int) -> Data:
    spread = max(noise, 0.05)
    X, y = datasets.make_overlapping(
        n, 2, distance=2.0 / spread, balance=balance, spread=spread, random_state=seed
    )
    return Data(X, (y > 0).astype(np.int64))


def _outlier(n: int, noise: float, seed: int) -> Data:
    X, y = _clouds([[-2.0, -1.0], [2.0, 1.5]], _two(n - 1, 0.5), noise, seed)
    return Data(np.vstack([X, [[-0.6, 0.2]]]), np.append(y, 1))


def _xor(n: int, noise: float, seed: int) -> Data:
    X, y = _clouds([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]], _equal(n, 4), noise, seed)
    return Data(X, (y >= 2).astype(np.int64))


def _spiral(n: int, noise: float, seed: int) -> Data:
    """Two arms, one and a half turns each."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], _two(n, 0.5)))
    t = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 3.0 * np.pi * t + np.pi * y
    X = 2.0 * t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Data(np.round(X + noise * rng.standard_normal((n, 2)), 3) + 0.0, y)


def _iris(seed: int) -> Data:
    """Petals of two species, as scikit-learn ships them; the seed changes nothing."""
    from sklearn.datasets import load_iris

    data = load_iris()
    pair = data.target > 0
    X, y = data.data[pair][:, 2:4], data.target[pair] - 1
    return Data(X, y, ("versicolor", "virginica"), ("petal length, cm", "petal width, cm"))


def _circle(parts: int, n: int, noise: float, seed: int) -> Data:
    """Clouds on a circle around the origin, a class each."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(parts) / parts
    centres = 2.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    return Data(*_clouds(centres, _equal(n, parts), noise, seed), tuple("ABCDE"[:parts]))


def _lecture(example: datasets.Dataset, seed: int) -> Data:
    """An example of the lectures as it is; the seed changes nothing."""
    classes, codes = np.unique(example.y, return_inverse=True)
    labels = LABELS if len(classes) == 2 else tuple(map(str, classes))
    first, second = (f.replace("x1", NAMES[0]).replace("x2", NAMES[1]) for f in example.feature_names)
    return Data(example.X, codes, labels, (first, second))


# slider: least, most, step
RANGES: dict[str, tuple[float, float, float]] = {
    "n": (4, LIMITS["points"], 1),
    "noise": (0.0, 2.0, 0.05),
    "balance": (0.05, 0.95, 0.05),
    "margin": (0.05, 2.0, 0.05),
}
GENERATED = {
    "blobs": Preset(
        "Two blobs",
        "Two round clouds; with more noise they overlap.",
        {"n": 60, "noise": 0.6, "balance": 0.5},
        _blobs,
    ),
    "separable": Preset(
        "Separable, known margin",
        "Two classes built so that the largest margin is known exactly.",
        {"n": 60, "noise": 1.0, "balance": 0.5, "margin": 0.4},
        _separable,
    ),
    "touching": Preset(
        "Touching",
        "A point of one class lies on the hull of the other: separable but for points on the plane.",
        {"n": 30, "noise": 1.0, "balance": 0.5},
        _touching,
    ),
    "overlapping": Preset(
        "Overlapping",
        "Two clouds that no plane separates, not even with points on it.",
        {"n": 80, "noise": 0.5, "balance": 0.5},
        _overlapping,
    ),
    "one outlier": Preset(
        "One outlier",
        "Two clouds far apart, and one point of one class near the other: what it does to the margin.",
        {"n": 40, "noise": 0.5},
        _outlier,
    ),
    "xor": Preset(
        "XOR",
        "Four clouds at the corners of a square, opposite ones of the same class: no plane is good.",
        {"n": 60, "noise": 0.25},
        _xor,
    ),
    "spiral": Preset(
        "Spiral",
        "Two arms wound around each other: what no plane can do.",
        {"n": 120, "noise": 0.05},
        _spiral,
    ),
    "iris pair": Preset(
        "Iris pair",
        "Petals of versicolor and virginica, as Anderson measured them: real data that overlaps.",
        {},
        _iris,
    ),
    "three blobs": Preset(
        "Three blobs",
        "Three clouds around the origin: one plane per class, or per pair.",
        {"n": 60, "noise": 0.6},
        partial(_circle, 3),
    ),
    "five blobs": Preset(
        "Five blobs",
        "Five clouds on a circle: ten pairs, of which every one may be separable.",
        {"n": 100, "noise": 0.4},
        partial(_circle, 5),
    ),
}
RENAMED_EXAMPLES = {"xor": "xor, four points", "touching": "touching, four points"}  # names both have


def _presets() -> dict[str, Preset]:
    """The lectures' examples in two features, and the made data, by name."""
    found = {}
    for example in map(datasets.load, datasets.names()):
        if example.X.shape[1] == 2:
            name = RENAMED_EXAMPLES.get(example.name, example.name)
            title = name.replace("-", " ").capitalize().replace("Xor", "XOR")
            make = partial(_lecture, example)
            found[name] = Preset(title, example.description, {}, make, "lectures")
    return found | GENERATED


def list_presets() -> dict[str, Any]:
    """All presets with titles, sentences and sliders."""
    return {
        "presets": [
            {"name": name, "title": preset.title, "sentence": preset.sentence, "group": preset.group}
            | _sliders(preset)
            for name, preset in _presets().items()
        ]
    }


def make_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """The points, labels and names of a preset."""
    presets = _presets()
    name = read_choice("name", given.get("name"), list(presets))
    preset = presets[name]
    data = preset.make(**_settings(given, preset.sliders))
    rows = zip(data.X.tolist(), data.y.tolist(), strict=True)
    return {
        "name": name,
        "points": [[x1, x2, code, 0] for (x1, x2), code in rows],
        "labels": data.labels,
        "names": data.names,
        "sentence": data.sentence or preset.sentence,
        **_sliders(preset),
    }


def _sliders(preset: Preset) -> dict[str, Any]:
    """The sliders, and for each its ends, its step and its usual value."""
    keys = "min", "max", "step", "value"
    ranges = {
        slider: dict(zip(keys, (*RANGES[slider], value), strict=True))
        for slider, value in preset.sliders.items()
    }
    return {"sliders": list(ranges), "ranges": ranges}


def _settings(given: Mapping[str, Any], usual: Mapping[str, float]) -> dict[str, Any]:
    """The sliders of this preset as given, and the seed; the others are checked and not used."""
    found: dict[str, Any] = {}
    for slider, (least, most, _) in RANGES.items():
        value = given.get(slider)
        if value is None:
            value = usual.get(slider, least)
        if slider == "n":
            whole = int(value) if type(value) is float and value.is_integer() else value
            value = read_count("n", whole, least=int(least), most=int(most))
        else:
            value = read_number(slider, value, least=least, most=most)
        if slider in usual:
            found[slider] = value
    seed = given.get("seed")
    found["seed"] = read_count("seed", 0 if seed is None else seed, least=0, most=LIMITS["seed"])
    return found
