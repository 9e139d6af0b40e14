"""Words of the command line: what Python calls by one name has another one here."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.core.phrases import count

__all__ = ["SOME", "as_seconds", "finite", "key", "share", "spoken"]

SPOKEN = {
    "For C → ∞ use HardMarginSVC": "For C → ∞ use --model hard-margin",
    "Use SoftMarginSVC(C=…), which allows for slack": "Use --model soft-margin, which allows for slack",
    "Allow more updates, or use PocketPerceptron or": "Allow more updates (--max-updates), or use",
    "PocketPerceptron or a soft margin": "--model pocket or --model soft-margin",
    "PocketPerceptron keeps": "--model pocket keeps",
    "Allow more epochs (max_iter)": "Allow more epochs (--max-iter)",
    "Allow more time, or": "Allow more time (--max-seconds), or",
    "machines_[label] tells the whole story": "--json tells the whole story",
    "Pass C to audit a soft margin": "Audit a soft margin with --C",
    "Use maxmargin.open_rows, which keeps them in a file": "Keep them in a file, with --cache-dir",
    "Fit with multi_class='ovr'": "Fit with --multi-class ovr",
    "Use maxmargin.saving.to_onnx for": "Use maxmargin fit --onnx for",
    "Use maxmargin.saving.to_liblinear for": "Use maxmargin fit --liblinear for",
    "y must hold at least two classes": "the labels must be of at least two classes",
}
READING = "label|columns|drop|header|one_hot|first_index|cache_dir"  # options that commands may have
UNSAID = "encoding|labels|dtype|features|kind"  # and those that none has
ADVICE = re.compile(rf"(, or |, | and |)([^.,;()]*) \(({READING}|{UNSAID})=[^)]*\)")
GIVEN = re.compile(rf"\b({READING})=…")
SOME = 8  # labels or columns that are written out
DURATION = re.compile(r"(\d+|\d*\.\d+)\s*(ms|s|m|h|)")
UNITS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def spoken(text: str, options: Collection[str] = ()) -> str:
    """Turn the advice of an error or a stopping rule into options: those that the command has."""
    for python, here in SPOKEN.items():
        text = text.replace(python, here)

    def advice(found: re.Match[str]) -> str:
        option = f"--{found[3].replace('_', '-')}"
        if option == "--drop" and option not in options:  # a model needs all its features
            begins, first = ("", "f") if found[1] else (" " if found[2][:1] == " " else "", "F")
            return f"{found[1]}{begins}{first}it the model without the column (maxmargin fit --drop)"
        if option not in options or found[3] in UNSAID.split("|"):
            return ""
        shown = "--header or --no-header" if option == "--header" else option
        return f"{found[1]}{found[2]} ({shown})"

    said = ADVICE.sub(advice, text)
    if said != text:  # what is left of a sentence begins it
        said = re.sub(r"\. ?\.(?!\.)", ".", said)
        said = re.sub(r"(?<=\.) ?, (?:or )?(\w)", lambda found: f" {found[1].upper()}", said)
    return GIVEN.sub(lambda found: f"--{found[1].replace('_', '-')}", said)


def as_seconds(text: str) -> float:
    """Read a duration: 10s, 500ms, 2m, 1h; a number alone is seconds."""
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise InputError(f"--every must be a time such as 10s, 500ms, 2m or 1h. Got {text!r} instead.")
    return float(found[1]) * UNITS[found[2]]


def share(errors: int, n: int) -> str:
    """An error in percent, and what it is a share of."""
    percent = f"{100 * errors / n:.2f} %" if n else "nothing to judge"
    return f"{percent} ({errors:,} of {count(n, 'row', ',')})"


def key(label: Any) -> str:
    """A label, or a pair of them, as a key of JSON."""
    return " | ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def finite(value: Any) -> Any:
    """The same value for JSON, which has no infinity and no nan: null stands for them."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
