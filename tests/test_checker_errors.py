"""Proofs of the fewest errors: true ones are accepted, and changed ones are judged by the conditions.

The fewest errors are found by brute force in fractions: rows can all be right unless they hold a
circuit, D + 1 rows at most that cancel with positive weights, and so the errors are the cheapest rows
with one of each circuit. A plain branch and bound over the circuits writes the proofs.
"""

import copy
import math
import random
from fractions import Fraction
from itertools import combinations

import pytest

import maxmargin as mm
import maxmargin.checker
from exact import dot
from maxmargin.checker import Rejected, errors
from maxmargin.checker.__main__ import main
from maxmargin.checker.sweep import least_cost
from proofs import FIVE, ONE_TWO_ONE, PROOFS, changed, judge, make, seal, sparse

# The reference.


def signed(X, y, intercept):
    """The rows a_i as lists of fractions."""
    return [[s * Fraction(v) for v in [*x, *[1] * intercept]] for x, s in zip(X, y, strict=True)]


def cancelling(vectors):
    """Positive integers with which the vectors sum to zero, or None unless there is one way to do it."""
    T = [list(column) for column in zip(*vectors, strict=True)]
    k = len(vectors)
    for j in range(k - 1):
        pivot = next((r for r in range(j, len(T)) if T[r][j]), None)
        if pivot is None:
            return None
        T[j], T[pivot] = T[pivot], T[j]
        T[j] = [e / T[j][j] for e in T[j]]
        for r in range(len(T)):
            if r != j and T[r][j]:
                T[r] = [e - T[r][j] * p for e, p in zip(T[r], T[j], strict=True)]
    if any(row[-1] for row in T[k - 1 :]) or any(row[-1] >= 0 for row in T[: k - 1]):
        return None
    weights = [*(-row[-1] for row in T[: k - 1]), Fraction(1)]
    common = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * common) for weight in weights]


def circuits(A):
    """The circuits of the rows with positive weights: {rows: weights}."""
    found = {}
    for size in range(1, len(A[0]) + 2 if A else 1):
        for S in combinations(range(len(A)), size):
            if weights := cancelling([A[i] for i in S]):
                found[S] = weights
    return found


def fewest(A, costs):
    """The least cost of errors, and the rows given up, by looking at every set of rows."""
    masks = [sum(1 << i for i in S) for S in circuits(A)]
    hitting = (m for m in range(1 << len(A)) if all(m & mask for mask in masks))
    cost_of = {m: sum(cost for i, cost in enumerate(costs) if m >> i & 1) for m in hitting}
    best = min(cost_of, key=cost_of.__getitem__)
    return cost_of[best], [i for i in range(len(A)) if best >> i & 1]


def plane_for(A, dimension):
    """A plane with all rows strictly right, if there is one: the perceptron, in fractions."""
    z = [Fraction(0)] * dimension
    while wrong := [a for a in A if dot(a, z) <= 0]:
        z = [v + u for v, u in zip(z, wrong[0], strict=True)]
    return z


