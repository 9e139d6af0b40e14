"""The suite as on other computers: other processors, one core, a busy one, other versions.

``make test-machines`` runs it on all of MACHINES, one after the other, and ends with a table; ``make
test-machines MACHINES="one-core lowest"`` on some; ``python -m tests.machines --list`` lists them.
What cannot be had here, an instruction set or a Python, is left out with a word.

Where only the arithmetic differs, the part of the suite that computes is run: pictures and pages show
what was computed. Each machine compiles its own kernels, anew, and has an environment of its own under
``.machines`` if it needs other packages.
"""

import argparse
import contextlib
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

PAGES = (
    "test_lab_page",
    "test_lab_notebook",
    "test_site",
)  # need a browser; other tests try the same code
DOCUMENTATION = ("test_docs", "test_gallery", "test_tour", "test_stream_river")  # need what makes it
SHOWN = ("test_lab", "test_plots", "test_report", "test_cli_plot", "test_gallery", "test_tour")
PACKED = ("test_benchmarks", "test_release")
COMPUTING = (*PAGES, *SHOWN, *PACKED)

FRAMES = ("pandas", "polars")  # are taken and given, and needed by no part of the library
DISPATCHED = (
    "from numpy._core._multiarray_umath import __cpu_dispatch__ as names, __cpu_features__ as there\n"
    "print(*(name for name in names if there[name]))"
)
KERNELS = (
    "import numpy, scipy.linalg, threadpoolctl\n"
    "print(*sorted({one['architecture'] for one in threadpoolctl.threadpool_info()}))"
)
BUSY = "while True: pass"


@dataclass(frozen=True)
class Machine:
    """Another computer: variables of the environment, a Python, and what is left out of the suite."""

    name: str
    about: str
    left_out: tuple[str, ...] = COMPUTING
    variables: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()  # of the processor, as /proc/cpuinfo names them
    python: str | None = None  # a version; None for the one that runs this
    lowest: bool = False  # the lowest versions that pyproject.toml allows
    one_core: bool = False
    busy: int = 0  # processes that compute beside the tests


MACHINES = (
    *(
        Machine(
            f"blas-{core.lower()}",
            f"matrix products as on {core} (OPENBLAS_CORETYPE)",
            variables={"OPENBLAS_CORETYPE": core},
            flags=flags,
        )
        for core, flags in (
            ("Nehalem", ("sse4_2",)),
            ("Haswell", ("avx2", "fma")),
            ("Zen", ("avx2", "fma")),
            ("SkylakeX", ("avx512f", "avx512bw", "avx512vl")),
        )
    ),
    Machine(
        "numba-generic",
        "kernels compiled for any x86-64 processor (NUMBA_CPU_NAME)",
        variables={"NUMBA_CPU_NAME": "generic"},
    ),
    Machine(
        "numpy-baseline",
        "NumPy without AVX2, FMA3 and AVX512 (NPY_DISABLE_CPU_FEATURES)",
        variables={"NPY_DISABLE_CPU_FEATURES": DISPATCHED},
    ),
    Machine(
        "blas-threads",
        "two threads for every matrix product (OPENBLAS_NUM_THREADS)",
        variables={"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    ),
    Machine("one-core", "a single core", one_core=True),
    Machine("busy", "two processes that compute beside the tests", busy=2),
    *(
        Machine(f"python{version}", f"Python {version}", left_out=PAGES, python=version)
        for version in re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    ),
    Machine(
        "lowest",
        "the lowest allowed versions of all dependencies, on the lowest Python",
        left_out=(*PAGES, *DOCUMENTATION, *PACKED),
        python=PROJECT["requires-python"].removeprefix(">="),
        lowest=True,
    ),
)


def lowest_versions():
    """Requirements that pin each dependency, those of the extras for users too, to its lower bound."""
    wanted = [*PROJECT["dependencies"], *_flat("all")]
    wanted += [line for extra in ("docs", "test") for line in EXTRAS[extra] if line.startswith(FRAMES)]
    return sorted({re.sub(r"\[.*\]", "", line).replace(">=", "==") for line in wanted})


def _flat(extra):
    """The requirements of an extra, those of the extras that it names in their place."""
    for line in EXTRAS[extra]:
        if found := re.fullmatch(r"maxmargin\[(.*)\]", line):
            for other in found[1].split(","):
                yield from _flat(other)
        else:
            yield line


def _is_this(version):
    return sys.version_info[:2] == tuple(map(int, version.split(".")))


def find_python(version):
    """The path of a Python of this version: on the PATH, or one of pyenv's."""
    if _is_this(version):
        return sys.executable
    homes = glob.glob(str(Path.home() / ".pyenv" / "versions" / f"{version}.*" / "bin" / "python"))
    for path in (shutil.which(f"python{version}"), *sorted(homes, reverse=True)):
        if path and _said([path, "-c", "import sys; print(sys.version_info[:2])"]) is not None:
            return path
    return None


def _said(command, **variables):
    """What a command prints; None if it fails."""
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def _flags():
    with contextlib.suppress(OSError):
        return set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text(encoding="utf-8")))
    return set()


