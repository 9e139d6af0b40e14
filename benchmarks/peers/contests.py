"""Ours against the peers on every set of data: time, error, passes and memory in one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

import maxmargin as mm
from benchmarks.peers import data as peers_data
from benchmarks.peers.measure import Problem, error_of, report
from benchmarks.peers.table import OURS, PEERS, Make, Peer, attendance
from benchmarks.peers.turns import Budget, Outcome, compete

QUICK = Budget(rounds=3, limit=1.5, ready=15.0)
FULL = Budget(rounds=4, limit=10.0, ready=60.0)
ENOUGH = 95.0  # seconds after which the quick mode begins no other problem
PATIENCE = 5.0  # seconds of compilation that the quick mode allows once, and not for sparse rows again
FEW = 30  # rows of either class in the fit that makes a contestant ready
Turn = Callable[[], tuple[float, dict[str, Any]]]


def ready(make: Make, problem: Problem) -> Turn:
    """Prepare a contestant: a fit of a few rows, and its own form of the data."""
    run, plane = make(problem.head(FEW))
    plane(run())
    run, plane = make(problem)

    def turn() -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - began
        return seconds, report(problem, plane(result))

    return turn


def optimum(problem: Problem) -> Turn:
    """A bound of the optimum by our certificate: no plane has a smaller value, or a larger margin."""

    def turn() -> tuple[float, dict[str, Any]]:
        if problem.kind == "hard":
            _, upper = mm.HardMarginSVC().fit(problem.X, problem.y).certificate_.margin
            return 0.0, {"bound": float(upper)}
        model = mm.SoftMarginSVC(problem.C, tol=1e-9).fit(problem.X, problem.y)
        return 0.0, {"bound": float(model.certificate_.dual)}

    return turn


def bound_of(problem: Problem, limit: float) -> float | None:
    """The certified bound; None if the problem has none, or if it took too long."""
    if problem.kind not in ("soft", "hard"):
        return None
    budget = Budget(1, limit, limit)
    return compete({"bound": partial(optimum, problem)}, budget)["bound"].found.get("bound")


def unfit(peer: Peer, problem: Problem, quick: bool) -> str:
    """Why a contestant does not start, "" if it does.

    A library that compiles does so once, here: the processes of its turns inherit the compiled code.
    """
    if not peer.compiles:
        return ""
    if quick and sparse.issparse(problem.X) and peer.compiles > PATIENCE:
        return "left out in the quick mode: it compiles for several seconds"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run, _ = peer.makes[problem.kind](problem.head(FEW))
            run()
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:160]
    return ""


def cell(who: str, kind: str, outcome: Outcome, reference: float | None) -> dict[str, Any]:
    """What the results keep of one contestant."""
    found = dict(outcome.found)
    error = error_of(kind, found, reference)
    return {
        "who": who,
        "seconds": outcome.seconds,
        "turns": outcome.turns,
        "memory": outcome.memory,
        "trouble": outcome.trouble,
        "error": error,
        "wrong": found.get("wrong"),
        "verdict": found.get("verdict"),
        "passes": found.get("passes"),
    }


def even(problem: Problem, cells: list[dict[str, Any]], budget: Budget) -> None:
    """Where a peer is quicker and further from the optimum: our time to its error."""
    mine = next((cell for cell in cells if cell["who"] == OURS), None)
    if problem.kind not in ("soft", "hard") or mine is None or mine["seconds"] is None:
        return
    tasks = {}
    for theirs in (cell for cell in cells if cell is not mine):
        known = theirs["seconds"] is not None and None not in (theirs["error"], mine["error"])
        if known and theirs["seconds"] < mine["seconds"] and theirs["error"] > max(mine["error"], 1e-9):
            factor = 1.0 if problem.kind == "soft" else 2.0  # ½‖w‖² moves twice as fast as the margin
            tol = min(0.5, factor * theirs["error"])
            make = PEERS[0].makes[problem.kind]
            tasks[theirs["who"]] = partial(ready, make, replace(problem, effort=tol))
    outcomes = compete(tasks, budget)
    for theirs in (cell for cell in cells if cell["who"] in outcomes):
        theirs["even"] = min(mine["seconds"], outcomes[theirs["who"]].seconds or mine["seconds"])


def measure(
    problem: Problem, name: str, present: list[Peer], budget: Budget, quick: bool
) -> dict[str, Any]:
    """All contestants on one problem."""
    reference = bound_of(problem, 10 * budget.limit)
    tasks, left_out = {}, {}
    for peer in present:
        if problem.kind not in peer.makes:
            continue
        if why := unfit(peer, problem, quick):
            left_out[peer.name] = why
        else:
            tasks[peer.name] = partial(ready, peer.makes[problem.kind], problem)
    outcomes = compete(tasks, budget)
    cells = [cell(who, problem.kind, outcome, reference) for who, outcome in outcomes.items()]
    even(problem, cells, budget)
    cells += [cell(who, problem.kind, Outcome(trouble=why), None) for who, why in left_out.items()]
    X = problem.X
    return {
        "kind": problem.kind,
        "data": name,
        "rows": X.shape[0],
        "features": X.shape[1],
        "nonzeros": int(X.nnz) if sparse.issparse(X) else None,
        "C": problem.C if problem.kind == "soft" else None,
        "bound": reference,
        "cells": cells,
    }


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The part of the results that is called "peers"."""
    began, budget = time.perf_counter(), QUICK if quick else FULL
    found = {peer.name: attendance(peer) for peer in PEERS}
    present = [peer for peer in PEERS if not found[peer.name][1]]
    problems, unreached = [], []
    for entry, tasks in peers_data.chosen(quick):
        rows = None
        for kind, C in tasks:
            if quick and time.perf_counter() - began > ENOUGH:
                unreached.append(f"{kind}, {entry.name}")
                continue
            X, y = rows = rows or entry.load()
            problem = Problem(kind, X, y.astype(np.int64), C)
            problems.append(measure(problem, entry.name, present, budget, quick))
            say(f"  {kind}, {entry.name}: {time.perf_counter() - began:.0f} s so far")
    return {
        "peers": [
            {
                "name": peer.name,
                "package": peer.package,
                "version": found[peer.name][0],
                "absent": found[peer.name][1],
                "how": peer.how,
            }
            for peer in PEERS
        ],
        "ours": OURS,
        "budget": {"rounds": budget.rounds, "limit": budget.limit},
        "absent": peers_data.absent(quick),
        "unreached": unreached,
        "problems": problems,
    }
