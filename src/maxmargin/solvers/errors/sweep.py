"""All planes in one, two or three coordinates: the fewest errors by a sweep.

Planes z in three coordinates are points of a sphere, on which every point a_i draws the great circle
a_i·z = 0. The circles cut the sphere into cells, in each of which the same points are wrong, and every
cell lies along a piece of some circle. So go round every circle p: modulo p the other points are vectors
q_j of a plane, and a direction u has j right if q_j·u > 0. Sorted by angle, one point after the other
becomes right or wrong, O(n² log n) in all. The points on the line of p are right or wrong by the side of
the circle on which the cell lies. Points that lie in a plane need one turn in that plane.

Angles are compared in floating point where they are apart, and in integers where they are not: ties are
frequent in real data.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import gcd, pi

import numpy as np

from maxmargin.core.parameters import Deadline
from maxmargin.solvers.errors.witnesses import Points

MAX_COORDINATES = 3
KNOWN_ANGLE = 1e-9  # radians between directions whose order floating point knows
SHORT_VECTOR = 1e-6  # modulo a point, both of size one: below this its angle is taken from integers
EXACT_FLOATS = 2**53

Vector = tuple[int, int, int]


def sweep(points: Points, unit: Fraction, deadline: Deadline) -> tuple[Fraction, np.ndarray]:
    """The least cost of the points that a plane has wrong, and those points.

    All costs are multiples of the ``unit``: they are added up as whole numbers.
    """
    if not points.n:
        return Fraction(0), np.empty(0, np.int64)
    units = [int(cost / unit) for cost in points.costs]
    whole = [[*ints, 0, 0][:3] for ints, _ in points.rows.whole(points.first.tolist())]
    vectors: list[Vector] = [(a, b, c) for a, b, c in whole]
    costs = np.array(units, dtype=float if sum(units) < EXACT_FLOATS else object)
    best = sum(units), np.arange(len(vectors))
    lengths = [max(map(abs, v)) for v in vectors]
    doubles = np.array([[_ratio(x, m) for x in v] for v, m in zip(vectors, lengths, strict=True)])
    normal = _normal(vectors)
    # Of points in a plane a projection that keeps them apart: along a coordinate that its normal has.
    circles = dict.fromkeys(map(_line, vectors)) if normal is None else {_along(normal): None}
    for k, p in enumerate(circles):
        deadline.check(doing=f"planes through {k + 1:,} of {len(circles):,} points")
        found = _Turn(vectors, doubles, p).least(costs, best[0])
        best = best if found is None else found
    return best[0] * unit, best[1]


def _ratio(x: int, m: int) -> float:
    return float(Fraction(x, m))


def _normal(vectors: list[Vector]) -> Vector | None:
    """What is orthogonal to all points, if they do not span three dimensions."""
    a = vectors[0]
    b = next((v for v in vectors if any(_cross(a, v))), None)
    if b is None:  # all on a line: any plane that contains it
        b = next(e for e in ((1, 0, 0), (0, 1, 0)) if any(_cross(a, e)))
    normal = _cross(a, b)
    flat = all(normal[0] * v[0] + normal[1] * v[1] + normal[2] * v[2] == 0 for v in vectors)
    return normal if flat else None


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _along(normal: Vector) -> Vector:
    k = next(k for k in range(3) if normal[k])
    return int(k == 0), int(k == 1), int(k == 2)


def _line(v: Vector) -> Vector:
    """The shortest whole vector on the line of a vector, the same for both directions."""
    g = gcd(*v) * (1 if next(x for x in v if x) > 0 else -1)
    return v[0] // g, v[1] // g, v[2] // g


class _Turn:
    """The points modulo p, as vectors of a plane in which a direction turns around."""

    def __init__(self, vectors: list[Vector], doubles: np.ndarray, p: Vector) -> None:
        self.vectors, self.p = vectors, p
        self.c = max(range(3), key=lambda k: abs(p[k]))
        self.a, self.b = [k for k in range(3) if k != self.c]
        ratios = [_ratio(x, p[self.c]) for x in p]
        Q = doubles[:, [self.a, self.b]] - doubles[:, [self.c]] * [ratios[self.a], ratios[self.b]]
        self.parallel = np.zeros(len(vectors), dtype=np.int64)  # ±1 for points on the line of p
        for j in np.flatnonzero(np.max(np.abs(Q), axis=1) < SHORT_VECTOR).tolist():
            q = self.exact(j)
            most = max(map(abs, q))
            if most:
                Q[j] = [_ratio(x, most) for x in q]
            else:
                self.parallel[j] = 1 if vectors[j][self.c] * p[self.c] > 0 else -1
        self.angles = np.arctan2(Q[:, 1], Q[:, 0])

    def exact(self, j: int) -> tuple[int, int]:
        """A point modulo p, times |p_c|, in whole numbers."""
        v, p, sign = self.vectors[j], self.p, 1 if self.p[self.c] > 0 else -1
        x, y = (v[k] * p[self.c] - p[k] * v[self.c] for k in (self.a, self.b))
        return sign * x, sign * y

    def least(self, costs: np.ndarray, best: int) -> tuple[int, np.ndarray] | None:
        """The least cost of points that are wrong in a cell along the circle, if below the best one."""
        others = np.flatnonzero(self.parallel == 0)
        sides = [np.flatnonzero(self.parallel == side) for side in (-1, 1)]
        side = min(sides, key=lambda which: costs[which].sum())  # wrong on the better side
        extra = costs[side].sum() if len(side) else 0
        if not len(others):
            return (int(extra), side) if extra < best else None
        order, becomes_wrong, genuine = self._events(others)
        change = np.where(becomes_wrong, costs[order], -costs[order])
        begin = costs[order[~becomes_wrong]].sum()  # each point changes once in half a turn
        wrong = extra + begin + np.concatenate([[0], np.cumsum(change)])
        opposite = 2 * extra + costs[others].sum() - wrong  # half a turn further
        found = None
        for totals, flipped in ((wrong, False), (opposite, True)):
            k = int(np.argmin(np.where(genuine, totals, best)))
            if genuine[k] and totals[k] < best:
                best = int(totals[k])
                passed = np.arange(len(order)) < k
                now = passed == becomes_wrong
                found = best, np.sort(np.concatenate([side, order[now != flipped]]))
        return found

    def _events(self, others: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Half a turn: the points in the order in which they change, and whether they become wrong then.

        Last, whether there are directions with no point on the plane before each of them, and after all.
        """
        turned = np.sort((self.angles[others] + pi / 2) % pi)
        gaps = np.diff(turned, append=turned[0] + pi)
        widest = int(np.argmax(gaps))
        start = turned[widest] + gaps[widest] / 2
        ahead = (self.angles[others] + pi / 2 - start) % (2 * pi)
        becomes_wrong = ahead < pi
        order = np.argsort(ahead % pi, kind="stable")
        near = np.diff((ahead % pi)[order]) < KNOWN_ANGLE
        order, becomes_wrong = others[order], becomes_wrong[order]
        genuine = np.ones(len(order) + 1, dtype=bool)
        bounds = np.flatnonzero(np.diff(np.concatenate([[0], near.astype(int), [0]])))
        for first, last in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
            here = slice(first, last + 1)
            places, ties = self._in_order(order[here].tolist())
            order[here], becomes_wrong[here] = order[here][places], becomes_wrong[here][places]
            genuine[first + 1 : last + 1] = ~np.array(ties)
        return order, becomes_wrong, genuine

    def _in_order(self, which: list[int]) -> tuple[list[int], list[bool]]:
        """Points of nearly one line in exact order of angle, and whether each equals the one before."""
        flat = [self.exact(j) for j in which]
        x, y = flat[0]
        flat = [q if q[0] * x + q[1] * y > 0 else (-q[0], -q[1]) for q in flat]

        def turn(j: int, k: int) -> int:
            cross = flat[k][0] * flat[j][1] - flat[k][1] * flat[j][0]
            return (cross > 0) - (cross < 0)

        places = sorted(range(len(flat)), key=cmp_to_key(turn))
        return places, [turn(j, k) == 0 for j, k in pairwise(places)]
