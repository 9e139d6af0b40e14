"""The README's speed table: some lines of the results, each found by its words.

A line whose measurement is not in the results file (a data set that was not there) is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["PATH", "filled", "speed"]

PATH = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- made by make bench -->\n", "<!-- made by make bench: end -->\n"

SLACK = "C=0.1", "C=1", "C=10"
NEWS, SKLEARN = "20 Newsgroups, y < 10", "scikit-learn"


class Line(NamedTuple):
    """What the reader sees, and where the numbers are: a part of the results, works and peers."""

    work: str
    against: str
    part: str
    cells: tuple[tuple[str, str], ...]  # beginnings of work and peer; for ``peers`` data and contestant
    rival: bool = True  # or a yardstick: then the time is told in its units


def _each(works: tuple[str, ...], peer: str) -> tuple[tuple[str, str], ...]:
    return tuple((work, peer) for work in works)


def _slack(name: str, gap: str) -> tuple[tuple[str, str], ...]:
    return _each(tuple(f"{name}, {C}, gap {gap}" for C in SLACK), "LIBLINEAR")


MNIST = tuple(f"soft margin, MNIST 3/8, {C}" for C in SLACK)
LINES = (
    Line(
        "separable 200,000 × 50, margin 0.02, with proof",
        "HiGHS (`scipy.optimize.linprog`), which proves nothing",
        "separability",
        (("separable 200,000×50", "HiGHS"),),
    ),
    Line(
        "separable 1,000,000 × 50, margin 0.05, with proof",
        "one `X @ w` on both cores",
        "separability",
        (("separable 1,000,000×50", "X @ w"),),
        rival=False,
    ),
    Line(
        "hard margin, 1,000,000 × 50, exact, 5 passes",
        "the same",
        "margin",
        (("hard margin, 1,000,000×50", "one X @ w"),),
        rival=False,
    ),
    Line(
        "hard margin, 200,000 × 50",
        "PIQP on all rows / Clarabel / LIBSVM (`C=1e5`)",
        "margin",
        tuple(("hard margin, 200,000×50", peer) for peer in ("PIQP", "Clarabel", "LIBSVM")),
    ),
    Line(
        "soft margin, 20,000 × 50, gap 1e-9",
        "LIBSVM, default tolerance",
        "margin",
        (("soft margin, 20,000×50, gap 1e-9", "LIBSVM"),),
    ),
    Line(
        "soft margin, 200,000 × 50, gap 1e-9",
        '`LinearSVC(loss="hinge")`, which does not converge',
        "margin",
        (("soft margin, 200,000×50, gap 1e-9", "LinearSVC"),),
    ),
    Line(
        "soft margin, covtype (581,012 × 54), C = 0.01 and 1, gap 1e-6",
        "the same (for C = 1 after a tenth of its epochs)",
        "margin",
        _each(
            tuple(f"soft margin, covtype 2 against the rest, {C}, gap" for C in ("C=0.01", "C=1")),
            "LinearSVC",
        ),
    ),
    Line(
        "soft margin, MNIST 3/8 (11,982 × 784), C = 0.1, 1 and 10, gap 1e-6",
        "the same, which ends at 5e-4 / 2e-3 / 0.2",
        "margin",
        _each(tuple(f"{work}, gap" for work in MNIST), "LinearSVC"),
    ),
    Line(
        "the same, to the error at which it ends",
        "the same",
        "margin",
        _each(tuple(f"{work}, its error" for work in MNIST), "LinearSVC"),
    ),
    Line(
        "soft margin, 20 Newsgroups (11,314 × 130,107, sparse), C = 0.1, 1 and 10, gap 1e-3",
        "LIBLINEAR `-s 3 -B 1` to the same gap of its own problem",
        "large",
        _slack(NEWS, "1e-03"),
    ),
    Line("the same, gap 1e-6", "the same", "large", _slack(NEWS, "1e-06")),
    Line(
        "soft margin, w8a (49,749 × 300, sparse), the same C, gap 1e-3",
        "the same",
        "large",
        _slack("w8a", "1e-03"),
    ),
    Line("the same, gap 1e-6", "the same, which ends above it", "large", _slack("w8a", "1e-06")),
    Line(
        "soft margin, a9a (32,561 × 123, sparse), the same C, gap 1e-3",
        "the same",
        "large",
        _slack("a9a", "1e-03"),
    ),
    Line(
        "the same, gap 1e-6",
        "the same, which ends above it for C = 10",
        "large",
        _slack("a9a", "1e-06"),
    ),
    Line(
        "hard margin, soft margin, 1,000,000 × 50 in a file (page cache)",
        "the same in memory",
        "files",
        (
            ("hard margin, 1,000,000×50 in a file", "in memory"),
            ("soft margin, the same file", "in memory"),
        ),
        rival=False,
    ),
    Line(
        "reading svmlight text, 84 MiB",
        "`sklearn.datasets.load_svmlight_file`",
        "files",
        (("svmlight text of 84 MiB", SKLEARN),),
    ),
    Line(
        "a stream of svmlight lines, 75 of 75 and of 50,000 features",
        "River on the same lines",
        "stream",
        _each(
            tuple(f"stream, 20,000 svmlight rows, 75 of {d} features" for d in ("75", "50,000")),
            "River, same",
        ),
    ),
    Line(
        "perceptron, dense 500,000 × 100, 2 % mistakes, a cyclic epoch",
        "one `X @ w`",
        "perceptron",
        (("dense 500,000×100, a cyclic epoch", "one X @ w"),),
        rival=False,
    ),
    Line(
        "the same",
        "`sklearn.linear_model.Perceptron`",
        "perceptron",
        (("dense 500,000×100, a cyclic epoch", SKLEARN),),
    ),
    Line(
        "CSR 400,000 × 50,000, 75 a row, an epoch, cyclic and shuffled",
        "the same",
        "perceptron",
        (("CSR 400,000×50,000", SKLEARN), ("the same, shuffled", SKLEARN)),
    ),
    Line(
        "one-vs-rest, 60,000 × 784, 10 classes, an epoch",
        "the same",
        "perceptron",
        (("one-vs-rest 60,000×784", SKLEARN),),
    ),
    Line(
        "soft margin, 2,000,000 × 50 in 20 partitions on two Dask workers, gap 1e-6",
        "Spark MLlib to the same value",
        "cluster",
        (("soft margin, 2,000,000×50, 20 partitions, two workers: its error", "Spark"),),
    ),
    Line(
        "soft margin, breast cancer (569 × 30), to rounding",
        "LIBLINEAR, LIBSVM, `LinearSVC` at their own tolerances",
        "peers",
        (("breast cancer", "LIBLINEAR"), ("breast cancer", "LIBSVM"), ("breast cancer", "LinearSVC")),
    ),
)


def times_of(parts: dict[str, Any], line: Line) -> list[tuple[float, float]] | None:
    """Our time and theirs for each cell of a line; None if one was not measured."""
    found = []
    for work, peer in line.cells:
        times = _times(parts.get(line.part, {}), work, peer)
        if times is None:
            return None
        found.append(times)
    return found


def _times(part: dict[str, Any], work: str, peer: str) -> tuple[float, float] | None:
    for row in part.get("rows", ()):
        if row["work"].startswith(work) and row["peer"].startswith(peer) and row["theirs"] > 0:
            return row["ours"], row["theirs"]
    for problem in part.get("problems", ()):
        if problem["kind"] == "soft" and problem["data"] == work:
            seconds = {cell["who"]: cell["seconds"] for cell in problem["cells"]}
            if seconds.get("maxmargin") and seconds.get(peer):
                return seconds["maxmargin"], seconds[peer]
    return None


def number(ratio: float) -> str:
    """Two digits, or all before the point."""
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}"


def cell(times: list[tuple[float, float]], rival: bool) -> str:
    """How much faster, or in units of its time; lost cells in bold."""
    if not rival:
        return " / ".join(f"{number(ours / theirs)} ×" for ours, theirs in times) + " its time"
    if all(theirs >= ours for ours, theirs in times):
        return " / ".join(f"{number(theirs / ours)} ×" for ours, theirs in times) + " faster"
    if all(theirs < ours for ours, theirs in times):
        return f"**{cell(times, rival=False)}**"
    return " / ".join(
        f"{number(theirs / ours)} × faster"
        if theirs >= ours
        else f"**{number(ours / theirs)} × its time**"
        for ours, theirs in times
    )


def speed(parts: dict[str, Any]) -> str:
    """The table."""
    lines = ["| work | against | |", "|---|---|---|"]
    for line in LINES:
        times = times_of(parts, line)
        if times is not None:
            lines.append(f"| {line.work} | {line.against} | {cell(times, line.rival)} |")
    return "\n".join(lines) + "\n"


def filled(text: str, parts: dict[str, Any]) -> str:
    """The README with the table of these results."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + speed(parts) + END + after
