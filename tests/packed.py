"""What a user gets: the wheel and the sdist, built, looked into, and tried in an empty environment.

``python -m tests.packed`` is what ``make wheel`` calls.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
BUILT = ("__pycache__", "_build", "generated")  # folders of what is made from other files
KINDS = {".py", ".js", ".css", ".html", ".json", ".typed"}
BESIDE = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"}


def package_files():
    """Every file of the package, as a wheel has to name it."""
    paths = (path for path in (SOURCE / "maxmargin").rglob("*") if path.is_file())
    return {path.relative_to(SOURCE).as_posix() for path in paths if "__pycache__" not in path.parts}


def check_files(wheel, sdist):
    """Look into both archives."""
    with zipfile.ZipFile(wheel) as file:
        _check_wheel(file.namelist())
    with tarfile.open(sdist) as file:
        _check_sdist(file.getnames())


def _check_wheel(names):
    """A wheel holds the package, all of it and nothing else, and what describes it."""
    files = {name for name in names if ".dist-info/" not in name}
    assert files == package_files(), files ^ package_files()
    assert {PurePosixPath(name).suffix for name in files} <= KINDS, "a file of another kind"
    described = {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name}
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= described


def _check_sdist(names):
    """An sdist holds the sources of everything, and nothing that is made from them."""
    inside = {PurePosixPath(name).relative_to(PurePosixPath(name).parts[0]).as_posix() for name in names}
    assert {f"src/{name}" for name in package_files()} <= inside
    assert inside >= BESIDE, BESIDE - inside
    hidden = {name for name in inside if name.startswith(".")} - {".gitignore"}
    assert all(name.startswith(".github/") for name in hidden), hidden
    assert not [name for name in inside if set(BUILT) & set(name.split("/"))]


def build(folder):
    """Build the sdist, and the wheel from the sdist; return both paths."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def try_in_an_empty_environment(wheel):
    """Install the wheel alone, and run the program in a folder where nothing else is."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "environment")
        venv.create(home, with_pip=True)
        scripts = home / ("Scripts" if os.name == "nt" else "bin")
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([scripts / "python", "-m", "pip", "install", *quiet, wheel], check=True)
        empty = Path(folder, "empty")
        empty.mkdir()
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        for command in (["--version"], ["--help"], ["demo"]):
            done = subprocess.run(
                [scripts / "maxmargin", *command], cwd=empty, env=clean, capture_output=True, text=True
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            print(f"maxmargin {command[0]}: {done.stdout.strip().splitlines()[-1]}")
        assert not list(empty.iterdir()), "without matplotlib there is no page to write"


def main():
    """Build into dist/, look, and try."""
    folder = ROOT / "dist"
    for old in folder.glob("maxmargin-*"):
        old.unlink()
    wheel, sdist = build(folder)
    check_files(wheel, sdist)
    try_in_an_empty_environment(wheel)
    for path in (wheel, sdist):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
