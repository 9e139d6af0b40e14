"""Whatever the documentation prints is run."""

import doctest
import importlib
import pkgutil

import pytest

import maxmargin

MODULES = [
    m.name
    for m in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not m.name.startswith("maxmargin.cli")
]


@pytest.mark.parametrize("name", ["maxmargin", *MODULES])
def test_examples_print_what_they_say(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_estimator_has_an_example():
    for name in ("Perceptron", "BatchPerceptron", "PocketPerceptron", "mistake_bound"):
        assert ">>>" in getattr(maxmargin, name).__doc__
