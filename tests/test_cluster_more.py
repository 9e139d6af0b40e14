"""Weights and audits of rows in partitions, in one process; and all of it on a real cluster."""

import math
import warnings
from types import SimpleNamespace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.cluster.serial import Serial
from maxmargin.estimators.audit import audit
from maxmargin.estimators.remote import audit as remoteaudit
from maxmargin.estimators.remote.blocks import score_partitions
from maxmargin.estimators.remote.margin import fit_surveyed
from maxmargin.rows.block import Weighted
from maxmargin.rows.survey import survey
from test_cluster_dask import cluster
from test_remote_machines import blocks, noisy


def weighted(X, y, weight, cuts):
    """Partitions with weights."""
    pairs = zip(blocks(X, y, cuts), blocks(X, weight, cuts), strict=True)
    return Serial([(rows, Weighted(labels, own)) for (rows, labels), (_, own) in pairs])


# --- sample_weight ----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 300),
    C=st.sampled_from([0.05, 2.0]),
    cuts=st.lists(st.integers(0, 20), max_size=5),
    class_weight=st.sampled_from([None, "balanced"]),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_weights_give_the_local_optimum(seed, n, C, cuts, class_weight, form):
    X, y = noisy(n, 3, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, n) * rng.random(n)
    weight[:2], y[:2] = 1.0, ["no", "yes"]
    X[-1], weight[-1], y[-1] = math.nan, 0.0, "neither"  # a row that is left out may be anything
    y = y.astype("<U7")
    y[-1] = "neither"
    options = {"class_weight": class_weight, "tol": 1e-8}
    model = mm.SoftMarginSVC(C, **options)
    partitions = weighted(form(X), y, weight, cuts)
    fit_surveyed(model, survey(partitions))
    kept = weight > 0
    local = mm.SoftMarginSVC(C, **options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=3e-8)
    assert model.classes_.tolist() == ["no", "yes"]
    alpha, signs = model.dual_, np.where(y == "yes", 1.0, -1.0)
    assert len(alpha) == n and not np.any(alpha[~kept])
    factor = local.machines_["yes"].certificate_  # the dual value, by the textbook's formula
    v = (alpha * signs)[kept] @ X[kept]
    assert alpha.sum() - 0.5 * v @ v == pytest.approx(factor.dual, rel=3e-8)
    if class_weight is None:
        assert np.all(alpha <= C * weight * (1 + 1e-12))


def test_of_the_weights_of_a_hard_margin_only_zero_matters():
    X, y = noisy(3_000, 4, kind="separable")
    wrong = np.arange(0, 3_000, 50)
    y[wrong] = np.where(y[wrong] == "yes", "no", "yes")
    weight = np.full(3_000, 0.5)
    weight[wrong] = 0.0
    model, cuts = mm.HardMarginSVC(), [0, 700, 701, 2_000]
    fit_surveyed(model, survey(weighted(X, y, weight, cuts)))
    local = mm.HardMarginSVC().fit(X, y, sample_weight=weight)
    assert model.margin_ == pytest.approx(local.margin_, rel=1e-9)
    assert np.array_equal(model.support_, local.support_)
    model.n_features_in_ = 4
    given_weight = weight + np.arange(3_000) % 7
    share = score_partitions(model, weighted(X, y, given_weight, cuts))
    assert share == pytest.approx(local.score(X, y, given_weight), abs=1e-12)


def test_weights_that_cannot_be_used_are_refused():
    X, y = noisy(100, 3)
    ones = np.ones(100)
    cases = [
        (-ones, "numbers ≥ 0. Got -1.0"),
        (ones * math.nan, "numbers ≥ 0. Got nan"),
        (ones[:99], "sample_weight must hold one value per row"),
        (np.zeros(100), "a number > 0. Got only zeros"),
        (np.full(100, "1"), "one number per row"),
    ]
    for weight, words in cases:
        with pytest.raises(mm.InputError, match=words):
            survey(weighted(X, y, weight, [50]))