def tree_for(A, costs, lower, depth):
    """Witnesses and a tree that prove the lower bound, of this depth at least unless that is in vain."""
    group = {}  # the first row of each
    for i, a in enumerate(A):
        group.setdefault(tuple(a), i)
    first = list(group.values())
    cost = dict.fromkeys(first, Fraction(0))
    for a, c in zip(A, costs, strict=True):
        cost[group[tuple(a)]] += c
    step = greatest_divisor(costs)
    found = circuits([A[i] for i in first])
    witnesses = [([first[k] for k in S], weights) for S, weights in found.items()]

    def node(wrong, right):
        free = [k for k, (rows, _) in enumerate(witnesses) if wrong.isdisjoint(rows)]
        if within := [k for k in free if right.issuperset(witnesses[k][0])]:
            return {"witnesses": within[:1], "shares": [str(lower)]}
        room, shares = dict(cost), []
        for part in (Fraction(1, 2), Fraction(1)):
            for k in free:
                rows = [i for i in witnesses[k][0] if i not in right]
                shares.append((k, part * min(room[i] for i in rows)))
                for i in rows:
                    room[i] -= shares[-1][1]
        shares = [(k, share) for k, share in shares if share]
        free_rows = [i for k in free for i in witnesses[k][0] if i not in right]
        deep = len(wrong | right) >= depth or not free_rows
        bound = sum(cost[i] for i in wrong) + sum(share for _, share in shares)
        if deep and (lower == 0 or bound > lower - step):
            return {"witnesses": [k for k, _ in shares], "shares": [str(s) for _, s in shares]}
        row = max(free_rows, key=free_rows.count)
        return row, node(wrong | {row}, right), node(wrong, right | {row})

    branches, leaves, waiting = [], [], [node(set(), set())]
    for part in waiting:  # breadth first: children have larger numbers
        if isinstance(part, tuple):
            branches.append(part)
            waiting += part[1:]
        else:
            leaves.append(part)
    number = {id(part): k for k, part in enumerate([*branches, *leaves])}
    tree = {
        "branches": [
            {"row": row, "wrong": number[id(w)], "right": number[id(r)]} for row, w, r in branches
        ],
        "leaves": leaves,
    }
    texts = [{"rows": rows, "weights": list(map(str, weights))} for rows, weights in witnesses]
    return {"witnesses": texts, "tree": tree}


def greatest_divisor(costs):
    """The greatest common divisor of costs, 0 if all are."""
    common = math.lcm(*(Fraction(c).denominator for c in costs))
    return Fraction(math.gcd(*(int(c * common) for c in costs)), common)


def proven(X, y, intercept, costs=None, sweep=False, depth=0):
    """A true proof of the fewest errors, and its rows."""
    A, weights = signed(X, y, intercept), [Fraction(1)] * len(X) if costs is None else costs
    least, given_up = fewest(A, weights)
    z = plane_for([a for i, a in enumerate(A) if i not in given_up], len(X[0]) + intercept)
    given_up = [i for i, a in enumerate(A) if dot(a, z) <= 0]
    entries = {"given_up": given_up, "lower": str(least), "upper": str(least)}
    entries["plane"] = {"w": list(map(str, z[: len(X[0])])), "b": str(z[-1] if intercept else 0)}
    entries |= {"sweep": True} if sweep else tree_for(A, weights, least, depth)
    entries |= {} if costs is None else {"costs": list(map(str, costs))}
    rows = sparse(X, [str(s) for s in y])
    sides = {"positive": ["1"], "negative": ["-1"]}
    return make("errors", rows, len(X[0]), intercept=intercept, **sides, **entries), rows


