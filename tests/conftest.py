"""Fresh kernels, repeatable examples, which file is run when; browser and figures are closed."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from browser import HELD
from thorough import PROFILE, THOROUGH

PAGES = ("test_lab_page", "test_lab_notebook")  # files with tests that need a browser begin like this
LONG = (  # other files that take long, in the order in which they are begun
    "test_cluster_dask",
    "test_contract",
    "test_docs",
    "test_report",
    "test_gallery",
    "test_site",
    "test_cluster_collections",
    "test_cluster_perceptrons",
    "test_separability_sizes",
    "test_interrupted",
    "test_error_bounds",
    "test_cli_plot",
    "test_hard_margin_exact",
    "test_hard_margin_shapes",
    "test_soft_margin",
    "test_large_margin",
    "test_estimators_by_parts",
    "test_file_rows",
    "test_damaged_files",
    "test_damaged_checkpoints",
    "test_damaged_matrices",
    "test_declared_sizes",
)
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
    sources = [*(PACKAGE / "kernels").glob("*.py"), PACKAGE / "rows" / "base.py"]
    if any(p.stat().st_mtime > oldest for p in sources):
        for p in cached:
            p.unlink(missing_ok=True)


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked as thorough, unless all is asked for; begin with what takes long.

    So no process is left with a long file at the end. What needs a browser is in a row.
    """
    if not THOROUGH:
        further = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=further)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    places = {name: place for place, name in enumerate(LONG, 2)}

    def place(item):
        if item.path.name.startswith(PAGES):
            return 0 if needs_browser(item) else 1
        return places.get(item.path.stem, len(LONG) + 2)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile``: a file is for one process, and all files with a browser are for one."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "pages" if Path(file).name.startswith(PAGES) else file

    return ByFile(config, log)


def needs_browser(item):
    """Whether a test, if there is one, opens pages."""
    return "browser" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """End the browser after the last test that needs it: other tests have event loops of their own."""
    try:
        return (yield)
    finally:
        if needs_browser(item) and not needs_browser(nextitem):
            HELD.end()


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test has drawn: figures of pyplot outlive it otherwise."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
