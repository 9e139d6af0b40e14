"""Every warning points at the line that called the library: a file of the user, not one of ours."""

import errno
import os
import re
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import maxmargin as mm

PACKAGE = Path(mm.__file__).parent
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
KINDS = rng.integers(0, 3, 300)
BLOCKS = da.from_array(X, chunks=(100, 4)), da.from_array(Y, chunks=100)
LARGE = mm.datasets.make_overlapping(20_000, 20, distance=2.0)
SHORT = {"max_passes": 3, "tol": 1e-9}


def with_a_full_disk(folder, monkeypatch):
    """A fit whose states cannot be written."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(mm.InputError, match="No space left"):
        mm.checkpoint(mm.Perceptron(max_iter=3), folder / "fit.json", every=0.0).fit(X, Y)


CALLS = {
    "perceptron": lambda: mm.Perceptron(max_iter=2).fit(X, Y),
    "three classes": lambda: mm.Perceptron(max_iter=2, multi_class="ovo").fit(X, KINDS),
    "batch": lambda: mm.BatchPerceptron(max_iter=2).fit(X, Y),
    "hard": lambda: mm.HardMarginSVC(max_seconds=1e-9).fit(X, Y),
    "soft": lambda: mm.SoftMarginSVC(**SHORT).fit(*LARGE),
    "path": lambda: mm.SoftMarginSVC(**SHORT).path(*LARGE, [1.0]),
    "cross-validation": lambda: mm.SoftMarginSVCCV([1.0], cv=2, **SHORT).fit(*LARGE),
    "fewest errors": lambda: mm.MinErrorClassifier(1e-9).fit(X, KINDS),
    "Dask, perceptron": lambda: mm.Perceptron(max_iter=1).fit(*BLOCKS),
    "Dask, soft": lambda: mm.SoftMarginSVC(**SHORT).fit(*BLOCKS),
    "pipeline": lambda: make_pipeline(mm.Perceptron(max_iter=2)).fit(X, Y),
    "search": lambda: GridSearchCV(mm.Perceptron(), {"max_iter": [2]}, cv=2).fit(X, Y),
}


def assert_here(caught, category):
    assert caught
    assert {warning.category for warning in caught} == {category}
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("call", CALLS)
def test_a_budget_that_ends_is_told_where_it_was_given(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[call]()
    assert_here(caught, mm.BudgetWarning)


def test_a_state_that_is_not_written_is_told_where_the_fit_was_begun(tmp_path, monkeypatch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", mm.BudgetWarning)
        with_a_full_disk(tmp_path, monkeypatch)
    assert_here(caught, UserWarning)


def test_a_line_of_a_user_within_a_fit_is_pointed_at():
    """A rule of one's own may fit a model; the fit around it is not meant."""
    lines = []

    class Fits(mm.stopping.StoppingRule):
        def watch(self):
            def check(progress):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    mm.Perceptron(max_iter=2).fit(X, Y)
                lines.extend((warning.filename, warning.lineno) for warning in caught)

            return check

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        mm.Perceptron(stop=Fits() | mm.stopping.MaxEpochs(1)).fit(X, Y)
    here = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert lines
    assert all("mm.Perceptron(max_iter=2).fit(X, Y)" in here[line - 1] for _, line in lines)


def test_all_warnings_go_the_same_way():
    """A new one elsewhere would need a test here."""
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^[^>\n]*\bwarnings\.warn\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert found == ["core/errors.py"]


@pytest.mark.parametrize("labels", [np.sort(Y), np.sort(KINDS)], ids=["two", "three"])
def test_rows_sorted_by_label_are_better_shuffled(labels):
    shuffled = "The labels come in long runs, so the last class counts most. Visit .*order='shuffled'"
    with pytest.warns(mm.BudgetWarning, match=shuffled) as caught:
        mm.Perceptron(max_iter=5).fit(X, labels)
    assert_here(caught, mm.BudgetWarning)
    for order, rows in (("shuffled", np.arange(300)), ("cyclic", rng.permutation(300))):
        with pytest.warns(mm.BudgetWarning) as caught:
            mm.Perceptron(max_iter=5, order=order, random_state=0).fit(X[rows], labels[rows])
        assert "long runs" not in str(caught[0].message)
