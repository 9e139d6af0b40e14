"""Run the benchmarks, keep the results, and write their page: ``make bench``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy
import sklearn
from rich.console import Console
from rich.table import Table

from benchmarks import (
    cluster,
    errors,
    files,
    large,
    margin,
    page,
    perceptron,
    results,
    separability,
    small,
    stream,
)
from benchmarks.peers import contests, curves

PARTS = {
    "perceptron": perceptron.rows,
    "margin": margin.rows,
    "small": small.rows,
    "large": large.rows,
    "separability": separability.rows,
    "files": files.rows,
    "stream": stream.rows,
    "cluster": cluster.rows,
}
COMPARISONS = {  # these have a quick mode
    "peers": contests.run,
    "curves": curves.run,
    "errors": errors.run,
}


def against_targets(part: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure a part whose lines have targets, and tell of each as it comes."""
    rows = []
    for row in PARTS[part]():
        say(f"  {row.work}: {_ratio(asdict(row))} ({row.target})")
        rows.append(asdict(row))
    return {"rows": rows}


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.2f}×" if row["theirs"] > 0 else f"{row['ratio']:.4g}"


def main() -> int:
    """Print one line per target; the exit code says whether all were met.

    Arguments choose parts, ``python -m benchmarks margin``; ``--quick`` asks for the quick mode of the
    comparisons, and for nothing else unless it is named. The real data sets are looked for
    in the folder named by MAXMARGIN_DATA. What was measured replaces its part of the results file.
    """
    console = Console(width=130)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    )
    table = Table("work", "ours", "peer", "theirs", "ratio", "target", "met")
    met, quick = True, "--quick" in sys.argv[1:]
    named = [name for name in sys.argv[1:] if name != "--quick"]
    for part in named or ([] if quick else list(PARTS)) + list(COMPARISONS):
        if part in COMPARISONS:
            results.measured(part, quick, partial(COMPARISONS[part], quick, console.print))
            continue
        content = results.measured(part, False, partial(against_targets, part, console.print))
        for row in content["rows"]:
            met = met and row["met"]
            timed = row["theirs"] > 0
            times = [f"{row['ours'] * 1e3:.2f} ms", row["peer"], f"{row['theirs'] * 1e3:.2f} ms"]
            cells = [row["work"], *(times if timed else [""] * 3), _ratio(row)]
            table.add_row(*cells, row["target"], "yes" if row["met"] else "no")
    page.main()
    if table.rows:
        console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
