"""Whatever is in the file: a model, or an InputError. No other error, no code run, no hang."""

import base64
import contextlib
import copy
import json
import pickle
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.core.codec import decode, encode
from maxmargin.core.errors import InputError
from maxmargin.saving import LinearModel, from_dict, load, read_any, save, seal, to_dict, unseal
from zoo import assert_same, model

KINDS = [
    "perceptron",
    "averaged",
    "never stops",
    "averaged stream",
    "batch",
    "pocket",
    "hard",
    "soft",
    "cv",
]
MODELS = {name: to_dict(model(name)) for name in [*KINDS, "unfitted"]}
MODELS["linear"] = to_dict(LinearModel([[1.0, 2.0]], [3.0], np.array([0, 1])))


def written(name, folder):
    path = folder / "model.json"
    save(from_dict(MODELS[name]), path)
    return path, path.read_bytes()


def flips(byte):
    """Other values of a byte: single bits, and those that a text might still hold."""
    bits = {byte ^ (1 << k) for k in range(8)}
    return bits | {0, 255, ord("0"), ord(" "), ord("\n"), (byte + 1) % 256} - {byte}


def test_every_changed_byte_is_noticed(tmp_path):
    path, text = written("unfitted", tmp_path)
    for place, byte in enumerate(text):
        path.write_bytes(text[:place] + bytes([byte ^ (1 << place % 7)]) + text[place + 1 :])
        with pytest.raises(InputError, match=r"model\.json: "):
            load(path)


@pytest.mark.parametrize("name", ["hard", "averaged stream"])
def test_every_flip_of_every_byte_is_noticed(name, tmp_path):
    _, text = written(name, tmp_path)
    changed = bytearray(text)
    for place, byte in enumerate(text):
        for new in flips(byte):
            changed[place] = new
            with pytest.raises(InputError):
                unseal(bytes(changed), "model.json")
        changed[place] = byte
    assert unseal(bytes(changed), "model.json")


def test_every_byte_left_out_or_doubled_is_noticed(tmp_path):
    _, text = written("hard", tmp_path)
    for place in range(len(text)):
        left_out = text[:place] + text[place + 1 :]
        doubled = text[:place] + text[place : place + 1] + text[place:]
        for changed in (left_out, doubled, text[:place], text[place + 1 :]):
            with pytest.raises(InputError):
                unseal(changed, "model.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 3}, "Update maxmargin"),
        ({"version": 0}, "version must be"),
        ({"version": True}, "version must be"),
        ({"format": "x"}, "format must be"),
        ({"model": "Perceptrons"}, "model must be one of"),
        ({"extra": 1}, "must not have an entry 'extra'"),
        ({"parameters": {"D": 1}}, "parameters must be among"),
        ({"parameters": {"tol": 2.0}}, "tol must be"),
        ({"classes": {"dtype": "<i8", "values": [1, 0]}}, "ascending"),
        ({"classes": {"dtype": "<i8", "values": [0, 0]}}, "ascending"),
        ({"classes": {"dtype": "<i8", "values": [0]}}, "classes must be"),
        ({"classes": {"dtype": "|i1", "values": [0, 300]}}, "values of type"),
        ({"classes": {"dtype": "<U1", "values": ["a", "bc"]}}, "values of type"),
        ({"classes": {"dtype": "O", "values": [0, 1]}}, "a type of labels"),
        ({"weights": [[1.0, 2.0]]}, "weights must hold 1 × 5"),
        ({"weights": [[1.0, 2.0, 3.0, 4.0, "5"]]}, "weights must hold 1 × 5"),
        ({"weights": [[1.0, 2.0, 3.0, 4.0, None]]}, "weights must hold 1 × 5"),
        ({"weights": [[1.0, 2.0, 3.0, 4.0, True]]}, "weights must hold 1 × 5"),
        ({"weights": [[1.0, 2.0, 3.0, 4.0, 10**400]]}, "weights must hold 1 × 5"),
        ({"weights": {"part": "a0"}}, "weights must be lists, or an object with shape and data"),
        ({"features": {"count": 4, "names": {"dtype": "<U1", "values": ["a"]}}}, "a list of 4 texts"),
        ({"scheme": {"multi_class": "ovr"}}, "scheme must be"),
        ({"part": {"file": "../x.0123456789abcdef.npz", "sha256": ""}}, "must be a file name"),
        ({"part": {"file": "x.0123456789abcdef.npz", "sha256": ""}}, "must lie beside it"),
    ],
)
def test_a_sealed_file_with_something_wrong_in_it(change, words, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(seal({**MODELS["hard"], **change}))
    with pytest.raises(InputError, match=words) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "value"),
    [("support", [5, 3]), ("support", [0, 100]), ("dual", [-1.0, 1.0]), ("rows", 0), ("bound", [1, 0])],
)
def test_a_machine_with_something_wrong_in_it(entry, value):
    content = copy.deepcopy(MODELS["hard"])
    content["state"]["machines"][0][entry] = value
    with pytest.raises(InputError, match=r"state\.machines\[0\]"):
        from_dict(content)


