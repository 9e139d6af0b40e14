"""Validation: everything a user passes in is checked here, once, in one voice.

What is wrong with data that cannot be read, in words: which column, by its name, and which row.

It is looked for only after the reading has failed: good data cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import column_or_1d, validate_data

from maxmargin.cluster import column_names, labelled
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.base import not_doubles
from maxmargin.rows.sparse import check_structure
from maxmargin.rows.survey import first_not_finite, survey
from maxmargin.rows.training_data import (
    MAX_CLASS_WEIGHT,
    MIN_CLASS_WEIGHT,
    TrainingData,
    check_no_gaps,
    in_memory,
    is_parted,
    plain_labels,
    unlabelled,
)


@contextmanager
def in_our_words(X: Any, y: Any = None) -> Iterator[None]:
    """Say what is allowed, what was given and what to do, where the reader says less."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        if "feature names" not in str(error).lower():  # other features than those of the fit
            _check_numbers(X, error)
        if y is not None:
            _check_length(X, y, error)
            check_no_gaps(y, error)
        raise


def column_name(j: int, names: Sequence[str] | None) -> str:
    """The j-th column, by its name if it has one."""
    return f"column {j}" if names is None else f"column {str(names[j])!r}"


def not_finite(i: int, j: int, value: float, names: Sequence[str] | None = None) -> InputError:
    """The error of a value of X that is no number."""
    return InputError(
        f"X must hold finite numbers. Got {'NaN' if np.isnan(value) else 'infinity'} in row {i}, "
        f"{column_name(j, names)} instead. Drop the row, or fill the gap."
    )


def read_weight(sample_weight: Any, n: int) -> np.ndarray:
    """One weight ≥ 0 per row, of which some are > 0; a number is that of all rows."""
    allowed = f"sample_weight must be a number, or hold one number per row, {n} in all"
    try:
        given = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{allowed}. Got what is no number instead. Convert it to numbers.") from None
    if given.ndim and given.shape != (n,):
        shown = f"{len(given)} numbers" if given.ndim == 1 else f"an array of shape {given.shape}"
        raise InputError(f"{allowed}. Got {shown} instead. Select them with the rows.")
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0.0)))
    if len(bad):
        value = given.ravel()[bad[0]]
        found = "NaN" if np.isnan(value) else f"{float(value)!r}"
        raise InputError(
            f"sample_weight must hold finite numbers ≥ 0. Got {found} in row {bad[0]} instead. "
            "Give a row that is not to count the weight 0."
        )
    if not np.any(given):
        raise InputError(
            "sample_weight must hold a number > 0. Got only zeros instead. Weigh some rows."
        )
    return np.array(np.broadcast_to(given, (n,)))


def check_factors(weight: np.ndarray | None) -> None:
    """Refuse weights by which steps would leave the range of doubles."""
    if weight is None:
        return
    bad = np.flatnonzero((weight > 0.0) & ~((weight >= MIN_CLASS_WEIGHT) & (weight <= MAX_CLASS_WEIGHT)))
    if len(bad):
        raise InputError(
            f"sample_weight must hold 0 or numbers between {MIN_CLASS_WEIGHT:g} and "
            f"{MAX_CLASS_WEIGHT:g}, since it scales steps. Got {float(weight[bad[0]])!r} instead. "
            "Multiply all by one number."
        )


def _check_numbers(X: Any, error: Exception | None = None) -> None:
    """Refuse texts and dates, with their place."""
    for j, (name, column) in enumerate(_columns(X)):
        shown = f"column {j}" if name is None else column_name(0, [name])
        kind = getattr(column.dtype, "kind", "O")
        if kind in "mM":
            raise _no_dates(shown, column.dtype) from error
        if kind not in "OSUT":
            continue
        for i, value in enumerate(column.tolist()):
            if isinstance(value, str) and not _is_number(value):
                raise InputError(
                    f"X must hold numbers. Got text in row {i}, {shown} instead (could not convert "
                    f"string to float: {value[:40]!r}). Encode the column, for example with "
                    "sklearn.preprocessing.OneHotEncoder, or leave it out."
                ) from error


