"""Checkpoints that were forged: every entry of a state is checked before a solver goes on from it.

Each is tried in a process of its own: compiled loops would go wherever a wrong array leads them.
"""

import copy
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import children
import maxmargin as mm
from maxmargin import stopping
from maxmargin.core.errors import InputError
from maxmargin.saving import checkpoint as fit
from maxmargin.saving.checkpoint import checkpoint
from maxmargin.saving.sealed import read_sealed, write_sealed
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
    """Another array in its place: entries, length or shape."""
    array, way = np.array(value), rng.integers(4)
    if way == 0:
        odd = [0, 1, -1, 10**6, 2**40, -(2**40), 0.5]
        array.reshape(-1)[rng.integers(array.size)] = rng.choice(odd)
    elif way == 1:
        array = array.reshape(-1)[: rng.integers(array.size)]
    elif way == 2:
        array = np.concatenate([array.reshape(-1), array.reshape(-1)])
    else:
        array = array[None]
    return array.tolist()


def is_array(value):
    """Whether it is a list of numbers, or of such lists."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(v) in (int, float) for v in value) or all(map(is_array, value))


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
        state = {"states": content["states"]}
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
    content = states(name, path)[0]
    change(content["states"][-1])
    write_sealed(path, fit.FORMAT, fit.VERSION, content)
    return path


def test_the_error_names_the_file_the_entry_and_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
    path = forged(tmp_path, "batch", lambda now: now.update(Z=[z[:2] for z in now["Z"]]))
    words = (
        r"fit\.json: the state\.Z must hold 3 × 5 numbers\. Got 3 × 2 instead\. Remove the file, and fit"
    )
    with pytest.raises(InputError, match=words):
        resume("batch", path)
    path = forged(tmp_path, "batch", lambda now: now.update(more=1))
    with pytest.raises(InputError, match="the state must not have an entry 'more'"):
        resume("batch", path)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"task": {}},
        {"task": {}, "seed": -1, "elapsed": 0.0, "states": []},
        {"task": 1, "model": {}},
    ],
)
def test_a_sealed_file_without_the_entries_of_a_checkpoint(tmp_path, content):
    path = tmp_path / "fit.json"
    write_sealed(path, fit.FORMAT, fit.VERSION, content)
    with pytest.raises(
        InputError, match=r"fit\.json: the checkpoint.* must (be|have) .* Remove the file"
    ):
        resume("batch", path)


def test_a_state_nested_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)

    def nest(now):
        deep = []
        for _ in range(500):
            deep = [deep]
        now["Z"] = deep

    with pytest.raises(InputError, match=r"the state\.Z must hold 3 × 5 numbers"):
        resume("batch", forged(tmp_path, "batch", nest))
