"""Install the peers one by one: one that cannot be had must not keep the others away.

``python -m benchmarks.peers.install [--quick]`` asks pip for what is named in pyproject.toml and is not
here yet; in the quick mode only for packages that the comparison uses. Which of them are missing in the
end, the comparison finds out by itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from benchmarks.peers.table import PEERS

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS = ("peers", "bench")


def package_of(requirement: str) -> str:
    """The name in a requirement: ``dask[array]>=2`` gives ``dask``."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def missing(quick: bool) -> list[str]:
    """Requirements of the extras that are not installed."""
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    used = {peer.package for peer in PEERS}
    found = []
    for requirement in (entry for extra in EXTRAS for entry in extras[extra]):
        if quick and package_of(requirement) not in used:
            continue
        try:
            metadata.version(package_of(requirement))
        except metadata.PackageNotFoundError:
            found.append(requirement)
    return found


def main() -> int:
    """Install what can be; always 0."""
    for requirement in missing("--quick" in sys.argv[1:]):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, requirement], check=False, capture_output=True, text=True)
        if done.returncode:
            print(f"{requirement} did not install; the page will say so.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
