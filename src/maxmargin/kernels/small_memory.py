"""The memory of a small problem: where its rows, vectors and matrices are in one block of numbers.

Kernels and their stages hand on the address of the block, and how many rows there is room for; what is
where follows from these. So a stage has few arguments, and nothing is allocated while a problem is
solved (:mod:`maxmargin.kernels.small_problem`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import further, jit_part

MAX_ROUNDS = 40


class Problem(NamedTuple):
    """Centred rows, their inner products, labels ±1, bounds, and 1 or 0 for a bias or none.

    What is not a number is an address.
    """

    X: Any
    K: Any
    y: Any
    C: Any
    n: int
    d: int
    products: bool  # whether there are inner products
    pad: float


class Fixed(NamedTuple):
    """Of a round: its multipliers and stiffnesses, and what rows that are left out contribute."""

    a: Any
    stiff: Any
    v0: Any  # Σ α_i a_i
    s0: float  # Σ α_i y_i


class Room(NamedTuple):
    """Memory that the steps share."""

    H: Any
    u: Any
    g: Any
    v: Any
    step: Any
    change: Any
    towards: Any
    band: Any


class Copy(NamedTuple):
    """Memory for the rows near the margin, and what goes with them."""

    X: Any
    y: Any
    C: Any
    a: Any
    stiff: Any
    m: Any
    alpha: Any
    v0: Any
    near: Any


# Places in memory: of single numbers, of vectors of length n, and of vectors of length d + 1. The first
# are the scale of the rows, the steps that the last round took, how many rounds there were, the gap that
# will do where no more progress is made, the one at which to stop at once, what was found (see PRIMAL),
# and passes, primal and dual value after each round.
SCALE, TAKEN, ROUNDS, TOLERANCE, GOAL, RESULT, LOG = 0, 1, 2, 3, 4, 5, 9
HEADER = LOG + 3 * MAX_ROUNDS
PRIMAL, DUAL, STEPS, PASSES = 0, 1, 2, 3  # places in what was found
(
    SIGNS, BOUNDS, MULTIPLIERS, STIFFNESS, NOW, OTHER, MARGINS, BEFORE, ALONG, CHANGE, TOWARDS, BEST,
    SOME_SIGNS, SOME_BOUNDS, SOME_MULTIPLIERS, SOME_STIFFNESS, SOME_NOW, SOME_MARGINS, LONG,
) = range(19)  # fmt: skip
CENTRE, PLANE, TRIAL, BEST_PLANE, NONE, GRADIENT, SUM, STEP, SUM_OF_OTHERS, SHORT = range(10)


STAGES = 2  # whose addresses stand behind the row numbers


def memory(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memory for a problem of up to n rows: numbers, and row numbers with addresses of stages.

    The first number is the scale of the rows that are in it, or 0.
    """
    order = min(n, 2 * (d + 1) + 20)
    products = n * n if n <= d else 0
    size = HEADER + LONG * n + SHORT * (d + 1) + 2 * n * d + products + order * order
    work = np.empty(size)
    work[SCALE] = 0.0
    return work, np.empty(2 * n + STAGES, dtype=np.int64)


@jit_part
def long_vector(work: Any, most: int, place: int) -> Any:
    """Return the address of a vector with an entry for each row."""
    return further(work, HEADER + place * most)


@jit_part
def short_vector(work: Any, most: int, d: int, place: int) -> Any:
    """Return the address of a vector with an entry for each feature and one for the bias."""
    return further(work, HEADER + LONG * most + place * (d + 1))


@jit_part
def matrices(work: Any, most: int, d: int) -> tuple[Any, Any, Any, Any]:
    """Return the addresses of rows, of a copy of some, of inner products, and of a system to solve."""
    X = further(work, HEADER + LONG * most + SHORT * (d + 1))
    some, K = further(X, most * d), further(X, 2 * most * d)
    return X, some, K, further(K, most * most if most <= d else 0)


@jit_part
def whole_problem(work: Any, most: int, n: int, d: int, pad: float) -> Any:
    """Return the problem on all rows."""
    X, _, K, _ = matrices(work, most, d)
    y, C = long_vector(work, most, SIGNS), long_vector(work, most, BOUNDS)
    return Problem(X, K, y, C, n, d, n <= d, pad)


@jit_part
def fixed_of_all(work: Any, most: int, d: int) -> Any:
    """Return what is fixed in a round on all rows."""
    a, stiff = long_vector(work, most, MULTIPLIERS), long_vector(work, most, STIFFNESS)
    return Fixed(a, stiff, short_vector(work, most, d, NONE), 0.0)


@jit_part
def copy_of_some(work: Any, numbers: Any, most: int, d: int) -> Any:
    """Return where some rows are copied to."""
    _, some, _, _ = matrices(work, most, d)
    return Copy(
        some,
        long_vector(work, most, SOME_SIGNS),
        long_vector(work, most, SOME_BOUNDS),
        long_vector(work, most, SOME_MULTIPLIERS),
        long_vector(work, most, SOME_STIFFNESS),
        long_vector(work, most, SOME_MARGINS),
        long_vector(work, most, SOME_NOW),
        short_vector(work, most, d, SUM_OF_OTHERS),
        further(numbers, most),
    )


@jit_part
def room_for_steps(work: Any, numbers: Any, most: int, d: int) -> Any:
    """Return the memory that the steps share."""
    _, _, _, H = matrices(work, most, d)
    return Room(
        H,
        long_vector(work, most, ALONG),
        short_vector(work, most, d, GRADIENT),
        short_vector(work, most, d, SUM),
        short_vector(work, most, d, STEP),
        long_vector(work, most, CHANGE),
        long_vector(work, most, TOWARDS),
        numbers,
    )
