"""One family: the same options, exit codes and manners, whatever the command and whatever goes wrong."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run, write
from forks import FITTING, PATIENCE
from forks import programs as programs
from maxmargin.cli.main import main
from maxmargin.saving import save
from serving import until

COMMANDS = ("fit", "predict", "separable", "errors", "verify", "audit", "stream", "report", "plot")
COMMANDS += ("lab", "demo")
APART = "a,b,kind\n0,0,no\n1,2.5,no\n4,3,yes\n-5,9e1,yes\n"
PROGRAM = [sys.executable, "-m", "maxmargin"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}


def check_one_line(code, out, err):
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert "Traceback" not in line and len(line) < 1000
    return line


# Help


def test_the_family_is_complete():
    assert sorted(main.commands) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_options_for_the_same_things(name):
    command = main.commands[name]
    found = {option: p for p in command.params for option in p.opts}
    assert "--debug" in found
    first = {option: p for p in main.commands["fit"].params for option in p.opts}
    alike = ("--label", "--columns", "--drop", "--header", "--cache-dir", "--no-intercept", "--json")
    if "data" in found and name not in ("verify", "stream"):
        assert set(alike[:5]) <= set(found)
        assert ("--one-hot" in found) == (name not in ("predict", "audit"))  # there the model knows
    for option in alike:
        if option in found and name != "verify":
            assert found[option].help == first[option].help, (name, option)
            assert found[option].type.name == first[option].type.name
    if "--model" in found:
        assert list(found["--model"].type.choices) == list(first["--model"].type.choices)
    assert ("data" in found) == (name != "demo")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.opts in (["--model"], ["--kind"])


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_comes_at_once(name):
    """Nothing is loaded for it but what reads the command line."""
    code = (
        "import sys; from maxmargin.cli.main import main; "
        f"main({[*filter(None, [name]), '--help']!r}, standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *text, loaded = done.stdout.splitlines()
    assert text[0].startswith("Usage: ")
    packages = {module.partition(".")[0] for module in loaded.split()} - set(sys.stdlib_module_names)
    assert {one for one in packages if not one.startswith("_")} == {"click", "maxmargin"}
    assert len(loaded.split()) < 300


def test_the_help_of_fit_has_the_stopping_rules_as_formulas():
    text = run("fit", "--help")[1]
    for formula in ("(P − D) / P ≤ tol", "½‖w‖² + C Σ ξ", "y f(x) > δ", "R = Σ max(0, −y f(x)) = 0"):
        assert formula in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_told_and_works(shell):
    variable = f"_MAXMARGIN_COMPLETE={shell}_source"
    assert variable in run("--help")[1]
    environment = {**ENVIRONMENT, "_MAXMARGIN_COMPLETE": f"{shell}_source"}
    if shell != "bash":  # click asks the bash that is there for its version
        done = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0 and "_maxmargin_completion" in done.stdout
    words = {"COMP_WORDS": "maxmargin fit --mo", "COMP_CWORD": "2" if shell != "fish" else "--mo"}
    environment = {**ENVIRONMENT, **words, "_MAXMARGIN_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0 and "--model" in done.stdout


# Errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "d.csv", "--modle", "x"],
        ["fat"],
        ["fit", "a.csv", "b.csv"],
        ["plot", "--C", "x"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line(arguments):
    line = check_one_line(*run(*arguments))
    assert line.startswith("Error: ") and line.endswith(" --help.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["plot", "d.csv", "--model", "perceptron", "--C", "1"],
            "--C is for --model hard-margin and soft",
        ),
        (
            ["report", "d.csv", "--model", "pocket", "--C", "2"],
            "Got --model pocket instead. Leave --C out",
        ),
        (["fit", "d.csv", "--every", "10s"], "--every is for work with a --checkpoint. Got none. Name"),
        (
            ["stream", "d.svm", "--every", "1s"],
            "--every is for work with a --checkpoint. Got none. Name",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_options_that_would_do_nothing_are_refused(arguments, words):
    write("d.csv", APART)
    write("d.svm", "1 1:2\n")
    assert words in check_one_line(*run(*arguments))
    assert sorted(os.listdir()) == ["d.csv", "d.svm"]


def test_without_a_command_help_is_shown():
    code, _, err = run()
    assert code == 2 and err.startswith("Usage: ") and "Commands:" in err


@pytest.fixture
def broken(monkeypatch):
    """Make the work of ``separable`` raise an error."""

    def install(error):
        def raises(*given, **options):
            raise error

        monkeypatch.setattr("maxmargin.cli.inputs.open_table", raises)
        return run("separable", write("d.csv", APART))

    return install


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (mm.InputError("the moon\nmust be full."), "Error: the moon must be full."),
        (
            RuntimeError("a\nb"),
            "Error: RuntimeError: a b. This is a bug in maxmargin: run again with --debug",
        ),
        (ValueError("odd"), "Error: ValueError: odd. This is a bug"),
        (AssertionError(), "Error: AssertionError: . This is a bug"),
        (RecursionError("deep"), "Error: RecursionError: deep. This is a bug"),
        (MemoryError(), "Error: there is not enough memory."),
        (OSError(28, "No space left on device", "/x/y"), "Error: /x/y: No space left on device."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_any_exception_is_one_line(error, words, broken):
    assert check_one_line(*broken(error)).startswith(words)


def test_debug_shows_the_traceback():
    code, out, err = run("separable", "none.csv", "--debug")
    assert (code, out) == (2, "")
    assert err.startswith("Traceback (most recent call last)") and "open_table" in err
    assert err.splitlines()[-1].startswith("Error: none.csv")


def test_ctrl_c_ends_with_130_and_no_traceback(broken, programs):
    assert broken(KeyboardInterrupt()) == (130, "", "Interrupted.\n")
    rng = np.random.default_rng(0)
    np.save("d.npy", np.column_stack([rng.normal(size=(20_000, 20)), rng.integers(0, 2, 20_000)]))
    endless = ["fit", "d.npy", "--model", "perceptron", "--order", "shuffled", "--max-iter", 10**9]
    compiled = programs.start(*endless[:-1], 1)
    assert compiled.wait() == 0
    started = programs.start(*endless)
    assert until(Path(FITTING).exists, PATIENCE)
    os.kill(started.pid, signal.SIGINT)
    assert started.wait() == 130
    assert started.stdout.read() == b"" and b"Traceback" not in started.stderr.read()


def test_a_reader_that_has_seen_enough_is_no_error(programs):
    X = np.arange(200_000.0)[:, None]
    np.save("d.npy", np.column_stack([X, X[:, 0] > 99_999.5]))
    save(
        mm.HardMarginSVC().fit(X[99_990:100_010], (X[99_990:100_010, 0] > 99_999.5).astype(int)),
        "m.json",
    )
    started = programs.start("predict", "m.json", "d.npy", "--scores")
    assert started.stdout.readline().startswith(b"0\t")
    started.stdout.close()
    err = started.stderr.read()
    assert started.wait() == 0
    assert b"Traceback" not in err and b"Broken" not in err and b"Exception" not in err


def test_progress_is_not_for_pipes(programs):
    write("d.csv", APART)
    started = programs.start("fit", "d.csv")
    assert started.stdout.read().startswith(b"d.csv: 4 rows")
    assert started.stderr.read() == b"" and started.wait() == 0


# Bad input, for every command that reads a file

NAN = "a,b,kind\n0,0,no\n1,nan,no\n4,3,yes\n"
BAD = {
    "missing file": ("none.csv", None),
    "folder": ("folder.csv", "folder"),
    "empty": ("d.csv", ""),
    "only a header": ("d.csv", "a,b,kind\n"),
    "binary garbage": ("d.csv", bytes(range(256)) * 40),
    "garbage as svmlight": ("d.svm", bytes(range(256)) * 40),
    "garbage as parquet": ("d.parquet", b"PAR1" + bytes(range(256)) * 40),
    "garbage as npy": ("d.npy", b"\x93NUMPY" + bytes(range(256)) * 4),
    "garbage as npz": ("d.npz", b"PK\x03\x04" + bytes(range(256)) * 4),
    "garbage as gz": ("d.csv.gz", b"\x1f\x8b" + bytes(range(256)) * 4),
    "cut off": ("d.csv.gz", gzip.compress(APART.encode() * 99)[:-20]),
    "missing label": ("d.csv", "a,b,kind\n0,0,no\n1,2,\n4,3,yes\n"),
    "nan": ("d.csv", NAN),
    "infinity": ("d.csv", NAN.replace("nan", "-inf")),
    "huge exponent": ("d.csv", NAN.replace("nan", "1e999")),
    "ragged": ("d.csv", NAN.replace("1,nan", "1")),
    "text": ("d.csv", NAN.replace("nan", "two")),
    "latin": ("d.csv", "a,b,kind\n0,0,é\n1,2,z\n".encode("latin1")),
    "utf-16": ("d.csv", APART.encode("utf-16")),
    "one class": ("d.csv", "a,b,kind\n0,0,no\n1,2,no\n"),
    "measurements": ("d.csv", "a,b,kind\n0,0,0.5\n1,2,1.5\n3,1,7.25\n"),
    "index 0 after 1": ("d.svm", "1 1:1 0:1\n-1 1:2\n"),
    "descending": ("d.svm", "1 2:1 1:1\n-1 1:2\n"),
    "long line": ("d.csv", "a,b,kind\n" + "1" * 1_000_000 + ",1,no\n1,2,yes\n"),
    "unknown ending": ("d.xyz", APART),
    "duplicate columns": ("d.csv", APART.replace("a,b", "a,a")),
}
READING = {
    "fit": ["fit", "DATA"],
    "fit out of core": ["fit", "DATA", "--cache-dir", "cache"],
    "validate": ["fit", "good.csv", "--validate", "DATA"],
    "separable": ["separable", "DATA"],
    "errors": ["errors", "DATA"],
    "predict": ["predict", "m.json", "DATA", "--label", "kind"],
    "audit": ["audit", "m.json", "DATA"],
    "verify": ["verify", "proof.json", "DATA"],
    "plot": ["plot", "DATA"],
    "report": ["report", "DATA", "--share", "0"],
    "lab": ["lab", "DATA", "--no-open", "--port", "0"],
}
# Rows are all that predict needs.
FINE = {("predict", "one class"), ("predict", "measurements"), ("validate", "one class")}
FINE |= {("lab", "measurements")}  # any three labels are three classes there


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    write(folder / "good.csv", APART)
    for command in (
        ["fit", "good.csv", "--out", "m.json"],
        ["separable", "good.csv", "--proof", "proof.json"],
    ):
        before = os.getcwd()
        os.chdir(folder)
        try:
            assert run(*command)[0] == 0
        finally:
            os.chdir(before)
    return folder


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", READING)
def test_bad_input_is_one_line_and_exit_code_2(command, name, good, monkeypatch):
    file, content = BAD[name]
    for path in good.iterdir():
        write(path.name, path.read_bytes())
    if content == "folder":
        os.mkdir(file)
    elif content is not None:
        write(file, content)
    served = []
    monkeypatch.setattr("maxmargin.laboratory.server.serve", lambda *a, **k: served.append(k) or 0)
    code, out, err = run(*(file if word == "DATA" else word for word in READING[command]))
    if command == "verify" and code == 1:  # another file than the proof's
        assert out.startswith("Rejected: ") and out.count("\n") == 1
        return
    if (command, name) in FINE:
        assert code == 0
        return
    assert not served
    line = check_one_line(code, out, err)
    assert line.startswith("Error: ") or command == "verify"
    assert "This is a bug" not in line
    assert file in line or name in ("one class", "measurements")
    owned = {o for p in main.commands[READING[command][0]].params for o in (*p.opts, *p.secondary_opts)}
    assert set(re.findall(r"--[a-z][a-z-]*", line)) <= owned  # no advice that cannot be taken
    assert not re.search(r"\w=", line.split(" Got ")[-1])  # nor that of Python


def test_the_place_of_a_mistake_is_told():
    for command in ("fit", "separable", "plot", "report"):
        line = check_one_line(*run(command, write("d.csv", NAN)))
        assert line.startswith("Error: d.csv:3: feature b must ")


@pytest.mark.parametrize("content", ["", "{}", "{", "[1]", b"\x80\x04garbage", b"\0\1", '{"format": 1}'])
@pytest.mark.parametrize("command", ["predict", "audit"])
def test_bad_models(command, content):
    write("m.json", content)
    line = check_one_line(
        *run(command, "m.json", write("d.csv", APART), *(["--C", "1"] * (command == "audit")))
    )
    assert "m.json" in line
    os.remove("m.json")
    os.mkdir("m.json")
    check_one_line(*run(command, "m.json", "d.csv"))


def test_every_command_reads_standard_input():
    data = APART.encode()
    write("d.csv", data)
    assert run("fit", "-", "--out", "m.json", stdin=data)[0] == 0
    assert run("separable", "-", stdin=data)[0] == 0
    assert run("predict", "m.json", "-", stdin=data)[1].split() == ["no", "no", "yes", "yes"]
    assert run("audit", "m.json", "-", stdin=data)[0] == 0
    assert run("plot", "-", "--out", "p.png", stdin=data)[:2] == (0, "p.png\n")
    assert run("report", "-", "--share", "0", "--out", "r.html", stdin=data)[0] == 0
    code, out, err = run("stream", stdin=b"1 1:1\n-1 1:-1\n1 1:2\n")
    assert code == 0 and len(out.splitlines()) == 3 and err
    write("s.svm", b"1 1:1\n-1 1:-1\n1 1:2\n")
    assert run("stream", "s.svm")[1] == run("stream", "-", stdin=b"1 1:1\n-1 1:-1\n1 1:2\n")[1] == out
    check_one_line(*run("stream", "none.svm"))


def test_json_is_json():
    write("d.csv", APART)
    assert run("fit", "d.csv", "--out", "m.json")[0] == 0
    for arguments in (["fit", "d.csv"], ["separable", "d.csv"], ["predict", "m.json", "d.csv"],
                      ["audit", "m.json", "d.csv"]):  # fmt: skip
        code, out, _ = run(*arguments, "--json")
        assert code == 0 and isinstance(json.loads(out), dict) and "NaN" not in out


def test_rows_without_labels():
    from maxmargin.files import open_rows

    np.save("X.npy", np.arange(8.0).reshape(4, 2).astype(">f8"))
    rows = open_rows("X.npy", label=False)
    for command in ("fit", "separable"):
        assert "must hold labels" in check_one_line(*run(command, rows.path))
