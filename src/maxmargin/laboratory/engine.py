"""Answers to what the page asks: a pure function from a request to plain lists, numbers and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.errors import InputError
from maxmargin.laboratory.exports import draw, write_script, write_trace
from maxmargin.laboratory.presets import list_presets, make_preset
from maxmargin.laboratory.problem import Task, read_task
from maxmargin.laboratory.protocol import plain
from maxmargin.laboratory.solution import judge_weights, solve
from maxmargin.laboratory.state import (
    ALGORITHMS,
    LIMITS,
    check_keys,
    complain,
    read_bool,
    read_choice,
    read_count,
    read_number,
    read_state,
    read_vector,
)
from maxmargin.laboratory.tables import read_table
from maxmargin.laboratory.weight_space import cone, cut_section, risk_grid, weight_space

# Hold some points out for validation: a share of each class, the same for the same seed.


def split(given: Mapping[str, Any]) -> dict[str, Any]:
    """The role of every point: 1 for a share of each class, drawn anew; 0 for the others.

    Each class keeps at least one training point.
    """
    state = read_state(given.get("state"))
    share = read_number("share", given.get("share", 0.25), least=0.0, most=0.9)
    seed = given.get("seed")
    seed = read_count("seed", 0 if seed is None else seed, least=0, most=LIMITS["seed"])
    rng = np.random.default_rng(seed)
    roles = np.zeros(len(state.points), dtype=np.int64)
    for code in np.unique(state.classes):
        mine = np.flatnonzero(state.classes == code)
        many = min(round(share * len(mine)), len(mine) - 1)
        roles[rng.choice(mine, many, replace=False)] = 1
    return {"roles": roles}


# What the page says about itself: its limits, its algorithms, and every term in plain words.


class About(NamedTuple):
    """An algorithm: its title, a line and a sentence or two about it, the options that matter to it."""

    title: str
    brief: str
    sentence: str
    options: tuple[str, ...]


ABOUT = {
    "perceptron": About(
        "Perceptron",
        "One point after another: if it is misclassified, w turns towards it.",
        "Checks one point after another and adds y·x to w for each that is misclassified. "
        "It ends if, and only if, some plane separates the classes.",
        ("intercept", "threshold", "rate", "order", "averaged", "scheme", "epochs", "seed", "updates"),
    ),
    "batch": About(
        "Batch perceptron",
        "A gradient step on the risk: all misclassified points at once.",
        "Gradient descent on the perceptron risk: each step adds up all misclassified points.",
        ("intercept", "step", "scheme", "epochs", "updates"),
    ),
    "pocket": About(
        "Pocket",
        "The perceptron that keeps the best weights of its run.",
        "Runs the perceptron and keeps the weights with the fewest errors in its pocket: for classes "
        "that overlap.",
        ("intercept", "order", "scheme", "epochs", "seed", "polish", "updates"),
    ),
    "hard": About(
        "Hard margin",
        "The widest street between the classes, if there is one.",
        "Finds the one plane that is as far as possible from both classes; it exists only if they can "
        "be separated.",
        ("intercept", "scheme"),
    ),
    "soft": About(
        "Soft margin",
        "The widest street; points may step into it, at a price of C per unit.",
        "Allows points inside the slab or on the wrong side, at a price of C per unit of slack: "
        "a trade-off between a wide slab and little slack.",
        ("intercept", "C", "scheme"),
    ),
}

GLOSSARY = {
    "plane": "Where f(x) = w·x + b is zero. In two dimensions a line.",
    "w": "The normal of the plane: it points to the side of the positive class.",
    "b": "The bias: it moves the plane away from the origin.",
    "w-space": "The space of weights. Every training point is a line in it, every plane a point.",
    "cone": "All weights that classify every training point correctly.",
    "separable": "Some plane has every point strictly on its correct side.",
    "touching": "No plane separates strictly, but one has no point on its wrong side.",
    "overlapping": "Every plane has a point on its wrong side.",
    "witness": "A proof: a weighted average of points of one class equals one of the other class, "
    "and no plane can have it on both sides.",
    "hull": "The smallest convex shape around all points of a class.",
    "margin": "The distance from the plane to the nearest point.",
    "slab": "The strip between the two edges f(x) = 1 and f(x) = −1; it is 2/‖w‖ wide.",
    "support vectors": "Points with α > 0 fix the plane; remove any other point and nothing changes.",
    "alpha": "α, the multiplier of a point: its weight in w = Σ α y x.",
    "xi": "ξ, the slack of a point: how far it is beyond its edge of the slab, in units of f.",
    "C": "The price of slack. Large: few points in the slab; small: a wide slab.",
    "primal": "½‖w‖² + C Σ ξ, which the machine makes as small as possible.",
    "dual": "A lower bound on every primal value. When both are equal, both are optimal.",
    "gap": "Primal minus dual: it bounds how far the primal value is above its optimum.",
    "KKT": "The conditions of Karush, Kuhn and Tucker: they hold at the optimum and nowhere else.",
    "E_in": "The training error: points with y·f(x) ≤ 0. A point on the plane is an error.",
    "validation": "Points that are not trained on: their errors say how well new points will do.",
    "risk": "R(w), the sum of −y·f(x) over misclassified points: how wrong they are together.",
    "R": "The length of the longest point, padded with a 1 if the bias is learned.",
    "gamma": "γ, the largest margin of the padded points.",
    "mistake bound": "(R/γ)²: R over γ, squared. No order of the points causes more mistakes.",
    "threshold": "δ: a point counts as a mistake while y·f(x) ≤ δ. With 0, only wrong points do.",
    "rate": "η, the length of a step. From a zero start it changes no decision of the perceptron.",
    "order": "Cyclic: again and again in the order of the list. Shuffled: a new order in each epoch. "
    "Random: points are drawn.",
    "averaged": "Predict with the mean of all weights of the run, which is steadier than the last.",
    "step": "ε, the length of a gradient step; exact: to the lowest point of the risk along it.",
    "epoch": "One pass over the training points.",
    "update": "One change of the weights.",
    "polish": "Improve the pocket after the run by exact searches for fewer errors along lines.",
    "one-vs-rest": "A machine for each class against all others; the largest value of f wins.",
    "one-vs-one": "A machine for each pair of classes; the class with most votes wins.",
    "intercept": "Learn the bias b. Without it every plane goes through the origin.",
    "fingerprint": "A hash of the points and sides that the proof is about.",
    "seed": "Fixes what is random: the same seed gives the same run.",
}


def hello() -> dict[str, Any]:
    """Version, limits, algorithms and glossary: the page keeps no copy of them."""
    algorithms = [{"name": name, **ABOUT[name]._asdict()} for name in ALGORITHMS]
    return {
        "version": __version__,
        "limits": LIMITS,
        "algorithms": algorithms,
        "glossary": GLOSSARY,
    }


Given = Mapping[str, Any]
ENVELOPE = ("id", "ask", "channel")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request; :class:`maxmargin.InputError` says in a sentence what is wrong with it.

    Parameters
    ----------
    request : dict
        ``ask`` names the question, one of :data:`ASKS`; the other entries belong to it.

    Returns
    -------
    dict
        Plain lists, finite numbers, texts and None, ready for JSON.

    Examples
    --------
    >>> from maxmargin.laboratory.engine import answer
    >>> points = [[1.0, 1.0, 1, 0], [-1.0, -1.0, 0, 0]]
    >>> answer({"ask": "solve", "state": {"points": points}})["verdict"]["status"]
    'separable'
    """
    if not isinstance(request, Mapping):
        raise complain("a request", "an object with the entry ask", request)
    name = read_choice("ask", request.get("ask"), list(ASKS))
    keys, function = ASKS[name]
    check_keys(f"the request {name!r}", request, [*ENVELOPE, *keys])
    try:
        return dict(plain(function({key: request[key] for key in keys if key in request})))
    except ArithmeticError as error:  # sizes that leave the range of doubles on the way
        raise InputError(
            "the points must be such that products of them stay within the range of doubles. "
            f"Got some that do not instead ({error}). Bring them to a similar size."
        ) from error