# --- certify ----------------------------------------------------------------------------------------

BREAST, SICK = load_breast_cancer(return_X_y=True)
BREAST = (BREAST - BREAST.mean(axis=0)) / BREAST.std(axis=0) + 50.0 * (np.arange(30) == 3)
IRIS, KIND = load_iris(return_X_y=True)


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def audited(model, X, y, C):
    data = survey(Serial(blocks(X, y, [0, 30, 31, 90])))
    free = bool(getattr(model, "fit_intercept", True))
    return audit(remoteaudit.RemoteGround(data, 1e-9, free), model, C, free)


@pytest.mark.parametrize("few", [10_000, 3])
def test_an_audit_says_what_a_local_one_says(few, monkeypatch):
    monkeypatch.setattr(remoteaudit, "FEW", few)
    monkeypatch.setattr(remoteaudit, "BINS", 16)
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


# --- a cluster --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    with cluster(2) as (_, client):
        yield client


def test_collections_on_a_cluster(client, monkeypatch):
    monkeypatch.setattr("maxmargin.estimators.remote.separability.CARRIED", 1_000)
    X, y = noisy(1_500, 3, kind="separable")
    weight = np.random.default_rng(0).random(1_500).round(1)
    dX, dy = da.from_array(X, chunks=(600, 2)), da.from_array(y, chunks=600)
    dw = da.from_array(weight, chunks=1_000)
    verdict, local = mm.separability(dX, dy), mm.separability(X, y)
    assert verdict.kind == "separable" and verdict.margin[0] <= local.margin[1]
    assert verdict.proof.to_dict()["data"] == local.proof.to_dict()["data"]
    assert verdict.proof.verify(dX, dy) and verdict.proof.verify(X, y)
    assert not verdict.proof.verify(dX * 2, dy)
    soft = mm.SoftMarginSVC(0.1).fit(dX, dy, sample_weight=dw)
    here = mm.SoftMarginSVC(0.1).fit(X, y, sample_weight=weight)
    assert soft.certificate_.primal == pytest.approx(here.certificate_.primal, rel=2e-6)
    assert soft.score(dX, dy, dw) == pytest.approx(soft.score(X, y, weight), abs=1e-12)
    assert mm.certify(soft, dX, dy, C=math.inf).findings[0].startswith("The margin is")
    with pytest.raises(mm.InputError, match="sample_weight must be a Dask array or series of weights"):
        mm.SoftMarginSVC().fit(dX, dy, sample_weight=weight)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=y), npartitions=2)
    named = mm.separability(frame[list("abc")], frame["y"])
    assert named.features == ("a", "b", "c") and named.proof.verify(frame[list("abc")], frame["y"])
    with pytest.raises(mm.InputError, match="with the partitions of X, 3 of them"):
        named.proof.verify(dX, y)


def test_files_on_a_cluster(client, tmp_path):
    X, y = noisy(3_000, 3)
    for k, part in enumerate(np.split(np.arange(3_000), [500, 2_000])):
        np.savetxt(tmp_path / f"{k}.csv", np.column_stack([X[part], y[part] == "yes"]), delimiter=",")
    rows = mm.open_rows(tmp_path / "*.csv", backend=client)
    model = mm.SoftMarginSVC(0.5).fit(rows)
    local = mm.SoftMarginSVC(0.5).fit(X, y == "yes")
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)
    assert model.score(rows) == model.score(X, y == "yes")
    assert np.array_equal(model.predict(rows).compute(), model.predict(X))
    (tmp_path / "1.csv").unlink()
    with pytest.raises(mm.InputError, match="Every worker must reach it under this name"):
        mm.separability(rows)


def test_what_is_asked_of_a_machine_before_fit_is_named():
    for name in ("solver_", "support_", "certificate_", "margin_", "free_support_"):
        with pytest.raises(AttributeError, match=f"has no {name} before fit"):
            getattr(mm.SoftMarginSVC(), name)
