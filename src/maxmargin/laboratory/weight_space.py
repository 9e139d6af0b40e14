"""The space of weights: risk over (w₁, w₂), the feasible cone, a section, and (w₁, w₂, b) in 3-D.

Every training point is a line w·x + b = 0 in w-space for a fixed b, and a plane y (w·x + b) = 1 in the
space of (w₁, w₂, b). Polygons are cut by the same functions that draw the library's pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.laboratory.problem import Side
from maxmargin.laboratory.state import check_list, check_window, complain, read_count, read_number
from maxmargin.laboratory.verdicts import analyse
from maxmargin.plots.geometry import cut_body, cut_polygon
from maxmargin.plots.risk import perceptron_risk

GRID_SIZES = 5, 161  # points along an axis of the risk's grid
MAX_PLANES = 12  # drawn in three dimensions
MIN_AREA = 1e-9  # share of the window below which an area is none

Given = Mapping[str, Any]


def risk_grid(side: Side, given: Given) -> dict[str, Any]:
    """R(w) of the watched machine at a bias b: rows of w₂, columns of w₁."""
    b = read_number("b", given.get("b", 0.0))
    box = _window(given)
    least, most = GRID_SIZES
    size = read_count("size", given.get("size", 61), least=least, most=most)
    w1, w2 = (np.linspace(low, high, size) for low, high in box)
    grid = np.column_stack([np.tile(w1, size), np.repeat(w2, size), np.full(size * size, b)])
    values = perceptron_risk(side.normals(), grid)
    return {"values": values, "max": values.max(initial=0.0), "size": size}


def cone(side: Side, given: Given) -> dict[str, Any]:
    """The weights (w₁, w₂) that classify every training point correctly at a bias b, in the window."""
    b = read_number("b", given.get("b", 0.0))
    box = _window(given)
    A = side.normals()
    return {"cone": _area(cut_polygon(A[:, :2], A[:, 2] * b, box), box)}


def cut_section(side: Side, given: Given) -> dict[str, Any]:
    """The section at w₁ of the hard margin's constraints: lines and feasible region of (w₂, b)."""
    w1 = read_number("w1", given.get("w1", 0.0))
    box = _window(given)
    A = side.normals()
    c = A[:, 0] * w1 - 1.0  # feasible: A (w₂, b) + c ≥ 0
    lines = [
        [row, *a, -d]
        for row, a, d in zip(side.rows.tolist(), A[:, 1:].tolist(), c.tolist(), strict=True)
    ]
    region = _area(cut_polygon(A[:, 1:], c, box), box)
    return {"lines": lines, "region": region, "optimum": analyse(side).widest_weights}


def weight_space(side: Side, given: Given) -> dict[str, Any]:
    """The planes of the points that matter, the feasible region in the box, and the optimum."""
    allowed = "three pairs [lower, larger upper end], of w₁, w₂ and b"
    pairs = check_list("box", given.get("box"), allowed, 3, 3)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise complain("box", allowed, pairs)
    box = np.array(check_window("box", [end for pair in pairs for end in pair], 3)).reshape(3, 2)
    A, optimum = side.normals(), analyse(side).widest_weights
    faces = cut_body(A, box)
    planes = []
    for k in _rows_that_matter(side, A, box, [tag for tag, _ in faces if tag >= 0], optimum):
        sheet = [corners for tag, corners in cut_body(A[[k]], box) if tag == 0]
        if sheet:
            planes.append({"row": side.rows[k], "polygon": sheet[0]})
    region = {"faces": [corners for _, corners in faces]}
    return {"planes": planes, "region": region, "optimum": optimum}


def _window(given: Given) -> np.ndarray:
    """The ends of both axes, a row each."""
    return np.array(check_window("window", given.get("window"), 2)).reshape(2, 2)


def _rows_that_matter(
    side: Side, A: np.ndarray, box: np.ndarray, bounding: list[int], optimum: list[float] | None
) -> list[int]:
    """A dozen rows: those that bound the region first, then the nearest to the optimum.

    Without one, the rows of the witness, and the nearest to the middle of the box.
    """
    first = dict.fromkeys(bounding)  # a set in order
    witness = analyse(side).verdict.witness
    if witness is not None:
        first |= dict.fromkeys(witness.rows.tolist())
    z = box.mean(axis=1) if optimum is None else np.array(optimum)
    lengths = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
    near = np.argsort(np.abs(A @ z - 1.0) / lengths, kind="stable").tolist()
    return list(first | dict.fromkeys(near))[:MAX_PLANES]


def _area(corners: np.ndarray, box: np.ndarray) -> np.ndarray:
    """A polygon, or none of its corners if it is no more than a line within rounding."""
    unit = (corners - box[:, 0]) / np.ptp(box, axis=1)
    x, y = unit[:, 0], unit[:, 1]
    area = 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))
    return corners if len(corners) > 2 and area > MIN_AREA else corners[:0]
