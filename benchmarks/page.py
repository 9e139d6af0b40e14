"""Write docs/benchmarks.md and the README's table from the results: ``python -m benchmarks.page``.

The page says nothing that is not in the file, so a run of one part changes the tables of that part.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks import page_readme, results
from benchmarks.page_cells import seconds_text, table
from benchmarks.page_peers import contestants, details, losses, ratios
from benchmarks.peers import plots as peers_plots

PATH = Path(__file__).parents[1] / "docs" / "benchmarks.md"
OPENING = """# Benchmarks

This page is written by `make bench` from `benchmarks/results.json`. `make bench QUICK=1` takes less than
three minutes. Real data sets are looked for in the folder `MAXMARGIN_DATA`; those that are not there are
left out.

- **Time**: all contestants take turns, each in a process of its own; the best of several turns counts.
  Imports, compilation and the conversion of the data to a library's own format are not timed.
- **Ratio**: its time divided by ours. Above 1 ours is faster. **Bold with †** is lost; the reasons are
  below.
- **Error**: measured by us on the data, for the textbook problem with b free. For the soft margin it is
  (value − optimum) / optimum, where the optimum is the dual value of a certificate; for the hard margin
  1 − margin / largest margin; for the perceptron the number of training rows that are not on their side.
  Errors below 10⁻¹² are rounding, and shown as 0 (in the pictures as 10⁻¹²).
- **Memory**: the most private memory of the process in its first turn, beyond X and what it had before.
- **>** before a time means that the limit ended the turn.
"""


def stamp_text(stamp: dict[str, Any]) -> str:
    """When, how and where a part was measured."""
    versions = ", ".join(f"{name} {version}" for name, version in stamp["versions"].items())
    threads = f" (threads of matrix products: {stamp['threads']})" if stamp.get("threads") else ""
    took = f", {stamp['seconds']:.0f} s in all"
    busy = "" if stamp["load"] is None else f"; load average at the start {stamp['load']:.2f}"
    return (
        f"*{stamp['mode'].capitalize()} run of {stamp['date']}{took}: "
        f"{stamp['system']} {stamp['machine']}, {stamp['cores']} cores{threads}, {stamp['memory']} GiB, "
        f"Python {stamp['python']}, {versions}{busy}.*"
    )


def curves(part: dict[str, Any]) -> list[str]:
    """The pictures."""
    return [
        "## Time against rows, error against time",
        "",
        stamp_text(part["stamp"]),
        "",
        "![Seconds against the number of rows, soft and hard margin](benchmarks/time-against-n.svg)",
        "",
        f"Each by its own rule. A line ends where more rows would take longer than {part['limit']:g} s, "
        "or where the time of the quick mode was over.",
        "",
        "![Distance from the optimum against seconds](benchmarks/error-against-time.svg)",
        "",
        "Each at several tolerances (SGD: numbers of epochs). A line that turns level has reached the "
        "optimum of its own problem, in which b is penalised, or a limit of its iterations.",
        "",
    ]


def fewest_errors(part: dict[str, Any]) -> list[str]:
    """Bounds on the fewest errors of any plane, beside what is published."""
    rows = []
    for found in part["sets"]:
        low, high = (f"{found[name]:g}" for name in ("lower", "upper"))
        proof = "sweep" if found["swept"] else f"{found['witnesses']:,} / {found['branches']:,}"
        rows.append(
            [
                found["name"],
                f"{found['n']:,} × {found['d']}",
                f"**{high}**" if low == high else f"{low} to {high}",
                seconds_text(found),
                proof,
                "yes" if found["verified"] else "**no**",
                *(found["known"] or [""] * 3),
            ]
        )
    head = ["data", "n × d", "fewest errors", "seconds", "witnesses / branches", "proof holds"]
    head += ["known", "CPLEX, published", "with cuts, published"]
    return [
        "## The fewest errors of any plane",
        "",
        stamp_text(part["stamp"]),
        "",
        f"`min_errors` with at most {part['limit']:g} s for each set: proven in bold, otherwise what "
        + "was proven until then. *Sweep*: the proof has the checker go through all planes again. "
        + "*Known* is the value found in floating point, or the best bounds so far. Published times and "
        + "bounds are those of Santana, Serrano, Schiffer and Vidal (2025) on their computer: means of "
        + "five sets of a kind, with at most 600 s each. Their problem has a margin beside the errors.",
        "",
        *table(head, rows),
        "",
    ]


def targets(parts: dict[str, Any]) -> list[str]:
    """The parts that measure against targets of our own."""
    lines = []
    for name, part in sorted(parts.items()):
        if "rows" in part:
            rows = [
                [
                    row["work"],
                    *([seconds_text({"seconds": row["ours"]})] if row["theirs"] else [""]),
                    row["peer"] if row["theirs"] else "",
                    seconds_text({"seconds": row["theirs"]}) if row["theirs"] else "",
                    f"{row['ratio']:.3g}",
                    row["target"],
                    "yes" if row["met"] else "**no**",
                ]
                for row in part["rows"]
            ]
            head = ["work", "ours", "peer", "theirs", "measured", "target", "met"]
            lines += [f"### `{name}`", "", stamp_text(part["stamp"]), "", *table(head, rows), ""]
    opening = "What `python -m benchmarks` and the name of a part measure against targets of our own."
    return ["## Targets", "", opening, "", *lines] if lines else []


def page(parts: dict[str, Any]) -> str:
    """The whole page."""
    lines = [OPENING]
    if "peers" in parts:
        part = parts["peers"]
        budget = part["budget"]
        turns = f"At most {budget['rounds']} turns each, and {budget['limit']:g} s for one."
        lines += [stamp_text(part["stamp"]), "", turns, "", *ratios(part), *losses(part)]
    if "curves" in parts:
        lines += curves(parts["curves"])
    if "errors" in parts:
        lines += fewest_errors(parts["errors"])
    if "peers" in parts:
        lines += [*details(parts["peers"]), *contestants(parts["peers"])]
    lines += targets(parts)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write the page and the README's table, and draw the pictures."""
    parts = results.load()
    PATH.write_text(page(parts), encoding="utf-8")
    readme = page_readme.PATH.read_text(encoding="utf-8")
    page_readme.PATH.write_text(page_readme.filled(readme, parts), encoding="utf-8")
    peers_plots.draw(parts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
