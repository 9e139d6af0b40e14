"""Model files: JSON text with a checksum, and an ``.npz`` part beside it for many numbers.

A model file of any known kind, told by what is in it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.errors import InputError
from maxmargin.files.numpy_files import read_array
from maxmargin.saving.arrays import Parts, pack, seal, unseal
from maxmargin.saving.codec import Reader
from maxmargin.saving.coef_table import from_coef_csv
from maxmargin.saving.liblinear import from_liblinear
from maxmargin.saving.libsvm import from_libsvm
from maxmargin.saving.model import describe, restore
from maxmargin.saving.text_file import read_bytes

PART = re.compile(r"[^/\\\0]+\.[0-9a-f]{16}\.npz")
NAMED, TAIL = re.compile(rb'\n "part": {"file": ("[^"]*"), "sha256"'), 4096  # the last entry but one
TRIES = 3  # a model may be saved again while it is read
OTHERS = {  # endings that promise another format, and who writes it
    ".onnx": "Use maxmargin.saving.to_onnx for ONNX",
    ".liblinear": "Use maxmargin.saving.to_liblinear for LIBLINEAR",
    ".libsvm": "Use maxmargin.saving.to_liblinear for LIBLINEAR",
    ".pkl": "Use joblib.dump for a pickle",
    ".pickle": "Use joblib.dump for a pickle",
    ".joblib": "Use joblib.dump for a pickle",
    ".csv": "Use numpy.savetxt for a table of weights (coef_)",
    ".npy": "Use numpy.save for weights (coef_)",
    ".npz": "Use numpy.savez for weights (coef_)",
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model as a file that :func:`maxmargin.load` reads: every bit, and no code.

    The file is written under a temporary name and renamed when it is whole: whatever happens meanwhile,
    a model that was there stays. Large or sparse weights go to a file beside it,
    ``<name>.<digits>.npz``, which belongs to it: move both together.

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
    content, arrays = pack(describe(model))
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:
        raise InputError(f"{path!r} must be the name of a file: {error}.") from error
    if not arrays:
        old = _part_named_in(target)
        write_atomically(target, seal(content))
        _forget(target, old)
        return
    written = io.BytesIO()
    np.savez(written, **arrays)  # type: ignore[arg-type]
    data = written.getvalue()
    digest = sha256(data).hexdigest()
    part = target.with_name(f"{target.name}.{digest[:16]}.npz")
    text = seal({**content, "part": {"file": part.name, "sha256": digest}})
    write_atomically(part, data, whole=path)
    old = _part_named_in(target)
    try:
        write_atomically(target, text)
    except BaseException:
        if part.name != old:
            with contextlib.suppress(OSError):
                part.unlink()
        raise
    if old != part.name:
        _forget(target, old)


def check_model_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that promises another format than JSON."""
    ending = Path(path).suffix.lower()
    if ending in OTHERS:
        raise InputError(
            f"{path}: a model is saved as JSON, under a name such as model.json. Got the ending "
            f"{ending} instead, which promises another format. {OTHERS[ending]}."
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
        If the file, or the part beside it, is missing, incomplete or changed in any byte.

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
    target = Path(path)
    for _ in range(TRIES):
        text = read_bytes(target)
        _refuse_other_files(text, path)
        content = unseal(text, str(path))
        try:
            parts = _parts(content, target)
            return restore(content, parts)
        except FileNotFoundError as error:
            if read_bytes(target) == text:
                raise InputError(
                    f"{path}: the part {error.filename!r} of this model must lie beside it. "
                    "Got no such file instead. Copy both files together."
                ) from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    raise InputError(f"{path}: the model changes while it is read. Try again.")


def _refuse_other_files(text: bytes, path: str | os.PathLike[str]) -> None:
    """Data and models of others are read elsewhere."""
    start = text[:100].lstrip()
    found = "a proof" if b'"maxmargin proof"' in start else ""
    found = found if not text or start.startswith(b"{") else "another kind of file"
    if found:
        raise InputError(
            f"{path}: must be a model that maxmargin.save or maxmargin fit --out wrote, which is JSON. "
            f"Got {found} instead. Read data with maxmargin.read_data or open_rows, and weights of "
            "other programs with maxmargin.saving.read_any."
        )


def _parts(content: dict[str, Any], target: Path) -> Parts:
    """The arrays of the part, if the model has one; the entry is taken out of the content."""
    if "part" not in content:
        return Parts()
    reader = Reader(content.pop("part"), "part")
    name, digest = reader.text("file"), reader.text("sha256")
    reader.done()
    if not PART.fullmatch(name):
        raise InputError(f"part.file must be a file name ending in .npz. Got {name!r} instead.")
    path = target.with_name(name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(2, "No such file", name) from None
    except OSError as error:
        raise InputError(f"its part {name!r} cannot be read: {error.strerror or error}.") from error
    if sha256(data).hexdigest() != digest:
        raise InputError(
            f"its part {name!r} was changed after it was saved: the checksum does not match. "
            "Take an unchanged copy, or save the model again."
        )
    return _unzip(data, name)


def _unzip(data: bytes, name: str) -> Parts:
    """Read arrays that were stored without compression: they are no larger than the file."""
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > len(data):
                raise ValueError("its arrays lie on top of each other")
            for info in archive.infolist():
                if info.compress_type != zipfile.ZIP_STORED or not info.filename.endswith(".npy"):
                    raise ValueError("it holds something else than stored arrays")
                with archive.open(info) as file:
                    array = read_array(file, info.file_size, info.filename)
                arrays[info.filename.removesuffix(".npy")] = np.array(array, order="C")
    except (
        ValueError,
        OSError,
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise InputError(f"its part {name!r} must hold arrays: {error}.") from None
    return Parts(arrays)


def _part_named_in(target: Path) -> str | None:
    """The part of the model that is there now, if it has one."""
    try:
        with target.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            found = NAMED.search(file.read())
        name = json.loads(found[1]) if found and target.is_file() else ""
    except (OSError, ValueError):
        return None
    ours = PART.fullmatch(name) and name.startswith(f"{target.name}.")
    return name if ours else None


def _forget(target: Path, part: str | None) -> None:
    """Remove the part of a model that has been replaced."""
    if part is not None:
        with contextlib.suppress(OSError):
            target.with_name(part).unlink(missing_ok=True)


PICKLES = (b"\x80", b"\x78\x9c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
BEGINNING = 1 << 16
OURS = b'"format": "maxmargin-model"'


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model of maxmargin, LIBLINEAR or LIBSVM; False if there is no file.

    Examples
    --------
    >>> from maxmargin.saving.model_file import is_model
    >>> is_model("nowhere.json")
    False
    """
    try:
        if not Path(path).is_file():  # what is read from a pipe is gone
            return False
        with Path(path).open("rb") as file:
            start = file.read(BEGINNING)
    except (OSError, ValueError):
        return False
    return OURS in start or bool(re.search(rb"^(solver_type|svm_type) ", start, re.MULTILINE))


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
    if re.search(rb"^solver_type ", text, re.MULTILINE):
        return from_liblinear(path)
    if re.search(rb"^svm_type ", text, re.MULTILINE):
        return from_libsvm(path)
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
