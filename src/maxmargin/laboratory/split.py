"""Hold some points out for validation: a share of each class, the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.laboratory.checks import read_count, read_number
from maxmargin.laboratory.limits import LIMITS
from maxmargin.laboratory.state import State

__all__ = ["split"]


def split(state: State, given: Mapping[str, Any]) -> dict[str, Any]:
    """The role of every point: 1 for a share of each class, drawn anew; 0 for the others.

    Each class keeps at least one training point.
    """
    share = read_number("share", given.get("share", 0.25), least=0.0, most=0.9)
    seed = given.get("seed")
    seed = read_count("seed", 0 if seed is None else seed, least=0, most=LIMITS["seed"])
    rng = np.random.default_rng(seed)
    roles = np.zeros(len(state.points), dtype=np.int64)
    for code in np.unique(state.classes):
        mine = np.flatnonzero(state.classes == code)
        many = min(round(share * len(mine)), len(mine) - 1)
        roles[rng.choice(mine, many, replace=False)] = 1
    return {"roles": roles.tolist()}
