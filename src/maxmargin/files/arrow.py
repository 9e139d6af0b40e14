"""Parquet, Arrow and Feather files, batch by batch, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.size_limits import CHARACTER_BYTES, check_room_for_labels
from maxmargin.files.reader import ReadOptions, at_row
from maxmargin.files.tables import Layout, Part, TableReader, choose, find_categories
from maxmargin.files.text import FILL_COLUMN
from maxmargin.rows.dense import rounded

BATCH_ENTRIES = 1 << 20  # numbers of a batch, about


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


def row_groups(path: Path) -> tuple[list[int], int]:
    """The number of rows in each row group of a Parquet file, and of its columns."""
    pa = _pyarrow(path)
    with _Guard(pa, path), path.open("rb") as file:
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

    def open_layout(self) -> Layout:
        """Read the schema."""
        pa = _pyarrow(self.shown)
        with self._guard(pa), self.path.open("rb") as file:
            schema = self._open(pa, file).schema
            schema = getattr(schema, "to_arrow_schema", lambda: schema)()
            names = list(schema.names)
        layout = choose(self.shown, names, True, self.options)
        self._types = [field.type for field in schema]
        for k in layout.features_at:
            if not self._is_number(pa, k) and not self._is_text(pa, k):
                raise InputError(
                    f"{self.shown}: feature {layout.names[k]} must be of numbers or strings. Got "
                    f"{self._types[k]} instead.",
                    Remedy("convert it"),
                    Remedy("leave it out", "drop", [...]),
                )
            if self._is_text(pa, k) and not self.options.one_hot:
                raise InputError(
                    f"{self.shown}: feature {layout.names[k]} must be of numbers. Got strings instead.",
                    Remedy("encode it", "one_hot", True),
                    Remedy("leave it out", "drop", [...]),
                )
        return layout

    def _open(self, pa: Any, file: Any) -> Any:
        if self.options.kind == "parquet":
            return pa.parquet.ParquetFile(file)
        try:
            return pa.ipc.open_file(file)
        except pa.ArrowInvalid:  # perhaps a stream
            file.seek(0)
            return pa.ipc.open_stream(file)

    def _guard(self, pa: Any) -> _Guard:
        return _Guard(pa, self.shown)

    def _is_number(self, pa: Any, k: int) -> bool:
        t, kind = pa.types, self._types[k]
        return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind))

    def _is_text(self, pa: Any, k: int) -> bool:
        t, kind = pa.types, self._types[k]
        kind = kind.value_type if t.is_dictionary(kind) else kind
        return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))

    def find_encoding(self, layout: Layout) -> dict[str, list[str]]:
        """Strings are known by the schema; their categories are collected."""
        pa = _pyarrow(self.shown)
        texts = [k for k in layout.features_at if self._is_text(pa, k)]
        return find_categories(self.parts(layout, texts), self.shown) if texts else {}

    def parts(self, layout: Layout, texts: list[int]) -> Iterator[Part]:
        """Yield one batch after the other."""
        pa = _pyarrow(self.shown)
        numeric = [k for k in layout.features_at if k not in texts]
        strange = [k for k in numeric if not self._is_number(pa, k)]
        if strange:
            raise InputError(
                f"{self.shown}: feature {layout.names[strange[0]]} must be of numbers; it was when the "
                "features were encoded. Got strings instead. Convert the column."
            )
        single = bool(numeric) and all(self._types[k] in (pa.float32(), pa.float16()) for k in numeric)
        dtype = np.float32 if single else np.float64
        n = 0
        with self._guard(pa), self.path.open("rb") as file:
            for batch in self._batches(pa, file, layout):
                values = [self._numbers(layout, k, batch, n) for k in numeric]
                numbers = np.empty((batch.num_rows, len(numeric)), dtype=dtype)
                for j, column in enumerate(values):
                    numbers[:, j] = column
                found = {layout.names[k]: self._texts(layout, k, batch, n) for k in texts}
                self._add_labels(pa, layout, batch, n)
                if batch.num_rows:
                    yield Part(numbers, found, lambda row, before=n: at_row(self.shown, before + row))  # type: ignore[misc]
                n += batch.num_rows

    def _batches(self, pa: Any, file: Any, layout: Layout) -> Iterator[Any]:
        reader = self._open(pa, file)
        length = max(1, BATCH_ENTRIES // len(layout.names))
        if self.options.kind == "parquet":
            groups = None if self.groups is None else list(self.groups)
            for batch in reader.iter_batches(batch_size=length, row_groups=groups):
                batch.validate(full=True)
                yield batch
            return
        whole = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if hasattr(reader, "num_record_batches")
            else reader
        )
        for batch in whole:
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
        found = np.asarray(column.to_numpy(zero_copy_only=False))
        values = found.astype(np.float64)
        wrong = ~np.isfinite(values)
        off = rounded(found)
        if off is not None:
            wrong |= off
        if np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{at_row(self.shown, before + row)}: {what} must be a finite number that a double "
                f"holds. Got {found[row]} instead.",
                Remedy("correct the file"),
                Remedy("leave the column out", "drop", [...]),
            )
        return values

    def _texts(self, layout: Layout, k: int, batch: Any, before: int) -> tuple[np.ndarray, list[str]]:
        column = batch.column(k)
        self._refuse_gaps(column, f"column {layout.names[k]}", before)
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        codes = np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        words = column.dictionary.to_pylist()
        used, codes = np.unique(codes, return_inverse=True)  # a slice brings the words of the whole
        return codes, [str(words[i]) for i in used.tolist()]

    def _add_labels(self, pa: Any, layout: Layout, batch: Any, before: int) -> None:
        k = layout.label_at
        if k is None or not batch.num_rows:
            return
        if self._is_text(pa, k):
            codes, words = self._texts(layout, k, batch, before)
            longest = CHARACTER_BYTES * max(map(len, words), default=0)
            check_room_for_labels(self.shown, len(codes), longest, batch.num_rows * batch.num_columns)
            self.labels.add_values(np.array(words)[codes])
            return
        if not self._is_number(pa, k):
            raise InputError(
                f"{self.shown}: the label must be of strings or numbers. Got {self._types[k]} instead.",
                Remedy("name another column", "label", ...),
            )
        column = batch.column(k)
        self._refuse_gaps(column, "the label", before)
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(
                f"{at_row(self.shown, before + row)}: the label must not be {values[row]}. "
                "Leave the row out."
            )
        self.labels.add_values(values)


class _Guard:
    """Errors of pyarrow in our words."""

    def __init__(self, pa: Any, shown: object) -> None:
        self.pa, self.shown = pa, shown

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        mine = isinstance(error, (self.pa.ArrowException, UnicodeDecodeError, MemoryError))
        if mine or (isinstance(error, OSError) and error.errno is None):  # pyarrow knows no numbers
            why = " ".join(str(error).split())[:200] or "it asks for more memory than there is"
            raise InputError(
                f"{self.shown}: must be a whole file of this kind. Got one that cannot be read: {why}. "
                "Write it again."
            ) from error
