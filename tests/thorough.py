"""How much is tested: each thing by a bounded number of cases, or by all of them (`make test-all`)."""

import os

import pytest

PROFILE = os.environ.get("MAXMARGIN_TESTS", "bounded")
THOROUGH = PROFILE == "thorough"


def further(*values):
    """A parameter set that is one more case of the same thing: for `make test-all` alone."""
    return pytest.param(*values, marks=pytest.mark.thorough)
