"""Labels in a stream: each is what it says, since nobody knows yet what the others will be."""

from __future__ import annotations

import math
from typing import Any

from maxmargin.checker import canonical
from maxmargin.files.numbers import read_float

__all__ = ["label_of_text", "text_of_label"]


def label_of_text(text: str) -> Any:
    """A whole number, a number, or the text itself."""
    text = canonical(text)
    value = read_float(text)
    if value is None or not abs(value) < 2**53:
        return text
    return int(value) if value.is_integer() else value


def text_of_label(label: Any) -> str:
    """The text that stands for a label on the command line."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and math.isfinite(label) and not label.is_integer():
        return repr(label)
    return canonical(str(label))
