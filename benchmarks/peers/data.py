"""The data of the comparison: made up, bundled with scikit-learn, and real where it is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks import data

Rows = tuple[Any, np.ndarray]
Task = tuple[str, float]  # the kind of machine and C


@dataclass
class Dataset:
    """A name, how to get it, what is asked of it, and the files it needs."""

    name: str
    load: Callable[[], Rows]
    quick: tuple[Task, ...]
    full: tuple[Task, ...]
    files: tuple[str, ...] = ()


def tumours() -> Rows:
    """Breast cancer (Wolberg et al. 1995), standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1, -1)


def digits(one: int) -> Rows:
    """Handwritten digits of 8×8 pixels, one against the rest."""
    X, y = load_digits(return_X_y=True)
    return X / 16.0, np.where(y == one, 1, -1)


def news() -> Rows:
    """20 Newsgroups, the first ten classes against the others; shuffled, the file is sorted by class."""
    X, y = data.newsgroups()
    order = np.random.default_rng(7).permutation(len(y))
    return X[order], np.where(y[order] < 10, 1, -1)


PERCEPTRON, HARD, SEPARABILITY = ("perceptron", 1.0), ("hard", 1.0), ("separability", 1.0)


def soft(C: float) -> Task:
    """The soft margin at this price of slack."""
    return "soft", C


ALL = (
    Dataset(
        "separable cloud",
        partial(data.separable, 20_000, 20, 0.05),
        (PERCEPTRON, HARD, SEPARABILITY),
        (),
    ),
    Dataset("noisy cloud", partial(data.noisy, 5_000, 20), (soft(1.0), SEPARABILITY), ()),
    Dataset(
        "separable cloud",
        partial(data.separable, 200_000, 50, 0.02),
        (),
        (PERCEPTRON, HARD, SEPARABILITY),
    ),
    Dataset(
        "noisy cloud",
        partial(data.noisy, 20_000, 50),
        (),
        (PERCEPTRON, soft(1.0), SEPARABILITY),
    ),
    Dataset("noisy cloud", partial(data.noisy, 200_000, 50), (), (soft(1.0),)),
    Dataset("breast cancer", tumours, (soft(1.0),), (soft(1.0), SEPARABILITY)),
    Dataset("digits, 0 against the rest", partial(digits, 0), (HARD,), (HARD, PERCEPTRON)),
    Dataset("digits, 8 against the rest", partial(digits, 8), (), (soft(1.0),)),
    Dataset(
        "mushrooms",
        partial(data.svmlight, "mushrooms.svm.gz"),
        (HARD, SEPARABILITY),
        (HARD, PERCEPTRON, SEPARABILITY),
        ("mushrooms.svm.gz",),
    ),
    Dataset(
        "a9a",
        partial(data.svmlight, "a9a.svm.gz"),
        (PERCEPTRON, soft(1.0)),
        (PERCEPTRON, soft(0.1), soft(1.0), SEPARABILITY),
        ("a9a.svm.gz",),
    ),
    Dataset("w8a", partial(data.svmlight, "w8a.svm.gz"), (), (soft(1.0), PERCEPTRON), ("w8a.svm.gz",)),
    Dataset(
        "20 Newsgroups, first ten against others",
        news,
        (PERCEPTRON, soft(1.0)),
        (PERCEPTRON, soft(1.0), soft(10.0), SEPARABILITY),
        ("20news_tfidf.npz",),
    ),
    Dataset("MNIST 0/1", partial(data.mnist, 0, 1), (), (HARD, PERCEPTRON), data.MNIST),
    Dataset("MNIST 3/8", partial(data.mnist, 3, 8), (), (soft(0.1), soft(1.0)), data.MNIST),
    Dataset("MNIST 3/8, the first rows", partial(data.mnist, 3, 8, 2_000), (soft(0.1),), (), data.MNIST),
    Dataset("covtype, 2 against the rest", data.covtype, (), (soft(0.01),), ("covtype.csv.gz",)),
)


def chosen(quick: bool) -> Iterator[tuple[Dataset, tuple[Task, ...]]]:
    """The sets of a mode that can be had, with their tasks."""
    for entry in ALL:
        tasks = entry.quick if quick else entry.full
        if tasks and (not entry.files or data.have(*entry.files)):
            yield entry, tasks


def absent(quick: bool) -> list[str]:
    """The sets of a mode whose files are not there."""
    wanted = (entry for entry in ALL if (entry.quick if quick else entry.full))
    return [entry.name for entry in wanted if entry.files and not data.have(*entry.files)]
