"""Run the benchmarks and print a table of ratios: ``make bench``."""

from __future__ import annotations

import os
import platform
import sys

import numpy
import sklearn
from rich.console import Console
from rich.table import Table

from benchmarks import files, large, margin, perceptron, separability, stream

PARTS = {
    "perceptron": perceptron.rows,
    "margin": margin.rows,
    "large": large.rows,
    "separability": separability.rows,
    "files": files.rows,
    "stream": stream.rows,
}


def main() -> int:
    """Print one line per target; the exit code says whether all were met.

    Arguments choose parts, ``python -m benchmarks margin``; the real data sets are looked for in the
    folder named by MAXMARGIN_DATA.
    """
    console = Console(width=130)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    )
    table = Table("work", "ours", "peer", "theirs", "ratio", "target", "met")
    met = True
    chosen = sys.argv[1:] or list(PARTS)
    for row in (row for part in chosen for row in PARTS[part]()):
        met = met and row.met
        timed = row.theirs > 0
        cells = (
            [f"{row.ours * 1e3:.2f} ms", row.peer, f"{row.theirs * 1e3:.2f} ms"] if timed else [""] * 3
        )
        ratio = f"{row.ratio:.2f}×" if timed else f"{row.ratio:.4g}"
        table.add_row(row.work, *cells, ratio, row.target, "yes" if row.met else "no")
        console.print(f"  {row.work}: {ratio} ({row.target})")
    console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
