"""Labels in, codes inside: the larger of the sorted classes is +1 in a binary problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.core.errors import InputError

MAX_SCANNED_CLASSES = 8  # classes that are found one by one
# Class weights scale steps, whose products must stay in range.
MIN_CLASS_WEIGHT, MAX_CLASS_WEIGHT = 1e-9, 1e9


def find_classes(y: Any) -> np.ndarray:
    """Return the sorted classes of ``y``: two or more."""
    few = few_distinct(np.asarray(y))
    if few is not None:
        return few
    try:
        if np.asarray(y).dtype.kind not in "biuSU":  # integers and strings are labels as they are
            check_classification_targets(y)
        classes = np.unique(y)
    except (TypeError, ValueError) as error:
        check_no_gaps(y, error)
        if isinstance(error, ValueError):
            raise
        raise unsortable(error) from error
    if len(classes) < 2:
        raise InputError(
            f"y must hold at least two classes. Got 1 class instead: {classes.tolist()[0]!r}. "
            "A classifier needs examples of both sides."
        )
    return np.asarray(classes)


def plain_labels(y: Any) -> Any:
    """Return labels that are all integers or all booleans as such, where they came as objects."""
    if getattr(y, "dtype", None) != np.dtype(object) or getattr(y, "ndim", 0) != 1:
        return y
    kinds = {type(label) for label in y}
    whole = all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)
    return np.array(list(y)) if kinds and (whole or kinds <= {bool, np.bool_}) else y


def unsortable(error: TypeError) -> InputError:
    """Return the error of labels that cannot be compared."""
    return InputError(
        "y must hold labels that can be sorted (all numbers, all strings, …). "
        f"Got labels that cannot be compared: {error}. Convert them to strings."
    )


def unlabelled() -> InputError:
    """Return the error of rows that are to be learned from, or judged, without labels."""
    return InputError("rows without labels need y. Got None instead. Name the label in open_rows.")


def check_no_gaps(y: Any, error: Exception | None = None) -> None:
    """Refuse a label that is missing: None, NaN or NA, with its row."""
    labels = np.asarray(y, dtype=object)
    for i, label in enumerate(labels.tolist() if labels.ndim == 1 else ()):
        missing = label is None or type(label).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(label, Real) and math.isnan(label)):
            raise InputError(
                "y must hold a label for every row. Got "
                f"{'NaN' if isinstance(label, Real) else label} in row {i} instead. Leave the row out, "
                "or fill the gap."
            ) from error


def few_distinct(y: np.ndarray) -> np.ndarray | None:
    """Return the sorted classes if they are two to eight whole numbers, without sorting all of y."""
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        return None
    if not len(y):
        return None
    ends = np.array([y.min(), y.max()])
    if np.all(ends == np.floor(ends)) and np.all((y == ends[0]) | (y == ends[1])) and ends[0] < ends[1]:
        return ends.astype(y.dtype)
    classes: list[Any] = []
    rest = y
    while len(rest) and len(classes) < MAX_SCANNED_CLASSES:
        first = rest[0]
        if y.dtype.kind == "f" and first != np.floor(first):  # nan and inf - inf included
            return None
        classes.append(first)
        rest = rest[rest != first]
    return np.sort(np.array(classes, dtype=y.dtype)) if not len(rest) and len(classes) > 1 else None


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label in the sorted ``classes``."""
    if len(classes) == 2:
        codes = y == classes[1]
        if np.all(codes | (y == classes[0])):
            return np.asarray(codes, dtype=np.int32)
    codes = np.searchsorted(classes, y)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not np.all(known):
        strange = np.asarray(y)[~known][0]
        raise InputError(
            f"labels must be among the classes {list(classes)}. Got {strange!r} instead. "
            "Name all classes in the first call (classes=…), or fit anew."
        )
    return codes.astype(np.int32)


def class_weights(
    class_weight: Any,
    classes: np.ndarray,
    codes: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Return one weight per class; ``counts`` says how many rows each of the ``codes`` stands for.

    Without ``codes``, in a stream, classes may be named before they are seen, and nothing can be
    balanced.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        if codes is None:
            raise InputError(
                "class_weight must be None or a dict when learning from a stream. "
                "Got 'balanced' instead. Compute the weights beforehand and pass them as a dict."
            )
        rows = np.bincount(codes, counts, minlength=len(classes))
        return np.asarray(rows.sum() / (len(classes) * rows))
    if not isinstance(class_weight, Mapping):
        raise InputError(
            "class_weight must be None, 'balanced' or a dict {label: weight}. "
            f"Got {class_weight!r} instead."
        )
    weights = np.ones(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not MIN_CLASS_WEIGHT <= float(weight) <= MAX_CLASS_WEIGHT:
            raise InputError(
                f"class_weight must hold numbers between {MIN_CLASS_WEIGHT:g} and {MAX_CLASS_WEIGHT:g}. "
                f"Got {weight!r} for {label!r} instead."
            )
        if label in position:
            weights[position[label]] = float(weight)
        elif codes is not None:
            raise InputError(
                f"class_weight must name classes of y, which are {classes.tolist()}. "
                f"Got {label!r} instead."
            )
    return weights
