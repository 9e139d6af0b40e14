"""The comparison with the peers as text: ratios, losses and their reasons, every cell, who took part."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from benchmarks.page_cells import (
    error_text,
    loses,
    memory_text,
    ratio_of,
    ratio_text,
    seconds_text,
    size_text,
    table,
)
from benchmarks.peers.reasons import reasons_for

KINDS = {
    "perceptron": ("Perceptron", "wrong rows in training"),
    "hard": ("Hard margin", "1 − margin / the largest"),
    "soft": ("Soft margin", "(value − optimum) / optimum"),
    "separability": ("Separability", "answer"),
}


def title_of(problem: dict[str, Any]) -> str:
    """The data of a problem, its size, and C."""
    price = "" if problem["C"] is None else f", C = {problem['C']:g}"
    return f"{problem['data']} ({size_text(problem)}){price}"


def cells_of(problem: dict[str, Any], ours: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Our cell, and those of the peers."""
    mine = next(cell for cell in problem["cells"] if cell["who"] == ours)
    return mine, [cell for cell in problem["cells"] if cell["who"] != ours]


def ratios(part: dict[str, Any]) -> list[str]:
    """One table for each kind: a line for each peer, a column for each set of data."""
    lines = [
        "## The table",
        "",
        "Ratio and, in brackets, error (or answer). The first line is our time.",
        "",
    ]
    for kind, (title, _) in KINDS.items():
        problems = [problem for problem in part["problems"] if problem["kind"] == kind]
        if not problems:
            continue
        both = [cells_of(problem, part["ours"]) for problem in problems]
        ours = [f"{seconds_text(mine)} ({error_text(kind, mine)})" for mine, _ in both]
        rows = [[f"**{part['ours']}**", *ours]]
        for peer in dict.fromkeys(cell["who"] for _, others in both for cell in others):
            found = [next((c for c in others if c["who"] == peer), None) for _, others in both]
            cells = [short(kind, mine, cell) for (mine, _), cell in zip(both, found, strict=True)]
            rows.append([peer, *cells])
        head = ["", *(title_of(problem) for problem in problems)]
        lines += [f"### {title}", "", *table(head, rows), ""]
    return lines


def short(kind: str, mine: dict[str, Any], theirs: dict[str, Any] | None) -> str:
    """A cell of the first tables."""
    if theirs is None:
        return ""
    if theirs["seconds"] is None:
        return theirs["trouble"] if theirs["trouble"].startswith("> ") else "no result"
    text = ratio_text(ratio_of(mine, theirs)) or "ours has no time"
    return f"{f'**{text}** †' if loses(mine, theirs) else text} ({error_text(kind, theirs)})"


def losses(part: dict[str, Any]) -> list[str]:
    """Every cell in which a peer is quicker, and why: each reason is told once, by a letter."""
    rows, reasons, timed, behind = [], dict[str, str](), 0, 0
    for problem in part["problems"]:
        mine, others = cells_of(problem, part["ours"])
        timed += sum(theirs["seconds"] is not None or theirs["memory"] is not None for theirs in others)
        for theirs in (cell for cell in others if loses(mine, cell)):
            for text in why(problem, theirs["who"]):
                reasons.setdefault(text, ascii_lowercase[len(reasons) % 26])
            even, kind = theirs.get("even"), problem["kind"]
            slower = even is None or even > theirs["seconds"]
            behind += slower
            same = "" if even is None else seconds_text({"seconds": even})
            rows.append(
                [
                    f"{KINDS[kind][0]}, {title_of(problem)}",
                    theirs["who"],
                    f"{seconds_text(theirs)} ({error_text(kind, theirs)})",
                    f"{seconds_text(mine)} ({error_text(kind, mine)})",
                    f"**{same}** †" if same and slower else same,
                    ", ".join(reasons[text] for text in why(problem, theirs["who"])),
                ]
            )
    lines = ["## Where we lose, and why", ""]
    if not rows:
        return [*lines, f"None of the {timed} cells is lost in this run.", ""]
    words = f"In {len(rows)} of {timed} cells the peer is quicker."
    if behind < len(rows):
        words += f" In {len(rows) - behind} of them ours is quicker to the error at which it stops."
    head = ["problem", "peer", "its time (error)", "ours (error)", "ours to its error", "why"]
    told = [f"- **{letter}**: {text}" for text, letter in reasons.items()]
    return [*lines, words, "", *table(head, rows), "", *told, ""]


def why(problem: dict[str, Any], who: str) -> list[str]:
    """The reasons of a loss."""
    size = problem["nonzeros"] or problem["rows"] * problem["features"]
    return reasons_for(problem["kind"], who, size)


def details(part: dict[str, Any]) -> list[str]:
    """Every contestant on every problem."""
    lines = ["## Every cell", ""]
    for problem in part["problems"]:
        kind = problem["kind"]
        title, error = KINDS[kind]
        mine, _ = cells_of(problem, part["ours"])
        rows = [
            [
                f"**{cell['who']}**" if cell is mine else cell["who"],
                seconds_text(cell),
                "" if cell is mine else ratio_text(ratio_of(mine, cell)),
                error_text(kind, cell),
                "" if cell["passes"] is None else str(cell["passes"]),
                memory_text(cell["memory"]),
                str(cell["turns"]),
            ]
            for cell in problem["cells"]
        ]
        head = ["contestant", "time", "ratio", error, "passes", "memory", "turns"]
        lines += [f"### {title}: {title_of(problem)}", "", *table(head, rows), ""]
    return lines


def contestants(part: dict[str, Any]) -> list[str]:
    """Who took part, in which version, told what; and who could not."""
    rows = [
        [
            peer["name"],
            f"{peer['package']} {peer['version'] or ''}".strip(),
            peer["absent"] or peer["how"],
        ]
        for peer in part["peers"]
    ]
    lines = ["## The contestants", "", *table(["name", "package", "told to do"], rows), ""]
    if part["absent"]:
        lines += [f"Not at hand: {', '.join(part['absent'])}.", ""]
    if part["unreached"]:
        lines += [f"Not reached in the time of the quick mode: {'; '.join(part['unreached'])}.", ""]
    return lines
