"""Parquet, Arrow and Feather files, batch by batch, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import CHARACTER_BYTES, check_room_for_labels
from maxmargin.files.numpy_files import as_features
from maxmargin.files.reader import ReadOptions, at_row
from maxmargin.files.tables import Layout, Part, TableReader, choose, find_categories
from maxmargin.files.text import FILL_COLUMN

BATCH_ENTRIES = 1 << 20  # numbers of a batch, about
CORRECT = Remedy("correct the file"), Remedy("leave the column out", "drop", [...])


def _pyarrow(shown: object) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(
            f"{shown}: Parquet, Arrow and Feather files need pyarrow. Got an error: {error}. "
            "Install it with: pip install 'maxmargin[files]'."
        ) from error
    return pyarrow


@contextmanager
def _errors_as_input_errors(pa: Any, shown: object) -> Iterator[None]:
    """Errors of pyarrow in our words."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, MemoryError, OSError) as error:
        # Those of the operating system have a number, which pyarrow's own lack.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = " ".join(str(error).split())[:200] or "it asks for more memory than there is"
        raise InputError(
            f"{shown}: must be a whole file of this kind. Got one that cannot be read: {why}. "
            "Write it again."
        ) from error


def row_groups(path: Path) -> tuple[list[int], int]:
    """The number of rows in each row group of a Parquet file, and of its columns."""
    pa = _pyarrow(path)
    with _errors_as_input_errors(pa, path), path.open("rb") as file:
        about = pa.parquet.ParquetFile(file).metadata
        return [about.row_group(k).num_rows for k in range(about.num_row_groups)], about.num_columns


