"""What several stopping rules say."""

from __future__ import annotations

from maxmargin.core.rules import Progress

__all__ = ["count", "otherwise"]


def otherwise(p: Progress) -> str:
    """What to use if the classes overlap."""
    return "use a soft margin" if p.pocket else "use PocketPerceptron or a soft margin"


def count(n: int, thing: str) -> str:
    """1 epoch, 2 epochs."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
