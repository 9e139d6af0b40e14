"""The benchmarks page is what its program makes of the results, and its numbers are measured rightly."""

import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))  # the benchmarks are no part of the package

from benchmarks import page, page_peers, page_readme, results  # noqa: E402
from benchmarks.page_cells import (  # noqa: E402
    error_text,
    loses,
    memory_text,
    power_text,
    ratio_text,
    seconds_text,
    table,
)
from benchmarks.peers.contests import optimum, ready  # noqa: E402
from benchmarks.peers.install import package_of  # noqa: E402
from benchmarks.peers.measure import Plane, Problem, error_of, margin, objective, report, wrong  # noqa: E402
from benchmarks.peers.plots import STYLE, draw  # noqa: E402
from benchmarks.peers.table import PEERS, Peer, attendance  # noqa: E402
from benchmarks.peers.turns import Budget, compete  # noqa: E402


def test_the_page_is_made_from_the_results():
    """`python -m benchmarks.page` mends it."""
    assert page.PATH.read_text(encoding="utf-8") == page.page(results.load())


def test_the_readme_tells_the_same_numbers():
    """`python -m benchmarks.page` mends it."""
    text = page_readme.PATH.read_text(encoding="utf-8")
    assert text == page_readme.filled(text, results.load())


def test_cells_of_the_readme():
    fast, slow = (0.01, 3.4), (0.02, 0.01)
    assert page_readme.cell([fast], rival=True) == "340 × faster"
    assert page_readme.cell([fast, slow], rival=True) == "340 × faster / **2.0 × its time**"
    assert page_readme.cell([slow, slow], rival=True) == "**2.0 × / 2.0 × its time**"
    assert page_readme.cell([slow, (0.3, 0.01)], rival=False) == "2.0 × / 30 × its time"


def test_lines_of_the_readme_that_were_not_measured_are_left_out():
    line = next(line for line in page_readme.LINES if line.part == "files" and line.rival)
    row = {"work": "svmlight text of 84 MiB", "peer": "scikit-learn", "ours": 0.5, "theirs": 4.0}
    made = page_readme.speed({"files": {"rows": [row]}}).splitlines()
    assert made[2:] == [f"| {line.work} | {line.against} | 8.0 × faster |"]


def test_the_pictures_of_the_page_are_there():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.PATH.read_text(encoding="utf-8"))
    assert all((page.PATH.parent / picture).exists() for picture in pictures)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.4e-5, "34 µs"), (0.01234, "12.3 ms"), (1.5, "1.5 s"), (99.94, "99.9 s"), (123.4, "123 s")],
)
def test_times(seconds, text):
    assert seconds_text({"seconds": seconds}) == text


def test_a_cell_without_a_time_says_why():
    assert seconds_text({"seconds": None, "trouble": "> 2 s"}) == "> 2 s"


@pytest.mark.parametrize(("ratio", "text"), [(0.456, "0.46 ×"), (3.0, "3 ×"), (1234.5, "1,234 ×")])
def test_ratios(ratio, text):
    assert ratio_text(ratio) == text


def test_numbers_of_cells():
    assert power_text(8.4e-5) == "8·10⁻⁵"
    assert (
        memory_text(12_600_000) == "13 MB" and memory_text(999) == "< 1 MB" and memory_text(None) == ""
    )
    assert error_text("soft", {"error": -1e-15, "wrong": 3}) == "0"
    assert error_text("hard", {"error": 1.2, "wrong": 3}) == "3 rows wrong"
    assert error_text("perceptron", {"error": 1200, "wrong": 1200}) == "1,200"
    assert (
        error_text("separability", {"verdict": "separable", "wrong": 2}) == "separable, but 2 rows wrong"
    )
    assert table(["a|b"], [["c"]]) == ["| a\\|b |", "| --- |", "| c |"]


