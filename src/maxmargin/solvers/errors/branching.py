"""Branch and bound for the fewest errors: a row is wrong, or it is right.

A node of the tree has some points wrong and some right. Its bound is the best fractional packing of the
witnesses found so far, to which new ones are added that the prices of the packing call for. If the
prices are whole numbers, the points that cost one hit all witnesses known; if the others can be
separated, that is a plane with as few errors as the bound, and if they cannot, there is a new witness.
If the prices are fractions, a point is chosen of which every plane has to decide whether it is right.

The node of least bound comes first, so the bound of the whole tree rises all the time. At the end every
leaf has a packing in fractions, which is the proof. Costs are multiples of some ``unit``, and so are the
errors of every plane: a bound above upper − unit is enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from heapq import heappop, heappush
from math import ceil, gcd, lcm
from typing import NamedTuple

import numpy as np

from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.solvers.errors.packing import Packing, Shares
from maxmargin.solvers.errors.witnesses import Points, Witnesses


@dataclass(frozen=True)
class Settings:
    """How hard to look for witnesses."""

    first_walks: int = 40  # from random corners, before the first packing
    walks: int = 3  # for each packing, each in so many steps, between which points become dearer
    steps: int = 6
    noise: float = 0.001  # of prices
    dearer: float = 3.0
    kept_of_a_walk: int = 4  # the cheapest witnesses of each step
    root_rounds: int = 200  # of packing and walking
    rounds: int = 8
    gain: float = 0.02  # of the bound in a round; with less, three times in a row, it is left at that
    roundings: int = 20  # of the prices of the root, each to a plane
    whole: float = 1e-6  # so near to 0 or 1 is a whole price
    safety: float = 1e-4  # of a unit, between the bounds of floating point and of a proof
    rounding: float = 1e-10  # of a bound, relative


SETTINGS = Settings()


@dataclass
class Node:
    """Some points wrong, some right, and what every plane pays then."""

    wrong: tuple[int, ...]
    right: tuple[int, ...]
    bound: float
    prices: np.ndarray
    basis: np.ndarray
    shares: Shares
    branch: int = -1  # the point that the children decide
    children: list[Node] = field(default_factory=list)
    exact: dict[int, Fraction] = field(default_factory=dict)  # shares of confirmed witnesses
    proven: Fraction | None = None  # what they prove


class Branch(NamedTuple):
    """A point, and the numbers of the nodes in which it is wrong and right: branches, then leaves."""

    point: int
    wrong: int
    right: int


class Found(NamedTuple):
    """The points that a plane has wrong, and what they cost."""

    wrong: np.ndarray
    cost: Fraction


class Search:
    """The search for the fewest errors; it can be ended at any time.

    Parameters
    ----------
    points : Points
        The different rows.
    wrong_of : function
        The rows that a plane of the exact rows has wrong, or on it, exactly.
    start : array
        The points that some plane has wrong.
    max_nodes : int
        Nodes of the tree to look into.
    deadline : Deadline
        When to end, and who is told of the bounds.
    """

    def __init__(
        self,
        points: Points,
        wrong_of: Callable[[np.ndarray], np.ndarray],
        start: np.ndarray,
        deadline: Deadline,
        rng: np.random.Generator,
        max_nodes: float = np.inf,
    ) -> None:
        self.points, self.wrong_of, self.deadline, self.rng = points, wrong_of, deadline, rng
        self.witnesses = Witnesses(points, rng, deadline)
        self.unit = unit_of(points.costs)
        self.float_unit, self.least_cost = float(self.unit), float(points.cost.min(initial=np.inf))
        self.best = self._found(np.arange(points.n))
        self._compare(start)
        self.root: Node | None = None
        self.open: list[tuple[float, int, Node]] = []
        self._number = itertools.count()
        self.nodes, self.max_nodes = 0, max_nodes

    @property
    def enough(self) -> Fraction:
        """A bound above this shows that no plane is better than the best one."""
        return self.best.cost - self.unit

    @property
    def enough_in_floats(self) -> float:
        """The same with some distance, as far as floating point can tell."""
        best = float(self.best.cost)
        return best - max(self.float_unit * (1.0 - SETTINGS.safety), best * SETTINGS.rounding)

    def run(self) -> bool:
        """Search until the best plane is proven to be the best; False if a budget ends first."""
        if not self.points.n:
            return True
        try:
            return self._run()
        except OutOfTimeError:  # in exact arithmetic
            return False

    def _run(self) -> bool:
        for pair in self.points.opposites:
            self.witnesses.add(pair)
        everything = np.ones(self.points.n, dtype=bool)
        for k in range(SETTINGS.first_walks):
            if k and self.deadline.over:
                break
            z, found = self.witnesses.look(self.rng.random(self.points.n), everything)
            if z is not None:
                self._take(z)
                break
            for some in found[: SETTINGS.kept_of_a_walk]:
                self.witnesses.add(some.tolist())
        if self.best.cost == 0:
            return True
        self.root = self._node((), (), None, SETTINGS.root_rounds if self.max_nodes else SETTINGS.rounds)
        self._push(self.root)
        for _ in range(SETTINGS.roundings):
            if self.max_nodes and not self.deadline.over:
                self._round(self.root)
        last: tuple[int, list[tuple[int, Fraction]]] | None = None
        while self._close():
            weak = [node for node in _leaves(self.root) if self._proven(node) <= self.enough]
            if not weak:
                return True
            now = self.witnesses.count, [(id(node), self._proven(node)) for node in weak]
            if now == last:  # and fractions will not show it
                return False
            last = now
            for node in weak:  # floating point promised too much
                node.bound, node.proven = float(self._proven(node)), None
                self._push(node)
        return False

    def _close(self) -> bool:
        """Take the node of least bound, until all bounds are enough; False if the time is over first."""
        while self.open and self.open[0][0] < self.enough_in_floats:
            if self.deadline.over or self.nodes >= self.max_nodes:
                return False
            bound, _, node = heappop(self.open)
            if self.deadline.tell is not None:
                self.deadline.tell(f"errors from {self._whole(bound)} to {float(self.best.cost):g}")
            self._expand(node)
        self.open.clear()
        return True

    def _whole(self, bound: float) -> str:
        """A bound rounded up to the next sum of costs."""
        units = ceil((bound - self.float_unit * SETTINGS.safety) / self.float_unit)
        return f"{min(units * self.float_unit, float(self.best.cost)):g}"

    def _expand(self, node: Node) -> None:
        """Find a better bound for a node, or branch."""
        self.nodes += 1
        if self.nodes % 20 == 0:
            self._round(node)
        i = self._undecided(node)
        if i < 0:
            self._settle(node)
            return
        cases = ((*node.wrong, i), node.right), (node.wrong, (*node.right, i))
        children = [self._node(*case, node.basis, SETTINGS.rounds) for case in cases]
        node.branch, node.children = i, children  # both or none: one alone would prove too much
        for child in children:
            child.bound = max(child.bound, node.bound)
            self._push(child)

    def _push(self, node: Node) -> None:
        heappush(self.open, (node.bound, next(self._number), node))

    def _undecided(self, node: Node) -> int:
        """The point to branch on: far from whole, and in many witnesses; −1 if all are whole."""
        h = node.prices
        apart = np.minimum(h, 1.0 - h)
        apart[list(node.wrong + node.right)] = 0.0
        if apart.max(initial=0.0) <= SETTINGS.whole:
            return -1
        degree = self.witnesses.contains.sum(axis=0)
        return int(np.argmax(apart * self.points.cost * (1.0 + degree / degree.max())))

    def _settle(self, node: Node) -> None:
        """The prices are whole: separate the points that cost nothing, or find a witness among them."""
        allowed = node.prices < 0.5
        allowed[list(node.wrong)] = False
        z, found = self.witnesses.look(self.rng.random(self.points.n), allowed)
        new = [self.witnesses.add(some.tolist()) for some in found]
        if not any(new):
            better = self._take(z) if z is not None else False
            if float(self.best.cost) <= node.bound + self.float_unit * SETTINGS.safety:
                self._push(node)
                return
            if not better and not self.witnesses.add_exact(allowed):
                self._compare(np.flatnonzero(~allowed))  # a plane that only exact arithmetic finds
        fresh = self._node(node.wrong, node.right, node.basis, SETTINGS.rounds)
        node.bound, node.prices = max(node.bound, fresh.bound), fresh.prices
        node.basis, node.shares = fresh.basis, fresh.shares
        self._push(node)

    def _node(
        self, wrong: tuple[int, ...], right: tuple[int, ...], basis: np.ndarray | None, rounds: int
    ) -> Node:
        """A node with its packing; witnesses that its prices call for are looked for."""
        packing = Packing(self.witnesses, wrong, right, basis)
        stalled, last = 0, -np.inf
        for _ in range(rounds):
            if not packing.solve():
                return self._impossible(wrong, right, packing)
            if packing.value >= self.enough_in_floats or self.deadline.over:
                break
            stalled = stalled + 1 if packing.value < last + SETTINGS.gain * self.least_cost else 0
            last = packing.value
            if stalled == 3 or not self._price(packing):
                break
        packing.solve()
        return Node(wrong, right, packing.value, packing.prices, packing.basis, packing.shares())

    def _impossible(self, wrong: tuple[int, ...], right: tuple[int, ...], packing: Packing) -> Node:
        """A node whose right points contain a witness: its share is as large as one likes."""
        known = self.witnesses
        outside = np.ones(self.points.n, dtype=bool)
        outside[list(right)] = False
        inside = ~known.contains[:, outside].any(axis=1) & ~known.refuted
        if not np.any(inside):  # floating point was mistaken: nothing is known of this node
            nothing = Shares({}, np.empty(0, np.int64))
            return Node(wrong, right, packing.paid, 0.0 * packing.prices, packing.basis, nothing)
        s = int(np.flatnonzero(inside)[0])
        if not known.confirm(s):
            return self._node(wrong, right, None, SETTINGS.rounds)
        share = Shares({s: float(sum(self.points.costs))}, np.empty(0, np.int64))
        return Node(wrong, right, np.inf, packing.prices, packing.basis, share)

    def _price(self, packing: Packing) -> bool:
        """Look for witnesses that are cheaper than one; return whether there are new ones."""
        prices, new = packing.prices, False
        for _ in range(SETTINGS.walks):
            dearer = np.ones(len(prices))
            for _ in range(SETTINGS.steps):
                noisy = (prices + SETTINGS.noise * self.rng.random(len(prices))) * dearer
                z, found = self.witnesses.look(noisy, packing.allowed)
                if z is not None:
                    self._take(z)
                    return False
                cheap = sorted([(float(prices[some].sum()), k) for k, some in enumerate(found)])
                for price, place in cheap[: SETTINGS.kept_of_a_walk]:
                    if price < 1.0 - SETTINGS.whole:
                        new |= self.witnesses.add(found[place].tolist())
                if found:  # weights do not count in the price of a witness: avoid dear points
                    dearer[found[0][prices[found[0]] > SETTINGS.whole]] *= SETTINGS.dearer
        return new

    def _round(self, node: Node) -> None:
        """Give up points of high price, one of each witness that is left, until a plane is found."""
        h = node.prices + 0.05 * self.rng.random(len(node.prices))
        allowed = node.prices <= 0.5
        allowed[list(node.wrong)] = False
        while True:
            z, found = self.witnesses.look(self.rng.random(len(h)) + 2.0 * (1.0 - h), allowed)
            if z is not None:
                self._take(z)
                return
            if not found:
                return
            self.witnesses.add(found[0].tolist())
            allowed[max(found[0].tolist(), key=lambda i: h[i] / self.points.cost[i])] = False

    def _take(self, z: np.ndarray) -> bool:
        """Take a plane of the points if it is better."""
        cost = float(self.points.cost[self.points.A @ z <= 0.0].sum())
        return cost < float(self.best.cost) and self._compare(
            self.points.of_rows(self.wrong_of(self.points.plane(z)))
        )

    def _compare(self, wrong: np.ndarray) -> bool:
        """Take points that a plane has wrong, if they cost less."""
        found = self._found(wrong)
        better = found.cost < self.best.cost
        self.best = found if better else self.best
        return better

    def _found(self, wrong: np.ndarray) -> Found:
        return Found(wrong, sum([self.points.costs[i] for i in wrong.tolist()], Fraction(0)))

    def lower(self) -> Fraction:
        """What is proven of all planes: the least of all leaves, whose witnesses are confirmed now."""
        if self.root is None:
            return Fraction(0)
        least = min([self._proven(node) for node in _leaves(self.root)])
        return min(-(-least // self.unit) * self.unit, self.best.cost)

    def _proven(self, node: Node) -> Fraction:
        """What the confirmed witnesses of a node prove."""
        if node.proven is None:
            packing = Packing(self.witnesses, node.wrong, node.right, node.basis)
            while not all(list(map(self.witnesses.confirm, node.shares.of))):
                packing.solve()  # others in place of those refuted
                node.shares, node.basis = packing.shares(), packing.basis
            node.exact = node.shares.exact(self.witnesses, node.right)
            paid = sum([self.points.costs[i] for i in node.wrong], Fraction(0))
            node.proven = paid + sum(node.exact.values(), Fraction(0))
        return node.proven

    def tree(self, lower: Fraction) -> tuple[list[Branch], list[Node]]:
        """The branches and leaves that prove a lower bound, the least tree of them."""
        branches, leaves = list[Branch](), list[Node]()
        waiting = [self.root] if self.root is not None else []
        enough = lower - self.unit
        inner = list[Node]()
        while waiting:
            node = waiting.pop()
            if not node.children or (node.bound > enough and self._proven(node) > enough):
                leaves.append(node)
            else:
                inner.append(node)
                waiting += node.children
        number = {id(node): k for k, node in enumerate([*inner, *leaves])}
        for node in inner:
            wrong, right = node.children
            branches.append(Branch(node.branch, number[id(wrong)], number[id(right)]))
        return branches, leaves


def _leaves(node: Node) -> list[Node]:
    """The leaves below a node, or itself."""
    waiting, found = [node], []
    while waiting:
        one = waiting.pop()
        waiting += one.children
        if not one.children:
            found.append(one)
    return found


def unit_of(costs: list[Fraction]) -> Fraction:
    """The largest number of which all costs are multiples."""
    if not costs:
        return Fraction(1)
    common = lcm(*[cost.denominator for cost in costs])
    return Fraction(reduce(gcd, [int(cost * common) for cost in costs]), common)