class ArrowReader(TableReader):
    """Read a .parquet, .arrow or .feather file; columns of numbers, truth values and strings.

    Of a Parquet file only the row groups ``groups``, if they are given.
    """

    def __init__(
        self, path: Path, options: ReadOptions, shown: object, groups: Sequence[int] | None = None
    ) -> None:
        super().__init__(path, options, shown)
        self.groups = groups

    @cached_property
    def _pa(self) -> Any:
        return _pyarrow(self.shown)

    def open_layout(self) -> Layout:
        """Read the schema."""
        with _errors_as_input_errors(self._pa, self.shown), self.path.open("rb") as file:
            schema = self._open(file).schema
            schema = getattr(schema, "to_arrow_schema", lambda: schema)()
            names = list(schema.names)
        layout = choose(self.shown, names, True, self.options)
        self._types = [field.type for field in schema]
        for k in layout.features_at:
            if not self._is_number(k) and not self._is_text(k):
                raise InputError(
                    f"{self.shown}: feature {layout.names[k]} must be of numbers or strings. Got "
                    f"{self._types[k]} instead.",
                    Remedy("convert it"),
                    Remedy("leave it out", "drop", [...]),
                )
            if self._is_text(k) and not self.options.one_hot:
                raise InputError(
                    f"{self.shown}: feature {layout.names[k]} must be of numbers. Got strings instead.",
                    Remedy("encode it", "one_hot", True),
                    Remedy("leave it out", "drop", [...]),
                )
        return layout

    def _open(self, file: Any) -> Any:
        if self.options.kind == "parquet":
            return self._pa.parquet.ParquetFile(file)
        try:
            return self._pa.ipc.open_file(file)
        except self._pa.ArrowInvalid:  # perhaps a stream
            file.seek(0)
            return self._pa.ipc.open_stream(file)

    def _is_number(self, k: int) -> bool:
        t, kind = self._pa.types, self._types[k]
        return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind))

    def _is_text(self, k: int) -> bool:
        t, kind = self._pa.types, self._types[k]
        kind = kind.value_type if t.is_dictionary(kind) else kind
        return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))

    def find_encoding(self, layout: Layout) -> dict[str, list[str]]:
        """Strings are known by the schema; their categories are collected."""
        texts = [k for k in layout.features_at if self._is_text(k)]
        return find_categories(self.parts(layout, texts), self.shown) if texts else {}

    def parts(self, layout: Layout, texts: list[int]) -> Iterator[Part]:
        """Yield one batch after the other."""
        numeric = [k for k in layout.features_at if k not in texts]
        strange = [k for k in numeric if not self._is_number(k)]
        if strange:
            raise InputError(
                f"{self.shown}: feature {layout.names[strange[0]]} must be of numbers; it was when the "
                "features were encoded. Got strings instead. Convert the column."
            )
        singles = self._pa.float32(), self._pa.float16()
        single = bool(numeric) and all(self._types[k] in singles for k in numeric)
        dtype = np.float32 if single else np.float64
        n = 0
        with _errors_as_input_errors(self._pa, self.shown), self.path.open("rb") as file:
            for batch in self._batches(file, layout):
                values = [self._numbers(layout, k, batch, n) for k in numeric]
                numbers = np.empty((batch.num_rows, len(numeric)), dtype=dtype)
                for j, column in enumerate(values):
                    numbers[:, j] = column
                found = {layout.names[k]: self._texts(layout, k, batch, n) for k in texts}
                self._add_labels(layout, batch, n)
                if batch.num_rows:
                    yield Part(numbers, found, lambda row, before=n: at_row(self.shown, before + row))  # type: ignore[misc]
                n += batch.num_rows

    def _batches(self, file: Any, layout: Layout) -> Iterator[Any]:
        reader = self._open(file)
        length = max(1, BATCH_ENTRIES // len(layout.names))
        if self.options.kind == "parquet":
            groups = None if self.groups is None else list(self.groups)
            for batch in reader.iter_batches(batch_size=length, row_groups=groups):
                batch.validate(full=True)
                yield batch
            return
        if hasattr(reader, "num_record_batches"):
            reader = map(reader.get_batch, range(reader.num_record_batches))
        for batch in reader:
            batch.validate(full=True)  # pyarrow goes where offsets and codes point, and does not look
            for start in range(0, batch.num_rows, length):
                yield batch.slice(start, length)

    def _refuse_gaps(self, column: Any, what: str, before: int) -> None:
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(
                f"{at_row(self.shown, before + row)}: {what} must not be missing. Got null instead.",
                *FILL_COLUMN,
            )

    def _numbers(self, layout: Layout, k: int, batch: Any, before: int) -> np.ndarray:
        column, what = batch.column(k), f"feature {layout.names[k]}"
        self._refuse_gaps(column, what, before)

        def place(i: int, _: int) -> str:
            return f"{at_row(self.shown, before + i)}: {what}"

        found = np.asarray(column.to_numpy(zero_copy_only=False))
        return as_features(found[:, None], place, CORRECT)[:, 0]

    def _texts(self, layout: Layout, k: int, batch: Any, before: int) -> tuple[np.ndarray, list[str]]:
        column = batch.column(k)
        self._refuse_gaps(column, f"column {layout.names[k]}", before)
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        codes = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        words = column.dictionary.to_pylist()
        used, codes = np.unique(codes, return_inverse=True)  # a slice brings the words of the whole
        return codes, [str(words[i]) for i in used.tolist()]

    def _add_labels(self, layout: Layout, batch: Any, before: int) -> None:
        k = layout.label_at
        if k is None or not batch.num_rows:
            return
        if self._is_text(k):
            codes, words = self._texts(layout, k, batch, before)
            longest = CHARACTER_BYTES * max(map(len, words), default=0)
            check_room_for_labels(self.shown, len(codes), longest, batch.num_rows * batch.num_columns)
            self.labels.add_values(np.array(words)[codes])
            return
        if not self._is_number(k):
            raise InputError(
                f"{self.shown}: the label must be of strings or numbers. Got {self._types[k]} instead.",
                Remedy("name another column", "label", ...),
            )
        column = batch.column(k)
        self._refuse_gaps(column, "the label", before)
        self.labels.add_values(column.to_numpy(zero_copy_only=False))