def _task(given: Given) -> Task:
    return read_task(read_state(given.get("state")))


def _solve(given: Given) -> dict[str, Any]:
    state = read_state(given.get("state"))
    return solve(state, quick=read_bool("quick", given.get("quick", False)))


def _judge(given: Given) -> dict[str, Any]:
    task = _task(given)
    side = task.watched  # a sentence if there is none
    if given.get("watch") is not None:
        most = len(task.sides) - 1
        side = task.sides[read_count("watch", given["watch"], least=0, most=most)]
    return judge_weights(side, read_vector("weights", given.get("weights"), 3))


ASKS: dict[str, tuple[tuple[str, ...], Callable[[Given], dict[str, Any]]]] = {
    "hello": ((), lambda given: hello()),
    "solve": (("state", "quick"), _solve),
    "judge": (("state", "weights", "watch"), _judge),
    "risk": (("state", "b", "window", "size"), lambda given: risk_grid(_task(given).watched, given)),
    "wspace": (("state", "b", "window"), lambda given: cone(_task(given).watched, given)),
    "section": (("state", "w1", "window"), lambda given: cut_section(_task(given).watched, given)),
    "weights3d": (("state", "box"), lambda given: weight_space(_task(given).watched, given)),
    "presets": ((), lambda given: list_presets()),
    "preset": (("name", "n", "noise", "balance", "margin", "seed"), make_preset),
    "split": (("state", "share", "seed"), split),
    "table": (("text", "header", "label", "features", "look"), read_table),
    "script": (("state",), lambda given: write_script(_task(given))),
    "trace": (("state",), lambda given: write_trace(_task(given))),
    "film": (("state", "format"), lambda given: draw(_task(given), given)),
}