def _columns(X: Any) -> Iterator[tuple[str | None, Any]]:
    """The columns of a data frame, with their names, or of a matrix."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biufc"):
        return  # numbers, too many perhaps to look at each
    names = getattr(X, "columns", None)
    if names is not None and hasattr(X, "iloc"):
        for j, name in enumerate(names):
            yield str(name), np.asarray(X.iloc[:, j])
        return
    if names is not None and hasattr(X, "to_numpy"):
        for name in names:
            yield str(name), np.asarray(X[name])
        return
    try:
        matrix = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return
    if matrix.ndim == 2:
        yield from ((None, matrix[:, j]) for j in range(matrix.shape[1]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_length(X: Any, y: Any, error: Exception) -> None:
    shapes = [
        getattr(part, "shape", None) or (len(part),) for part in (X, y) if hasattr(part, "__len__")
    ]
    if len(shapes) == 2 and shapes[0][0] != shapes[1][0]:
        n, labels = shapes[0][0], shapes[1][0]
        if "inconsistent" in str(error):
            raise InputError(
                f"y must hold one label per row of X, {n} in all. Got {labels} instead (inconsistent "
                "numbers of samples). Select the rows of both alike."
            ) from error


FORMAT: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,  # check_reach sees to it, in the same pass as the range
}


def _is_ready(estimator: Any, X: Any, reset: bool) -> bool:
    """Whether X is a matrix as rows take it, with the features of the fit: nothing to check or convert.

    What scikit-learn does to find that out takes as long as a tenth of a small fit.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or not X.size or X.dtype not in FORMAT["dtype"]:
        return False
    known = vars(estimator)
    return reset or (known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known)


def _are_ready(y: Any, n: int) -> bool:
    """Whether y is an array of n labels that cannot be missing."""
    return type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in "biuU"


def read_X(estimator: Any, X: Any, *, reset: bool = False) -> Rows:
    """Check X and wrap it as rows."""
    return check_rows(read_matrix(estimator, X, reset=reset), names_of(estimator))