@pytest.mark.parametrize("scores", [[], [1.0, 2.0], [[1.0]], [[1.0, 2.0], [1.0]], [[1.0, 2.0, 3.0]]])
def test_scores_that_are_not_for_every_C(scores):
    content = copy.deepcopy(MODELS["cv"])
    content["state"]["scores"] = scores
    with pytest.raises(InputError):
        from_dict(content)


@pytest.mark.parametrize("entry", ["mistakes", "norm"])
def test_a_history_with_columns_of_two_lengths(entry):
    content = copy.deepcopy(MODELS["perceptron"])
    content["state"]["machines"][0]["history"][entry].pop()
    with pytest.raises(InputError, match=r"history must be a history with columns of the same length"):
        from_dict(content)


def test_weights_that_are_not_those_of_the_state():
    content = copy.deepcopy(MODELS["averaged"])
    content["weights"][0][0] += 1.0
    with pytest.raises(InputError, match="must follow from the running weights"):
        from_dict(content)


@pytest.mark.parametrize(
    "body",
    [
        b'{\n "a": 1,\n "a": 2',
        b'{\n "a": NaN',
        b'{\n "a": ' + b"[" * 100_000,
        b'{\n "a": ' + b"[" * 100_000 + b"]" * 100_000,
        b'{\n "a": ' + b"9" * 10_000,
        b'{\n "a": 1e999',
        b'{\n "a": "\xff"',
        b"[1",
        b'{\n "format": "maxmargin-model"',
    ],
)
def test_sealed_text_that_is_no_model(body, tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(body + b',\n "checksum": "%s"\n}\n' % sha256(body).hexdigest().encode())
    with pytest.raises(InputError):
        load(path)


def test_deep_values_in_a_sealed_model(tmp_path):
    value = 1
    for _ in range(400):
        value = {"tuple": [value]}
    for entry in ("C", "class_weight", "random_state"):
        content = copy.deepcopy(MODELS["soft"])
        content["parameters"][entry] = value
        with pytest.raises(InputError, match=r"nested|among"):
            from_dict(content)


def test_values_may_be_nested_as_deeply_as_a_model_can_be_saved():
    value = 1.5
    for _ in range(99):
        value = (value,)  # a tag and a list each
    assert decode(encode(value)) == value
    for _ in range(3):
        value = [value]
    with pytest.raises(InputError, match="at most 200 levels deep"):
        encode(value)


class _Runs:
    def __reduce__(self):
        return print, ("this ran",)


def test_nothing_is_run(tmp_path, capsys):
    path = tmp_path / "model.json"
    path.write_bytes(pickle.dumps(_Runs()))
    for read in (load, read_any):
        with pytest.raises(InputError):
            read(path)
    evil = np.empty(1, dtype=object)
    evil[0] = _Runs()
    part = tmp_path / "m.0123456789abcdef.npz"
    with part.open("wb") as file:
        np.savez(file, a0=evil)
    digest = sha256(part.read_bytes()).hexdigest()
    change = {"weights": {"part": "a0"}, "part": {"file": part.name, "sha256": digest}}
    path.write_bytes(seal({**MODELS["hard"], **change}))
    with pytest.raises(InputError, match="must hold arrays"):
        load(path)
    assert "this ran" not in capsys.readouterr().out


def test_parts_that_are_not_what_they_should_be(tmp_path):
    path, part = tmp_path / "model.json", tmp_path / "m.0123456789abcdef.npz"
    good = np.ones((1, 5))
    where, some = np.array([3, 1]), np.array([1.0, 2.0])
    cases = [
        (np.savez, {"a0": good.astype(np.float32)}, {"part": "a0"}),
        (np.savez, {"a0": good[:, :4]}, {"part": "a0"}),
        (np.savez, {"a0": good * np.nan}, {"part": "a0"}),
        (np.savez, {"a1": good}, {"part": "a0"}),
        (np.savez_compressed, {"a0": good}, {"part": "a0"}),
        (np.savez, {"a0": some, "a0.where": where}, {"part": "a0", "sparse": [1, 5]}),
        (np.savez, {"a0": some, "a0.where": np.sort(where) + 3}, {"part": "a0", "sparse": [1, 5]}),
        (np.savez, {"a0": some, "a0.where": np.sort(where)}, {"part": "a0", "sparse": [1, -5]}),
        (np.savez, {"a0": some, "a0.where": np.sort(where)}, {"part": "a0", "sparse": [1, 2**60]}),
        (np.savez, {"a0": some, "a0.where": np.sort(where)}, {"part": "a0", "sparse": "x"}),
        (np.savez, {"a0": some}, {"part": "a0", "sparse": [1, 5]}),
    ]
    for write, arrays, weights in cases:
        with part.open("wb") as file:
            write(file, **arrays)
        digest = sha256(part.read_bytes()).hexdigest()
        change = {"weights": weights, "part": {"file": part.name, "sha256": digest}}
        path.write_bytes(seal({**MODELS["hard"], **change}))
        with pytest.raises(InputError):
            load(path)
    part.write_bytes(b"PK\x03\x04garbage")
    change["part"]["sha256"] = sha256(part.read_bytes()).hexdigest()
    path.write_bytes(seal({**MODELS["hard"], **change}))
    with pytest.raises(InputError, match="must hold arrays"):
        load(path)


def test_arrays_in_base64_that_are_not_what_they_should_be():
    def text(values, dtype="<f8"):
        return base64.b64encode(np.array(values, dtype=dtype).tobytes()).decode()

    good, some, where = text(np.ones(5)), text([1.0, 2.0]), text([1, 3], "<i8")
    from_dict({**MODELS["hard"], "weights": {"shape": [1, 5], "data": good}})
    from_dict({**MODELS["hard"], "weights": {"shape": [1, 5], "data": some, "where": where}})
    cases = [
        {"shape": [1, 4], "data": good},
        {"shape": [1, -5], "data": good},
        {"shape": "x", "data": good},
        {"shape": [1, 5], "data": 5},
        {"shape": [1, 5], "data": good[:-4]},
        {"shape": [1, 5], "data": "é" + good},
        {"shape": [1, 5], "data": text(np.full(5, np.nan))},
        {"shape": [1, 5], "data": good, "more": 1},
        {"shape": [1, 5], "data": some, "where": text([3, 1], "<i8")},
        {"shape": [1, 5], "data": some, "where": text([3, 5], "<i8")},
        {"shape": [1, 5], "data": some, "where": text([3], "<i8")},
        {"shape": [1, 2**60], "data": some, "where": where},
        {"shape": [1, 10**8], "data": some, "where": where},
    ]
    for weights in cases:
        with pytest.raises(InputError, match=r"weights|sparse arrays in proportion"):
            from_dict({**MODELS["hard"], "weights": weights})


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["inf", "ovr", "ovo", "<i8", "objects", "a0", {"part": "a0"}, [], {}, 2**63, -1, 1e308]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tuple", "dict", "numpy", "value", "rule", "any", "stop", "part", "sparse", "float"]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


def places(tree, path=()):
    """All places in a tree of plain values."""
    yield path
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*path, key))


