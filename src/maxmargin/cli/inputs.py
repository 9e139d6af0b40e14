"""A file as a command sees it: in memory if it is small, else as rows that are read in blocks.

Columns are taken as they stand unless options say otherwise. That may be an oversight: a column of row
numbers is no feature, and a column with a class for every other row is no label. Both are warned of.
A file for a model is read as its training rows were: columns found by name, text encoded alike.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.checker import canonical
from maxmargin.cli.options import Source
from maxmargin.cli.output import MAX_LISTED, progress_bar
from maxmargin.core.errors import InputError, listed, plural, unwritable
from maxmargin.core.memory import allowance
from maxmargin.files.numpy_files import read_matrix_header
from maxmargin.files.open import READERS, described, open_rows, opened, read_data
from maxmargin.files.reader import read_options
from maxmargin.files.tables import TableReader
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.training_data import find_classes
from maxmargin.saving import read_any
from maxmargin.saving.model_file import is_model

MAX_LABELS_LISTED = 20  # in an error about one of them
MAX_LOADED_BYTES = 1 << 28  # a larger file is not loaded,
MAX_LOADED_SHARE = 8  # nor one that takes more than one part in so many of the memory left
UNPACKED = {".gz": 4, ".parquet": 4, ".pq": 4, ".npz": 4}  # how much larger they are when unpacked
REMEMBERED = "label", "columns", "header", "first_index"  # what a later file must be read with


class Table(NamedTuple):
    """Rows, labels (none: an empty array) and names, and how they were read."""

    X: Any  # a matrix, or rows of a file
    y: np.ndarray
    names: list[str]
    about: dict[str, Any]
    encoding: dict[str, list[str]]
    named: bool  # whether the file names its features

    @property
    def rows(self) -> Rows:
        """To predict: no names are compared but those of files."""
        return self.X if isinstance(self.X, Rows) else as_rows(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""
        n, d = (self.X.n, self.X.d) if isinstance(self.X, Rows) else self.X.shape
        return int(n), int(d)

    @property
    def source(self) -> dict[str, Any]:
        """Where the file holds what, for a proof."""
        return {key: self.about[key] for key in REMEMBERED if self.about.get(key) is not None}

    @property
    def reading(self) -> dict[str, Any]:
        """What a model remembers, so that other files are read alike; plain JSON values."""
        return {**self.source, **({"categories": self.encoding} if self.encoding else {})}


def open_table(file: Source, *, label: str | bool | None = None, **known: Any) -> Table:
    """Read a file, or open it if it is large.

    ``label`` stands for that of the options, unless it is None; False means that there is none. What is
    ``known`` of the file goes to its reader: encoding, first_index, features, kind.
    """
    given = {
        "label": file.label if label is None else label,
        "columns": list(file.columns),
        "drop": list(file.drop),
        "header": file.header,
        "one_hot": file.one_hot,
        **known,
    }
    if file.first_index is not None:
        given["first_index"] = file.first_index
    if _is_large(file):
        with progress_bar(file.path):
            rows = open_rows(file.path, cache_dir=file.cache_dir, **given)
        data = described(rows, rows.labels, rows.names, rows.about)
        return Table(*data, named=rows.names is not None)
    with progress_bar(file.path):
        data = read_data(file.path, **given)
    short = file.path.lower().removesuffix(".gz")
    columnar = short.endswith((".parquet", ".pq", ".arrow", ".feather", ".ipc"))
    named = bool(columnar or data.source.get("header") or data.encoding)
    return Table(*data, named=named)


def _is_large(file: Source) -> bool:
    """Whether a file is not to be loaded: by its size, its kind, or because options say so."""
    if file.path == "-" or file.cache_dir is not None or file.path.lower().endswith(".rows"):
        return True
    try:
        size = os.stat(file.path).st_size
    except (OSError, ValueError):
        return False  # its reader says what is wrong
    left = allowance()
    limit = MAX_LOADED_BYTES if left is None else min(MAX_LOADED_BYTES, left // MAX_LOADED_SHARE)
    return size * UNPACKED.get(Path(file.path).suffix.lower(), 1) > limit


def open_labelled(file: Source) -> tuple[Table, list[Any]]:
    """Read rows to learn from; return them and their labels, and warn of columns that look wrong."""
    table = open_table(file)
    labels = find_labels(table.y, file.path)
    check_columns(table, file, labels)
    return table, labels


def check_columns(table: Table, file: Source, labels: list[Any]) -> None:
    """Warn of features that look like row numbers; refuse, or warn of, labels that look like them."""
    _check_label(table, file, labels)
    _look_for_label(table, file)
    for name, drop, why in _row_numbers(table):
        shown = f"column {name}" if name else "the column without a name"
        click.echo(
            f"Warning: {file.path}: {shown} {why}, and is used as a feature. If it only numbers the "
            f"rows, leave it out: --drop {_quoted(drop)}.",
            err=True,
        )


def check_target(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is None:
        return
    if Path(path).is_dir():
        raise unwritable(path, "it is a folder", option)
    if not Path(path).absolute().parent.is_dir():
        raise unwritable(path, "there is no such folder", option)


# Labels


def _check_labelled(y: np.ndarray, path: str) -> None:
    if not len(y):
        raise InputError(f"{path}: must hold labels. Got none. Name their column with --label.")


def find_labels(y: np.ndarray, path: str) -> list[Any]:
    """Return the labels, sorted: two or more."""
    _check_labelled(y, path)
    try:
        labels: list[Any] = find_classes(y).tolist()
    except InputError:
        raise InputError(
            f"{path}: the labels must be of two or more classes. Got {y.tolist()[0]!r} alone instead. "
            "Name another column with --label, or another file."
        ) from None
    except ValueError:  # scikit-learn: measurements are no labels
        few = ", ".join([f"{value:g}" for value in np.unique(y)[:3].tolist()])
        raise InputError(
            f"{path}: the labels must be classes: words or whole numbers. Got {few}, … instead. "
            "Name the column of the labels with --label."
        ) from None
    return labels


def label_called(name: str, labels: list[Any], option: str) -> Any:
    """Return the label that an option names."""
    known = {canonical(str(label)): label for label in labels}
    if canonical(name) not in known:
        known_ones = listed(labels, MAX_LABELS_LISTED)
        raise InputError(f"{option} must be one of the labels {known_ones}. Got {name!r} instead.")
    return known[canonical(name)]


def rarest(y: np.ndarray) -> tuple[Any, int]:
    """Return the label with the fewest rows, and how many these are."""
    labels, counts = np.unique(y, return_counts=True)
    k = int(np.argmin(counts))
    return labels[k].item(), int(counts[k])


def hold_out(y: np.ndarray, share: float, task: str, remedy: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and those held out for a task, every class in its proportion."""
    label, fewest = rarest(y)
    n, held, labels = len(y), int(np.ceil(share * len(y))), np.unique(y)
    if fewest < 2:
        needs = "2 rows of every class, one to train on and one to hold out"
        got = f"1 row of class {label!r}"
    elif min(held, n - held) < len(labels):
        needs = f"a row of each of the {len(labels)} classes in both parts"
        got = f"{plural(n - held, 'row')} to train on and {held} to hold out"
    else:
        train, test = train_test_split(np.arange(n), test_size=share, stratify=y, random_state=0)
        missing = np.setdiff1d(labels, y[train]).tolist()
        if not missing:
            return train, test
        needs, got = "a row of every class to train on", f"none of class {missing[0]!r}"
    raise InputError(f"{task} needs {needs}. Got {got} instead. {remedy}")