def read_matrix(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Check X but for its values; return a matrix of doubles or floats, dense or CSR, or rows."""
    refuse_partitions(X)
    if isinstance(X, Rows):
        return _known(estimator, X, reset)
    if not _is_ready(estimator, X, reset):
        _check_kind(X)
        with in_our_words(X):
            return validate_data(estimator, X, reset=reset, **FORMAT)
    if reset:
        known_features(estimator, X.shape[1], None, reset)
    return X


def check_rows(X: Any, names: Sequence[str] | None) -> Rows:
    """Check the values of a matrix, or of rows, and wrap it as rows."""
    return check_reach(X) if isinstance(X, Rows) else check_reach(as_rows(X), names=names)


def read_Xy(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, check: bool = True
) -> tuple[Rows, np.ndarray]:
    """Check X and y and wrap X as rows; with ``check=False`` the values of X are left to the caller.

    Rows that are rows already (of a file) may bring their labels with them.
    """
    refuse_partitions(X)
    if isinstance(X, Rows):
        rows, y = _known(estimator, X, reset), _labels(X, y)
        return check_reach(rows, training=True) if check else rows, y
    if y is None and not is_classifier(estimator):  # for a classifier scikit-learn says so
        raise InputError("y must hold a label for every row. Got None instead. Give the labels, too.")
    if not (_is_ready(estimator, X, reset) and _are_ready(y, len(X))):
        _check_kind(X, y)
        with in_our_words(X, y):
            X, y = validate_data(estimator, X, plain_labels(y), reset=reset, **FORMAT)
    elif reset:
        known_features(estimator, X.shape[1], None, reset)
    rows = as_rows(X)
    return check_reach(rows, training=True, names=names_of(estimator)) if check else rows, y


def read_training(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: np.ndarray | None = None,
    check: bool = True,
    numbers: str | None = None,
) -> TrainingData:
    """Check rows, labels and weights for ``fit``: in memory, in a file, or in partitions elsewhere.

    A fit that goes on has ``classes``, and labels and features must be those of the earlier fit. With
    ``check=False`` the values of rows in this process are left to the caller. For a proof any finite
    ``numbers`` will do that doubles hold, exactly ("binary") or as they are written ("decimal").
    """
    reset = classes is None
    if is_parted(X):
        data = survey(labelled(X, y, sample_weight))
        data = check_survey(data) if numbers is None else check_exact_survey(data)
        known_features(estimator, data.rows.d, data.names or column_names(X), reset)
        return data if classes is None else data.among(classes)
    rows, y = read_Xy(estimator, X, y, reset=reset, check=check and numbers is None)
    if numbers is not None:
        check_exact(X, numbers)
        check_finite(rows, names_of(estimator))
    weight = None if sample_weight is None else read_weight(sample_weight, rows.n)
    return in_memory(rows, y, weight, classes)


def read_validation(estimator: Any, X: Any, y: Any, classes: np.ndarray) -> TrainingData | None:
    """Check validation rows, if there are any; their labels must be among the classes of the fit."""
    if (X is None) != (y is None):
        raise InputError("X_val and y_val must be given together. Got only one of them.")
    if X is None:
        return None
    if is_parted(X):
        data = check_survey(survey(labelled(X, y), labelled=False))
        known_features(estimator, data.rows.d, data.names or column_names(X), reset=False)
        data.rows.classes = classes
        return data
    rows, labels = read_X(estimator, X), np.asarray(y)
    if labels.shape != (rows.n,):
        raise InputError(
            f"y_val must hold one label per row of X_val, {rows.n} in all. "
            f"Got shape {labels.shape} instead."
        )
    return in_memory(rows, labels, classes=classes)


def _check_kind(X: Any, y: Any = None) -> None:
    """Refuse what readers would take without a word for something else."""
    if sparse.issparse(X):
        check_structure(X)
    for name, part in (("X", X), ("y", y)):
        if np.ma.is_masked(part):
            masked = np.argwhere(np.ma.getmaskarray(part))[0]
            raise InputError(
                f"{name} must have no masked entries. Got one in row {masked[0]} instead. Leave the row "
                "out, or fill the gap with X.filled(value)."
            )
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(
            f"columns must have names of their own. Got {twice!r} twice instead. Rename one, or leave "
            "it out."
        )
    for dtype in {getattr(X, "dtype", None), *(getattr(X, "dtypes", ()) if names else ())}:
        if getattr(dtype, "kind", "f") in "mM":
            _check_numbers(X)
            raise _no_dates("all columns", dtype)


def _no_dates(where: str, dtype: Any) -> InputError:
    return InputError(
        f"X must hold numbers. Got dates or times in {where} instead (could not convert {dtype}). Turn "
        "them into numbers, such as days, or leave the column out."
    )


def names_of(estimator: Any) -> Sequence[str] | None:
    """The names of the features, if the rows came with some."""
    return getattr(estimator, "feature_names_in_", None)


def feature_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """The names of the columns of a data frame as texts, or x0, x1 and so on."""
    return tuple(map(str, [f"x{j}" for j in range(d)] if names is None else names))


def refuse_partitions(X: Any) -> None:
    """Refuse Dask collections where all rows have to be in one place."""
    if is_parted(X):
        raise InputError(
            "Dask collections can be given to fit of the perceptrons, of HardMarginSVC and of "
            "SoftMarginSVC, to decision_function, predict and score of any classifier, and to "
            f"separability and certify. Got {type(X).__name__} elsewhere. Use one of these, or "
            "compute() rows that fit into memory."
        )


def known_features(estimator: Any, d: int, names: Sequence[str] | None, reset: bool) -> None:
    """Compare the number and names of the features with those of the fit, or remember them."""
    if reset:
        estimator.n_features_in_ = d
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    known = getattr(estimator, "n_features_in_", d)
    fitted = getattr(estimator, "feature_names_in_", None)
    Features(type(estimator).__name__, known, fitted).check(d, names)


class Features(NamedTuple):
    """The features that a model was fitted to; small enough to travel."""

    model: str
    d: int
    names: Any

    def check(self, d: int, names: Sequence[str] | None) -> None:
        """Refuse rows that have others."""
        if d != self.d:
            raise InputError(
                f"the rows must have the {self.d} features that {self.model} was fitted to. "
                f"Got {d} features instead."
            )
        if self.names is not None and names is not None and list(self.names) != list(names):
            bad = next(j for j in range(d) if self.names[j] != names[j])
            raise InputError(
                "the features must have the names and the order they were fitted with: "
                f"{self.names[bad]!r} is feature {bad}. Got {names[bad]!r} there instead."
            )


def _known(estimator: Any, rows: Rows, reset: bool) -> Rows:
    known_features(estimator, rows.d, getattr(rows, "names", None), reset)
    return rows


def _labels(rows: Rows, y: Any) -> np.ndarray:
    """The labels given, or those that came with the rows."""
    if y is None:
        y = getattr(rows, "labels", None)
    if y is None:
        raise unlabelled()
    labels = column_or_1d(plain_labels(y), warn=True)
    if len(labels) != rows.n:
        raise InputError(f"y must hold one label per row, {rows.n} in all. Got {len(labels)} instead.")
    return np.asarray(labels)


def check_two_classes(classes: np.ndarray, function: str) -> None:
    """Refuse more than two classes, which a function bounds one machine at a time."""
    if len(classes) > 2:
        raise InputError(
            f"y must hold two classes. Got {len(classes)} instead. Bound each machine by itself: "
            f"{function}(X, y == label)."
        )


def check_reach(rows: Rows, *, training: bool = False, names: Sequence[str] | None = None) -> Rows:
    """Refuse nan, infinities, and numbers whose products leave the range of doubles.

    That a whole column is too small can be said only of many rows together, not of a new one. Errors
    call a column by its name, if there are ``names``.
    """
    if not rows.within(SMALLEST, LARGEST):
        _check_range(check_finite(rows, names), training, names)
    return rows


def out_of_range(data: TrainingData, names: Sequence[str] | None) -> InputError:
    """The error of training rows whose products left the range of doubles; it says where, if it can."""
    if data.here is not None:
        check_reach(data.here.rows, training=True, names=names)
    return InputError(
        "X must hold numbers whose products stay within the range of doubles. "
        "Got some that do not instead. Scale the largest features down."
    )


def check_survey(data: TrainingData) -> TrainingData:
    """The same for training rows in partitions."""
    if data.bad is not None:
        raise not_finite(*data.bad)
    _check_range(data.reach, training=True)
    return data


def _check_range(reach: np.ndarray, training: bool, names: Sequence[str] | None = None) -> None:
    too_small = (reach > 0) & (reach < SMALLEST) if training else np.zeros(len(reach), dtype=bool)
    outside = np.flatnonzero((reach > LARGEST) | too_small)
    if len(outside):
        j, size = int(outside[0]), float(reach[outside[0]])
        where = f"X[:, {j}]" if names is None else column_name(j, names)
        allowed = f"absolute values up to {LARGEST:.1e}, the largest of a column 0 or ≥ {SMALLEST:.1e}"
        raise InputError(
            f"X must hold {allowed}, since products with the weights must stay within the range of "
            f"doubles. Got a largest absolute value of {size:.1e} instead. "
            f"Divide {where}, where it is, by {size:.0e}."
        )


def check_finite(rows: Rows, names: Sequence[str] | None = None) -> np.ndarray:
    """Refuse nan and infinities; return max_i |x_ij| for every feature."""
    reach = rows.column_reach
    if not np.all(np.isfinite(reach)):
        known = getattr(rows, "names", None) if names is None else names
        raise not_finite(*first_not_finite(rows), known)
    return reach


def check_exact(X: Any, numbers: str) -> None:
    """Refuse numbers that doubles do not hold: a proof is about the numbers as given, or as written."""
    if isinstance(X, Rows):
        return  # they are doubles or floats already
    with in_our_words(X):
        kind = not_doubles(X)
    if kind is None:
        return
    if numbers == "binary":
        raise _not_exact(kind)
    values: list[Any] = [] if sparse.issparse(X) else np.asarray(X, object).ravel().tolist()
    if not values or any(Fraction(v) != Fraction(repr(float(v))) for v in values):
        raise InputError(
            "X must hold numbers that doubles hold as they are written. Got some with more digits. "
            "Round them to 15 digits."
        )


def check_exact_survey(data: TrainingData) -> TrainingData:
    """Refuse the same, nan and infinities in partitions."""
    if data.inexact is not None:
        raise _not_exact(data.inexact)
    if data.bad is not None:
        raise not_finite(*data.bad)
    return data


def _not_exact(kind: str) -> InputError:
    return InputError(
        "X must hold numbers that doubles hold exactly. Got some that they do not instead, "
        f"of type {kind}. Subtract an offset, or convert X to float64 yourself, so that "
        "the proof is about the numbers as rounded."
    )


def read_vector(x: Any) -> np.ndarray:
    """Return one example as a vector of doubles."""
    try:
        v = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        v = np.empty((0, 0))
    if v.ndim != 1 or not len(v):
        raise InputError(f"x must be a vector of numbers or a dict of features. Got {x!r} instead.")
    return np.ascontiguousarray(v)


def read_features(features: Mapping[Any, Any]) -> np.ndarray:
    """Return the values of named features as doubles; every one must be a finite number."""
    values = np.array(list(features.values()))
    if values.ndim == 1 and values.dtype.kind in "biuf" and np.all(np.abs(values) <= LARGEST):
        return values.astype(np.float64)
    for name, value in features.items():
        if not isinstance(value, Real) or not abs(float(value)) <= LARGEST:
            raise InputError(
                f"feature values must be finite numbers, at most {LARGEST:.1e} in size. "
                f"Got {value!r} for {name!r} instead."
            )
    return np.array([float(v) for v in features.values()])
