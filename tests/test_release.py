"""What a release consists of agrees with itself; ``make wheel`` builds one and tries it."""

import re
import tomllib
from datetime import date
from pathlib import Path

import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import maxmargin
from machines import EXTRAS, lowest_versions
from packed import check_files

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version_everywhere():
    version = maxmargin.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert "version" in PROJECT["dynamic"]  # read from _version.py
    assert WheelBuilder(str(ROOT)).metadata.version == version
    assert yaml.safe_load(text("CITATION.cff"))["version"] == version
    found = re.search(r"^## (\S+) - (\S+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert found and found[1] == version  # the newest is the first
    assert found[2] == "unreleased" or date.fromisoformat(found[2])


def test_the_citation_names_what_is_cited():
    """The entries that the format of citation files (1.2.0) demands, and ours."""
    cited = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["title"].startswith(PROJECT["name"])
    assert cited["license"] == PROJECT["license"]
    assert cited["authors"] == PROJECT["authors"]


def test_the_same_versions_of_python_are_named_and_tried():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == PYTHONS == WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python-version"]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_all_brings_every_extra_for_users():
    extras = PROJECT["optional-dependencies"]
    (brought,) = extras["all"]
    users = set(extras) - {"all", "bench", "docs", "peers", "test"}  # these are for work on the library
    assert brought == f"maxmargin[{','.join(sorted(users))}]"
    assert "maxmargin[all]" in text("README.md") and "maxmargin[all]" in text("docs/getting-started.md")


def test_the_public_checks_are_the_ones_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    runs = {
        name: [step["run"].split("#")[0].split() for step in job["steps"] if "run" in step]
        for name, job in WORKFLOW["jobs"].items()
    }
    expected = {name: [["make", name]] for name in ("lint", "test", "docs", "wheel")}
    assert runs == expected | {"lowest": [["make", "test-machines", "MACHINES=lowest"]]}
    assert {made for commands in runs.values() for _, made, *_ in commands} <= targets


def test_the_lowest_versions_are_those_of_every_dependency_and_extra():
    pinned = dict(line.split("==") for line in lowest_versions())
    assert pinned.keys() >= {"numpy", "scikit-learn", "dask", "pyarrow", "matplotlib", "onnx", "pandas"}
    bounds = [line for extra in EXTRAS.values() for line in extra] + PROJECT["dependencies"]
    for name, version in pinned.items():
        assert any(re.fullmatch(rf"{name}(\[.*\])?>={re.escape(version)}", line) for line in bounds), (
            name
        )
    job = WORKFLOW["jobs"]["lowest"]["steps"][1]["with"]
    assert PROJECT["requires-python"] == f">={job['python-version']}"


def test_what_is_packed(tmp_path):
    """Both archives, built without the network."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    check_files(wheel, sdist)