def obstacle(machine):
    """Why it cannot be had here; None if it can."""
    absent = [flag for flag in machine.flags if flag not in _flags()]
    if absent:
        return f"this processor has no {', '.join(absent)}"
    if machine.python is not None and find_python(machine.python) is None:
        return f"no Python {machine.python} on the PATH, and none of pyenv's"
    if machine.python is not None and not machine.lowest and _is_this(machine.python):
        return "it is what `make test` runs"
    if core := machine.variables.get("OPENBLAS_CORETYPE"):
        found = _said([sys.executable, "-c", KERNELS], OPENBLAS_CORETYPE=core)
        if found != core:
            return f"the BLAS here has nothing of its own for it: it takes {found}"
    return None


def prepare(machine, folder):
    """Make its environment, and return its Python; what was made before is brought up to date."""
    if machine.python is None:
        return sys.executable
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([find_python(machine.python), "-m", "venv", folder], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not machine.lowest:
        subprocess.run([*install, "-e", f"{ROOT}[test]"], check=True)
        return python
    pins = folder / "lowest.txt"
    pins.write_text("\n".join(lowest_versions()), encoding="utf-8")
    tools = [line for line in EXTRAS["test"] if not line.startswith("maxmargin")]
    subprocess.run([*install, "-e", f"{ROOT}[all]", *tools, *FRAMES, "-c", pins], check=True)
    return python


def environment(machine, folder):
    """The variables of its processes."""
    kernels = folder / "kernels"
    shutil.rmtree(kernels, ignore_errors=True)
    found = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",  # test processes run side by side
        "OMP_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(kernels),
        **machine.variables,
    }
    if found.get("NPY_DISABLE_CPU_FEATURES") == DISPATCHED:
        found["NPY_DISABLE_CPU_FEATURES"] = _said([sys.executable, "-c", DISPATCHED])
    return found


def test_command(machine, python, processes):
    """The command that runs its part of the suite."""
    files = sorted(
        path for path in (ROOT / "tests").glob("test_*.py") if not path.stem.startswith(machine.left_out)
    )
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    if processes > 1:
        command += ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    if machine.lowest:  # newer packages deprecate what the old ones call
        command += ["-W", "ignore::DeprecationWarning"]
    return command


def run(machine, folder, processes):
    """Run its part of the suite; return pytest's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    python = prepare(machine, folder)
    variables = environment(machine, folder)
    core = {min(os.sched_getaffinity(0))}
    with contextlib.ExitStack() as beside:
        for _ in range(machine.busy):
            one = beside.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            beside.callback(one.kill)
        return subprocess.run(
            test_command(machine, python, processes),
            cwd=ROOT,
            env=variables,
            check=False,
            preexec_fn=(lambda: os.sched_setaffinity(0, core)) if machine.one_core else None,
        ).returncode


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__.split("\n")[0])
    names = [machine.name for machine in MACHINES]
    parser.add_argument("names", nargs="*", metavar="NAME", help="all of them if none is named")
    parser.add_argument("--list", action="store_true", help="name them, and say what cannot be had here")
    parser.add_argument("--processes", type=int, default=2, help="of pytest, side by side")
    parser.add_argument("--folder", type=Path, default=ROOT / ".machines", help="for environments")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(names)):
        parser.error(f"NAME must be one of {', '.join(names)}. Got {', '.join(unknown)} instead.")
    results = {}
    for machine in MACHINES:
        if given.names and machine.name not in given.names:
            continue
        why = obstacle(machine)
        if given.list or why:
            results[machine.name] = f"left out: {why}" if why else machine.about
            continue
        print(f"\n== {machine.name}: {machine.about}", flush=True)
        began = time.monotonic()
        code = run(machine, given.folder / machine.name, given.processes)
        said = "passed" if code == 0 else f"FAILED (pytest: {code})"
        results[machine.name] = f"{said} in {time.monotonic() - began:.0f} s"
    print()
    for name, result in results.items():
        print(f"{name:15} {result}")
    sys.exit(any(result.startswith("FAILED") for result in results.values()))


if __name__ == "__main__":
    main()
