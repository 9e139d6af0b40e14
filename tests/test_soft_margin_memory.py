"""The soft margin where few rows fit into memory, and where only rounding is left of a balance."""

from __future__ import annotations

import math

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core import memory
from maxmargin.rows import DenseRows, PartedRows, as_rows
from maxmargin.solvers.margin import soft_margin as softmargin
from maxmargin.solvers.margin.augmented_lagrangian import _Run
from maxmargin.solvers.margin.coordinates import Frame, Scaling
from maxmargin.solvers.margin.reduced_problem import Reduced
from maxmargin.solvers.margin.tasks import MarginPoint


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_working_set_is_as_large_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12_000, 3))
    y = X.sum(axis=1) + noise * rng.standard_normal(len(X)) > 0
    near = mm.SoftMarginSVC(C=0.1).fit(X, y)
    monkeypatch.setattr(memory, "allowance", lambda: 0)
    monkeypatch.setattr(memory, "MIN_COPY_ENTRIES", 3 * 1_200)
    sizes: list[int] = []
    solve = softmargin._Machine.solve

    def watched(machine: softmargin._Machine) -> object:
        plane = solve(machine)
        if machine.frame.n == len(X):
            sizes.append(len(machine.working))
        return plane

    monkeypatch.setattr(softmargin._Machine, "solve", watched)
    rows = as_rows(X)
    far = mm.SoftMarginSVC(C=0.1).fit(PartedRows(rows.between, X.shape, X.size, False, largest=1_000), y)
    assert far.certificate_.relative_gap <= far.tol
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2e-6)
    assert set(sizes) - {len(X)}  # some working sets were smaller than the data
    assert max(set(sizes) - {len(X)}) <= 1_200


def test_rounding_in_the_balance_does_not_end_a_round() -> None:
    """All multipliers are zero on the way, and Σ α_i y_i is not quite: the plane must move, not b."""
    y = np.array([1.0, -1.0])
    scaling = Scaling(np.zeros(1), 1.0)
    frame = Frame(DenseRows(np.ones((2, 1))), y, 1.0, scaling, ready=True)
    problem = Reduced(frame, np.ones(2), np.zeros(1), s0=1e-15)
    run = _Run(problem, MarginPoint(np.array([10.0]), 0.0, np.array([0.5, 0.5]), sigma=1.0))
    assert not len(run.inside)
    run.round(math.inf)
    assert run.w[0] == pytest.approx(1.0, abs=0.5)
