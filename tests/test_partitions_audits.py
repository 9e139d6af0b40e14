"""Audits of models on rows in partitions, in one process: what a local audit says."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.estimators import certify as auditing
from maxmargin.rows.survey import survey
from partitions import blocks
from simulated import Serial
from zoo import quietly

BREAST, SICK = load_breast_cancer(return_X_y=True)
BREAST = (BREAST - BREAST.mean(axis=0)) / BREAST.std(axis=0) + 50.0 * (np.arange(30) == 3)
IRIS, KIND = load_iris(return_X_y=True)


def audited(model, X, y, C):
    data = survey(Serial(blocks(X, y, [0, 30, 31, 90])))
    free = bool(getattr(model, "fit_intercept", True))
    return auditing.audit(data, model, C, free, 1e-9)


@pytest.mark.parametrize("few", [10_000, 3])
def test_an_audit_says_what_a_local_one_says(few, monkeypatch):
    monkeypatch.setattr(auditing, "MAX_POINTS", few)
    monkeypatch.setattr(auditing, "BINS", 16)
    regularised = quietly(LinearSVC(loss="hinge", C=0.01, random_state=0), BREAST, SICK)
    through = SimpleNamespace(coef_=np.ones((1, 30)), intercept_=[0.0], fit_intercept=False)
    setosa = IRIS[:100], KIND[:100]
    cases = [
        (regularised, BREAST, SICK, 0.01),
        (through, BREAST, SICK, 0.1),
        ((np.ones(30), 3.0), sparse.csr_array(BREAST), SICK, 1.0),
        ((np.zeros(30), 0.0), BREAST, SICK, 1.0),
        (([0.0, 0.0, 1.0, 0.0], -2.5), *setosa, math.inf),
        (([1.0, 0.0, 0.0, 0.0], -5.5), *setosa, math.inf),
    ]
    for model, X, y, C in cases:
        found, local = audited(model, X, y, C), mm.certify(model, X, y, C=C)
        assert found.findings == local.findings and found.problem == local.problem
        assert found.primal == pytest.approx(local.primal, rel=1e-12)
        assert found.dual == pytest.approx(local.dual, rel=1e-8)


def test_an_audit_of_several_classes_and_of_classes_that_overlap():
    model = quietly(LinearSVC(loss="hinge", class_weight="balanced", random_state=0), IRIS, KIND)
    found, local = audited(model, IRIS, KIND, 1.0), mm.certify(model, IRIS, KIND, C=1.0)
    assert found.keys() == local.keys()
    assert all(found[k].findings == local[k].findings for k in found)
    with pytest.raises(mm.NotSeparableError, match="the hard margin has no solution: 4 rows"):
        audited(([0.0, 0.0, 1.0, 0.0], -2.5), IRIS[50:], KIND[50:], math.inf)
