"""Checkpoints that were forged: every entry of a state is checked before a solver goes on from it.

Each is tried in a process of its own: compiled loops would go wherever a wrong array leads them.
"""

import base64
import copy
import json
import os
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import children
import maxmargin as mm
from maxmargin import stopping
from maxmargin.checkpoints import checkpoint, fit
from maxmargin.checkpoints.fit import decode, encode, read_sealed, write_sealed
from maxmargin.core.errors import InputError
from maxmargin.core.state_forms import StateError
from maxmargin.solvers.margin import hard_margin, soft_margin
from thorough import THOROUGH

SEEDS = 600 if THOROUGH else 40  # for each model
RNG = np.random.default_rng(1)
N = RNG.standard_normal((300, 4))
NOISY = N[:, 0] + 0.5 * RNG.standard_normal(300) > 0
THREE = np.argmax(N[:, :3], axis=1)
APART = N.sum(axis=1) > 0
WIDE = RNG.standard_normal((80, 220))
RULES = stopping.TrainingErrorStalls(6) | stopping.WeightsSettle()
MODELS = {
    "perceptron": lambda: (mm.Perceptron(max_iter=6, random_state=0), N, NOISY),
    "averaged": lambda: (
        mm.Perceptron(order="shuffled", average=True, max_iter=5, random_state=0),
        N,
        THREE,
    ),
    "recorded": lambda: (mm.Perceptron(record=True, max_iter=3, random_state=0), N, NOISY),
    "pairs": lambda: (mm.Perceptron(multi_class="ovo", max_iter=4, random_state=0), N, THREE),
    "rules": lambda: (mm.Perceptron(stop=RULES, max_iter=20, random_state=0), N, NOISY),
    "batch": lambda: (mm.BatchPerceptron(max_iter=6), N, THREE),
    "pocket": lambda: (mm.PocketPerceptron(60, record=True, random_state=0), N, NOISY),
    "hard": lambda: (mm.HardMarginSVC(), N, APART),
    "hard, wide": lambda: (mm.HardMarginSVC(solver="newton"), WIDE, WIDE[:, 0] > 0),
    "soft": lambda: (mm.SoftMarginSVC(), N, NOISY),
    "soft, three": lambda: (mm.SoftMarginSVC(solver="newton"), N, THREE),
    "descent": lambda: (mm.SoftMarginSVC(solver="descent", C=10.0), N, NOISY),
}