# Columns that look wrong

MIN_NUMBERED_ROWS = 10  # fewer may stand in the order of a feature by chance
MIN_SUSPICIOUS_CLASSES = 5  # from which on they may be too many for the rows
MAX_RARE_CLASSES = 10  # up to which they are warned of, not refused
MAX_CHECKED_COLUMNS = 1_000
ROW_NUMBER_NAME = re.compile(
    r"(|.*[^a-z0-9])(id|idx|index|ids|row|rownum|rownames|uid|uuid|unnamed: ?\d+|#)", re.IGNORECASE
)
CAMEL_CASE_ID = re.compile(r".*[a-z](Id|ID|Index)")
LABEL_NAMES = ("y", "label", "labels", "target", "class", "outcome")


def columns_used(table: Table) -> str:
    """Return a sentence with the first features and the label; empty if no column has a name."""
    label = table.about.get("label")
    if label is None and not table.named:
        return ""
    names = [name or "(no name)" for name in table.names]
    label = "" if label is None else f" Label: {label}."
    return f"{'Features' if table.named else 'Features, by column'}: {listed(names, MAX_LISTED)}.{label}"


def _check_label(table: Table, file: Source, labels: list[Any]) -> None:
    n, label = len(table.y), table.about.get("label")
    if len(labels) < MIN_SUSPICIOUS_CLASSES or 2 * len(labels) <= n:
        return
    last = "" if file.label is not None else ", the last one"
    where = "" if label is None else f" in column {label}{last}"
    got = f"{len(labels):,} classes among {plural(n, 'row', ',')}{where}"
    do = "" if label is None else " Name the column of the labels with --label."
    if len(labels) > MAX_RARE_CLASSES and label is not None and file.label is None:
        raise InputError(
            f"{file.path}: the labels must be classes of several rows each. Got {got} instead.{do} "
            f"The others are {listed(table.names, MAX_LISTED)}."
        )
    click.echo(f"Warning: {file.path}: {got}: most classes have a single row.{do}", err=True)


