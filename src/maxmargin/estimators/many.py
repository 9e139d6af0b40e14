"""Many small soft margins at once: grids, permutations, bootstraps, searchlights."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import check_bool, check_jobs, check_number
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.estimators.validation import read_X
from maxmargin.kernels.many_problems import certify_problems
from maxmargin.kernels.small_memory import DUAL, PASSES, PRIMAL
from maxmargin.rows import DenseRows
from maxmargin.rows.training_data import encode, find_classes
from maxmargin.solvers.margin.small import SETTINGS as SMALL
from maxmargin.solvers.margin.small import Batch, locked, solve_batch
from maxmargin.solvers.margin.tasks import in_threads

# Of problems that are solved in one call: a few milliseconds between looks at Ctrl-C.
ROWS_AT_ONCE, NUMBERS_AT_ONCE = 20_000, 1 << 20


@dataclass(frozen=True)
class ManyFits:
    """What :func:`maxmargin.fit_many` found, one entry or row per problem.

    Attributes
    ----------
    coef : array of shape (problems, d)
        Weights w.
    intercept : array of shape (problems,)
        Biases b.
    primal, dual : arrays of shape (problems,)
        Values certified on the rows: the optimum lies between them, rounding included.
    gap, relative_gap : arrays of shape (problems,)
        Primal − dual, and its share of the primal value.
    passes : array of int
        Passes over the rows of a problem, those of the certificate included.

    Examples
    --------
    >>> import maxmargin as mm
    >>> rows = [[0.0], [1.0], [2.0], [3.0]]
    >>> found = mm.fit_many([(rows, [0, 0, 1, 1]), (rows, [0, 1, 0, 1])])
    >>> len(found), found.machine(0).support_.tolist()
    (2, [1, 2])
    """

    coef: np.ndarray
    intercept: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    passes: np.ndarray
    _model: SoftMarginSVC = field(repr=False)
    _prices: np.ndarray = field(repr=False)
    _problems: Sequence[tuple[Any, Any]] | None = field(repr=False)

    @property
    def gap(self) -> np.ndarray:
        """Primal − dual."""
        return np.asarray(self.primal - self.dual)

    @property
    def relative_gap(self) -> np.ndarray:
        """The gap as a share of the primal value."""
        return np.asarray(self.gap / self.primal)

    def __len__(self) -> int:
        return len(self.intercept)

    def machine(self, k: int) -> MarginMachine:
        """Return machine k with support, multipliers, slacks and certificate; it is solved once more."""
        if self._problems is None:
            raise InputError(
                "problems must be a list to ask for machines later. Got an iterator instead, which has "
                "been used up. Give list(problems)."
            )
        X, y = self._problems[k]
        model = SoftMarginSVC(**{**self._model.get_params(), "C": float(self._prices[k])}).fit(X, y)
        (machine,) = model.machines_.values()
        return machine


class _Subsets(Sequence[tuple[Any, Any]]):
    """Problems on rows of one matrix: index lists, or a column of labels each."""

    def __init__(self, X: np.ndarray, y: np.ndarray, rows: Sequence[Any] | None) -> None:
        self.X, self.y, self.rows = X, y, rows

    def __len__(self) -> int:
        return self.y.shape[1] if self.rows is None else len(self.rows)

    def __getitem__(self, k: Any) -> Any:
        if self.rows is None:
            return self.X, self.y[:, k]
        which = read_rows(self.rows[k], k, len(self.X))
        return self.X[which], self.y[which]


def read_rows(rows: Any, k: int, n: int) -> np.ndarray:
    """Return the numbers of the rows of problem k."""
    given = np.asarray(rows)
    if given.dtype == np.bool_ and given.shape == (n,):
        given = np.flatnonzero(given)
    whole = given.ndim == 1 and len(given) and given.dtype.kind in "iu"
    if not whole or given.min() < -n or given.max() >= n:
        raise InputError(
            f"rows must hold a vector of row numbers from 0 to {n - 1} for each problem, or of True and "
            f"False for all {n} rows. Got {reprlib.repr(rows)} for problem {k} instead."
        )
    return np.asarray(given % n, dtype=np.int64)


def fit_many(
    problems: Any,
    C: Any = 1.0,
    *,
    y: Any = None,
    rows: Sequence[Any] | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    n_jobs: int | None = None,
) -> ManyFits:
    """Fit many small soft margins of two classes, with a certificate each.

    It gives the planes of :class:`maxmargin.SoftMarginSVC`, one problem after the other, without the
    time that a fit takes around the solver: for grids, permutation tests, bootstraps and searchlights.

    Parameters
    ----------
    problems : iterable of (X, y), or array of shape (n, d)
        The problems, of any numbers of rows and with equal numbers of features; or, with ``y``, the rows
        that all problems share. Labels are any two values; the larger is +1.
    C : float > 0 or array of them, default 1.0
        The price of slack; one for all problems, or one each.
    y : array of shape (n,) or (n, problems), optional
        Labels of the rows: with two dimensions a column is a problem.
    rows : sequence of index arrays, optional
        With one ``y`` for all, the rows of each problem.
    fit_intercept : bool, default True
        Learn b, which is never penalised.
    tol : float in (0, 1), default 1e-6
        Relative gap at which to stop.
    n_jobs : int, optional
        Threads; None means 1, −1 all cores. The result does not depend on it.

    Returns
    -------
    ManyFits
        ``coef``, ``intercept``, ``primal``, ``dual``, ``gap``, ``relative_gap`` and ``passes`` as
        arrays, and ``machine(k)`` with all that is known of a machine.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    >>> X[y == 1] += 1.0
    >>> labels = np.column_stack([y] + [rng.permutation(y) for _ in range(99)])
    >>> found = mm.fit_many(X, C=0.1, y=labels)
    >>> found.coef.shape, bool(np.all(found.relative_gap <= 1e-6))
    ((100, 3), True)
    >>> bool(found.primal[0] < np.quantile(found.primal, 0.05))  # better than chance
    True
    """
    check_bool("fit_intercept", fit_intercept)
    check_number("tol", tol, above=0, below=1)
    check_jobs(n_jobs)
    model = SoftMarginSVC(fit_intercept=fit_intercept, tol=tol)
    shared = None if y is None and rows is None else _shared(model, problems, y, rows)
    listed = shared or (problems if isinstance(problems, Sequence) else None)
    prices = _prices(C, None if listed is None else len(listed))
    pieces = _from_pairs(problems) if shared is None else _from_shared(shared)
    jobs = effective_n_jobs(n_jobs)
    parts: list[_Part] = []
    while some := list(islice(pieces, jobs)):
        parts += in_threads([partial(_solve, model, prices, piece) for piece in some], jobs, Event())
    if not parts:
        raise InputError("problems must hold at least one problem. Got none instead.")
    Z, values = np.concatenate([p.Z for p in parts]), np.concatenate([p.values for p in parts])
    if len(prices) not in (1, len(Z)):
        raise _wrong_prices(len(prices), len(Z))
    prices = np.broadcast_to(prices, len(Z))
    passes = values[:, 2].astype(np.int64)
    return ManyFits(Z[:, :-1], Z[:, -1], values[:, 0], values[:, 1], passes, model, prices, listed)


class _Part(NamedTuple):
    """Planes, and (primal, dual, passes) of each."""

    Z: np.ndarray
    values: np.ndarray


def _shared(model: SoftMarginSVC, X: Any, y: Any, rows: Sequence[Any] | None) -> _Subsets:
    """Problems on rows that they share."""
    if y is None:
        raise InputError("rows must go with y. Got rows without labels instead. Give y, too.")
    found = read_X(model, X, reset=True)
    matrix = found.X if isinstance(found, DenseRows) else found.take(np.arange(found.n))
    labels = np.asarray(y)
    if labels.ndim not in (1, 2) or len(labels) != len(matrix):
        raise InputError(
            f"y must hold one label per row of X, {len(matrix)} in all, or a column of them per problem."
            f" Got shape {labels.shape} instead."
        )
    if labels.ndim == 2 and rows is not None:
        raise InputError("y must be one column where rows are given. Got more instead. Leave rows out.")
    if labels.ndim == 1 and rows is None:
        labels = labels[:, None]
    return _Subsets(np.ascontiguousarray(matrix, dtype=np.float64), labels, rows)


def _prices(C: Any, count: int | None) -> np.ndarray:
    """C of each problem, or of all."""
    given = np.atleast_1d(np.asarray(C, dtype=object))
    prices = np.array([check_number("C", value, above=0) for value in given.ravel()], dtype=np.float64)
    if np.ndim(C) and count is not None and len(prices) != count:
        raise _wrong_prices(len(prices), count)
    return prices


def _wrong_prices(given: int, problems: int) -> InputError:
    return InputError(
        f"C must be a number, or one number per problem, {problems} in all. Got {given} instead."
    )


def _signs(labels: list[np.ndarray], start: int) -> np.ndarray:
    """±1 for the labels of some problems, one after the other; the larger of two is +1."""
    if len({y.dtype for y in labels}) == 1 and labels[0].dtype.kind in "biuf":
        sizes = [len(y) for y in labels]
        if min(sizes):
            together, first = np.concatenate(labels), np.cumsum([0, *sizes[:-1]])
            low = np.repeat(np.minimum.reduceat(together, first), sizes)
            high = np.repeat(np.maximum.reduceat(together, first), sizes)
            plus = together == high
            if np.all((low < high) & (plus | (together == low))):
                return np.asarray(2.0 * plus - 1.0)
    return np.concatenate([_signs_of(y, start + k) for k, y in enumerate(labels)])


def _signs_of(y: np.ndarray, k: int) -> np.ndarray:
    """The same of problem k, of labels of any kind, or what is wrong with them."""
    classes = find_classes(y)
    if len(classes) != 2:
        raise InputError(
            f"each problem must have two classes. Got {len(classes)} in problem {k} instead. Solve more "
            "with SoftMarginSVC, or as pairs."
        )
    return np.asarray(2.0 * encode(y, classes) - 1.0)


def _is_small(n: int, d: int) -> bool:
    return n * d <= SMALL.max_entries and min(n, d) <= SMALL.max_order


class Piece(NamedTuple):
    """Some problems: the number of the first, a matrix, and rows of it with labels for each."""

    start: int
    X: np.ndarray
    rows: list[np.ndarray]
    labels: list[np.ndarray]


def _from_shared(problems: _Subsets) -> Iterator[Piece]:
    """Problems on shared rows, some at a time."""
    everything, count = np.arange(len(problems.X)), len(problems)
    some = max(1, ROWS_AT_ONCE // len(everything))
    for start in range(0, count, some):
        numbers = range(start, min(start + some, count))
        if problems.rows is None:
            rows = [everything] * len(numbers)
            yield Piece(start, problems.X, rows, [problems.y[:, k] for k in numbers])
        else:
            rows = [read_rows(problems.rows[k], k, len(everything)) for k in numbers]
            yield Piece(start, problems.X, rows, [problems.y[which] for which in rows])


def _from_pairs(problems: Iterable[Any]) -> Iterator[Piece]:
    """Problems with rows of their own, some at a time, below each other."""
    blocks: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    count, d = 0, None
    k = -1
    for k, pair in enumerate(problems):
        try:
            X, y = pair
        except (TypeError, ValueError):
            raise InputError(
                f"problems must hold pairs (X, y). Got {type(pair).__name__} as number {k} instead."
            ) from None
        X, y = _matrix(X), np.asarray(y)
        if y.shape != (len(X),):
            raise InputError(
                f"y must hold one label per row of X, {len(X)} in all. Got shape {y.shape} in problem "
                f"{k} instead."
            )
        d = X.shape[1] if d is None else d
        if X.shape[1] != d:
            raise InputError(
                f"problems must have equal numbers of features. Got {X.shape[1]} in problem {k} instead "
                f"of {d}. Solve them in several calls."
            )
        blocks.append(X)
        labels.append(y)
        count += len(X)
        if count >= ROWS_AT_ONCE or count * d >= NUMBERS_AT_ONCE:
            yield _below_each_other(k, blocks, labels)
            blocks, labels, count = [], [], 0
    if blocks:
        yield _below_each_other(k, blocks, labels)


def _matrix(X: Any) -> np.ndarray:
    """Dense rows; a matrix of doubles is left to the solvers, which notice what is not finite."""
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype == np.float64:
        return X
    found = read_X(SoftMarginSVC(), X, reset=True)
    return found.X if isinstance(found, DenseRows) else found.take(np.arange(found.n))


def _below_each_other(last: int, blocks: list[np.ndarray], labels: list[np.ndarray]) -> Piece:
    """Matrices as one, of problems up to the ``last``."""
    ends = np.cumsum([len(X) for X in blocks])
    everything = np.arange(ends[-1])
    rows = [everything[end - len(X) : end] for end, X in zip(ends, blocks, strict=True)]
    return Piece(last + 1 - len(blocks), np.concatenate(blocks, dtype=np.float64), rows, labels)


def _solve(model: SoftMarginSVC, prices: np.ndarray, piece: Piece) -> _Part:
    """Solve some problems; those for which the call is not enough one by one."""
    start, X, rows, labels = piece
    sizes, d = [len(which) for which in rows], X.shape[1]
    y = _signs(labels, start)
    own = prices[start : start + len(rows)] if len(prices) > 1 else np.broadcast_to(prices, len(rows))
    if len(own) < len(rows):
        raise _wrong_prices(len(prices), start + len(rows))
    Z, values = np.empty((len(rows), d + 1)), np.full((len(rows), 3), math.inf)
    first = np.cumsum([0, *sizes])
    if all(_is_small(n, d) for n in sizes):
        batch = Batch(locked(X), np.concatenate(rows), first, y, np.repeat(own, sizes))
        bias, tol = model.fit_intercept, float(model.tol)
        found = solve_batch(batch, float(bias), 0.5 * tol)
        certify_problems(tuple(batch), bool(bias), tol, *found)
        Z, values = found.Z, found.report[:, [PRIMAL, DUAL, PASSES]]
    for k in np.flatnonzero(~np.isfinite(values[:, 0])).tolist():
        one = SoftMarginSVC(**{**model.get_params(), "C": float(own[k])})
        proof = one.fit(X[rows[k]], y[first[k] : first[k + 1]]).certificate_
        Z[k] = np.append(one.coef_, one.intercept_)
        values[k] = proof.primal, proof.dual, proof.n_passes
    return _Part(Z, values)
