"""What the state of a solver must look like before the solver goes on from it.

A checkpoint is a file, and files may be damaged or forged: compiled loops would read and write wherever
an array of the wrong length, or a row number out of range, leads them. So each solver says what its
states hold: a form is a function that refuses any other value, and forms combine.

>>> from maxmargin.core.state_forms import count, each, entries, numbers
>>> form = entries(epoch=count, Z=numbers(2, 3), active=each(count))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from maxmargin.core.errors import InputError

Form = Callable[[Any, str], None]


class StateError(InputError):
    """A state from which no solver can go on."""


def _refuse(name: str, allowed: str) -> NoReturn:
    raise StateError(f"{name} must be {allowed}. Got something else instead.")


def whole(least: int, most: int) -> Form:
    """A whole number in this range."""

    def form(value: Any, name: str) -> None:
        if type(value) is not int or not least <= value <= most:
            _refuse(name, f"a whole number from {least} to {most}")

    return form


count = whole(0, 2**63 - 1)


def number(value: Any, name: str) -> None:
    """A number, perhaps infinite or nan."""
    if type(value) not in (int, float):
        _refuse(name, "a number")


def anything(value: Any, name: str) -> None:
    """Any value: somebody else looks at it."""


def flag(value: Any, name: str) -> None:
    """True or false."""
    if type(value) is not bool:
        _refuse(name, "true or false")


def instance(kind: type) -> Form:
    """A value of a type whose entries were checked when it was read."""

    def form(value: Any, name: str) -> None:
        if type(value) is not kind:
            _refuse(name, f"a {kind.__name__}")

    return form


def maybe(inner: Form) -> Form:
    """None, or what another form says."""

    def form(value: Any, name: str) -> None:
        if value is not None:
            inner(value, name)

    return form


def numbers(*shape: int | None, finite: bool = True) -> Form:
    """Doubles in an array of this shape; None is any length."""

    def form(value: Any, name: str) -> None:
        _array(value, np.float64, shape, name)
        if finite and not np.all(np.isfinite(value)):
            _refuse(name, "an array of finite numbers")

    return form


def counts(*shape: int | None) -> Form:
    """Whole numbers ≥ 0 in an array of this shape."""
    return places(*shape, below=2**63)


def places(*shape: int | None, below: int) -> Form:
    """Whole numbers from 0 to ``below`` − 1 in an array of this shape."""

    def form(value: Any, name: str) -> None:
        _array(value, np.int64, shape, name)
        if value.size and not 0 <= int(value.min()) <= int(value.max()) < below:
            _refuse(name, f"an array of whole numbers from 0 to {below - 1}")

    return form


def _array(value: Any, dtype: Any, shape: tuple[int | None, ...], name: str) -> None:
    right = type(value) is np.ndarray and value.dtype == dtype and value.ndim == len(shape)
    if not right or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        _refuse(name, f"an array of shape {tuple('any' if n is None else n for n in shape)}")


def each(inner: Form, length: int | None = None, most: int | None = None) -> Form:
    """A list of such values: so many of them, or at most so many."""

    def form(value: Any, name: str) -> None:
        if type(value) is not list or (length is not None and len(value) != length):
            _refuse(name, "a list" if length is None else f"a list of {length}")
        if most is not None and len(value) > most:
            _refuse(name, f"a list of at most {most}")
        for k, one in enumerate(value):
            inner(one, f"{name}[{k}]")

    return form


def listed(*forms: Form) -> Form:
    """A list with a value for each of these forms."""

    def form(value: Any, name: str) -> None:
        if type(value) is not list or len(value) != len(forms):
            _refuse(name, f"a list of {len(forms)}")
        for k, (one, inner) in enumerate(zip(value, forms, strict=True)):
            inner(one, f"{name}[{k}]")

    return form


def entries(**forms: Form) -> Form:
    """A dict with these keys and no others."""

    def form(value: Any, name: str) -> None:
        if type(value) is not dict or value.keys() != forms.keys():
            _refuse(name, f"an object with {', '.join(forms)}")
        for key, inner in forms.items():
            inner(value[key], f"{name}.{key}")

    return form


def record(kind: type, **forms: Form) -> Form:
    """An object of a class, with fields like this; fields that are not named may hold anything."""

    def form(value: Any, name: str) -> None:
        instance(kind)(value, name)
        for key, inner in forms.items():
            inner(getattr(value, key), f"{name}.{key}")

    return form


def _pcg64(value: Any, name: str) -> None:
    if value != "PCG64":
        _refuse(name, "'PCG64'")


GENERATOR = entries(  # the state of a generator of random numbers, as NumPy writes it
    bit_generator=_pcg64,
    state=entries(state=whole(0, 2**128 - 1), inc=whole(0, 2**128 - 1)),
    has_uint32=whole(0, 1),
    uinteger=whole(0, 2**32 - 1),
)
