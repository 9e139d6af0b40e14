"""A real browser for the tests of the lab: find it, install it if possible, start it.

``python -m tests.browser`` is what ``make test`` calls first. A test file says
``from browser import browser`` to use the fixture; ``conftest.py`` ends the browser after the last one.
"""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
OWN = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
HOW = (
    "The tests of the lab need Chromium or Chrome, and none was found: install it "
    "(Debian and Ubuntu: apt-get install chromium; anywhere: playwright install chromium), "
    "or set MAXMARGIN_BROWSER to its path."
)


def find_browser():
    """The path of a Chromium or Chrome: as MAXMARGIN_BROWSER says, on the PATH, or Playwright's own."""
    if wanted := os.environ.get("MAXMARGIN_BROWSER"):
        return shutil.which(wanted)
    found = (*map(shutil.which, (*NAMES, *APPLICATIONS)), *_playwrights_own())
    return next((path for path in found if path), None)


def _playwrights_own():
    homes = (
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH"),
        Path.home() / ".cache" / "ms-playwright",
        Path.home() / "Library" / "Caches" / "ms-playwright",
    )
    paths = (path for home in homes if home for own in OWN for path in sorted(Path(home).glob(own)))
    return [str(path) for path in paths if os.access(path, os.X_OK)]


def install_browser():
    """Install Debian's Chromium if this is Debian (or its like) and we may."""
    if not shutil.which("apt-get") or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    for command in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
        print(f"apt-get {' '.join(command)}", file=sys.stderr, flush=True)
        try:
            subprocess.run(["apt-get", "-qq", *command], check=False, timeout=900, **quiet)
        except subprocess.TimeoutExpired:
            return


@contextmanager
def launched():
    """A headless browser, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if path is None:
        pytest.fail(HOW, pytrace=False)
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium has no sandbox for root
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if root else [])
        try:
            yield started
        finally:
            started.close()


class Held:
    """What test files of this process share: started once, ended before a test that needs none of it."""

    def __init__(self):
        self.stack, self.things = ExitStack(), {}

    def get(self, name, start):
        """The thing of this name; ``start`` makes a context of it when there is none."""
        if name not in self.things:
            self.things[name] = self.stack.enter_context(start())
        return self.things[name]

    def end(self):
        """End all of it."""
        self.things = {}
        self.stack.close()


HELD = Held()


@pytest.fixture(scope="module")
def browser():
    """A browser for all tests that need one. As long as it runs, this thread has its event loop."""
    return HELD.get("browser", launched)


def main():
    """Find a browser, or install one, or say how."""
    if find_browser() is None:
        install_browser()
    if find_browser() is None:
        print(HOW, file=sys.stderr)


if __name__ == "__main__":
    main()
