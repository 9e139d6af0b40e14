"""Points to begin with: the lectures' examples, and made data with sliders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin import datasets
from maxmargin.laboratory import made
from maxmargin.laboratory.made import Made
from maxmargin.laboratory.state import LABELS, LIMITS, NAMES, read_choice, read_count, read_number

# slider: least, most, step
RANGES: dict[str, tuple[float, float, float]] = {
    "n": (4, LIMITS["points"], 1),
    "noise": (0.0, 2.0, 0.05),
    "balance": (0.05, 0.95, 0.05),
    "margin": (0.05, 2.0, 0.05),
}
# name: title, sentence, sliders with their usual values, how it is made
MADE: dict[str, tuple[str, str, dict[str, float], Any]] = {
    "blobs": (
        "Two blobs",
        "Two round clouds; with more noise they overlap.",
        {"n": 60, "noise": 0.6, "balance": 0.5},
        made.blobs,
    ),
    "separable": (
        "Separable, known margin",
        "Two classes whose largest margin is known exactly before any solver has run.",
        {"n": 60, "noise": 1.0, "balance": 0.5, "margin": 0.4},
        made.separable,
    ),
    "touching": (
        "Touching",
        "A point of one class lies on the hull of the other: separable but for points on the plane.",
        {"n": 30, "noise": 1.0, "balance": 0.5},
        made.touching,
    ),
    "overlapping": (
        "Overlapping",
        "Two clouds that no plane separates, not even with points on it.",
        {"n": 80, "noise": 0.5, "balance": 0.5},
        made.overlapping,
    ),
    "one outlier": (
        "One outlier",
        "Two clouds far apart, and one point of the one near the other: what it does to the margin.",
        {"n": 40, "noise": 0.5},
        made.outlier,
    ),
    "xor": (
        "XOR",
        "Four clouds at the corners of a square, opposite ones of the same class: no plane is good.",
        {"n": 60, "noise": 0.25},
        made.xor,
    ),
    "spiral": (
        "Spiral",
        "Two arms wound around each other: what no plane can do.",
        {"n": 120, "noise": 0.05},
        made.spiral,
    ),
    "iris pair": (
        "Iris pair",
        "Petals of versicolor and virginica, as Anderson measured them: real data that overlaps.",
        {},
        made.iris,
    ),
    "three blobs": (
        "Three blobs",
        "Three clouds around the origin: one plane per class, or per pair.",
        {"n": 60, "noise": 0.6},
        made.three,
    ),
    "five blobs": (
        "Five blobs",
        "Five clouds on a circle: ten pairs, of which every one may be separable.",
        {"n": 100, "noise": 0.4},
        made.five,
    ),
}
TAKEN = {"xor": "xor, four points", "touching": "touching, four points"}  # names both have


def _lectures() -> dict[str, str]:
    """Presets of the lectures' examples in two features, by name of the preset."""
    flat = [name for name in datasets.names() if datasets.load(name).X.shape[1] == 2]
    return {TAKEN.get(name, name): name for name in flat}


def list_presets() -> dict[str, Any]:
    """All presets with titles, sentences and sliders."""
    found: list[dict[str, Any]] = []
    for name, example in _lectures().items():
        title = name.replace("-", " ").capitalize().replace("Xor", "XOR")
        sentence = datasets.load(example).description
        found.append(
            {"name": name, "title": title, "sentence": sentence, "group": "lectures", "sliders": []}
        )
    for name, (title, sentence, sliders, _) in MADE.items():
        found.append(
            {
                "name": name,
                "title": title,
                "sentence": sentence,
                "group": "made",
                "sliders": list(sliders),
            }
        )
    for preset in found:
        preset["ranges"] = _ranges(str(preset["name"]))
    return {"presets": found}


def _ranges(name: str) -> dict[str, dict[str, float]]:
    """Ends, step and usual value of the sliders of a preset."""
    usual = MADE[name][2] if name in MADE else {}
    return {
        slider: dict(zip(("min", "max", "step", "value"), (*RANGES[slider], value), strict=True))
        for slider, value in usual.items()
    }


def make_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """The points, labels and names of a preset."""
    lectures = _lectures()
    name = read_choice("name", given.get("name"), [*lectures, *MADE])
    settings = _settings(given, MADE[name][2] if name in MADE else {})
    points = _load(lectures[name]) if name in lectures else MADE[name][3](**settings)
    rows = zip(points.X.tolist(), points.y.tolist(), strict=True)
    return {
        "name": name,
        "points": [[x1, x2, code, 0] for (x1, x2), code in rows],
        "labels": list(points.labels),
        "names": list(points.names),
        "sentence": points.sentence or (MADE[name][1] if name in MADE else ""),
        "sliders": list(_ranges(name)),
        "ranges": _ranges(name),
    }


def _settings(given: Mapping[str, Any], usual: Mapping[str, float]) -> dict[str, Any]:
    """The sliders of this preset as given, and the seed; the others are checked and not used."""
    found: dict[str, Any] = {}
    for slider, (least, most, _) in RANGES.items():
        value = given.get(slider)
        if value is None:
            value = usual.get(slider, least)
        if slider == "n":
            value = read_count(
                "n",
                int(value) if type(value) is float and value.is_integer() else value,
                least=int(least),
                most=int(most),
            )
        else:
            value = read_number(slider, value, least=least, most=most)
        if slider in usual:
            found[slider] = value
    seed = given.get("seed")
    found["seed"] = read_count("seed", 0 if seed is None else seed, least=0, most=LIMITS["seed"])
    return found


def _load(name: str) -> Made:
    example = datasets.load(name)
    features = tuple(f.replace("x1", NAMES[0]).replace("x2", NAMES[1]) for f in example.feature_names)
    labels = LABELS if len(np.unique(example.y)) == 2 else tuple(map(str, np.unique(example.y)))
    codes = np.searchsorted(np.unique(example.y), example.y)
    return Made(example.X, codes, labels, (features[0], features[1]), example.description)
