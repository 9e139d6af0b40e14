"""Model files: one JSON text with a checksum, from which learning can go on; nothing in it is run.

``docs/model-format.md`` describes the entries.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Hashable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.codec import (
    ANYTHING,
    COUNT,
    FINITE,
    FLAG,
    TEXT,
    VALUE,
    Form,
    bad,
    decode_labels,
    encode_labels,
    entries,
    listed,
    maybe,
    named,
    object_vector,
    one_of,
    record,
)
from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import GRANTED_BYTES
from maxmargin.files.numpy_files import read_array
from maxmargin.rows.training_data import machine_count, machine_labels
from maxmargin.saving.coef_table import from_coef_csv
from maxmargin.saving.liblinear_libsvm import from_liblinear, from_libsvm, read_bytes
from maxmargin.saving.linear_model import LinearModel
from maxmargin.saving.model_state import (
    KINDS,
    PERCEPTRONS,
    check_parameters,
    decode_parameters,
    encode_parameters,
    restore_state,
    state_form,
    state_of,
)
from maxmargin.saving.sealed import arrays, check_expansion, pack, plain, seal, unseal

FORMAT, VERSION = "maxmargin-model", 2  # version 1 has no arrays in base64
OTHERS = {  # endings that promise another format, and who writes it
    ".onnx": Remedy("use {} for ONNX", "maxmargin.saving.to_onnx"),
    ".liblinear": Remedy("use {} for LIBLINEAR", "maxmargin.saving.to_liblinear"),
    ".libsvm": Remedy("use {} for LIBLINEAR", "maxmargin.saving.to_liblinear"),
    ".pkl": Remedy("use joblib.dump for a pickle"),
    ".pickle": Remedy("use joblib.dump for a pickle"),
    ".joblib": Remedy("use joblib.dump for a pickle"),
    ".csv": Remedy("use numpy.savetxt for a table of weights (coef_)"),
    ".npy": Remedy("use numpy.save for weights (coef_)"),
    ".npz": Remedy("use numpy.savez for weights (coef_)"),
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model as a file that :func:`maxmargin.load` reads: every bit, and no code.

    The file is written under a temporary name and renamed when it is whole: whatever happens meanwhile,
    a model that was there stays.

    Parameters
    ----------
    model : estimator of maxmargin or LinearModel
        Fitted or not.
    path : path
        Where to, for example ``model.json``. It is JSON whatever the name; a name that promises another
        format (``model.onnx``, ``model.pkl``) is refused, and the error says who writes that.

    Raises
    ------
    InputError
        If the name promises another format, the model has parameters that are no plain values (a
        splitter or scorer of your own), or the file cannot be written; then the old one is as it was.

    Examples
    --------
    >>> import maxmargin as mm, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> model = mm.HardMarginSVC().fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    >>> mm.save(model, path)
    >>> mm.load(path).margin_
    1.0
    """
    check_model_name(path)
    content, has_bytes = pack(describe(model))
    write_atomically(path, seal({**content, "version": VERSION if has_bytes else 1}))


