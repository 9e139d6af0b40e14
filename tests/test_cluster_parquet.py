"""Tables of Parquet files on Dask: X, y and weights stay together, whatever Dask does to each of them.

Dask reads small files several at a time; how many depends on the columns. So X and y of one table may
end in different partitions when they are optimised, persisted or made arrays by themselves.
"""

import re
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")

SCALING = Path(__file__).parent.parent / "docs" / "scaling.md"
FEATURES = ["a", "b", "c"]
STRINGS = "ignore:Dask currently has limited support for converting pandas extension dtypes:UserWarning"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five files of different lengths, with a column that nobody asks for."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    (folder / "rows").mkdir()
    for k in range(5):
        X = rng.normal(size=(120 + 10 * k, 3))
        table = pd.DataFrame(X, columns=FEATURES)
        table["label"] = np.where(X.sum(axis=1) + 0.3 * rng.normal(size=len(X)) > 0, "yes", "no")
        table["weight"] = rng.integers(1, 4, len(X)).astype(float)
        table["note"] = "nothing that is read"
        table.to_parquet(folder / "rows" / f"{k}.parquet")
    return folder


@pytest.fixture
def table(folder):
    return dd.read_parquet(str(folder / "rows" / "*.parquet"))


@pytest.fixture
def here(table):
    return table.compute()


def test_dask_cuts_the_columns_of_this_table_differently(table):
    """Otherwise the tests below would test nothing."""
    parts = {one.values.npartitions for one in (table[FEATURES], table["weight"])}
    assert len(parts) == 2 and 5 not in parts


def form_of(table, form):
    """X, y and weights of a table in one of the ways in which they may be given."""
    X, y, weight = given = table[FEATURES], table["label"], table["weight"]
    if form == "as documented":
        return given
    if form == "persisted":
        table = table.persist()
        return table[FEATURES], table["label"], table["weight"]
    if form == "labels persisted apart":
        return X, y.persist(), weight.persist()
    if form == "filtered":
        return tuple(one[table["a"] > -10] for one in given)
    if form == "arrays":
        return tuple(one.to_dask_array() for one in given)
    if form == "an array and series":
        return X.to_dask_array(), y, weight
    if form == "a data frame and arrays":
        return X, y.to_dask_array(), weight.to_dask_array()
    if form == "to_dask_array(lengths=True)":
        table = table.assign(label=y == "yes", note=0.0).astype(float).persist()
        numbers = table.to_dask_array(lengths=True)
        return numbers[:, :3], numbers[:, 3], numbers[:, 4]
    assert form == "other chunks"
    X, y, weight = (one.to_dask_array().compute_chunk_sizes() for one in given)
    return X.rechunk((100, 2)), y, weight.rechunk(77)


FORMS = [
    "as documented",
    "persisted",
    "labels persisted apart",
    "filtered",
    "arrays",
    "an array and series",
    "a data frame and arrays",
    "to_dask_array(lengths=True)",
    "other chunks",
]


@pytest.mark.filterwarnings(STRINGS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_local_answers(table, here, form):
    X, y, weight = form_of(table, form)
    local = mm.SoftMarginSVC(0.5).fit(here[FEATURES], here["label"], sample_weight=here["weight"])
    model = mm.SoftMarginSVC(0.5).fit(X, y, sample_weight=weight)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)
    share = local.score(here[FEATURES], here["label"], here["weight"])
    assert model.score(X, y, weight) == pytest.approx(share, abs=0.01)
    assert mm.separability(X, y).kind == "overlapping"
    plane = [1.0, 1.0, 1.0], 0.0
    audit = mm.certify(plane, here[FEATURES], here["label"], C=0.5)
    assert mm.certify(plane, X, y, C=0.5).primal == pytest.approx(audit.primal, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        mm.Perceptron(max_iter=3),
        mm.Perceptron(max_iter=3, partitions="mixing"),
        mm.BatchPerceptron(max_iter=3),
        mm.PocketPerceptron(max_updates=500, random_state=0),
    ],
    ids=repr,
)
def test_perceptrons_learn_from_a_table(table, here, model):
    X, y, _ = form_of(table, "as documented")
    model.fit(X, y)
    right = np.mean(model.predict(here[FEATURES]) == here["label"])
    assert model.score(X, y) == pytest.approx(right, abs=1e-12) and right > 0.75
    coef = model.coef_
    X, y, _ = form_of(table, "persisted")
    assert np.array_equal(model.fit(X, y).coef_, coef)


def test_a_table_that_can_be_separated(table):
    far = table[FEATURES].map_partitions(moved_apart)
    side = far.sum(axis=1) > 0
    assert mm.HardMarginSVC().fit(far, side).margin_ >= 0.2
    verdict = mm.separability(far, side)
    assert verdict.separable and verdict.proof.verify(far, side)
    X, y = table[FEATURES], table["label"]
    assert mm.separability(X, y).proof.verify(X, y)
    with pytest.raises(mm.NotSeparableError):
        mm.HardMarginSVC().fit(X, y)


def moved_apart(frame):
    """The rows, at a distance from a plane."""
    return frame.add(0.2 * np.sign(frame.sum(axis=1)), axis=0)


def test_only_the_columns_that_are_asked_for_are_read():
    asked = set()

    def read(k, columns=None):
        asked.add(tuple(columns))
        X = np.random.default_rng(k).normal(size=(50, 3))
        table = pd.DataFrame(X, columns=FEATURES).assign(label=X[:, 0] > X[:, 1], note="nothing")
        return table[list(columns)]

    table = dd.from_map(read, range(3), meta=read(0, [*FEATURES, "label", "note"]))
    asked.clear()
    mm.SoftMarginSVC().fit(table[FEATURES], table["label"])
    assert asked == {(*FEATURES, "label")}


def test_what_does_not_belong_together_is_refused(table):
    X, y = table[FEATURES], table["label"]
    with pytest.raises(mm.InputError, match=r"y must hold .*, 700 in all\. Got 580"):
        mm.SoftMarginSVC().fit(X, y.partitions[1:])
    with pytest.raises(mm.InputError, match=r"Got 1.0 instead\. Give y the chunks of X"):
        mm.SoftMarginSVC().fit(X, y.partitions[[4, 3, 2, 1, 0]])
    with pytest.raises(mm.InputError, match=r"sample_weight must hold .* Got 1 instead"):
        mm.SoftMarginSVC().fit(X, y, sample_weight=da.ones(1))
    proof = mm.separability(X, y).proof
    with pytest.raises(mm.InputError, match=r"partitions of X, 5 of them\. Got Series of 4"):
        proof.verify(X, y.partitions[1:])


def test_the_example_of_the_documentation_runs(folder, here, monkeypatch):
    monkeypatch.chdir(folder)
    (example, *_) = re.findall(r"```python\n(.*?)```", SCALING.read_text(encoding="utf-8"), re.DOTALL)
    assert 'dd.read_parquet("rows/*.parquet")' in example
    names = {}
    try:
        exec(example, names)
        model = names["model"]
        local = mm.SoftMarginSVC(C=1.0).fit(here[FEATURES], here["label"])
        assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)
        there = model.predict(names["table"][FEATURES]).compute()
        assert np.array_equal(there, model.predict(here[FEATURES]))
    finally:
        for name in ("client", "cluster"):
            if name in names:
                names[name].close()
