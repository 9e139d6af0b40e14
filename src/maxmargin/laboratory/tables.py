"""A table of text as points: which columns there are, two of them, and a label.

Of large tables a sample of rows is taken, the same every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maxmargin.checker import canonical
from maxmargin.laboratory.checks import check_text, read_bool
from maxmargin.laboratory.columns import choose_features, choose_label, in_order
from maxmargin.laboratory.limits import LIMITS, NAME
from maxmargin.laboratory.projecting import project
from maxmargin.laboratory.reading import Column, read_columns

__all__ = ["read_table"]


def read_table(given: Mapping[str, Any]) -> dict[str, Any]:
    """Points, labels and names from text; the columns, so that others can be chosen."""
    text = check_text("text", given.get("text"), LIMITS["message"])
    header = given.get("header")
    if header is not None:
        read_bool("header", header)
    columns = read_columns(text, header)
    described = [{"name": c.name, "numeric": c.numeric, "distinct": len(c.distinct)} for c in columns]
    if read_bool("look", given.get("look", False)):  # only what there is to choose from
        return {"columns": described, "label": len(columns) - 1, "note": ""}
    label = choose_label(columns, given.get("label"))
    named = Column("", [canonical(text) for text in columns[label].texts], columns[label].lines)
    classes = in_order(named)
    kept, sampled = _sample(named, classes)
    chosen, projected = choose_features(columns, label, given.get("features"))
    table = np.column_stack([columns[k].values() for k in chosen])[kept]
    codes = np.array([classes.index(named.texts[i]) for i in kept])
    notes = [sampled] if sampled else []
    if projected:
        table, names, note = project(table, codes, [columns[k].name for k in chosen])
        notes.append(note)
    else:
        names = [columns[k].name for k in chosen]
        if len(names) == 1:
            table, names = np.column_stack([table, np.zeros(len(table))]), [*names, "(nothing)"]
            notes.append("There is one feature: the second coordinate is 0.")
    return {
        "columns": described,
        "label": label,
        "features": "projection" if projected else chosen,
        "points": [[x, y, code, 0] for (x, y), code in zip(table.tolist(), codes.tolist(), strict=True)],
        "labels": _short(classes),
        "names": [name[:NAME] for name in names],
        "rows": len(columns[0].texts),
        "note": " ".join(notes),
    }


def _sample(label: Column, classes: Sequence[str]) -> tuple[np.ndarray, str]:
    """At most as many rows as the page takes, every class among them."""
    n, most = len(label.texts), LIMITS["points"]
    if n <= most:
        return np.arange(n), ""
    rng = np.random.default_rng(0)
    texts = np.array(label.texts, dtype=object)
    firsts = [int(np.flatnonzero(texts == name)[0]) for name in classes]
    others = np.setdiff1d(np.arange(n), firsts)
    drawn = rng.choice(others, most - len(firsts), replace=False)
    note = f"Of {n:,} rows, {most:,} were drawn at random: as many as the page takes."
    return np.sort(np.append(firsts, drawn)), note


def _short(names: Sequence[str]) -> list[str]:
    """Names of a length that fits the page, still different."""
    short = [name if len(name) <= NAME else f"{name[: NAME - 4]}… {k}" for k, name in enumerate(names)]
    return short if len(set(short)) == len(short) else [f"class {k + 1}" for k in range(len(names))]
