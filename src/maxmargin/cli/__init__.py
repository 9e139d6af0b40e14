"""The command line: a file a command.

``inputs`` and ``output``, which commands share, bring the library with them. They are loaded
when a command first uses them (``cli.inputs``), so that help and completion come at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.cli import inputs, output

__all__ = ["inputs", "output"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
