"""What tables have in common, whatever file they are in: a layout, numbers, texts, labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.files.labels import Labels
from maxmargin.files.layout import Layout, check_names
from maxmargin.files.onehot import Encoder, Part
from maxmargin.files.reader import Reader

__all__ = ["TableReader"]


class TableReader(Reader):
    """Read a table part by part and put its columns together."""

    head = ""  # the place of the names, where it is known

    @abstractmethod
    def open_layout(self) -> Layout:
        """Read what comes before the first row."""

    @abstractmethod
    def find_encoding(self, layout: Layout) -> dict[str, list[str]]:
        """Find the features that are text, and their categories, in a pass of its own."""

    @abstractmethod
    def parts(self, layout: Layout, texts: list[int]) -> Iterator[Part]:
        """Yield the rows, with the features at ``texts`` as texts; labels are kept on the side."""

    def blocks(self) -> Iterator[Any]:
        """Yield matrices; a table with many categories is sparse."""
        layout = self.open_layout()
        check_names(self.head or self.shown, layout)
        encoding, texts = self._encoding(layout)
        encoder = Encoder(layout.features, encoding)
        for part in self.parts(layout, texts):
            yield encoder.encode(part)
        self.names = encoder.names if layout.named or encoding else None
        self.about |= {"encoding": encoding, **layout.source()}

    def _encoding(self, layout: Layout) -> tuple[dict[str, list[str]], list[int]]:
        if not self.options.one_hot:
            return {}, []
        given = self.options.encoding
        if given is not None:
            unknown = [name for name in given if name not in layout.features]
            if unknown:
                raise InputError(
                    f"{self.shown}: must have the column {unknown[0]!r}, which is encoded. Got none of "
                    "this name among the features. Name the columns (columns=[…])."
                )
            return given, self._places(layout, given)
        encoding = self.find_encoding(layout)
        self.labels = Labels(self.shown)  # that pass has seen them as well
        return encoding, self._places(layout, encoding)

    @staticmethod
    def _places(layout: Layout, encoding: dict[str, list[str]]) -> list[int]:
        return [k for k in layout.features_at if layout.names[k] in encoding]
