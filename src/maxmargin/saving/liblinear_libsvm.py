"""Text models of LIBLINEAR, written for its ``predict`` and read to be audited, and of LIBSVM, read.

LIBLINEAR: a header of ``key value`` lines, then ``w`` and one line per feature (and one for the bias, if
bias ≥ 0) with one number per machine. Two classes have one machine, positive on the first label.

LIBSVM, with a linear kernel: w is a combination of the support vectors. For classes i < j in the order
of the file, w_ij = Σ c_j−1 x over the vectors of i + Σ c_i x over those of j, and w_ij·x − ρ_ij > 0
votes for i. There is one plane per pair: ``multi_class="ovo"``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import NUMBER_BYTES, in_proportion
from maxmargin.saving.linear_model import LinearModel, exported

CRAMMER_SINGER = "MCSVM_CS"
MAX_WEIGHTS = 1 << 28  # weights in all, at most: two gigabytes
LOSSES = {
    "L2R_LR": "log_loss",
    "L2R_LR_DUAL": "log_loss",
    "L1R_LR": "log_loss with an L1 penalty",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L1R_L2LOSS_SVC": "squared_hinge with an L1 penalty",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    CRAMMER_SINGER: "crammer_singer",
}
LIBLINEAR_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias")


def to_liblinear(model: Any, path: str | os.PathLike[str], labels: Any = None) -> None:
    """Write a model for LIBLINEAR's ``predict``.

    Parameters
    ----------
    model : fitted estimator or LinearModel
        Two classes, or one machine per class (``multi_class="ovr"``).
    path : path
        The file.
    labels : sequence of int, optional
        Numbers that stand for the sorted classes; needed if these are no whole numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.saving import to_liblinear
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> to_liblinear(mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1]), path)
    >>> path.read_text().splitlines()[2:5]
    ['label 1 -1', 'nr_feature 2', 'bias 1']
    """
    planes, classes = exported(model)
    if planes.multi_class == "ovo":
        raise InputError(
            "LIBLINEAR has one machine per class. Got one per pair of classes instead.",
            Remedy("fit with {}", "multi_class", "ovr"),
        )
    known = _whole(classes, labels)
    if len(known) == 2:
        known = known[::-1]  # LIBLINEAR's first label is the positive one
    head = [
        "solver_type L2R_L1LOSS_SVC_DUAL",
        f"nr_class {len(known)}",
        f"label {' '.join(map(str, known))}",
        f"nr_feature {planes.n_features_in_}",
        f"bias {1 if planes.fit_intercept else -1}",
        "w",
    ]
    rows = planes.Z_.T if planes.fit_intercept else planes.coef_.T
    body = [" ".join(map(repr, row)) + " " for row in rows.tolist()]
    write_atomically(path, ("\n".join(head + body) + "\n").encode("ascii"))


def _whole(classes: np.ndarray, labels: Any) -> list[int]:
    values = classes.tolist() if labels is None else list(labels)
    whole = all(isinstance(v, (int, float)) and v == int(v) and abs(v) < 2**31 for v in values)
    if not whole or len(set(values)) != len(classes):
        raise InputError(
            f"LIBLINEAR's labels are {len(classes)} distinct integers. Got {values!r} instead. "
            "Pass labels=[0, 1, …], one for each of the sorted classes."
        )
    return [int(v) for v in values]


def from_liblinear(path: str | os.PathLike[str]) -> LinearModel:
    """Read a classification model of LIBLINEAR.

    Parameters
    ----------
    path : path
        The file that LIBLINEAR's ``train`` wrote.

    Returns
    -------
    LinearModel
        With the labels sorted, and the loss and the bias as the solver had them. C is not in the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.saving import from_liblinear, to_liblinear
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> to_liblinear(mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1]), path)
    >>> from_liblinear(path).coef_
    array([[1., 1.]])
    """
    lines = Lines(read_text(path), path)
    head = lines.head("w", "LIBLINEAR classifier", LIBLINEAR_KEYS, LIBLINEAR_KEYS)
    solver = head["solver_type"]
    if solver not in LOSSES:
        lines.fail(f"the solver must be one of {', '.join(LOSSES)}. Got {solver[:40]!r} instead.")
    k, d = lines.integer(head["nr_class"], least=2), lines.integer(head["nr_feature"], least=1)
    bias = lines.float(head["bias"])
    labels = [lines.integer(word, least=-(2**31)) for word in head["label"].split()]
    if len(labels) != k or len(set(labels)) != k:
        lines.fail(f"label must name {k} distinct classes. Got {len(labels)} instead.")
    columns = 1 if k == 2 and solver != CRAMMER_SINGER else k
    total = d + (bias >= 0)
    Z = _weights(lines, total, columns)
    return _model(Z, labels, bias, d, LOSSES[solver], columns, f"LIBLINEAR {solver}")


def _weights(lines: Lines, total: int, columns: int) -> np.ndarray:
    if total * columns > MAX_WEIGHTS:
        lines.fail(f"a model may have {MAX_WEIGHTS} weights at most. Got {total} × {columns} instead.")
    rows: list[list[float]] = []
    for line in lines:
        words = line.split()
        if len(words) != columns or len(rows) == total:
            wanted = f"{total} lines of {columns}"
            lines.fail(
                f"w must have {wanted} numbers. Got {len(words)} in line {len(rows) + 1} instead."
            )
        rows.append(lines.floats(words))
    if len(rows) < total:
        lines.fail(f"w must have {total} lines. Got {len(rows)} instead: the file is cut off.")
    return np.array(rows)


def _model(
    Z: np.ndarray, labels: list[int], bias: float, d: int, loss: str, columns: int, source: str
) -> LinearModel:
    W = Z[:d].T
    b = bias * Z[d] if bias >= 0 else np.zeros(columns)
    order = np.argsort(labels)
    if columns == 1:
        sign = 1.0 if labels[0] > labels[1] else -1.0
        W, b = sign * W, sign * b
    elif len(labels) == 2:  # Crammer and Singer have a plane for each of the two
        W, b = W[order[1:]] - W[order[:1]], b[order[1:]] - b[order[:1]]
    else:
        W, b = W[order], b[order]
    return LinearModel(
        coef_=W,
        intercept_=b,
        classes_=label_vector([labels[k] for k in order]),
        loss=loss,
        fit_intercept=bias >= 0,
        intercept_scaling=bias if bias > 0 else None,
        source=source,
    )


# LIBSVM.

LIBSVM_KINDS = ("c_svc", "nu_svc")
LIBSVM_KEYS = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "nr_sv")
LIBSVM_OPTIONAL = ("label", "probA", "probB", "prob_density_marks", "gamma", "degree", "coef0")


def from_libsvm(path: str | os.PathLike[str]) -> LinearModel:
    r"""Read a classification model of LIBSVM with a linear kernel (``svm-train -t 0``).

    Parameters
    ----------
    path : path
        The file that ``svm-train`` wrote.

    Returns
    -------
    LinearModel
        With the labels sorted; features beyond the last one in the file have weight 0. C is not in the
        file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maxmargin.saving import from_libsvm
    >>> path = Path(tempfile.mkdtemp()) / "model"
    >>> head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
    >>> _ = path.write_text(head + "label 1 -1\nnr_sv 1 1\nSV\n0.25 1:1 2:1\n-0.25 1:-1 2:-1\n")
    >>> from_libsvm(path).coef_
    array([[0.5, 0.5]])
    """
    text = read_text(path)
    lines = Lines(text, path)
    head = lines.head("SV", "LIBSVM model", LIBSVM_KEYS, (*LIBSVM_KEYS, *LIBSVM_OPTIONAL))
    if head["svm_type"] not in LIBSVM_KINDS:
        lines.fail(f"svm_type must be c_svc or nu_svc. Got {head['svm_type'][:40]!r} instead.")
    if head["kernel_type"] != "linear":
        lines.fail(
            f"kernel_type must be linear (svm-train -t 0). Got {head['kernel_type'][:40]!r} instead."
        )
    k = lines.integer(head["nr_class"], least=2, most=10_000)
    total = lines.integer(head["total_sv"], least=0)
    counts = [lines.integer(word) for word in head["nr_sv"].split()]
    rho = lines.floats(head["rho"].split())
    labels = [lines.float(word) for word in head.get("label", "").split()]
    if len(labels) != k or len(set(labels)) != k:
        lines.fail(f"label must name {k} distinct classes. Got {len(labels)} instead.")
    if len(counts) != k or sum(counts) != total:
        lines.fail(f"nr_sv must hold {k} numbers that add to {total}. Got {head['nr_sv'][:40]} instead.")
    if len(rho) != k * (k - 1) // 2:
        lines.fail(f"rho must hold {k * (k - 1) // 2} numbers. Got {len(rho)} instead.")
    coefficients, vectors = _vectors(lines, total, k)
    weights = len(rho) * vectors.shape[1]
    if not in_proportion(NUMBER_BYTES * weights, len(text)):
        lines.fail(
            "a model may have two million weights, or eight for each byte of its file. Got "
            f"{weights:,} instead. Number the features without gaps, and train again."
        )
    starts = np.cumsum([0, *counts])
    support = [(coefficients[a:b], vectors[a:b]) for a, b in pairwise(starts)]
    order = np.argsort(labels).tolist()
    W, b = _pair_planes(support, rho, order)
    return LinearModel(
        coef_=W,
        intercept_=b,
        classes_=label_vector([labels[p] for p in order]),
        multi_class="ovo",
        grows=True,
        source=f"LIBSVM {head['svm_type']}",
    )


def _pair_planes(
    support: list[tuple[np.ndarray, sparse.csr_array]], rho: list[float], order: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return w and b of each pair of sorted classes, of which ``order`` has the places in the file."""
    pairs = list(combinations(range(len(order)), 2))
    offset = dict(zip(pairs, rho, strict=True))
    W, b = np.empty((len(pairs), support[0][1].shape[1])), np.empty(len(pairs))
    for row, (low, high) in enumerate(pairs):
        i, j = sorted((order[low], order[high]))
        (ours, x), (theirs, z) = support[i], support[j]
        sign = 1.0 if i == order[high] else -1.0  # positive on the larger label
        W[row] = sign * (ours[:, j - 1] @ x + theirs[:, i] @ z)
        b[row] = -sign * offset[i, j]
    return W, b


