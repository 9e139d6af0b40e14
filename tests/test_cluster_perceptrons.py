"""Perceptrons on Dask collections: the run in memory on 1, 2 and 3 workers, and what may go wrong.

The cluster is some processes of this machine that listen on the loopback interface.
"""

import functools
import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")

N, D, CHUNK = 2_500, 4, 500
PARTS = N // CHUNK


def rows_of(first, count):
    """Rows that any worker can make again."""
    return np.random.default_rng(first).normal(size=(count, D))


def counted(path, first, count):
    """The same, slowly, with a mark in a file for each time."""
    with path.open("a") as marks:
        marks.write("x")
    time.sleep(0.02)
    return rows_of(first, count)


def failing(first, count):
    if first == 4 * CHUNK:
        raise OSError("the disk is gone")
    return rows_of(first, count)


def labels_of(X):
    """A noisy label for each row; the noise follows from the row."""
    return np.where(X.sum(axis=1) + 0.5 * np.sin(1e4 * X[:, 0]) > 0, "yes", "no")


def collection(make=rows_of):
    """Rows and labels that are made where they are used."""
    parts = [
        da.from_delayed(dask.delayed(make)(start, CHUNK), (CHUNK, D), float)
        for start in range(0, N, CHUNK)
    ]
    X = da.concatenate(parts)
    return X, X.map_blocks(labels_of, dtype="<U3", drop_axis=1, meta=np.empty(0, "<U3"))


MODELS = {
    "sequential": lambda: mm.Perceptron(order="shuffled", max_iter=2, average=True, random_state=0),
    "mixing": lambda: mm.Perceptron(max_iter=2, partitions="mixing", track_error=False),
    "batch": lambda: mm.BatchPerceptron(max_iter=2),
    "pocket": lambda: mm.PocketPerceptron(200, max_witnesses=0, polish=False),
}


def bits(make=rows_of):
    """What every model finds, and what it costs."""
    X, y = collection(make)
    found = {}
    for name, new in MODELS.items():
        model = new().fit(X, y)
        weights = model.coef_.tobytes() + model.intercept_.tobytes()
        mistakes = model.history_["mistakes"].tolist()
        found[name] = weights, mistakes, model.stop_reason_, model.n_passes_, model.bytes_moved_
    return found


def test_collections_of_every_kind_give_the_local_run():
    X, y = collection()
    here, labels = X.compute(), y.compute()
    names = list("abcd")
    frame = pd.DataFrame(here, columns=names).assign(label=labels)
    frames = dd.from_pandas(frame, npartitions=4)
    frames = frames[(frames["a"] > -100) & (frames.index < 1_300)]  # unknown lengths, empty partitions
    local = mm.Perceptron(max_iter=3).fit(here, labels)
    first = mm.Perceptron(max_iter=3).fit(here[:1_300], labels[:1_300])
    kinds = {
        "rechunked": (X.rechunk((700, 2)), y, local),
        "sparse": (X.map_blocks(sparse.csr_array), y, local),
        "frame": (frames[names], frames["label"], first),
        "unknown": (frames[names].to_dask_array(), frames["label"], first),
    }
    for kind, (rows, given, expected) in kinds.items():
        model = mm.Perceptron(max_iter=3).fit(rows, given)
        assert model.n_mistakes_ == expected.n_mistakes_, kind
        assert model.coef_ == pytest.approx(expected.coef_, rel=1e-12, abs=1e-12), kind
        assert kind == "sparse" or model.coef_.tobytes() == expected.coef_.tobytes(), kind
        assert model.stop_reason_ == expected.stop_reason_, kind
    assert list(mm.Perceptron(max_iter=1).fit(*kinds["frame"][:2]).feature_names_in_) == names
    # Validation rows in a collection; and pocket and batch on data frames.
    options = {"max_iter": 3}
    near = mm.Perceptron(**options).fit(here, labels, X_val=here[:900], y_val=labels[:900])
    far = mm.Perceptron(**options).fit(X, y, X_val=X[:900], y_val=y[:900])
    assert np.array_equal(far.history_["validation_error"], near.history_["validation_error"])
    for new in (mm.BatchPerceptron(max_iter=2), mm.PocketPerceptron(100, random_state=0)):
        assert new.fit(*kinds["frame"][:2]).score(*kinds["frame"][:2]) > 0.8


def test_what_perceptrons_cannot_do_with_dask_collections_is_said():
    X, y = collection()
    with pytest.raises(mm.InputError, match="record must be False for Dask collections"):
        mm.Perceptron(record=True).fit(X, y)
    with pytest.raises(mm.InputError, match="needs X_val and y_val for Dask collections"):
        mm.Perceptron(stop=mm.stopping.ValidationErrorStalls(2)).fit(X, y)
    with pytest.raises(mm.InputError, match="partitions must be one of 'sequential', 'mixing'"):
        mm.Perceptron(partitions="both").fit(X, y)
    with pytest.raises(mm.InputError, match="Dask collections need y"):
        mm.BatchPerceptron().fit(X)
    with pytest.raises(mm.InputError, match="labels must be among the classes"):
        mm.Perceptron(max_iter=1).fit(X, y, X_val=X, y_val=y.map_blocks(np.char.upper))


def cluster_of(workers, processes):
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


@pytest.fixture(scope="module")
def cluster():
    """A cluster of workers in this process, one to begin with; and what it finds."""
    with cluster_of(1, processes=False) as local, Client(local) as client:
        yield local, client, bits()


def test_same_bits_on_1_2_and_3_workers(cluster):
    local, client, found = cluster
    for workers in (2, 3):
        local.scale(workers)
        client.wait_for_workers(workers)
        assert bits() == found, workers


@pytest.mark.thorough  # that machines survive it is tested in test_cluster_dask, on the same executor
def test_same_bits_after_a_worker_was_killed(cluster, tmp_path):
    """Two processes, of which one is killed in the second epoch."""
    marks, fitted, killed = tmp_path / "marks", threading.Event(), []
    marks.touch()

    def kill():
        while not fitted.wait(0.01):
            if marks.stat().st_size > 3 * PARTS + 1:  # the survey, an epoch and its error
                killed.append(local.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)
                return

    with cluster_of(2, processes=True) as local, Client(local):
        killer = threading.Thread(target=kill)
        killer.start()
        found = bits(functools.partial(counted, marks))
        fitted.set()
        killer.join()
    assert killed and found == cluster[2]


@pytest.mark.parametrize("model", ["sequential", "mixing", "batch", "pocket"])
def test_a_partition_that_raises_ends_the_fit_and_leaves_the_model_as_it_was(cluster, model):
    fitted = MODELS[model]()
    before = dict(vars(fitted))
    with pytest.raises(mm.ClusterError, match="OSError instead: the disk is gone"):
        fitted.fit(*collection(failing))
    assert vars(fitted) == before


def test_a_partition_that_raises_later_ends_the_chain_too(cluster, tmp_path):
    """It was there for the survey, and is not for the first epoch."""
    seen = tmp_path / "seen"

    def once(first, count):
        if first == 4 * CHUNK:
            if seen.exists():
                raise OSError("the disk is gone")
            seen.touch()
        return rows_of(first, count)

    with pytest.raises(mm.ClusterError, match="OSError instead: the disk is gone"):
        mm.Perceptron().fit(*collection(once))
