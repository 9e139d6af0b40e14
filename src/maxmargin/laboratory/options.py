"""The options of an algorithm, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.laboratory.checks import (
    check_keys,
    complain,
    read_bool,
    read_choice,
    read_count,
    read_number,
)
from maxmargin.laboratory.limits import LARGEST, LIMITS

__all__ = ["Options", "read_options"]

ORDERS = ("cyclic", "shuffled", "random")
SCHEMES = ("ovr", "ovo")
STEPS = 1e-9, 1e9  # sizes of steps and prices of slack


@dataclass(frozen=True)
class Options:
    """The algorithm's options; each is used by the algorithms it means something to.

    ``updates`` is not None where the user asks for so many: otherwise data that no plane separates has
    a budget that keeps a drag fluent.
    """

    intercept: bool = True
    threshold: float = 0.0
    rate: float = 1.0
    order: str = "cyclic"
    averaged: bool = False
    step: float | str = "exact"
    C: float = 1.0
    scheme: str = "ovr"
    epochs: int = 100
    seed: int = 0
    polish: bool = True
    updates: int | None = None


def read_options(value: Any) -> Options:
    """Check options and fill in what they leave out."""
    given = check_keys("state.options", value, list(Options.__dataclass_fields__))
    usual = Options()

    def get(key: str) -> Any:
        return given.get(key, getattr(usual, key))

    least, most = STEPS
    step, updates = get("step"), get("updates")
    if isinstance(step, str):
        if step != "exact":
            raise complain("options.step", f"'exact' or a number from {least:g} to {most:g}", step)
    else:
        step = read_number("options.step", step, least=least, most=most)
    if updates is not None:
        updates = read_count("options.updates", updates, least=1, most=LIMITS["updates"])
    return Options(
        intercept=read_bool("options.intercept", get("intercept")),
        threshold=read_number("options.threshold", get("threshold"), least=0.0, most=LARGEST),
        rate=read_number("options.rate", get("rate"), least=least, most=most),
        order=read_choice("options.order", get("order"), ORDERS),
        averaged=read_bool("options.averaged", get("averaged")),
        step=step,
        C=read_number("options.C", get("C"), least=least, most=most),
        scheme=read_choice("options.scheme", get("scheme"), SCHEMES),
        epochs=read_count("options.epochs", get("epochs"), least=1, most=LIMITS["epochs"]),
        seed=read_count("options.seed", get("seed"), least=0, most=LIMITS["seed"]),
        polish=read_bool("options.polish", get("polish")),
        updates=updates,
    )
