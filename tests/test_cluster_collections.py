"""Collections and files on a cluster: verdicts, weights, scores and audits are those of local rows."""

import math
from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import maxmargin as mm
from maxmargin.solvers.exact import objections
from partitions import cluster, noisy


@pytest.fixture(scope="module")
def client():
    with cluster(2) as (_, client):
        yield client


def test_collections_on_a_cluster(client, monkeypatch):
    few = replace(objections.SETTINGS, max_numbers_here=1_000, max_first_numbers=1_000)
    monkeypatch.setattr(objections, "SETTINGS", few)
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
