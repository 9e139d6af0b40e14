"""Fresh kernels and repeatable examples for every run of the suite."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from thorough import PROFILE, THOROUGH

PACKAGE = Path(__file__).parents[1] / "src" / "maxmargin"

# Examples per property test: a bounded number by default, many for `make test-all`. Shared machines
# stall now and then: a slow example is no failure, so there is no deadline.
for name, examples in {"bounded": 20, "thorough": 1500}.items():
    settings.register_profile(
        name,
        derandomize=True,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(PROFILE)


def pytest_configure(config):
    """Name the marker, and drop compiled kernels that are older than their sources.

    Numba notices a change in the file of a kernel, not in the files it imports. Under xdist only the
    controlling process does this, before its workers start.
    """
    config.addinivalue_line("markers", "thorough: one more case of the same thing, for `make test-all`")
    if hasattr(config, "workerinput"):
        return
    cached = [p for kind in ("nbi", "nbc") for p in PACKAGE.glob(f"**/__pycache__/*.{kind}")]
    if not cached:
        return
    oldest = min(p.stat().st_mtime for p in cached)
    sources = [*(PACKAGE / "kernels").glob("*.py"), PACKAGE / "rows" / "arrays.py"]
    if any(p.stat().st_mtime > oldest for p in sources):
        for p in cached:
            p.unlink(missing_ok=True)


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked as thorough, unless all is asked for; keep pages and clusters together.

    A browser or a cluster is started for a file of tests: with ``--dist loadgroup`` one process runs it.
    """
    for item in items:
        if item.path.name.startswith(("test_lab_page", "test_cluster")):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    if THOROUGH:
        return
    further = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=further)
    items[:] = [item for item in items if not item.get_closest_marker("thorough")]


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test has drawn: figures of pyplot outlive it otherwise."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
