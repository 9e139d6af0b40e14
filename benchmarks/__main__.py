"""Run the benchmarks and print a table of ratios: ``make bench``."""

from __future__ import annotations

import os
import platform
import sys

import numpy
import sklearn
from rich.console import Console
from rich.table import Table

from benchmarks import perceptron


def main() -> int:
    """Print one line per target; the exit code says whether all were met."""
    console = Console(width=130)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    )
    table = Table("work", "ours", "peer", "theirs", "ratio", "target", "met")
    met = True
    for row in perceptron.rows():
        met = met and row.met
        cells = (f"{row.ours * 1e3:.2f} ms", row.peer, f"{row.theirs * 1e3:.2f} ms", f"{row.ratio:.2f}×")
        table.add_row(row.work, *cells, row.target, "yes" if row.met else "no")
        console.print(f"  {row.work}: {row.ratio:.2f}× ({row.target})")
    console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