def states(name, path):
    """The checkpoints that a fit writes on its way, each as the content of its file."""
    model, X, y = MODELS[name]()
    found, write = [], fit.write_sealed

    def keep(*args):
        write(*args)
        found.append(read_sealed(path, fit.FORMAT, fit.VERSION))

    fit.write_sealed = keep
    path.unlink(missing_ok=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checkpoint(model, path, every=0.0).fit(X, y)
    finally:
        fit.write_sealed = write
    return [content for content in found if "model" not in content]


def resume(name, path):
    model, X, y = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint(model, path, every=1000.0).fit(X, y)


def many_states():
    """Several passes on little data; short pieces."""
    hard_margin.SETTINGS = replace(hard_margin.SETTINGS, min_pool_rows=30, max_pool_rows=30)
    soft_margin.SETTINGS = replace(soft_margin.SETTINGS, min_working_rows=20)
    os.fsync = lambda file: None


def leaves(tree, path=()):
    """The places of all values in a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*path, key))
        yield (*path, key)


def put(tree, path, value):
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


VALUES = [0, 1, -1, 7, 10**6, 2**31, 2**62, 2**70, 0.5, 1e300, True, None, "x", "", [], {}, [[]]]


def changed_array(value, rng):
    """Another array in its place: entries, length, shape or type."""
    tag = "packed" if "packed" in value else "array"
    dtype, shape, _ = value[tag]
    array = decode(value).copy()
    way = rng.integers(5)
    if way == 0 and array.size:
        odd = [0, 1, -1, 10**6, 2**40, -(2**40)]
        array.reshape(-1)[rng.integers(array.size)] = rng.choice(odd if dtype != "|b1" else [0, 1])
    elif way == 1:
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
    elif way == 2:
        array = np.concatenate([array.reshape(-1), array.reshape(-1)])
    elif way == 3:
        array = array.reshape(1, *shape)
    else:
        array = array.astype("<f8" if dtype == "<i8" else "<i8", casting="unsafe")
    return encode(array)


def is_array(value):
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("array", "packed")


def damaged(folder):
    """One entry of a state becomes another, or one array: its numbers, length, shape or type."""
    many_states()
    for number, name in enumerate(MODELS):
        path = Path(folder) / f"{number}.json"
        yield from damaged_states(name, path, states(name, path))


def damaged_states(name, path, kept):
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        content = copy.deepcopy(kept[seed * len(kept) // SEEDS])
        state = {key: content[key] for key in ("done", "now") if content[key]}
        places = list(leaves(state))
        arrays = [place for place in places if is_array(at(state, place))]
        if seed % 2 and arrays:
            place = arrays[rng.integers(len(arrays))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                put(state, place, changed_array(at(state, place), rng))
        else:
            put(state, places[rng.integers(len(places))], VALUES[rng.integers(len(VALUES))])
        write_sealed(path, fit.FORMAT, fit.VERSION, {**content, **state})
        yield f"{name} {seed}", lambda: resume(name, path)


def test_any_damage_of_a_state_is_refused_or_harmless(tmp_path):
    found = children.run("test_damaged_checkpoints", "damaged", tmp_path)
    assert len(found) == SEEDS * len(MODELS)
    strange = {k: v for k, v in found.items() if not v.startswith(("refused", "went through"))}
    assert strange == {}
    refused = [said for said in found.values() if said.startswith("refused")]
    assert len(refused) > len(found) / 4
    assert all(".json: " in said and "Remove" in said for said in refused)


def forged(tmp_path, name, change):
    """A state of a model with one entry changed, as it stands in its file."""
    path = tmp_path / "fit.json"
    content = next(content for content in states(name, path) if content["now"] is not None)
    now = decode(content["now"])
    change(now)
    write_sealed(path, fit.FORMAT, fit.VERSION, {**content, "now": encode(now)})
    return path


def test_the_error_names_the_file_the_entry_and_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
    path = forged(tmp_path, "batch", lambda now: now.update(Z=now["Z"][:, :2].copy()))
    words = (
        r"fit\.json: the state\.Z must be an array of shape \(3, 5\)\. Got .* Remove the file, and fit"
    )
    with pytest.raises(InputError, match=words):
        resume("batch", path)
    path = forged(tmp_path, "batch", lambda now: now.update(more=1))
    with pytest.raises(InputError, match="the state must be an object with epoch, Z, active"):
        resume("batch", path)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"task": {}},
        {"task": {}, "seed": -1, "elapsed": 0.0, "done": [], "now": None},
        {"task": 1, "model": {}},
    ],
)
def test_a_sealed_file_without_the_entries_of_a_checkpoint(tmp_path, content):
    path = tmp_path / "fit.json"
    write_sealed(path, fit.FORMAT, fit.VERSION, content)
    with pytest.raises(InputError, match=r"fit\.json: the checkpoint.* must be .* Remove the file"):
        resume("batch", path)


def test_a_value_nested_without_end_is_refused():
    deep = []
    for _ in range(5_000):
        deep = {"dict": {"a": deep}}
    with pytest.raises(StateError):
        decode(deep)


def test_zeros_are_packed_in_proportion():
    """A packed array says how much there is: a file cannot ask for a thousand times its size."""
    for array in (np.zeros(10**6), np.zeros(100), np.arange(10.0**5), np.repeat(np.arange(50.0), 10**4)):
        written = encode(array)
        assert np.array_equal(decode(json.loads(json.dumps(written))), array)
        (tag,) = written
        assert len(written[tag][2]) * 48 >= min(array.nbytes, 4096)
    assert "packed" in encode(np.zeros(10**6))  # and still much shorter than they are
    assert len(encode(np.zeros(10**6))["packed"][2]) < 8 * 10**6 / 5


@pytest.mark.parametrize("cut", [0, 5])
def test_an_array_packed_out_of_proportion_is_refused(cut):
    bomb = base64.b64encode(zlib.compress(bytes(8 * 10**6), 9)[: -cut or None]).decode()
    with pytest.raises(StateError, match="cut off, or packed out of proportion"):
        decode({"packed": ["<f8", [10**6], bomb]})
