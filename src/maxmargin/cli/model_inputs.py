"""Files for a model: columns found by name, text encoded as in training, labels if there are any."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from maxmargin.cli.inputs import Table, check_labelled, open_table
from maxmargin.cli.options import Source
from maxmargin.cli.output import SOME
from maxmargin.core.errors import InputError, some
from maxmargin.files.numpy_files import check_matrix, read_header
from maxmargin.files.open import make_reader, opened
from maxmargin.files.reader import read_options
from maxmargin.files.tables import TableReader
from maxmargin.saving import read_any
from maxmargin.saving.model_file import is_model


def read_for(model: Any, file: Source, labelled: bool = False) -> Table:
    """Read the rows of a file as the model's training rows were read.

    ``labelled`` asks for labels: those of the column that had them in training, or the last one.
    """
    grows = getattr(model, "grows", False)
    known = {"features": None if grows else model.n_features_in_, **getattr(model, "encoding_", {})}
    if not hasattr(model, "encoding_") and hasattr(model, "grows"):
        known["first_index"] = 1  # as LIBLINEAR and LIBSVM count
    names = getattr(model, "feature_names_in_", None)
    table = match(known, None if names is None else [str(name) for name in names], file, labelled)
    d, wanted = table.shape[1], model.n_features_in_
    if d != wanted and not (grows and d > wanted):
        raise InputError(
            f"{file.path}: must have the {wanted} features of the model. Got {d} instead. Name the "
            "columns with --columns, the label with --label."
        )
    if labelled:
        check_labelled(table.y, file.path)
    return table


def match(known: Mapping[str, Any], names: Sequence[str] | None, file: Source, labelled: bool) -> Table:
    """Read a file as another one was: ``known`` is what was remembered of it, ``names`` its features."""
    features = known.get("features")
    with _at_rest(file) as (file, kind):
        if kind == "svmlight":
            return open_table(file, first_index=known.get("first_index"), features=features, kind=kind)
        if kind == "npz":
            given = labelled or file.label or _has_labels(file.path)
            return open_table(file, label=None if given else False, features=features, kind=kind)
        if kind == "rows":
            return open_table(file, features=features, kind=kind)
        found, named = _columns(file, kind)
        encoding = known.get("categories")
        columns, label = _choose(known, names, file, labelled, found, named)
        header = named if kind in ("csv", "tsv") else None
        file = file._replace(columns=tuple(columns), header=header, one_hot=bool(encoding))
        return open_table(file, label=label, encoding=encoding, kind=kind)


def read_validation(path: str, file: Source, table: Table, labels: list[Any]) -> Table:
    """Read validation rows as the training rows were, and refuse what the model cannot judge."""
    known = {"features": table.shape[1], **table.remembered()}
    other = match(known, table.names if table.named else None, file._replace(path=path), labelled=True)
    if other.shape[1] != table.shape[1]:
        raise InputError(
            f"{path}: must have {table.shape[1]} features, as the rows trained on. "
            f"Got {other.shape[1]} instead. Give it the same columns."
        )
    strange = [label for label in np.unique(other.y).tolist() if label not in labels]
    if strange:
        known_labels = some(labels, SOME, repr)
        raise InputError(
            f"{path}: labels must be among those trained on, {known_labels}. Got {strange[0]!r} "
            "instead. Leave these rows out, or train on some of them."
        )
    return other


@contextmanager
def _at_rest(file: Source) -> Iterator[tuple[Source, str]]:
    """The file, and what it is; standard input is kept in a file meanwhile."""
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


def _columns(file: Source, kind: str) -> tuple[list[str], bool]:
    """The names of the columns of a table, and whether the file gives them."""
    if kind == "npy":
        with Path(file.path).open("rb") as matrix:
            header = read_header(matrix, file.path)
        check_matrix(header, file.path)
        return list(map(str, range(header.shape[1]))), False
    label: bool | None
    for label in (False, None):  # a label that is text is no header
        try:
            options = read_options(file.path, kind, label=label, header=file.header, one_hot=True)
            reader = make_reader(Path(file.path), options, file.path)
            assert isinstance(reader, TableReader)
            layout = reader.open_layout()
            return layout.names, layout.named
        except InputError:
            if label is None:
                raise
    raise AssertionError


def _choose(
    known: Mapping[str, Any],
    names: Sequence[str] | None,
    file: Source,
    labelled: bool,
    found: list[str],
    named: bool,
) -> tuple[Sequence[str], str | bool | None]:
    """The features to read, and the label: a column, False for none, None for the last one."""
    columns: Sequence[str] = file.columns or known.get("columns") or names or ()
    label: str | bool | None = file.label
    by_name = named and bool(columns) and all(column in found for column in columns)
    if not file.columns and not by_name:
        if named and names is not None:
            _refuse_missing(columns, file, found)
            return columns, False
        width = len(columns) or known.get("features") or len(found)
        if label is None and not labelled and len(found) - len(file.drop) <= width:
            return (), False  # nothing but features
        fits = all(column.isdigit() and int(column) < len(found) for column in columns)
        columns = columns if fits and len(found) > len(columns) else ()  # there is a label, too
    if label is None:
        trained = known.get("label")
        there = trained is not None and (
            trained in found or (trained.isdigit() and int(trained) < len(found))
        )
        if there and trained in file.drop and not labelled:
            return columns, False
        if labelled and by_name and not there and found[-1] in columns:
            known_as = "" if trained is None else f", in training those of column {trained}"
            raise InputError(
                f"{file.path}: must hold labels{known_as}. Got only features instead. Name a file with "
                "labels, or their column with --label."
            )
        label = trained if there else None if labelled or not by_name else False
    return columns, label


def _refuse_missing(columns: Sequence[str], file: Source, found: list[str]) -> None:
    """Name the columns that the model needs and the file lacks."""
    missing = [column for column in columns if column not in found]
    if missing:
        raise InputError(
            f"{file.path}: must have the columns that the model was fitted to, {some(columns, SOME)}. "
            f"Got none named {missing[0]!r} among {some(found, SOME)}. Rename them, or name those to "
            "use, in the order of the model's, with --columns."
        )


def _has_labels(path: str) -> bool:
    try:
        with ZipFile(path) as archive:
            return "y.npy" in archive.namelist()
    except (BadZipFile, OSError):
        return True  # its reader says what is wrong


# MODEL of ``predict`` and ``audit``: a fitted model, named before the data.


def read_model(path: str, data: str) -> Any:
    """Read the model; the usual mistakes are told apart: the files swapped, or no model at all."""
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