def holds(proof, A):
    """Whether a proof with entries of the right form holds, by the letter of the specification."""
    costs = [Fraction(c) for c in proof.get("costs", ["1"] * len(A))]
    lower, upper, step = Fraction(proof["lower"]), Fraction(proof["upper"]), greatest_divisor(costs)
    z = [Fraction(v) for v in [*proof["plane"]["w"], proof["plane"]["b"]]][: len(A[0])]
    if not proof["intercept"] and Fraction(proof["plane"]["b"]):
        return False
    wrong = [i for i, a in enumerate(A) if dot(a, z) <= 0]
    multiple = (lower / step).denominator == 1 if step else lower == 0
    bounds = multiple and lower <= upper == sum(costs[i] for i in wrong)
    witnesses = [(s["rows"], list(map(int, s["weights"]))) for s in proof["witnesses"]]
    for rows, weights in witnesses:
        if max(rows) >= len(A) or len({tuple(A[i]) for i in rows}) < len(rows) or min(weights) < 1:
            return False
        if any(dot(weights, column) for column in zip(*(A[i] for i in rows), strict=True)):
            return False
    branches, leaves = proof["tree"]["branches"], proof["tree"]["leaves"]
    parents = dict.fromkeys(range(len(branches) + len(leaves)), 0)
    for k, branch in enumerate(branches):
        for child in (branch["wrong"], branch["right"]):
            if child <= k or child not in parents:
                return False
            parents[child] += 1
    tree = [*parents.values()] == [0, *[1] * (len(parents) - 1)] and leaves

    alike = [{j for j, b in enumerate(A) if a == b} for a in A]

    def bounded(node, wrong, right):
        if node < len(branches):
            branch = branches[node]
            if branch["row"] >= len(A) or branch["row"] in wrong | right:
                return False
            rows = alike[branch["row"]]
            left = bounded(branch["wrong"], wrong | rows, right)
            return left and bounded(branch["right"], wrong, right | rows)
        leaf = leaves[node - len(branches)]
        shares = list(map(Fraction, leaf["shares"]))
        if len(shares) != len(leaf["witnesses"]) or min(shares, default=0) < 0:
            return False
        if any(k >= len(witnesses) or wrong & set(witnesses[k][0]) for k in leaf["witnesses"]):
            return False
        packed = [(set(witnesses[k][0]), s) for k, s in zip(leaf["witnesses"], shares, strict=True)]
        for i in set(range(len(A))) - right:
            if sum(s for rows, s in packed if alike[i] & rows) > sum(costs[j] for j in alike[i]):
                return False
        return lower == 0 or sum(costs[i] for i in wrong) + sum(shares) > lower - step

    return bool(proof["given_up"] == wrong and bounds and tree and bounded(0, set(), set()))


def example(rng, n, weighted=False, D=None):
    """Small integers with ties, equal rows, and sometimes a rank below D; labels, intercept, costs."""
    D = D or rng.randint(1, 3)
    intercept = D > 1 and rng.random() < 0.6
    d = D - intercept
    X = [[float(rng.randint(-2, 2)) for _ in range(d)] for _ in range(n)]
    if d > 1 and rng.random() < 0.3:
        X = [[*x[:-1], rng.choice([x[0], -x[0]])] for x in X] if rng.random() < 0.5 else X
        k = rng.randint(0, 2)
        X = [[*x[:-1], k * x[0]] for x in X]
    y = [rng.choice([-1, 1]) for _ in X]
    costs = [Fraction(rng.randint(0, 6), rng.choice([1, 2, 3])) for _ in X] if weighted else None
    return X, y, intercept, costs


# Proofs that hold.


@pytest.mark.parametrize("weighted", [False, True])
def test_true_proofs_are_accepted(weighted):
    rng, branched = random.Random(1), 0
    for n in [*range(1, 9)] * 5 + [10] * 2:
        X, y, intercept, costs = example(rng, n, weighted)
        proof, rows = proven(X, y, intercept, costs, depth=n % 4)
        judge(proof, rows)
        branched += bool(proof["tree"]["branches"])
        content = {key: value for key, value in proof.items() if key != "seal"}
        assert mm.Proof(content).verify(X, y)
        step = greatest_divisor(costs or [1])
        with pytest.raises(Rejected, match="lower must not be more"):
            judge(proof | {"lower": str(Fraction(proof["lower"]) + (step or 1))}, rows)
    assert branched >= 5


