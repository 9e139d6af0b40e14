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
from maxmargin.laboratory.projecting import draw_rows, pad, project
from maxmargin.laboratory.reading import Column, read_columns

__all__ = ["read_table"]


def read_table(given: Mapping[str, Any]) -> dict[str, Any]:
    """Points, labels and names from text; the columns, so that others can be chosen."""
    text = check_text("text", given.get("text"), LIMITS["message"])
    header = given.get("header")
    if header is not None:
        read_bool("header", header)
    columns = read_columns(text, header)
    described = [{"name": c.name, "numeric": c.numeric} for c in columns]
    if read_bool("look", given.get("look", False)):  # only what there is to choose from
        return {"columns": described, "label": len(columns) - 1, "note": ""}
    label = choose_label(columns, given.get("label"))
    named = Column("", [canonical(text) for text in columns[label].texts], columns[label].lines)
    classes = in_order(named)
    codes = np.array([classes.index(text) for text in named.texts])
    kept, sampled = draw_rows(codes)
    chosen, projected = choose_features(columns, label, given.get("features"))
    table = np.column_stack([columns[k].values() for k in chosen])[kept]
    codes, names, shown = codes[kept], [columns[k].name for k in chosen], ""
    if projected:
        table, names, shown = project(table, codes, names)
    elif len(names) == 1:
        table, names, shown = pad(table, names)
    return {
        "columns": described,
        "label": label,
        "features": "projection" if projected else chosen,
        "points": [[x, y, code, 0] for (x, y), code in zip(table.tolist(), codes.tolist(), strict=True)],
        "labels": _short(classes),
        "names": [name[:NAME] for name in names],
        "rows": len(columns[0].texts),
        "note": f"{sampled} {shown}".strip(),
    }


def _short(names: Sequence[str]) -> list[str]:
    """Names of a length that fits the page, still different."""
    short = [name if len(name) <= NAME else f"{name[: NAME - 4]}… {k}" for k, name in enumerate(names)]
    return short if len(set(short)) == len(short) else [f"class {k + 1}" for k in range(len(names))]