def _look_for_label(table: Table, file: Source) -> None:
    """Warn if the last column was taken for the label, and the name of another one says label."""
    label = table.about.get("label")
    if not table.named or label is None or file.label is not None or file.columns:
        return
    found = [name for name in table.names if name.lower() in LABEL_NAMES]
    if found and label.lower() not in LABEL_NAMES:
        click.echo(
            f"Warning: {file.path}: column {found[0]} is used as a feature, and {label}, the last one, "
            f"as the label. If {found[0]} holds the labels, say so: --label {_quoted(found[0])}.",
            err=True,
        )


def _row_numbers(table: Table) -> list[tuple[str, str, str]]:
    """Return features that number the rows: the name, how --drop calls it, and why."""
    n = len(table.y)
    found = [
        (name, name, f"has {len(texts):,} different texts in {plural(n, 'row', ',')}")
        for name, texts in table.encoding.items()
        if len(texts) > MIN_NUMBERED_ROWS and 2 * len(texts) > n
    ]
    columns = table.about.get("columns")
    if not columns or len(table.names) > MAX_CHECKED_COLUMNS or table.rows.is_sparse:
        return found
    first: Any = next(iter(table.rows.blocks()))[1].arrays  # of a large file the first rows
    X = np.asarray(first.X)
    whole = (np.floor(X) == X) & (np.abs(X) < 2**53)
    for j in np.flatnonzero(whole.all(axis=0)).tolist():
        name = table.names[j]
        if table.encoding and (name not in columns or name in table.encoding):
            continue
        why = _numbering(X[:, j], name)
        if why:
            found.append((name, name if table.encoding else columns[j], why))
    return found


def _numbering(column: np.ndarray, name: str) -> str:
    """Return what makes a column of whole numbers look like row numbers; empty if nothing does."""
    steps = np.diff(column)
    if len(column) >= MIN_NUMBERED_ROWS and (np.all(steps == 1) or np.all(steps == -1)):
        return "counts the rows"
    if len(column) >= MIN_NUMBERED_ROWS and (np.all(steps > 0) or np.all(steps < 0)):
        return "holds whole numbers in order, all different"
    called_so = not name or ROW_NUMBER_NAME.fullmatch(name) or CAMEL_CASE_ID.fullmatch(name)
    if called_so and len(np.unique(column)) == len(column) > 2:
        return "holds a different whole number in every row"
    return ""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'


# A model, and a file for it


def read_model(path: str, data: str) -> Any:
    """Read MODEL; usual mistakes are told apart: the files swapped, or no model at all."""
    if path == "-":
        raise InputError("MODEL must be a file. Got standard input instead, which may be DATA.")
    if is_model(data):
        swap = f"Swap them: {data} {path}." if not is_model(path) else "Name a file of rows second."
        raise InputError(f"MODEL comes first, DATA second. Got the model file {data} as DATA. {swap}")
    try:
        model = read_any(path)
    except InputError as error:
        if not path.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            raise
        raise InputError(
            f"{path}: MODEL must be a file of maxmargin fit --out, of LIBLINEAR or LIBSVM, or a table "
            f"of weights. Got a table that is none ({str(error).rstrip('.')}). If it holds rows, name "
            "it second, as DATA, and a model first."
        ) from error
    if not hasattr(model, "coef_"):
        raise InputError(
            f"{path}: must be a fitted model. Got one that is not. Fit it, and save it again."
        )
    return model


def open_for_model(model: Any, file: Source, labelled: bool = False) -> Table:
    """Read the rows of a file as the model's training rows were read.

    ``labelled`` asks for labels: those of the column that had them in training, or the last one.
    """
    grows = getattr(model, "grows", False)
    known = {"features": None if grows else model.n_features_in_, **getattr(model, "encoding_", {})}
    if not hasattr(model, "encoding_") and hasattr(model, "grows"):
        known["first_index"] = 1  # as LIBLINEAR and LIBSVM count
    names = getattr(model, "feature_names_in_", None)
    table = _open_like(known, None if names is None else [str(name) for name in names], file, labelled)
    d, wanted = table.shape[1], model.n_features_in_
    if d != wanted and not (grows and d > wanted):
        raise InputError(
            f"{file.path}: must have the {wanted} features of the model. Got {d} instead. Name the "
            "columns with --columns, the label with --label."
        )
    if labelled:
        _check_labelled(table.y, file.path)
    return table


