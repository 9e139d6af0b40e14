"""The least cost of errors in up to three dimensions, found by trying every cell.

The planes z with a_i·z = 0 for no row fall into cells, within which each row is right or wrong. A plane
that some row lies on can be moved into a cell beside it: no other row changes, and no error is added.
So the least cost over all cells is the least of all. Rows on one line through the origin meet the same
planes: they are one line with two costs, of the rows on its one end and of those on the other.

- D = 1: there is one line, and z has one of two signs.
- D = 2: turn z by half a circle; it crosses every line once, in the order of their slopes.
- D = 3: every cell touches the circle p·z = 0 of some line p. There, other rows depend on two
  coordinates of z only: turn z as before. Beside the circle, the rows on p are those of one end or
  of the other.

Slopes are compared in integers: floor(2^k y / x) tells fractions apart whose denominators are below
2^(k/2), and is the same for equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

Line = tuple[Sequence[int], int, int]  # a vector, the cost of rows along it, and of rows against it


def least_cost(rows: Iterable[tuple[Sequence[int], int]], before_each: Callable[[], None]) -> int:
    """Return the least total cost of the rows a with a·z ≤ 0, over all z; rows are integers and costs.

    Examples
    --------
    Numbers 1, 2 and 3 of which the second has the other side: one of them is wrong, the cheapest.

    >>> from maxmargin.checker.sweep import least_cost
    >>> least_cost([((1, 1), 5), ((-2, -1), 4), ((3, 1), 3)], lambda: None)
    3
    """
    always = 0  # a row of zeros is on every plane
    lines: dict[tuple[int, ...], list[int]] = {}
    for a, cost in rows:
        divisor = math.gcd(*a)
        if divisor == 0:
            always += cost
            continue
        reverse = next(n for n in a if n) < 0
        costs = lines.setdefault(tuple([n // (-divisor if reverse else divisor) for n in a]), [0, 0])
        costs[reverse] += cost
    found: list[Line] = [(a, along, against) for a, (along, against) in lines.items()]
    if not found:
        return always
    if len(found[0][0]) == 1:
        return always + min(found[0][1], found[0][2])
    if len(found[0][0]) == 2:
        return always + _least_in_plane(found)
    least = sum(along + against for _, along, against in found)
    for pivot, along, against in found:
        before_each()
        least = min(least, min(along, against) + _least_in_plane(_on_circle(pivot, found)))
    return always + least


def _on_circle(pivot: Sequence[int], lines: Sequence[Line]) -> list[Line]:
    """Return the other lines in two coordinates of the z with pivot·z = 0.

    If p_0 ≠ 0 these z are s (-p_1, p_0, 0) + t (-p_2, 0, p_0).
    """
    i = next(k for k, n in enumerate(pivot) if n)
    j, k = (i + 1) % 3, (i + 2) % 3
    p, q, r = pivot[i], pivot[j], pivot[k]
    return [
        ((p * a[j] - q * a[i], p * a[k] - r * a[i]), along, against)
        for a, along, against in lines
        if a is not pivot
    ]


def _least_in_plane(lines: Sequence[Line]) -> int:
    """Return the least cost of errors where rows have two coordinates."""
    bits = 2 * max([x.bit_length() for (x, _), _, _ in lines], default=0)
    gains: dict[float, int] = {}  # by slope: what z saves when it crosses the lines of this slope
    total = cost = 0  # of all rows, and of those that are wrong when z begins its turn
    for (x, y), along, against in lines:
        if x < 0 or (x == 0 and y < 0):
            x, y, along, against = -x, -y, against, along
        slope = (y << bits) // x if x else math.inf
        gains[slope] = gains.get(slope, 0) + along - against
        total += along + against
        cost += along  # z begins below all lines, behind the vertical one
    least = min(cost, total - cost)
    for slope in sorted(gains):
        cost -= gains[slope]
        least = min(least, cost, total - cost)  # here, and with -z
    return least