@given(st.data())
def test_any_edit_of_a_sealed_model_gives_a_model_or_an_input_error(data):
    name = data.draw(st.sampled_from(list(MODELS)))
    content = copy.deepcopy(MODELS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        known = list(places(content))[1:]
        if not known:
            break
        path = data.draw(st.sampled_from(known))
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()) and isinstance(inner, dict):
            del inner[path[-1]]
        else:
            inner[path[-1]] = data.draw(PLAIN)
    try:
        again = from_dict(json.loads(json.dumps(content)))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    described = to_dict(again)  # whatever was accepted is a model, and can be saved as it is
    assert_same(again, from_dict(described))


@given(PLAIN)
def test_any_value_is_a_model_or_an_input_error(value):
    with pytest.raises(InputError):
        from_dict(value)


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"{", b"solver_type ", b"svm_type c_svc\n", b"x,1\n"])
)
def test_any_bytes_are_a_model_or_an_input_error(tmp_path_factory, data, start):
    path = tmp_path_factory.mktemp("any", numbered=True) / "m"
    path.write_bytes(start + data)
    with pytest.raises(InputError):
        load(path)
    with contextlib.suppress(InputError):
        assert isinstance(read_any(path), LinearModel)


@pytest.mark.parametrize(
    "encoding",
    [
        None,
        [],
        {"features": 2**31 - 1},  # would be what a file is read with
        {"columns": "size"},
        {"columns": [1]},
        {"header": "yes"},
        {"first_index": -1},
        {"label": 3},
        {"categories": {"colour": "red"}},
    ],
)
def test_an_encoding_that_no_command_wrote(encoding):
    with pytest.raises(InputError, match="encoding"):
        from_dict({**MODELS["hard"], "encoding": encoding})
