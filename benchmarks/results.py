"""The results file: one entry for each part, stamped with when and how it was measured.

A run replaces the parts that it measured and leaves the others as they are.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).with_name("results.json")
PACKAGES = ("maxmargin", "numpy", "scipy", "scikit-learn", "numba")


def stamp(quick: bool) -> dict[str, Any]:
    """When, how and where; taken at the start of a part."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "mode": "quick" if quick else "full",
        "load": None if load is None else round(load, 2),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "memory": round(pages / 2**30),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS"),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
    }


def load(path: Path = PATH) -> dict[str, Any]:
    """All parts; none if there is no file yet."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def measured(
    part: str, quick: bool, work: Callable[[], dict[str, Any]], path: Path = PATH
) -> dict[str, Any]:
    """Do the work of one part, and replace its entry by what it returns."""
    made, began = stamp(quick), time.perf_counter()
    content = work()
    made["seconds"] = round(time.perf_counter() - began)
    parts = load(path) | {part: {"stamp": made, **rounded(content)}}
    text = json.dumps(parts, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return content


def rounded(value: Any) -> Any:
    """The same with numbers of four digits: more would only be noise in the file."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return float(f"{value:.4g}") if isinstance(value, float) else value
