"""Systems of integers: the same solution at once and digit by digit, which ends when it is told to."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from flint import fmpz_mat

import maxmargin as mm
from clocks import HOUR, Clock
from exact import solve as solved_in_fractions
from maxmargin.core.parameters import NEVER, Deadline, OutOfTimeError
from maxmargin.solvers.exact import linear_algebra
from maxmargin.solvers.exact.linear_algebra import dependency, solve
from thorough import THOROUGH


def system(rng, n, width, bits):
    """A regular matrix with entries of many lengths, often in two blocks, and right-hand sides."""
    while True:
        M = [
            [int(v) << int(s) >> 30 for v, s in zip(row, rng.integers(0, bits + 1, n), strict=True)]
            for row in rng.integers(-(2**30), 2**30, (n, n)).tolist()
        ]
        if rng.random() < 0.5:
            for i in range(n // 2):
                for j in range(n // 2, n):
                    M[i][j] = M[j][i] = 0
        if fmpz_mat(M).det() != 0:
            return M, rng.integers(-(2**40), 2**40, (n, width)).tolist()


def holds(M, rhs, x, scale):
    return scale > 0 and fmpz_mat(M) * fmpz_mat(x) == fmpz_mat(rhs) * scale


@pytest.mark.parametrize("seed", range(300 if THOROUGH else 30))
def test_digits_make_the_solution(seed, monkeypatch):
    monkeypatch.setattr(linear_algebra, "SOLVED_AT_ONCE", 0)
    monkeypatch.setattr(linear_algebra, "MIN_MODULAR_EQUATIONS", 5)
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(1, 25)), int(rng.integers(1, 4))  # at times the inverse is asked for
    M, rhs = system(rng, n, width, int(rng.choice([1, 5, 30, 64, 300, 900])))
    if rng.random() < 0.3:
        whole = fmpz_mat(rng.integers(-3, 4, (n, width)).tolist())
        rhs = [[int(v) for v in row] for row in (fmpz_mat(M) * whole).tolist()]
    x, scale = solve(M, rhs, NEVER)
    assert holds(M, rhs, x, scale)
    column = solved_in_fractions(M, [row[0] for row in rhs])
    assert [v * scale for v in column] == [row[0] for row in x]


def test_a_prime_that_divides_the_determinant_is_passed_over(monkeypatch):
    monkeypatch.setattr(linear_algebra, "SOLVED_AT_ONCE", 0)
    p = linear_algebra._prime(0)
    M = [[p, 0, 1], [0, linear_algebra._prime(1), 0], [0, 0, 1]]
    assert holds(M, [[1], [2], [3]], *solve(M, [[1], [2], [3]], NEVER))


def test_a_large_system_ends_when_the_time_does():
    rng = np.random.default_rng(0)
    M, rhs = rng.integers(-(2**53), 2**53, (170, 170)).tolist(), [[1]] * 170
    done = []
    assert holds(M, rhs, *solve(M, rhs, Deadline(tell=done.append)))
    assert len(done) > 100  # it is asked between any two digits
    with Clock().ticking() as clock, pytest.raises(OutOfTimeError):
        solve(M, rhs, Deadline(clock() + 10 * HOUR))
    assert clock.hours < 20


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_both_signs_are_seen_without_a_solution(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    A = [[int(v) << int(s) for v, s in zip(*p, strict=True)] for p in rng.integers(1, 1_200, (n, 2, n))]
    weights = rng.integers(1, 99, n).tolist()
    if seed % 2:
        weights[int(rng.integers(1, n))] *= -1
    last = [-sum(w * row[j] for w, row in zip(weights, A, strict=True)) for j in range(n)]
    A = [*A, last]
    expected = [*weights, 1]
    assert dependency(A, NEVER) in (expected, [-w for w in expected])
    assert dependency(A, NEVER, n) == expected  # of those that must have one sign, one is left
    if not seed % 2:
        assert dependency(A, NEVER, 0) == expected
    monkeypatch.setattr(linear_algebra, "solve", None)
    if seed % 2:
        assert dependency(A, NEVER, 0) is None
    else:
        with pytest.raises(TypeError):
            dependency(A, NEVER, 0)


LONG = """
import signal, sys
import numpy as np
from maxmargin.core.parameters import Deadline
from maxmargin.solvers.exact.linear_algebra import solve
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
steps = []

def tell(doing):
    steps.append(doing)
    if len(steps) == 10:
        print("solving", flush=True)
        sys.stdin.readline()  # goes on when the signal has been sent

M = np.random.default_rng(0).integers(-(2**53), 2**53, (300, 300)).tolist()
try:
    solve(M, [[1]] * 300, Deadline(tell=tell))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_large_system():
    command = [sys.executable, "-c", LONG]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        guard = threading.Timer(300, child.kill)  # a solution that does not end is ended
        guard.start()
        try:
            assert child.stdout.readline() == "solving\n"
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            child.stdin.close()
            assert child.wait(300) == 0
        finally:
            guard.cancel()
            child.kill()


def test_a_sum_that_is_written_twice_is_checked_once(monkeypatch):
    from maxmargin import checker

    X = np.random.default_rng(0).standard_normal((60, 4))
    verdict = mm.separability(X, np.arange(60) % 2)
    content = verdict.proof.content
    assert {k: content["span"][k] for k in ("rows", "weights")} == content["witness"]
    summed, whole = [], checker.weighted_sum
    monkeypatch.setattr(checker, "weighted_sum", lambda *given: summed.append(1) or whole(*given))
    assert verdict.proof.verify(X, np.arange(60) % 2) and len(summed) == 1
