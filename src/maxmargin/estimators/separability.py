"""Is my data linearly separable? A verdict with an exact proof."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.certificates.proof import label_text
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode, find_classes
from maxmargin.core.params import check_bool, check_number
from maxmargin.estimators.door import check_finite, read_Xy
from maxmargin.estimators.judging import judge
from maxmargin.estimators.question import Question

__all__ = ["separability"]


def separability(
    X: Any, y: Any, *, fit_intercept: bool = True, tol: float = 1e-6
) -> Verdict | MulticlassVerdict:
    """Decide whether a plane separates the classes, and prove it.

    Every verdict is exact for the numbers as they are stored: the plane is proven on every row, or the
    witness cancels exactly, in integers. Floating point is used to find them, and its error bounds where
    they decide. There is no tolerance and no undecided case.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows of finite numbers of any size; float32 and float64 are used as they are.
    y : array-like of shape (n,)
        Labels; two or more distinct values.
    fit_intercept : bool, default True
        Allow for any plane; otherwise only planes through the origin.
    tol : float in (0, 1), default 1e-6
        Relative gap between the two bounds on the largest margin at which to stop looking for a better
        plane. It has no influence on the verdict.

    Returns
    -------
    Verdict or MulticlassVerdict
        With more than two classes, a verdict for each class against the rest and for each pair.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]).kind
    'overlapping'
    >>> mm.separability([[0.0], [5e-324]], ["no", "yes"]).kind
    'separable'
    """
    check_bool("fit_intercept", fit_intercept)
    check_number("tol", tol, above=0, below=1)
    estimator = BaseEstimator()
    rows, y = read_Xy(estimator, X, y, check=False)
    check_finite(rows)
    classes = find_classes(y)
    codes = encode(y, classes)
    names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(rows.d)])
    features = tuple(str(name) for name in names)
    labels = classes.tolist()
    if len({label_text(label) for label in labels}) < len(labels):
        raise InputError(
            f"y must hold labels that are told apart by their values. Got {labels} instead, of which "
            "some are the same number. Give them distinct names."
        )

    def pair(positive: int, negative: int | None) -> Verdict:
        members = None
        part, side = rows, codes == positive
        if negative is not None and len(labels) > 2:
            members = np.flatnonzero(side | (codes == negative))
            part, side = rows.select(members), side[members]
        others = [k for k in range(len(labels)) if k != positive] if negative is None else [negative]
        question = Question(
            part,
            np.where(side, 1.0, -1.0),
            members,
            labels[positive],
            None if negative is None else labels[negative],
            [labels[k] for k in others],
            features,
            fit_intercept,
        )
        return judge(question, tol)

    if len(labels) == 2:
        return pair(1, 0)
    rest = {label: pair(k, None) for k, label in enumerate(labels)}
    pairs = {(labels[a], labels[b]): pair(b, a) for a, b in combinations(range(len(labels)), 2)}
    return MulticlassVerdict(rest, pairs)