# w = (3, 4) has length 5; the values y (w·x + b) with b = −1 are 2, 6 and −0.5.
SMALL = Problem("soft", np.array([[1.0, 0.0], [1.0, 1.0], [0.5, 0.0]]), np.array([1, 1, -1]), C=2.0)
PLANE = Plane(np.array([3.0, 4.0]), -1.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_planes_are_measured_as_by_hand(form):
    problem = Problem("soft", form(SMALL.X), SMALL.y, SMALL.C)
    assert objective(problem, PLANE) == pytest.approx(0.5 * 25 + 2.0 * 1.5)
    assert margin(problem, PLANE) == pytest.approx(-0.5 / 5)
    assert wrong(problem, PLANE) == 1
    assert report(problem, PLANE)["value"] == pytest.approx(15.5)


def test_a_row_on_the_plane_is_wrong():
    assert wrong(SMALL, Plane(np.zeros(2))) == 3


def test_errors_are_relative_to_the_optimum():
    assert error_of("soft", {"value": 15.5}, 10.0) == pytest.approx(0.55)
    assert error_of("hard", {"value": 0.75}, 1.0) == pytest.approx(0.25)
    assert error_of("hard", {"value": float("-inf")}, 1.0) is None
    assert error_of("perceptron", {"wrong": 7}, None) == 7


def rows(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    f = X @ [1.0, -2.0, 0.5] + 0.7
    y = np.where(f + (kind == "soft") * 0.5 * rng.standard_normal(80) > 0, 1, -1)
    return Problem(kind, X + (kind != "soft") * 0.5 * np.outer(y, [1.0, -2.0, 0.5]), y)


SLOW = {"skglm", "intelex SVC", "Snap ML"}  # seconds to compile or import
EXACT = {"maxmargin", "SVC", "LIBSVM", "PIQP", "Clarabel"}  # these leave b free
CASES = [
    (peer, kind)
    for peer in PEERS
    if peer.name not in SLOW
    for kind in peer.makes
    if not attendance(peer)[1]
]


@pytest.mark.parametrize(("peer", "kind"), CASES, ids=lambda value: getattr(value, "name", value))
@pytest.mark.filterwarnings("ignore")  # peers warn that they did not converge
def test_planes_of_the_contestants_are_read_rightly(peer, kind):
    """Signs, scales and biases: a plane read wrongly would be far off, or better than the optimum."""
    problem = rows(kind)
    _, found = ready(peer.makes[kind], problem)()
    if kind in ("soft", "hard"):
        _, told = optimum(problem)()
        error = error_of(kind, found, told["bound"])
        assert -1e-9 <= error < (1e-3 if peer.name in EXACT else 0.5)
    if kind == "separability":
        assert found["verdict"].startswith("separable")
    if kind != "soft":
        assert found["wrong"] <= (4 if kind == "perceptron" else 0)


def good():
    return lambda: (0.25, {"value": 1.0})


def failing():
    raise ValueError("no such thing\nat all")


def crashing():
    return lambda: os._exit(7)


def greedy():
    return lambda: np.empty(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), np.uint8)


def endless():
    return lambda: time.sleep(60)


def test_no_contestant_stops_the_others():
    tasks = {"crash": crashing, "fail": failing, "endless": endless, "greedy": greedy, "good": good}
    found = compete(tasks, Budget(rounds=3, limit=2, ready=300))
    assert found["good"].seconds == 0.25 and found["good"].turns == 3 and not found["good"].trouble
    assert found["fail"].trouble == "ValueError: no such thing"
    assert found["crash"].trouble == "its process ended (7)"
    assert "MemoryError" in found["greedy"].trouble
    assert found["endless"].trouble == "> 2 s" and found["endless"].seconds is None


def test_a_peer_that_is_not_there_is_found_out():
    nobody = Peer("Nobody", "no-such-package", "no_such_package", "", {})
    assert attendance(nobody) == (None, "did not install")
    assert package_of("dask[array]>=2025") == "dask"


def cell(who, seconds, **more):
    empty = dict.fromkeys(("error", "wrong", "verdict", "passes", "memory"))
    return {"who": who, "seconds": seconds, "turns": 1, "trouble": "", **empty, **more}


def content(theirs):
    problem = {"kind": "soft", "data": "some", "rows": 10**6, "features": 9, "nonzeros": None, "C": 1.0}
    cells = [cell("maxmargin", 1.0, error=1e-7), cell("LIBLINEAR", theirs, error=1e-3, even=0.25)]
    absent = {
        "name": "Gone",
        "package": "gone",
        "version": None,
        "absent": "did not install",
        "how": "x",
    }
    return {
        "problems": [{**problem, "cells": cells}],
        "ours": "maxmargin",
        "peers": [absent],
        "absent": [],
        "unreached": [],
    }


def test_what_is_lost_is_shown_with_its_reason():
    lost, won = content(0.5), content(2.0)
    assert loses(*lost["problems"][0]["cells"]) and not loses(*won["problems"][0]["cells"])
    text = "\n".join(page_peers.ratios(lost) + page_peers.losses(lost))
    assert "**0.5 ×** † (1·10⁻³)" in text
    assert (
        "| 500 ms (1·10⁻³) | 1 s (1·10⁻⁷) | 250 ms | a |" in text
        and "- **a**: Coordinate descent" in text
    )
    assert "In 1 of 1 cells the peer is quicker. In 1 of them ours is quicker to the error" in text
    text = "\n".join(page_peers.ratios(won) + page_peers.losses(won))
    assert "| 2 × (1·10⁻³) |" in text and "None of the 1 cells is lost" in text
    assert "| Gone | gone | did not install |" in page_peers.contestants(won)


def test_a_run_replaces_only_its_part(tmp_path):
    path = tmp_path / "results.json"
    results.measured("one", True, lambda: {"rows": [{"ratio": np.float64(1 / 3)}]}, path)
    results.measured("two", False, lambda: {"x": np.bool_(True)}, path)
    results.measured("one", False, lambda: {"rows": []}, path)
    parts = results.load(path)
    assert parts["two"]["x"] is True and parts["one"]["rows"] == []
    assert parts["one"]["stamp"]["mode"] == "full" and parts["one"]["stamp"]["load"] >= 0


def test_pictures_are_drawn_from_the_results(tmp_path):
    lines = {who: [[10.0, 1.0], [100.0, 1.5]] for who in STYLE}
    growth = [{"kind": "soft", "features": 5, "lines": lines}]
    fall = [{"data": "some", "rows": 3, "features": 2, "C": 1.0, "lines": {"PIQP": [[1.0, -1e-17]]}}]
    first, second = draw({"curves": {"growth": growth, "descent": fall}}, tmp_path)
    assert first.read_text().count("SVC (LIBSVM)") >= 1 and "PIQP" in second.read_text()
