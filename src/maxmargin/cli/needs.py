"""What each picture needs of the data and the model, said in the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.checker import canonical
from maxmargin.cli.inputs import check_labelled
from maxmargin.core.errors import InputError, count, some
from maxmargin.core.labels import find_classes

__all__ = ["FILM", "NEEDS", "Need", "check_need", "check_rows_to_hold_out", "find_label", "labels_of"]

SOME = 10  # names that are written out
HELD_OUT = 0.3  # share of the rows on which a path of C is judged


@dataclass(frozen=True)
class Need:
    """What a picture is about; what is not said is not needed."""

    models: tuple[str, ...] = ()
    two_classes: bool = False  # or one machine of several
    two_features: bool = False
    bias: bool | None = None
    most_rows: int | None = None
    features: bool = False  # whether --features says what is shown
    shows: str = "rows"  # all "rows", or a "sample" of them, or "numbers" about them


FLAT = Need(two_classes=True, two_features=True, bias=False)
WEIGHTS = Need(("hard-margin",), two_classes=True, two_features=True, bias=True)
NEEDS = {
    "x-space": Need(features=True, shows="sample"),
    "w-space": FLAT,
    "both-spaces": FLAT,
    "risk": FLAT,
    "risk-surface": FLAT,
    "weights": WEIGHTS,
    "section": WEIGHTS,
    "certificate": Need(("hard-margin", "soft-margin"), two_classes=True, shows="sample"),
    "separability": Need(two_classes=True, features=True, shows="sample"),
    "mistakes": Need(("perceptron", "pocket"), two_classes=True, shows="numbers"),
    "errors": Need(("perceptron", "batch-perceptron", "pocket"), two_classes=True, shows="numbers"),
    "path": Need(("soft-margin",), shows="numbers"),
}
FILM = Need(("perceptron", "batch-perceptron"), two_classes=True, most_rows=2_000, features=True)


def check_need(
    name: str, need: Need, *, model: str, intercept: bool, d: int, n: int, labels: list[Any], alone: bool
) -> None:
    """Raise with everything that the picture ``name`` lacks; ``alone``: one machine is chosen."""
    lacks: list[tuple[str, str, str]] = []  # what is needed, what was given, what to do
    if need.two_classes and len(labels) > 2 and not alone:
        do = f"Choose a class, against all others, with --machine and one of {some(labels, SOME)}."
        lacks.append(("two classes", f"{len(labels)} classes", do))
    if need.two_features and d != 2:
        do = "Choose two features with --columns." if d > 2 else "Name a file with two."
        lacks.append(("two features", count(d, "feature"), do))
    if need.bias is True and not intercept:
        lacks.append(("a bias", "--no-intercept", "Leave out --no-intercept."))
    if need.bias is False and intercept:
        lacks.append(("a plane through the origin", "a bias", "Add --no-intercept."))
    if need.most_rows is not None and n > need.most_rows:
        lacks.append((f"at most {need.most_rows:,} rows", f"{n:,} rows", "Name a smaller file."))
    if need.models and model not in need.models:
        lacks.append((f"--model {_list(need.models, 'or')}", f"--model {model}", ""))
    if lacks:
        needed, given = (_list([lack[k] for lack in lacks], "and") for k in (0, 1))
        remedies = " ".join(lack[2] for lack in lacks if lack[2])
        raise InputError(f"{name} needs {needed}. Got {given} instead. {remedies}".rstrip())


def labels_of(y: np.ndarray, path: str) -> list[Any]:
    """The labels, sorted: two or more."""
    check_labelled(y, path)
    try:
        labels: list[Any] = find_classes(y).tolist()
    except InputError:
        raise InputError(
            f"{path}: the labels must be of two or more classes. Got {y.tolist()[0]!r} alone instead. "
            "Name another column with --label, or another file."
        ) from None
    except ValueError:  # scikit-learn: measurements are no labels
        few = ", ".join(f"{value:g}" for value in np.unique(y)[:3].tolist())
        raise InputError(
            f"{path}: the labels must be classes: words or whole numbers. Got {few}, … instead. "
            "Name the column of the labels with --label."
        ) from None
    return labels


def find_label(text: str, labels: list[Any]) -> Any:
    """The label that --machine means."""
    if len(labels) == 2:
        raise InputError(
            "--machine chooses one machine of several, for three or more classes. Got two classes "
            "instead, which have one. Leave it out."
        )
    known = {canonical(str(label)): label for label in labels}
    if canonical(text) not in known:
        raise InputError(
            f"--machine must be one of the labels {some(labels, SOME)}. Got {text!r} instead."
        )
    return known[canonical(text)]


def check_rows_to_hold_out(y: np.ndarray) -> None:
    """Raise unless some rows of every class can be held out and some kept."""
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        few = labels[np.argmin(counts)]
        raise InputError(
            "--kind path holds out rows of every class, and needs at least 2 rows of each. "
            f"Got 1 row of {few.item()!r} instead. Add rows, or leave this class out of the file."
        )
    held = int(np.ceil(HELD_OUT * len(y)))
    if held < len(labels):
        raise InputError(
            f"--kind path holds out {HELD_OUT:.0%} of the rows, and needs one of them for each class. "
            f"Got {len(y)} rows, {held} to hold out, and {len(labels)} classes instead. Add rows."
        )


def _list(parts: Sequence[str], word: str) -> str:
    """a, b and c."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