def _vectors(lines: Lines, total: int, k: int) -> tuple[np.ndarray, sparse.csr_array]:
    """Coefficients and support vectors, one per line."""
    coefficients: list[list[float]] = []
    data: list[float] = []
    columns: list[int] = []
    ends = [0]
    for line in lines:
        words = line.split()
        if len(coefficients) == total or len(words) < k - 1:
            lines.fail(
                f"there must be {total} vectors with {k - 1} coefficients. Got another line instead."
            )
        coefficients.append(lines.floats(words[: k - 1]))
        last = 0
        for word in words[k - 1 :]:
            index, _, value = word.partition(":")
            place = lines.integer(index, least=1, most=MAX_WEIGHTS)
            if place <= last:
                lines.fail(f"indices must ascend from 1. Got {place} after {last} instead.")
            columns.append(place - 1)
            data.append(lines.float(value))
            last = place
        ends.append(len(data))
    if len(coefficients) < total:
        lines.fail(
            f"there must be {total} vectors. Got {len(coefficients)} instead: the file is cut off."
        )
    d = max(columns, default=0) + 1
    shape = (len(coefficients), d)
    return np.array(coefficients).reshape(-1, k - 1), sparse.csr_array(
        (data, columns, ends), shape=shape
    )


# Model files of any kind as text, line by line, with errors that name the line.


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8, with or without a byte-order mark."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the model file cannot be read: it is not text in UTF-8.") from error


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return a model file, or its first bytes, at most so many."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: the model file cannot be read: {reason}.") from error


