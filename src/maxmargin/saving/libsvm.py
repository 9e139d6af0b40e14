"""LIBSVM's text models with a linear kernel: w is a combination of the support vectors.

For classes i < j in the order of the file, w_ij = Σ c_j−1 x over the vectors of i + Σ c_i x over those
of j, and w_ij·x − ρ_ij > 0 votes for i. There is one plane per pair: ``multi_class="ovo"``.
"""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
from scipy import sparse

from maxmargin.core.size_limits import NUMBER_BYTES, in_proportion
from maxmargin.saving.liblinear import MAX_WEIGHTS, Lines, label_vector, read_text
from maxmargin.saving.linear_model import LinearModel

KINDS = ("c_svc", "nu_svc")
NEEDED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "nr_sv")
ALLOWED = (*NEEDED, "label", "probA", "probB", "prob_density_marks", "gamma", "degree", "coef0")


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
    head = lines.head("SV", "LIBSVM model", NEEDED, ALLOWED)
    if head["svm_type"] not in KINDS:
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
    pairs = list(combinations(range(k), 2))
    place = {pair: row for row, pair in enumerate(pairs)}
    coefficients, vectors = _vectors(lines, total, k)
    weights = len(pairs) * vectors.shape[1]
    if not in_proportion(NUMBER_BYTES * weights, len(text)):
        lines.fail(
            "a model may have two million weights, or eight for each byte of its file. Got "
            f"{weights:,} instead. Number the features without gaps, and train again."
        )
    starts = np.cumsum([0, *counts])
    W, b = np.empty((len(pairs), vectors.shape[1])), np.empty(len(pairs))
    order = np.argsort(labels).tolist()
    for row, (low, high) in enumerate(pairs):
        i, j = sorted((order[low], order[high]))
        ours, theirs = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        w = coefficients[ours, j - 1] @ vectors[ours] + coefficients[theirs, i] @ vectors[theirs]
        sign = 1.0 if i == order[high] else -1.0  # positive on the larger label
        W[row], b[row] = sign * w, -sign * rho[place[i, j]]
    return LinearModel(
        coef_=W,
        intercept_=b,
        classes_=label_vector([labels[p] for p in order]),
        multi_class="ovo",
        grows=True,
        source=f"LIBSVM {head['svm_type']}",
    )


def _vectors(lines: Lines, total: int, k: int) -> tuple[np.ndarray, sparse.csr_array]:
    """Coefficients and support vectors, one per line."""
    coefficients: list[list[float]] = []
    data: list[float] = []
    columns: list[int] = []
    ends = [0]
    while (line := lines.next()) is not None:
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