def check_model_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that promises another format than JSON."""
    ending = Path(path).suffix.lower()
    if ending in OTHERS:
        raise InputError(
            f"{path}: a model is saved as JSON, under a name such as model.json. Got the ending "
            f"{ending} instead, which promises another format.",
            OTHERS[ending],
        )


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that :func:`maxmargin.save` wrote; nothing in the file is run.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model
        Equal to the one saved: same class, parameters, predictions and attributes. A perceptron goes on
        learning exactly as the saved one would.

    Raises
    ------
    InputError
        If the file is missing, incomplete or changed in any byte.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> path = Path(tempfile.mkdtemp()) / "model.json"
    >>> mm.save(mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1]), path)
    >>> mm.load(path).predict([[2.0, 0.0]])
    array([1])
    """
    text = read_bytes(path)
    start = text[:100].lstrip()
    is_proof = b'"maxmargin proof"' in start
    if is_proof or (text and not start.startswith(b"{")):
        raise InputError(
            f"{path}: must be a model that maxmargin.save or maxmargin fit --out wrote, which is JSON. "
            f"Got {'a proof' if is_proof else 'another kind of file'} instead. Read data with "
            "maxmargin.read_data or open_rows, and weights of other programs with "
            "maxmargin.saving.read_any."
        )
    content = unseal(text, str(path))
    try:
        put_arrays(content, Path(path))
        return from_dict(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


POSITIVE = maybe(FINITE.checked(lambda v: v > 0, "a number > 0"))
CLASSES = Form(
    lambda labels: encode_labels(labels, free=GRANTED_BYTES),
    lambda value, name: decode_labels(value, name, free=GRANTED_BYTES),
)
NAMES = Form(
    lambda names: encode_labels(np.asarray(names, dtype=object)),
    lambda value, name: decode_labels(value, name).astype(object),
)
HEAD = {"format": TEXT, "version": COUNT, "library": TEXT, "model": TEXT}
LINEAR = record(
    LinearModel,
    called={"feature_names_in_": "names", "Z_": "weights"},
    omit=("coef_", "intercept_"),
    optional=("classes_", "feature_names_in_"),
    make=lambda Z_, **known: LinearModel(Z_[:, :-1], Z_[:, -1], **known),
    multi_class=one_of("ovr", "ovo"),
    C=POSITIVE,
    class_weight=VALUE.checked(
        lambda v: v in (None, "balanced") or isinstance(v, dict), "None, 'balanced' or a dict"
    ),
    intercept_scaling=POSITIVE,
    classes_=CLASSES,
    feature_names_in_=listed(TEXT).mapped(list, object_vector),
    Z_=arrays(float, None, None),
)
TEXTS = listed(TEXT)
# How the command line read the file that the model was fitted to.
ENCODING = entries(
    {"label": TEXT, "columns": TEXTS, "header": FLAG, "first_index": COUNT, "categories": named(TEXTS)},
    ("label", "columns", "header", "first_index", "categories"),
)
UNFITTED = {"parameters": ANYTHING, "encoding": ENCODING}
FITTED = {
    "classes": CLASSES,
    "features": entries({"count": COUNT, "names": NAMES}, ["names"]),
    "scheme": ANYTHING,
    "weights": ANYTHING,
    "state": ANYTHING,
}


def to_dict(model: Any) -> dict[str, Any]:
    """Return the complete state of a model as plain JSON values.

    Parameters
    ----------
    model : estimator of maxmargin or LinearModel
        Fitted or not.

    Returns
    -------
    dict
        What :func:`from_dict` makes the same model of: it predicts the same, and a perceptron goes on
        learning as the model itself would.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.saving import from_dict, to_dict
    >>> model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> from_dict(to_dict(model)).coef_
    array([[1., 1.]])
    """
    return dict(plain(describe(model)))


def from_dict(content: dict[str, Any]) -> Any:
    """Return the model that :func:`to_dict` described; :class:`InputError` if it is none.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.saving import from_dict, to_dict
    >>> model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> from_dict(to_dict(model)).predict([[2.0, 0.0]])
    array([1])
    """
    try:
        return _restore(content)
    except InputError:
        raise
    except RecursionError:
        raise InputError("a model must not be nested so deeply.") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise InputError(f"this is not the description of a model: {error!r}.") from error


def describe(model: Any) -> dict[str, Any]:
    """Return the state of a model as plain values and arrays."""
    name = type(model).__name__
    head: dict[str, Any] = {"format": FORMAT, "version": 1, "library": __version__, "model": name}
    if type(model) is LinearModel:
        return {**head, **LINEAR.write(model)}
    if type(model) is not KINDS.get(name):
        raise InputError(
            f"model must be an estimator of maxmargin ({', '.join(KINDS)}) to be saved. Got {name} "
            "instead. Of a pipeline save the last step, or use joblib."
        )
    check_parameters(model)
    head["parameters"] = encode_parameters(model)
    if "encoding_" in vars(model):
        head["encoding"] = model.encoding_
    if "classes_" not in vars(model):
        return head
    Z = np.array(model._fitted_weights(), dtype=np.float64)
    if not np.all(np.isfinite(Z)):
        raise InputError(
            "the weights of a model must be finite to be saved. Got nan or infinity instead."
        )
    features = {"count": model.n_features_in_}
    if hasattr(model, "feature_names_in_"):
        features["names"] = model.feature_names_in_
    labels = machine_labels(model.classes_, model._fitted_scheme["multi_class"])
    fitted = {
        "classes": model.classes_,
        "features": features,
        "scheme": {name: v if type(v) is str else bool(v) for name, v in model._fitted_scheme.items()},
        "weights": Z,
        "state": state_form(type(model), labels, Z).write(state_of(model, labels, Z)),
    }
    return {**head, **entries(FITTED).write(fitted)}


def _restore(content: Any) -> Any:
    if type(content) is not dict:
        raise bad("", "an object", content)
    check_expansion(content)
    head = entries(HEAD).read({key: content[key] for key in HEAD if key in content}, "")
    body = {key: value for key, value in content.items() if key not in HEAD}
    kind, version = head["model"], head["version"]
    if head["format"] != FORMAT:
        raise bad("format", repr(FORMAT), head["format"])
    if not 1 <= version <= VERSION:
        raise InputError(
            f"version must be from 1 to {VERSION} for maxmargin {__version__}. Got {version} instead. "
            "Update maxmargin."
        )
    if kind == "LinearModel":
        return LINEAR.read(body, "")
    if kind not in KINDS:
        raise bad("model", f"one of {', '.join(KINDS)}, LinearModel", kind)
    known = UNFITTED | FITTED if "classes" in body else UNFITTED
    found = entries(known, ["encoding"]).read(body, "")
    model = decode_parameters(found["parameters"], KINDS[kind], "parameters")
    check_parameters(model)
    if "encoding" in found:
        model.encoding_ = found["encoding"]
    if "classes" in found:
        _restore_fitted(model, found)
    return model


def _restore_fitted(model: Any, found: dict[str, Any]) -> None:
    model.classes_, model.n_features_in_ = found["classes"], found["features"]["count"]
    values, d = model.classes_.tolist(), model.n_features_in_
    least = 1 if isinstance(model, PERCEPTRONS) else 2
    if len(values) < least or not all(a < b for a, b in pairwise(values)):
        raise bad("classes", "distinct labels in ascending order", values)
    if "names" in found["features"]:
        names = model.feature_names_in_ = found["features"]["names"]
        if len(names) != d or any(type(name) is not str for name in names.tolist()):
            raise bad("features.names", f"a list of {d} texts", names.tolist())
    scheme = model._fitted_scheme = _scheme(model, found["scheme"])
    machines = machine_count(len(values), scheme["multi_class"])
    Z = arrays(float, machines, d + 1).read(found["weights"], "weights")
    # After the weights: of pairs there may be many.
    labels: list[Hashable] = machine_labels(model.classes_, scheme["multi_class"])
    state = state_form(type(model), labels, Z).read(found["state"], "state")
    restore_state(model, state, labels, Z)


def _scheme(model: Any, value: Any) -> dict[str, Any]:
    """What the weights mean: the same keys and types as the model itself writes."""
    wanted = model._scheme()
    if type(value) is not dict or value.keys() != wanted.keys():
        raise bad("scheme", f"an object with {', '.join(wanted)}", value)
    for key, v in value.items():
        if v not in ("ovr", "ovo") if key == "multi_class" else type(v) is not bool:
            raise bad(f"scheme.{key}", "as it was fitted", v)
    return dict(value)


# Files of version 1 kept large arrays in a second file beside them; both still load. Where an array
# belongs, the text says {"part": "a0"}, or {"part": "a0", "sparse": [1, 200001]}, with the places of the
# numbers in a0.where.

PART_NAME = re.compile(r"[^/\\\0]+\.[0-9a-f]{16}\.npz")
PART = entries({"file": TEXT.checked(PART_NAME.fullmatch, "a file name ending in .npz"), "sha256": TEXT})


def put_arrays(content: dict[str, Any], path: Path) -> None:
    """Put the arrays of a part, if the file has one, into the places that they belong to."""
    if "part" not in content:
        return
    part = PART.read(content.pop("part"), "part")
    found = _part_arrays(part["file"], part["sha256"], beside=path)
    left: list[tuple[str, Any]] = [("", content)]
    while left:
        name, inside = left.pop()
        for key, value in list(inside.items() if type(inside) is dict else enumerate(inside)):
            called = f"{name}.{key}".lstrip(".")
            if type(value) is dict and type(value.get("part")) is str:
                inside[key] = _taken(value, found, called)
            elif type(value) in (dict, list):
                left.append((called, value))


def _taken(value: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> Any:
    """Return the array, or the sparse one, that a value names; each array is for one place."""
    key = value["part"]
    needed = [key, f"{key}.where"] if "sparse" in value else [key]
    if not arrays.keys() >= set(needed):
        raise bad(name, "in the part of the model", value)
    data, *where = [arrays.pop(each) for each in needed]
    return {"shape": value["sparse"], "data": data, "where": where[0]} if where else data


def _part_arrays(file: str, checksum: str, beside: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a part, by name, if it is unchanged."""
    try:
        data = beside.with_name(file).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the part {file!r} of this model must lie beside it. Got no such file instead. "
            "Copy both files together."
        ) from None
    except OSError as error:
        raise InputError(f"its part {file!r} cannot be read: {error.strerror or error}.") from error
    if sha256(data).hexdigest() != checksum:
        raise InputError(
            f"its part {file!r} was changed after it was saved: the checksum does not match. "
            "Take an unchanged copy, or save the model again."
        )
    try:
        return _stored_arrays(data)
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise InputError(f"its part {file!r} must hold arrays: {error}.") from None


def _stored_arrays(data: bytes) -> dict[str, np.ndarray]:
    """Return arrays that were stored without compression: they are no larger than the file."""
    found: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(info.file_size for info in members) > len(data):
            raise ValueError("its arrays lie on top of each other")
        for info in members:
            if info.compress_type != zipfile.ZIP_STORED or not info.filename.endswith(".npy"):
                raise ValueError("it holds something else than stored arrays")
            with archive.open(info) as file:
                array = read_array(file, info.file_size, info.filename)
            found[info.filename.removesuffix(".npy")] = np.array(array, order="C")
    return found


PICKLES = (b"\x80", b"\x78\x9c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
BEGINNING = 1 << 16  # bytes of a file that tell what it is
OURS = b'"format": "maxmargin-model"'
OF_OTHERS = re.compile(rb"^(solver|svm)_type ", re.MULTILINE)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model of maxmargin, LIBLINEAR or LIBSVM; False if there is no file.

    Examples
    --------
    >>> from maxmargin.saving.model_file import is_model
    >>> is_model("nowhere.json")
    False
    """
    try:
        start = read_bytes(path, BEGINNING) if Path(path).is_file() else b""  # pipes are read once
    except (InputError, ValueError):
        return False
    return OURS in start or OF_OTHERS.search(start) is not None


def read_any(path: str | os.PathLike[str]) -> Any:
    """Read a model: of maxmargin, LIBLINEAR, LIBSVM (linear), or a table of weights.

    Parameters
    ----------
    path : path
        The file; what it is, is told by its first lines and not by its name.

    Returns
    -------
    estimator or LinearModel
        To predict with, and for :func:`audit`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.saving import read_any, to_liblinear
    >>> folder, model = Path(tempfile.mkdtemp()), mm.Perceptron().fit([[1.0], [-1.0]], [1, -1])
    >>> mm.save(model, folder / "ours")
    >>> to_liblinear(model, folder / "theirs")
    >>> read_any(folder / "ours").coef_ == read_any(folder / "theirs").coef_
    array([[ True]])
    """
    start = read_bytes(path, BEGINNING)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise InputError(f"{path}: a model file is not empty. This one is.")
    if text.startswith(b"{"):
        return load(path)
    if found := OF_OTHERS.search(text):
        return from_liblinear(path) if found[1] == b"solver" else from_libsvm(path)
    if start.startswith(PICKLES):
        raise InputError(
            f"{path}: a model must be text: JSON of maxmargin, LIBLINEAR, LIBSVM or a table. Got a "
            "pickle or packed file instead, which could run code. Load it in Python if you trust it, "
            "and use maxmargin.saving.from_sklearn."
        )
    if b"\0" in start:
        raise InputError(
            f"{path}: a model must be text: JSON of maxmargin, LIBLINEAR, LIBSVM or a table of weights. "
            "Got a binary file instead."
        )
    return from_coef_csv(path)
