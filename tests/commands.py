"""The program as tests call it: in this process, in a folder of its own."""

import pytest
from click.testing import CliRunner

from maxmargin.cli.main import main


@pytest.fixture(autouse=True)
def fresh_folder(tmp_path, monkeypatch):
    """Work in an empty folder; for every test of a file that imports this name."""
    monkeypatch.chdir(tmp_path)


def run(*arguments, stdin=None):
    """Exit code, standard output and standard error; an exception is a failure of the test."""
    result = CliRunner().invoke(main, list(map(str, arguments)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def write(name, content):
    """Write text or bytes to a file; return its name."""
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name