def test_lower_bounds_need_not_be_tight():
    X, y, intercept, _ = example(random.Random(5), 10, D=3)
    proof, rows = proven(X, y, intercept)
    least = int(proof["lower"])
    assert least >= 2
    judge(proof | {"lower": str(least - 1)}, rows)
    z = {"w": ["0"] * len(X[0]), "b": "0"}  # all rows lie on z = 0, and so are its errors
    judge(proof | {"plane": z, "given_up": [*range(10)], "upper": "10"}, rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sweep_finds_what_brute_force_finds(weighted):
    rng = random.Random(2)
    for case in range(150):
        X, y, intercept, costs = example(rng, 1 + case % 8, weighted)
        proof, rows = proven(X, y, intercept, costs, sweep=True)
        judge(proof, rows)
        worse = [i for i in range(len(X)) if i not in proof["given_up"]]
        step = greatest_divisor(costs or [1])
        if worse and step:
            z = {"w": ["0"] * len(X[0]), "b": "0"}
            total = str(sum(costs or [1] * len(X)))
            everything = proof | {"plane": z, "given_up": [*range(len(X))], "upper": total}
            if total != proof["lower"]:
                for lower in (proof["lower"], total):
                    with pytest.raises(Rejected, match="must be the least cost"):
                        judge(everything | {"lower": lower}, rows)


def test_the_sweep_of_long_numbers():
    rng = random.Random(3)
    for scale in (1e300, 5e-324, 0.1):
        X, y, intercept, _ = example(rng, 8, D=3)
        X = [[v * scale if j else v for j, v in enumerate(x)] for x in X]
        A = signed(X, y, intercept)
        common = [math.lcm(*(v.denominator for v in a)) for a in A]
        integers = [([int(v * c) for v in a], 1) for a, c in zip(A, common, strict=True)]
        assert least_cost(integers, lambda: None) == fewest(A, [1] * 8)[0]


def test_the_sweep_of_numbers_on_a_line_is_that_of_thresholds():
    rng = random.Random(4)
    x, y = [rng.randint(0, 300) for _ in range(2000)], [rng.choice([-1, 1]) for _ in range(2000)]
    fewest_of_all = min(
        sum(s * side * (2 * v - 2 * t + 1) <= 0 for v, s in zip(x, y, strict=True))
        for t in range(302)
        for side in (-1, 1)
    )
    rows = [((s * v, s), 1) for v, s in zip(x, y, strict=True)]
    assert least_cost(rows, lambda: None) == fewest_of_all
    tilted = [((s * v, s, s * (7 - 3 * v)), 1) for v, s in zip(x, y, strict=True)]  # of rank 2 again
    assert least_cost(tilted, lambda: None) == fewest_of_all


# Proofs that do not hold.


def with_a_digit_changed(rng, text):
    """The text with another digit in one place."""
    places = [k for k, c in enumerate(text) if c.isdigit()]
    k = rng.choice(places)
    return text[:k] + rng.choice("0123456789") + text[k + 1 :]


def randomly_changed(rng, proof):
    """A proof with one entry changed, dropped, swapped or doubled."""
    proof = copy.deepcopy(proof)
    tree, witnesses = proof["tree"], proof["witnesses"]
    branch, leaf = rng.choice(tree["branches"]), rng.choice(tree["leaves"])
    witness = rng.choice(witnesses)
    texts = [(witness["weights"], k) for k in range(len(witness["weights"]))]
    texts += [(leaf["shares"], k) for k in range(len(leaf["shares"]))]
    texts += [(proof.get("costs", []), k) for k in range(len(proof.get("costs", [])))]
    texts += [(proof, "lower"), (proof, "upper"), (proof["plane"], "b"), (proof["plane"]["w"], 0)] * 2
    numbers = [(part["rows"], k) for part in witnesses for k in range(len(part["rows"]))]
    numbers += [(proof["given_up"], k) for k in range(len(proof["given_up"]))] * 2
    numbers += [(leaf["witnesses"], k) for k in range(len(leaf["witnesses"]))] * 2
    numbers += [(branch, key) for key in branch] * 5
    what = rng.randrange(8)
    if what <= 2:
        place, key = rng.choice(texts)
        place[key] = with_a_digit_changed(rng, place[key])
    elif what <= 4:
        place, key = rng.choice(numbers)
        place[key] = rng.choice([place[key] + 1, abs(place[key] - 1), rng.randrange(proof["rows"])])
    elif what == 5:
        lists = tree["branches"], tree["leaves"], witnesses, proof["given_up"], witness["rows"]
        part = rng.choice([part for part in lists if part])
        del part[rng.randrange(len(part))]
    elif what == 6:
        branch["wrong"], branch["right"] = branch["right"], branch["wrong"]
        if rng.random() < 0.5:
            branch["wrong"] = branch["right"]
    elif leaf["shares"]:
        k = rng.randrange(len(leaf["shares"]))
        leaf["shares"][k] = str(Fraction(leaf["shares"][k]) * Fraction(rng.randint(0, 3), 2))
    return proof


def has_form(proof):
    """Whether the entries that are changed above still have their form."""
    try:
        for text in [proof["lower"], proof["upper"], proof["plane"]["b"], *proof["plane"]["w"]]:
            Fraction(text)
        [Fraction(text) for text in proof.get("costs", [])]
        [Fraction(text) for leaf in proof["tree"]["leaves"] for text in leaf["shares"]]
    except ZeroDivisionError:
        return False
    sums = [(part["rows"], part["weights"]) for part in proof["witnesses"]]
    return all(len(rows) == len(weights) == len(set(rows)) for rows, weights in sums)


@pytest.mark.parametrize("weighted", [False, True])
def test_changed_proofs_are_judged_by_the_conditions(weighted):
    rng = random.Random(6)
    bases = []
    while len(bases) < 10:
        X, y, intercept, costs = example(rng, 9, weighted, D=3)
        proof, rows = proven(X, y, intercept, costs, depth=len(bases) % 4 + 1)
        if proof["tree"]["branches"]:
            bases.append((proof, rows, signed(X, y, intercept)))
            assert holds(proof, bases[-1][2])
    refused = tried = 0
    while tried < 500:
        proof, rows, A = rng.choice(bases)
        mutated = randomly_changed(rng, proof)
        if mutated == proof:
            continue
        tried += 1
        if has_form(mutated) and holds(mutated, A):  # a smaller share may be enough, or another plane
            judge(mutated, rows)
            continue
        refused += 1
        with pytest.raises(Rejected):
            judge(mutated, rows)
    assert refused >= 350


BRANCH = {"row": 2, "wrong": 1, "right": 2}
TWO = {"wrong": 2, "right": 3}
NO_LEAF, LEAF = {"witnesses": [], "shares": []}, {"witnesses": [0], "shares": ["1"]}
TALLER = {"branches": [{"row": 2, "wrong": 1, "right": 2}, {"row": 2, **TWO}], "leaves": [LEAF] * 3}
BROKEN = [
    ("given_up", [1], "row 3 must be wrong and in given_up, or neither"),
    ("given_up", [1, 2, 3], "row 2 must be wrong and in given_up, or neither"),
    ("given_up", [3, 1], "given_up must be sorted"),
    ("plane.b", "0", "row 0 must be wrong"),
    ("upper", "3", "upper must be the total cost"),
    ("lower", "3", "lower must not be more than upper"),
    ("lower", "3/2", "lower must be a multiple"),
    ("lower", "-1", "must not be negative"),
    ("costs", ["1"] * 4, "costs must be one per row"),
    ("costs", ["1"] * 4 + ["-1"], "must not be negative"),
    ("costs", ["1", "2", "1", "1", "1"], "upper must be the total cost"),
    ("costs", ["1", "1", "0", "1", "1"], "leaf 0 must bound the errors"),
    ("costs", ["0", "1", "1", "1", "1"], "leaf 0 must not share out more"),
    ("witnesses.0.weights", ["3", "4", "2"], "the weighted rows of witnesses[0] must sum to zero"),
    ("witnesses.0.weights", ["3", "4"], "witnesses[0] must have one weight per row"),
    ("witnesses.0.rows", [0, 1, 1], "witnesses[0] must not name a row twice"),
    ("witnesses.0.rows", [0, 1, 5], "row 5 must have one of the labels"),
    ("witnesses.2", {"rows": [0, 1, 2, 3], "weights": ["1"] * 4}, "witnesses[2] must have 1 to 3 rows"),
    ("witnesses", [ONE_TWO_ONE], "leaf 1 must name witnesses from 0 to 0"),
    ("sweep", True, "must not have an entry 'tree'"),
    ("tree.branches", [], "one leaf more than branches"),
    ("tree.leaves", [LEAF], "one leaf more than branches"),
    ("tree", {"branches": [], "leaves": []}, "one leaf more than branches"),
    ("tree", {"branches": [], "leaves": [LEAF]}, "leaf 0 must bound the errors by more than lower"),
    ("tree.branches.0", BRANCH | {"right": 1}, "must be the child of one branch"),
    ("tree.branches.0", BRANCH | {"right": 0}, "must be the child of one branch"),
    ("tree.branches.0", BRANCH | {"wrong": 3}, "must be the child of one branch"),
    (
        "tree.branches.0",
        BRANCH | {"wrong": 2, "right": 1},
        "leaf 1 must have witnesses without its wrong",
    ),
    ("tree.branches.0", BRANCH | {"row": 9}, "row 9 must have one of the labels"),
    ("tree.branches", [{"row": 2, **TWO}, {"row": 1, "wrong": 1, "right": 4}], "one leaf more"),
    ("tree", TALLER | {"branches": [BRANCH, {"row": 2, "wrong": 3, "right": 4}]}, "twice on a path"),
    ("tree", TALLER | {"branches": [{"row": 2, **TWO}, {"row": 1, "wrong": 1, "right": 4}]}, "larger"),
    ("tree.leaves.0", NO_LEAF, "leaf 0 must bound the errors by more than lower"),
    ("tree.leaves.0", LEAF | {"shares": ["0"]}, "leaf 0 must bound the errors by more than lower"),
    ("tree.leaves.0", LEAF | {"shares": ["2"]}, "leaf 0 must not share out more than a row costs"),
    ("tree.leaves.0", LEAF | {"shares": []}, "leaf 0 must have one share per witness"),
    ("tree.leaves.0", {"witnesses": [0, 0], "shares": ["1", "1"]}, "leaf 0 must not share out more"),
    ("tree.leaves.0", {"witnesses": [0, 0], "shares": ["2", "-1"]}, "no negative shares"),
    ("tree.leaves.0.shares", ["1/" + "1" * 3000], "shares of at most 1500 digits"),
    ("tree.leaves.0.shares", ["1" * 1501 + "/3"], "shares of at most 1500 digits"),
    ("tree.leaves.1.shares", [f"1/{10**800 + 1}", f"1/{10**800 + 3}"], "shares of at most 1500 digits"),
]


@pytest.mark.parametrize(("path", "value", "reason"), BROKEN)
def test_each_condition_is_needed(path, value, reason):
    with pytest.raises(Rejected) as rejection:
        judge(changed("errors", path, value), FIVE)
    assert reason in str(rejection.value)


def test_shares_that_are_smaller_but_enough():
    for shares, enough in ((["1", "1/9"], True), (["1/2", "1/2"], False), (["1/2", "501/1000"], True)):
        proof = changed("errors", "tree.leaves.1.shares", shares)
        if enough:
            judge(proof, FIVE)
            continue
        with pytest.raises(Rejected, match="leaf 1 must bound the errors"):
            judge(proof, FIVE)


def test_witnesses_of_right_rows_have_any_share():
    # Rows 0, 1 and 2 are a witness: once they are right, any bound holds, even one of many digits.
    branches = [{"row": k, "wrong": 3 + k, "right": k + 1} for k in range(3)]
    leaves = [
        {"witnesses": [2], "shares": ["1"]},
        {"witnesses": [2], "shares": ["1"]},
        {"witnesses": [0], "shares": ["1"]},
        {"witnesses": [1], "shares": [str(10**1000)]},
    ]
    branches[2]["right"] = 6
    judge(PROOFS["errors"][0] | {"tree": {"branches": branches, "leaves": leaves}}, FIVE)
    leaves[3] = {"witnesses": [0], "shares": ["1"]}
    with pytest.raises(Rejected, match="leaf 3 must bound"):
        judge(PROOFS["errors"][0] | {"tree": {"branches": branches, "leaves": leaves}}, FIVE)


def test_every_plane_has_rows_of_zeros_wrong():
    rows = sparse([[0.0], [0.0], [1.0]], ["1", "-1", "1"])
    entries = {"plane": {"w": ["1"], "b": "0"}, "given_up": [0, 1], "lower": "2", "upper": "2"}
    entries |= {"intercept": False}
    judge(make("errors", rows, 1, **entries, sweep=True), rows)
    tree = {"branches": [], "leaves": [{"witnesses": [0], "shares": ["2"]}]}
    witnesses = [{"rows": [1], "weights": ["7"]}]
    judge(make("errors", rows, 1, **entries, witnesses=witnesses, tree=tree), rows)


def test_equal_rows_count_as_one():
    rows = sparse([[1.0], [-1.0], [1.0], [1.0]], ["1", "-1", "-1", "-1"])  # 1, 1, -1, -1
    entries = {"plane": {"w": ["1"], "b": "0"}, "given_up": [2, 3], "lower": "2", "upper": "2"}
    leaf = {"witnesses": [0], "shares": ["2"]}
    entries |= {"intercept": False, "witnesses": [{"rows": [0, 3], "weights": ["1", "1"]}]}
    judge(make("errors", rows, 1, **entries, tree={"branches": [], "leaves": [leaf]}), rows)
    by_rows = {"branches": [{"row": 0, "wrong": 1, "right": 2}], "leaves": [NO_LEAF, leaf]}
    judge(make("errors", rows, 1, **entries, tree=by_rows), rows)
    again = [{"row": 0, "wrong": 1, "right": 2}, {"row": 1, "wrong": 3, "right": 4}]
    twice = {"branches": again, "leaves": [leaf, NO_LEAF, leaf]}
    with pytest.raises(Rejected, match="row 1 must not be branched on twice"):
        judge(make("errors", rows, 1, **entries, tree=twice), rows)

    rows = sparse([[2.0], [2.0], [2.0]], ["1", "1", "-1"])
    entries = {"plane": {"w": ["0"], "b": "1"}, "given_up": [2], "lower": "1", "upper": "1"}
    entries |= {"tree": {"branches": [], "leaves": [LEAF]}}
    judge(make("errors", rows, 1, **entries, witnesses=[{"rows": [0, 2], "weights": ["1", "1"]}]), rows)
    witnesses = [{"rows": [0, 1, 2], "weights": ["1", "1", "2"]}]
    with pytest.raises(Rejected, match=r"the rows of witnesses\[0\] must differ"):
        judge(make("errors", rows, 1, **entries, witnesses=witnesses), rows)


def test_costs_are_those_of_the_rows_used():
    rows = [("other", {0: 9.0}), *FIVE]
    costs = ["1", "1/10", "1", (0.5).hex(), "3"]
    witnesses = [{"rows": [1, 2, 3], "weights": ["1", "2", "1"]}]
    witnesses += [{"rows": [3, 4, 5], "weights": ["1", "2", "1"]}]
    tree = {"branches": [], "leaves": [{"witnesses": [0, 1], "shares": ["1/10", "1/2"]}]}
    entries = {"plane": {"w": ["0"], "b": "1"}, "given_up": [2, 4], "lower": "3/5", "upper": "3/5"}
    proof = make("errors", rows, 1, **entries, costs=costs, witnesses=witnesses, tree=tree)
    judge(proof, rows)
    with pytest.raises(Rejected, match="lower must be a multiple"):
        judge(proof | {"lower": "11/20"}, rows)
    zeros = {"costs": ["0"] * 5, "upper": "0"}
    with pytest.raises(Rejected, match="lower must not be more"):
        judge(proof | zeros, rows)
    with pytest.raises(Rejected, match="leaf 0 must not share out"):
        judge(proof | zeros | {"lower": "0"}, rows)
    judge(proof | zeros | {"lower": "0", "tree": {"branches": [], "leaves": [NO_LEAF]}}, rows)


def test_decimals():
    X, y = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.9], [0.1, 0.5, 0.6], [0.4, 0.2, 0.6]], ["1", "1", "-1", "-1"]
    rows = sparse(X, y)
    entries = {"plane": {"w": ["0"] * 3, "b": "0"}, "given_up": [0, 1, 2, 3], "lower": "1", "upper": "4"}
    entries |= {"witnesses": [{"rows": [0, 1, 2, 3], "weights": ["1"] * 4}]}
    entries |= {"tree": {"branches": [], "leaves": [LEAF]}}
    judge(make("errors", rows, 3, **entries, numbers="decimal"), rows)
    with pytest.raises(Rejected, match="must sum to zero"):
        judge(make("errors", rows, 3, **entries), rows)


