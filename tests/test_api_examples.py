"""Every public name shows how it is used, and every one has its place in the reference."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import maxmargin

REFERENCE = Path(__file__).parent.parent / "docs" / "api" / "index.md"
MODULES = [
    "maxmargin",
    *(f"maxmargin.{m}" for m in ("checker", "datasets", "plots", "saving", "stopping", "stream")),
]


def public(module):
    """The classes and functions that a module names."""
    things = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
    return {
        name: thing
        for name, thing in things.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    }


NAMES = [(module, name) for module in MODULES for name in public(module)]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[".".join(pair) for pair in NAMES])
def test_every_public_name_has_examples(module, name):
    """That they run and print what they say, tests/test_docs.py checks."""
    written = inspect.getdoc(public(module)[name]) or ""
    _, heading, examples = written.partition("Examples\n--------\n")
    assert heading and ">>> " in examples


def test_all_public_modules_are_looked_at():
    named = {name for name in maxmargin.__all__ if inspect.ismodule(getattr(maxmargin, name))}
    assert {f"maxmargin.{name}" for name in named} <= set(MODULES)


def test_the_reference_holds_every_public_name():
    listed, module = set(), ""
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r".. currentmodule:: (.*)", line):
            module = found[1]
        elif found := re.fullmatch(r"   ([A-Za-z_]+)", line):
            listed.add((module, found[1]))
    assert listed == set(NAMES)
