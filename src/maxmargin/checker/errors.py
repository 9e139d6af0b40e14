"""The errors of a plane, and a lower bound on those of any plane.

Row i is an error of z if a_i·z ≤ 0. It has a cost (1, unless the proof states costs), and rows with the
same a_i are right or wrong together: they are one group, with their total cost. No plane has all rows of
a witness right, because they cancel. Give every witness a share ≥ 0 such that for each group the shares
of the witnesses with a row of it sum to its cost at most. Every witness has an error in it, so for any
plane

    Σ share ≤ Σ over its errors of the shares of the witnesses they are in ≤ the cost of its errors.

Where this is too little, a tree divides the planes: at a branch, into those that have a row wrong and
those that have it right. For the planes of a leaf, the groups that are wrong on the way cost what they
cost, and are in no witness of the leaf; those that are right are no errors, and may have any share.

Every cost of errors is a multiple of the greatest common divisor g of the costs. So all planes have at
least ``lower``, a multiple of g, if the bound of every leaf is more than lower - g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

from maxmargin.checker.form import DIGITS_PER_NUMBER, Rejected, common_denominator, require
from maxmargin.checker.sweep import least_cost

if TYPE_CHECKING:
    from maxmargin.checker import Vector

FREE_STEPS = 1 << 25  # additions of the witnesses, and of their shares: seconds, whatever the text
STEPS_PER_SHARE = 128  # more of them: a share counts for every row of its witness
SWEPT_ROWS = 3000  # with three dimensions some ten seconds, for numbers of a few digits
SWEPT_BITS = 1 << 40  # squared, for each number in each order of the rows: some twenty seconds

Group = tuple[tuple[int, ...], tuple[int, ...], int]  # a_i, the same for equal rows


class Errors:
    """The errors of the plane of a proof, row by row, and what rows cost, in multiples of 1 / unit."""

    def __init__(self, proof: Mapping[str, Any]) -> None:
        self.proof = proof
        texts = [proof["lower"], proof["upper"], *proof.get("costs", [])]
        numbers, self.unit = common_denominator(texts)
        require(min(numbers) >= 0, "lower, upper and costs must not be negative")
        self.lower, self.upper, *costs = numbers
        self.step = math.gcd(*costs) if "costs" in proof else self.unit
        self.dimension = proof["features"] + proof["intercept"]
        require("sweep" not in proof or self.dimension <= 3, "sweep is for at most 3 dimensions")
        self._costs: Iterator[int] = iter(costs) if "costs" in proof else repeat(self.unit)
        self._groups: dict[Group, int] = {}  # numbers of groups
        self._cost_of: list[int] = []  # groups
        self._wrong: list[int] = []
        self._cost = 0

    def add(self, i: int, a: Vector, wrong: bool) -> None:
        """Add one row; beyond those that the proof is about, they cost nothing until it is rejected."""
        cost = next(self._costs, 0)
        group = self._groups.setdefault(_group(a), len(self._groups))
        if group == len(self._cost_of):
            self._cost_of.append(0)
            few = "sweep" not in self.proof or group < SWEPT_ROWS
            require(few, f"sweep is for at most {SWEPT_ROWS} different rows")
        self._cost_of[group] += cost
        if wrong:
            self._wrong.append(i)
            self._cost += cost

    def require_bounds(self, kept: Mapping[int, Vector], before_each: Callable[[], None]) -> None:
        """Reject the proof unless its plane has the errors stated, and no plane has fewer than lower."""
        differing = set(self._wrong) ^ set(self.proof["given_up"])
        first = min(differing, default=0)
        require(not differing, f"row {first} must be wrong and in given_up, or neither")
        require(self._cost == self.upper, "upper must be the total cost of the rows given up")
        require(self.lower <= self.upper, "lower must not be more than upper")
        multiple = self.step == 0 or self.lower % self.step == 0  # no cost at all: upper is 0
        require(multiple, "lower must be a multiple of the greatest common divisor of the costs")
        if "sweep" in self.proof:
            self._require_sweep(before_each)
        else:
            self._require_tree({i: self._groups[_group(a)] for i, a in kept.items()}, before_each)

    def _require_sweep(self, before_each: Callable[[], None]) -> None:
        rows = []
        for (columns, integers, _), cost in zip(self._groups, self._cost_of, strict=True):
            a = [0] * self.dimension
            for j, n in zip(columns, integers, strict=True):
                a[j] = n
            rows.append((a, cost))
        longest = max([n.bit_length() for a, _ in rows for n in a], default=0)
        bits = longest**2 * len(rows) ** (self.dimension - 1)
        require(bits <= SWEPT_BITS, "sweep is for shorter numbers, or fewer rows")
        least = least_cost(rows, before_each)
        require(least == self.lower == self.upper, "lower and upper must be the least cost of errors")

    def _require_tree(self, group_of: Mapping[int, int], before_each: Callable[[], None]) -> None:
        tree, witnesses = self.proof["tree"], list[list[int]]()
        for number, witness in enumerate(self.proof["witnesses"]):
            witnesses.append([group_of[i] for i in witness["rows"]])
            differ = len(set(witnesses[-1])) == len(witnesses[-1])
            require(differ, f"the rows of witnesses[{number}] must differ")
        _require_nodes(tree, [len(witness) for witness in witnesses])
        branches, leaves = tree["branches"], tree["leaves"]
        wrong: dict[int, bool] = {}  # the groups on the way to a node, from the root on
        waiting: list[tuple[int, int, dict[int, bool], int]] = [(0, 0, {}, 0)]
        while waiting:
            before_each()
            node, depth, last, cost = waiting.pop()  # last: the step to the node; cost: of wrong groups
            while len(wrong) > depth:
                wrong.popitem()
            wrong |= last
            if node >= len(branches):
                number = node - len(branches)
                packed = [witnesses[k] for k in leaves[number]["witnesses"]]
                self._require_leaf(number, packed, wrong, cost)
                continue
            branch = branches[node]
            group = group_of[branch["row"]]
            require(group not in wrong, f"row {branch['row']} must not be branched on twice on a path")
            both = (False, cost), (True, cost + self._cost_of[group])
            for side, total in both:
                child = branch["wrong" if side else "right"]
                waiting.append((child, len(wrong), {group: side}, total))

    def _require_leaf(
        self, number: int, packed: list[list[int]], wrong: Mapping[int, bool], cost: int
    ) -> None:
        """Reject the proof unless the shares of a leaf, and the cost of wrong groups, are enough."""
        shares, one = common_denominator(self.proof["tree"]["leaves"][number]["shares"])
        short = max([one, *shares]) < 10**DIGITS_PER_NUMBER
        require(short, f"leaf {number} must have shares of at most {DIGITS_PER_NUMBER} digits")
        require(min(shares, default=0) >= 0, f"leaf {number} must have no negative shares")
        shared: dict[int, int] = {}
        for witness, share in zip(packed, shares, strict=True):
            for group in witness:
                if group not in wrong:
                    shared[group] = shared.get(group, 0) + share
                elif wrong[group]:
                    raise Rejected(f"leaf {number} must have witnesses without its wrong rows")
        for group, total in shared.items():
            within = total * self.unit <= self._cost_of[group] * one
            require(within, f"leaf {number} must not share out more than a row costs")
        enough = self.lower == 0 or cost * one + sum(shares) * self.unit > (self.lower - self.step) * one
        require(enough, f"leaf {number} must bound the errors by more than lower, less one step")


def _group(a: Vector) -> Group:
    """Return what equal rows have in common: the scale of a row depends on its numbers alone."""
    return tuple(a[0]), tuple(a[1]), a[2]


def _require_nodes(tree: Mapping[str, Any], sizes: list[int]) -> None:
    """Reject what is no tree, or names other witnesses; sizes are their numbers of rows."""
    branches, leaves = tree["branches"], tree["leaves"]
    require(len(leaves) == len(branches) + 1, "tree must have one leaf more than branches")
    children = sorted([branch[side] for branch in branches for side in ("wrong", "right")])
    once = children == list(range(1, len(branches) + len(leaves)))
    require(once, "every node of the tree but the first must be the child of one branch")
    for number, branch in enumerate(branches):
        later = min(branch["wrong"], branch["right"]) > number
        require(later, f"the children of branch {number} must have larger numbers")
    steps = count = 0
    for number, leaf in enumerate(leaves):
        named, length = leaf["witnesses"], len(leaf["shares"])
        require(len(named) == length, f"leaf {number} must have one share per witness")
        known = max(named, default=-1) < len(sizes)
        require(known, f"leaf {number} must name witnesses from 0 to {len(sizes) - 1}")
        longest = max(map(len, leaf["shares"]), default=0)
        short = longest <= 2 * DIGITS_PER_NUMBER + 1
        require(short, f"leaf {number} must have shares of at most {DIGITS_PER_NUMBER} digits")
        steps += sum([sizes[k] for k in named])
        count += length
    free = FREE_STEPS + STEPS_PER_SHARE * count
    require(steps <= free, f"the leaves' witnesses must have at most {free} rows. Got {steps}")
