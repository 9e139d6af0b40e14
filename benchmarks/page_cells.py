"""The cells of the benchmarks page: numbers as a reader wants them."""

from __future__ import annotations

from typing import Any

DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTHING = 1e-12  # relative errors below are rounding


def seconds_text(cell: dict[str, Any]) -> str:
    """A time with two or three digits, or why there is none."""
    seconds = cell["seconds"]
    if seconds is None:
        return str(cell["trouble"])
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def ratio_of(mine: dict[str, Any], theirs: dict[str, Any]) -> float | None:
    """Its time divided by ours: above 1 ours is faster."""
    if mine["seconds"] is None or theirs["seconds"] is None:
        return None
    return float(theirs["seconds"] / mine["seconds"])


def loses(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether the peer is quicker, however far from the optimum it stops; or ours has no time at all."""
    ratio = ratio_of(mine, theirs)
    return theirs["seconds"] is not None and (ratio is None or ratio < 1.0)


def ratio_text(ratio: float | None) -> str:
    """Two digits, or all in front of the point."""
    if ratio is None:
        return ""
    return f"{ratio:.2g} ×" if ratio < 9.95 else f"{ratio:,.0f} ×"


def power_text(value: float) -> str:
    """One digit and a power of ten."""
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}·10{str(int(exponent)).translate(DIGITS)}"


def error_text(kind: str, cell: dict[str, Any]) -> str:
    """How far from the optimum, or the answer to the question of separability."""
    if kind == "separability":
        answer = cell["verdict"] or "–"
        wrong = cell["wrong"]
        return f"{answer}, but {wrong:,} rows wrong" if wrong else answer
    error = cell["error"]
    if error is None:
        return "–"
    if kind == "perceptron":
        return f"{error:,}"
    if kind == "hard" and cell["wrong"]:
        return f"{cell['wrong']:,} rows wrong"
    return "0" if error < NOTHING else power_text(error)


def memory_text(size: int | None) -> str:
    """In megabytes."""
    if size is None:
        return ""
    mega = size / 1e6
    return "< 1 MB" if mega < 1 else f"{mega:,.0f} MB"


def size_text(problem: dict[str, Any]) -> str:
    """Rows × features, and how many numbers are not zero where zeros are not stored."""
    text = f"{problem['rows']:,} × {problem['features']:,}"
    return text if problem["nonzeros"] is None else f"{text}, sparse"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown; a bar in a cell must not end it."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
