"""Whatever is printed is run: the README, the docstrings, and the commands."""

import doctest
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from urllib.request import urlopen

import click
import pytest
from click.testing import CliRunner

import maxmargin
from maxmargin.cli.main import main
from thorough import THOROUGH

ROOT = Path(__file__).parent.parent
MADE = {"_build", "gallery", "generated"}  # folders of docs that the build makes
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if not MADE & set(p.relative_to(ROOT).parts))
MODULES = sorted(m.name for m in walk_packages(maxmargin.__path__, "maxmargin."))


def test_readme_examples_print_what_the_readme_says():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted >= 10
    assert result.failed == 0


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")],
    ids=lambda page: str(page.relative_to(ROOT / "docs")),
)
def test_examples_of_the_pages_print_what_the_pages_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^ *```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    result = doctest.DocTestRunner().run(examples)
    assert result.attempted and result.failed == 0


def test_commands_on_the_pages_are_those_of_the_program(tmp_path, monkeypatch):
    """Names of commands and options; the README's are run."""
    monkeypatch.chdir(tmp_path)
    for name in ("tumours.csv", "model.json", "proof.json"):
        (tmp_path / name).write_text("{}")
    blocks = [
        block
        for page in PAGES
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    lines = [line.split("<")[0].split("|")[0] for block in blocks for line in block.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("maxmargin ")]
    assert len(commands) > 5
    group = click.Context(main)
    for name, *arguments in commands:
        command = main.get_command(group, name)
        assert command is not None, name
        command.make_context(name, arguments, parent=group)


@pytest.mark.parametrize("name", ["maxmargin", *MODULES])
def test_docstring_examples(name):
    assert doctest.testmod(import_module(name)).failed == 0


DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/getting-started.md", "docs/lab.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_commands_in_the_documents_exist(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert named and named <= targets


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_files_linked_from_the_documents_exist(document):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / document).read_text(encoding="utf-8"))
    assert all((ROOT / link).exists() for link in links)


def run(*arguments):
    command = [sys.executable, "-c", "from maxmargin.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_tells_its_story_and_exits_zero(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo", "--quick"])
    assert result.exit_code == 0, result.output
    assert "All training points are correct" in result.stdout
    assert "repeat for ever" in result.stdout
    assert "polished" in result.stdout


def shell_commands():
    """What the README and the pages tell a reader to type, each once, in their order."""
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *PAGES)]
    blocks = [block for text in texts for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]
    lines = dict.fromkeys(line for block in blocks for line in block.splitlines())
    return [line for line in lines if not line.startswith(("make ", "pip "))]


def test_shell_commands_of_the_documents_run(tmp_path, monkeypatch):
    """The first of our program by the shell: it is installed. The others without a process for each."""
    monkeypatch.chdir(tmp_path)
    commands = shell_commands()
    assert len(commands) >= 10
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said, started = [], False
    for command in commands:
        if command.startswith("maxmargin lab"):
            said.append(opened_lab(command, tmp_path, path))
            continue
        ours = command.startswith("maxmargin ")
        if ours and started and not THOROUGH and not set("<>|") & set(command):
            result = CliRunner().invoke(main, shlex.split(command)[1:])
            assert result.exit_code == 0, (command, result.output)
            said.append(result.stdout)
            continue
        started |= ours
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said.append(done.stdout)
    holds = "The proof holds: separable, 569 rows, 30 features, 1 against 0"
    assert sum(text.startswith(holds) for text in said) == 2
    assert all((tmp_path / name).exists() for name in ("report.html", "labels.txt", "predictions.txt"))


def opened_lab(command, folder, path):
    """What the lab shows at the link it prints; Ctrl-C ends it."""
    lab = subprocess.Popen(
        [*shlex.split(command), "--no-open", "--port", "0"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with lab:
        try:
            link = lab.stdout.readline().strip()
            with urlopen(link, timeout=60) as page:
                shown = page.read().decode()
        finally:
            lab.send_signal(signal.SIGINT)
        assert lab.wait(300) == 0, lab.stderr.read()
    assert "maxmargin" in shown
    return shown


def test_bad_usage_exits_two_with_a_line_on_standard_error():
    result = run("demonstrate")
    assert result.returncode == 2
    assert "demonstrate" in result.stderr and not result.stdout


def test_import_and_help_load_neither_numba_nor_scikit_learn():
    code = (
        "import sys, maxmargin, maxmargin.cli.main; "
        "print([m for m in ('numba', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