class Lines:
    """The lines of a text that are not empty; ``number`` is that of the one read last."""

    def __init__(self, text: str, path: str | os.PathLike[str]) -> None:
        self.path, self.number = path, 0
        self._left = enumerate(text.splitlines(), 1)

    def __iter__(self) -> Iterator[str]:
        """Yield the lines that are left."""
        for number, line in self._left:
            self.number = number
            if line := line.strip():
                yield line

    def fail(self, message: str) -> NoReturn:
        """Refuse the line read last."""
        raise InputError(f"{self.path}:{self.number}: {message}")

    def head(self, end: str, what: str, needed: Sequence[str], allowed: Sequence[str]) -> dict[str, str]:
        """Return the keys and values before the line ``end``: all that are needed, each once."""
        head: dict[str, str] = {}
        for line in self:
            if line == end:
                break
            key, _, value = line.partition(" ")
            if key not in allowed or key in head:
                self.fail(f"a {what} has {', '.join(needed)} and {end}. Got {line[:40]!r} instead.")
            head[key] = value.strip()
        else:
            self.fail(f"a {what} has a line {end!r} before its numbers. Got the end instead.")
        for key in needed:
            if key not in head:
                self.fail(f"a {what} has {', '.join(needed)}. Got no {key} instead.")
        return head

    def floats(self, words: list[str]) -> list[float]:
        """Return finite numbers."""
        return [self.float(word) for word in words]

    def float(self, word: str) -> float:
        """Return a finite number."""
        try:
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"numbers must be finite. Got {word[:40]!r} instead.")
        return value

    def integer(self, word: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return an integer from ``least`` to ``most``."""
        if word.lstrip("+-").isascii() and word.lstrip("+-").isdigit() and len(word) < 20:
            value = int(word)
        else:
            value = least - 1
        if not least <= value <= most:
            self.fail(f"an integer from {least} to {most} is needed. Got {word[:40]!r} instead.")
        return value


def label_vector(values: list[float]) -> np.ndarray:
    """Labels as integers where they are whole numbers."""
    if all(value == int(value) and abs(value) < 2**53 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    return np.array(values)