def test_the_work_is_bounded(monkeypatch):
    entries = {"plane": {"w": ["0"], "b": "1"}, "given_up": [], "lower": "0", "upper": "0"}
    rows = [("1", {0: float(k)}) for k in range(1, errors.SWEPT_ROWS + 2)]
    judge(make("errors", rows[:-1] * 2, 1, **entries, sweep=True), rows[:-1] * 2)
    with pytest.raises(Rejected, match="at most 3000 different rows"):
        judge(make("errors", rows, 1, **entries, sweep=True), rows)
    rows = [("1", {0: 1e300 * k, 1: 5e-324 * k * k}) for k in range(1, 600)]
    entries["plane"] = {"w": ["0", "0"], "b": "1"}
    judge(make("errors", rows[:20], 2, **entries, sweep=True), rows[:20])
    with pytest.raises(Rejected, match="shorter numbers, or fewer rows"):
        judge(make("errors", rows, 2, **entries, sweep=True), rows)
    rows = [("1", {0: 1.0})]
    entries["plane"] = {"w": ["0"] * 3, "b": "1"}
    with pytest.raises(Rejected, match="sweep is for at most 3 dimensions"):
        judge(make("errors", rows, 3, **entries, sweep=True), rows)

    monkeypatch.setattr(errors, "FREE_STEPS", 2)
    judge(*PROOFS["errors"])
    monkeypatch.setattr(errors, "STEPS_PER_SHARE", 2)
    with pytest.raises(Rejected, match="the leaves' witnesses must have at most 8 rows"):
        judge(*PROOFS["errors"])
    monkeypatch.setattr(maxmargin.checker, "FREE_STEPS", -300)
    with pytest.raises(Rejected, match="the witnesses must hold at most 20 numbers"):
        judge(changed("errors", "witnesses", PROOFS["errors"][0]["witnesses"] * 4), FIVE)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "no plane makes fewer than 2 errors, and this one makes 2."),
        ({"lower": "1"}, "no plane makes fewer than 1 error, and this one makes 2."),
        (
            {"costs": ["1", "1/2", "1", "1/2", "1"], "upper": "1", "lower": "1/2"},
            "no plane makes errors of total weight less than 1/2, and this one makes 1.",
        ),
        (
            {"costs": [(0.1).hex()] * 5, "upper": "0x1.999999999999ap-3", "lower": (0.1).hex()},
            "no plane makes errors of total weight less than about 0.1, and this one makes about 0.2.",
        ),
    ],
)
def test_the_program_says_what_is_proven(tmp_path, capsys, changes, sentence):
    (tmp_path / "rows.csv").write_text("x,y\n1,1\n2,-1\n3,1\n4,-1\n5,1\n")
    tree = {"branches": [], "leaves": [{"witnesses": [1], "shares": [changes.get("lower", "1")]}]}
    proof = PROOFS["errors"][0] | changes | ({"tree": tree} if "lower" in changes else {})
    (tmp_path / "proof.json").write_text(seal(proof))
    assert main([str(tmp_path / "proof.json"), str(tmp_path / "rows.csv"), "--label", "y"]) == 0
    begin = "The proof holds: errors, 5 rows, 1 feature, 1 against -1"
    assert capsys.readouterr().out == f"{begin}: {sentence}\n"
