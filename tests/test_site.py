"""The documentation builds without a warning, needs no network, and its links lead somewhere.

It is built without pictures and without running the gallery, which ``make docs`` does.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parent.parent
MADE = ("_build", "gallery", "generated", "__pycache__")  # folders that the build makes
PICTURE = re.compile(r"^\.\. plot::\n((?:   :.*\n)*)\n((?:(?:   .*)?\n)+?)```", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*MADE))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, folder)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, folder / "docs", folder / "html"],
        env={**os.environ, "MAXMARGIN_DOCS": "quick"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.places = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        elif tag == "link" and found.get("href"):
            self.loads.add(found["href"])
        elif found.get("src"):
            self.loads.add(found["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_links_within_the_site_lead_somewhere(pages):
    assert len(pages) > 100
    broken = []
    for path, page in pages.items():
        for link in page.links | page.loads:
            target, place = urldefrag(link)
            if re.match("[a-z]+:", link):
                continue
            there = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            known = not place or there not in pages or unquote(place) in pages[there].places
            if not there.exists() or not known:
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_fetched_from_elsewhere(site, pages):
    assert not [load for page in pages.values() for load in page.loads if "//" in load]
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert not [found for style in styles for found in re.findall(r"url\([\"']?(?:https?:)?//", style)]


def test_mathematics_is_drawn_by_the_browser(site):
    page = (site / "algorithms" / "online-perceptron.html").read_text(encoding="utf-8")
    assert page.count("<math ") > 50 and "MathJax" not in page


PICTURES = [
    pytest.param(*found.groups(), id=f"{page.stem}-{k}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not set(MADE) & set(page.relative_to(ROOT).parts)
    for k, found in enumerate(PICTURE.finditer(page.read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize(("options", "code"), PICTURES)
def test_pictures_say_what_they_show(options, code):
    compile(textwrap.dedent(code), "a picture", "exec")
    said = re.search(":alt: (.+)", options)
    assert said and len(said[1]) > 40


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "code"), PICTURES)
def test_pictures_are_drawn(options, code):
    from matplotlib import pyplot

    exec("import matplotlib.pyplot as plt, numpy as np, maxmargin as mm\n" + textwrap.dedent(code), {})
    assert pyplot.get_fignums()
    pyplot.close("all")