def open_validation(path: str, file: Source, table: Table, labels: list[Any]) -> Table:
    """Read validation rows as the training rows were, and refuse what the model cannot judge."""
    known = {"features": table.shape[1], **table.reading}
    other = _open_like(known, table.names if table.named else None, file._replace(path=path), True)
    if other.shape[1] != table.shape[1]:
        raise InputError(
            f"{path}: must have {table.shape[1]} features, as the rows trained on. "
            f"Got {other.shape[1]} instead. Give it the same columns."
        )
    strange = [label for label in np.unique(other.y).tolist() if label not in labels]
    if strange:
        raise InputError(
            f"{path}: labels must be among those trained on, {listed(labels, MAX_LISTED, repr)}. "
            f"Got {strange[0]!r} instead. Leave these rows out, or train on some of them."
        )
    return other


def _open_like(
    known: Mapping[str, Any], names: Sequence[str] | None, file: Source, labelled: bool
) -> Table:
    """Read a file as another one was: ``known`` is what was remembered of it, ``names`` its features."""
    features = known.get("features")
    with _on_disk(file) as (file, kind):
        if kind == "svmlight":
            return open_table(file, first_index=known.get("first_index"), features=features, kind=kind)
        if kind == "npz":
            has_labels = labelled or file.label or _has_labels(file.path)
            return open_table(file, label=None if has_labels else False, features=features, kind=kind)
        if kind == "rows":
            return open_table(file, features=features, kind=kind)
        found, named = _columns_of(file, kind)
        columns, label = _choose_columns(known, names, file, labelled, found, named)
        encoding = known.get("categories")
        header = named if kind in ("csv", "tsv") else None
        file = file._replace(columns=tuple(columns), header=header, one_hot=bool(encoding))
        return open_table(file, label=label, encoding=encoding, kind=kind)


@contextmanager
def _on_disk(file: Source) -> Iterator[tuple[Source, str]]:
    """Yield the file and its kind; standard input is copied to a temporary file meanwhile."""
    shown = file.path
    with opened(file.path) as (source, kind, temporary):
        try:
            yield file._replace(path=str(source)), kind
        except InputError as error:
            if temporary is None:
                raise
            raise error.retold(lambda facts: facts.replace(str(source), shown)) from error
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)


def _columns_of(file: Source, kind: str) -> tuple[list[str], bool]:
    """Return the names of the columns of a table, and whether the file gives them."""
    if kind == "npy":
        header = read_matrix_header(Path(file.path), file.path)
        return [str(j) for j in range(header.shape[1])], False

    def layout(label: bool | None) -> tuple[list[str], bool]:
        options = read_options(file.path, kind, label=label, header=file.header, one_hot=True)
        reader = READERS[kind](Path(file.path), options, file.path)
        assert isinstance(reader, TableReader)
        found = reader.open_layout()
        return found.names, found.named

    try:
        return layout(label=False)
    except InputError:  # a label that is text is no header
        return layout(label=None)


def _choose_columns(
    known: Mapping[str, Any],
    names: Sequence[str] | None,
    file: Source,
    labelled: bool,
    found: list[str],
    named: bool,
) -> tuple[Sequence[str], str | bool | None]:
    """Return the features to read, and the label: a column, False for none, None for the last one."""
    columns: Sequence[str] = file.columns or known.get("columns") or names or ()
    by_name = named and bool(columns) and all(column in found for column in columns)
    if not file.columns and not by_name:
        if named and names is not None:
            missing = [column for column in columns if column not in found]
            raise InputError(
                f"{file.path}: must have the columns that the model was fitted to, "
                f"{listed(columns, MAX_LISTED)}. Got none named {missing[0]!r} among "
                f"{listed(found, MAX_LISTED)}. Rename them, or name those to use, in the order of the "
                "model's, with --columns."
            )
        width = len(columns) or known.get("features") or len(found)
        if file.label is None and not labelled and len(found) - len(file.drop) <= width:
            return (), False  # nothing but features
        by_place = all(_is_place(column, found) for column in columns)
        columns = columns if by_place and len(found) > len(columns) else ()  # there is a label, too
    if file.label is not None:
        return columns, file.label
    trained = known.get("label")
    if trained is not None and (trained in found or _is_place(trained, found)):
        return columns, False if trained in file.drop and not labelled else trained
    if labelled and by_name and found[-1] in columns:
        known_as = "" if trained is None else f", in training those of column {trained}"
        raise InputError(
            f"{file.path}: must hold labels{known_as}. Got only features instead. Name a file with "
            "labels, or their column with --label."
        )
    return columns, None if labelled or not by_name else False


def _is_place(column: str, found: Sequence[str]) -> bool:
    return column.isdigit() and int(column) < len(found)


def _has_labels(path: str) -> bool:
    try:
        with ZipFile(path) as archive:
            return "y.npy" in archive.namelist()
    except (BadZipFile, OSError):
        return True  # its reader says what is wrong
