"""The checker reads files of its own, every digit of them, and is a command that stands alone."""

import subprocess
import sys

import numpy as np
import pytest

from maxmargin.checker import Rejected, Unreadable, canonical, check, parse, read
from maxmargin.checker.__main__ import main
from proofs import PROOFS, TOUCH, judge, make, seal


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


TWO = {"features": 2}
EXPECTED = [("1", {0: 1.5, 1: -2.0}), ("-1", {1: 1e-3})]


@pytest.mark.parametrize(
    ("name", "content", "entries"),
    [
        ("a.csv", "1.5,-2,1\n0,1e-3,-1\n", {}),
        ("a.csv", "u,v,class\n\n1.5,-2,1\n   \n0,1e-3,-1\n", {}),
        ("a.csv", '"u","v","the ""class"""\n"1.5",-2,"1"\n-0.0,0.001,"-1"\n', {"label": 'the "class"'}),
        ("a.csv", "\ufeffclass,u,v\r\n1,1.5,-2\r\n-1,0,1e-3\r\n", {"label": "class"}),
        ("a.csv", "class,u,v\n1,1.5,-2\n-1,0,1e-3\n", {"label": "0"}),
        ("a.csv", "1,1.5,-2\n-1,0,1e-3\n", {"label": "0"}),
        ("a.csv", "v,id,class,u\n-2,7,1,1.5\n1e-3,8,-1,0\n", {"label": "class", "columns": ["u", "v"]}),
        ("a.csv", "-2,7,1,1.5\n1e-3,8,-1,0\n", {"label": "2", "columns": ["3", "0"]}),
        ("a.tsv", "1.5\t-2\t1\n0\t1e-3\t-1\n", {}),
        ("a.svm", "1 qid:4 1:1.5 2:-2 # 3:4\n\n# all\n-1 1:0 2:1e-3\n", {}),
        ("a.TXT", "1 0:1.5 1:-2\n-1 1:1e-3", {"first_index": 0}),
    ],
)
def test_readers_of_text(tmp_path, name, content, entries):
    assert list(read(write(tmp_path, name, content), TWO | entries)) == EXPECTED


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i8", "<i4", "<i2", "|i1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reader_of_matrices(tmp_path, dtype, order):
    path = tmp_path / "a.npy"
    np.save(path, np.array([[3, 0, 1], [0, -4, -1]], dtype=dtype, order=order))
    rows = [(canonical(label), row) for label, row in read(str(path), TWO)]
    assert rows == [("1", {0: 3.0}), ("-1", {1: -4.0})]
    rows = [
        (canonical(label), row) for label, row in read(str(path), TWO | {"columns": ["2", "0"]}, "1")
    ]
    assert rows == [("0", {0: 1.0, 1: 3.0}), ("-4", {0: -1.0})]


def test_singles_are_read_exactly(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0.1, 1], [np.nan, 1]], dtype="<f4"))
    rows = read(str(tmp_path / "a.npy"), {"features": 1})
    assert next(rows) == ("1.0", {0: float(np.float32(0.1))})
    with pytest.raises(Unreadable, match="row 1"):
        next(rows)


@pytest.mark.parametrize(
    ("name", "content", "entries", "reason"),
    [
        ("a.xls", "", {}, "must be a file .csv, .tsv"),
        ("a.csv", "u,v,c\n1,x,1\n", {}, "a.csv:2: features must be finite numbers. Got 'x'"),
        ("a.csv", "u,v,c\n1,,1\n", {}, "a.csv:2: features"),
        ("a.csv", "u,v,c\n1,1_0,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n1,nan,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n1,1e999,1\n", {}, "a.csv:2: features"),
        ("a.csv", "1,2,1\n\n1,2,3,1\n", {}, "a.csv:3: must have 3 fields"),
        ("a.csv", '1,2,1\n1,"2,1\n', {}, "a.csv:2: unexpected end"),
        ("a.csv", "1,2,3,1\n", {}, "must have 2 features"),
        ("a.csv", "1,2,1\n", {"label": "class"}, "a column must be a number from 0 to 2. Got 'class'"),
        ("a.csv", "u,v,c\n1,2,1\n", {"label": "w"}, "or a name"),
        ("a.csv", "u,u,c\n1,2,1\n", {"label": "u"}, "the header has once"),
        ("a.csv", "u,v,c\n1,2,1\n", {"columns": ["u", "c"]}, "besides the label"),
        ("a.csv", b"\xff\xfe,1\n", {}, "Save the file as UTF-8"),
        ("a.svm", "1 1:2 1:3\n", {}, "a.svm:1: indices must increase, from 1 to 2"),
        ("a.svm", "1\n1 2:2 1:3\n", {}, "a.svm:2: indices"),
        ("a.svm", "1 0:2\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 3:2\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 2:2\n", {"first_index": 0}, "from 0 to 1"),
        ("a.svm", "1 x\n", {}, "a.svm:1: indices"),
        ("a.svm", "1 1:\n", {}, "a.svm:1: features"),
        ("a.svm", "1 1:1_0\n", {}, "a.svm:1: features"),
        ("a.svm", "1 1:inf\n", {}, "a.svm:1: features"),
        ("a.svm", "1:3 2:1\n", {}, "must begin with a label"),
        ("a.npy", "", {}, "must hold one matrix"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 9000, {}, "must hold one matrix"),
        ("a.npy", b"\x93NUMPY\x01\x00\x02\x00{}", {}, "must hold one matrix"),
    ],
)
def test_unusable_files_are_named_with_their_line(tmp_path, name, content, entries, reason):
    path = write(tmp_path, name, content)
    with pytest.raises(Unreadable) as trouble:
        list(read(path, TWO | entries))
    assert str(trouble.value).startswith(path)
    assert reason in str(trouble.value) and "\n" not in str(trouble.value)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2)])
def test_arrays_that_are_no_matrices_are_refused(tmp_path, shape):
    for order in "CF":
        np.save(tmp_path / "a.npy", np.ones(shape, order=order))
        with pytest.raises(Unreadable, match="must hold one matrix"):
            list(read(str(tmp_path / "a.npy"), TWO))


@pytest.mark.parametrize("cut", [3, 9, 60, 100, -1])
def test_truncated_matrices_are_refused(tmp_path, cut):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    with pytest.raises(Unreadable, match="must hold one matrix"):
        list(read(write(tmp_path, "b.npy", whole[:cut]), TWO))


# The command.

CSV = "u,class\n2,1\n2,-1\n5,1\n"


def run(tmp_path, capsys, proof_text, data=CSV, *options):
    """Run the command; return its status and what it printed."""
    files = write(tmp_path, "proof.json", proof_text), write(tmp_path, "data.csv", data)
    status = main([*files, *options])
    printed = capsys.readouterr()
    assert (printed.err == "") == (status != 2)
    assert (printed.out + printed.err).count("\n") == 1
    return status, printed.out + printed.err


def test_exit_codes(tmp_path, capsys):
    text = seal(PROOFS["touching"][0])
    assert run(tmp_path, capsys, text) == (
        0,
        "The proof holds: touching, 3 rows, 1 feature, 1 against -1.\n",
    )
    assert run(tmp_path, capsys, text, CSV, "--label", "class")[0] == 0
    status, line = run(tmp_path, capsys, text, CSV.replace("5", "6"))
    assert (status, line) == (1, "Rejected: the data must be those of the proof.\n")
    assert run(tmp_path, capsys, "{")[0] == 1
    assert run(tmp_path, capsys, "[")[0] == 2
    assert run(tmp_path, capsys, b"\xff")[0] == 2
    assert run(tmp_path, capsys, text, CSV + "x,1\n")[0] == 2
    assert run(tmp_path, capsys, text, CSV, "--label", "\u2265\nv")[0] == 2
    assert run(tmp_path, capsys, text, CSV, "--strange")[0] == 2
    for arguments in (
        [],
        ["proof.json"],
        ["no.json", "data.csv"],
        [str(tmp_path / "proof.json"), "no.csv"],
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


def other_digits(text):
    """Yield the text with one digit changed, at every position and in every way."""
    for position, character in enumerate(text):
        if character in "0123456789":
            for digit in "0123456789":
                if digit != character:
                    yield text[:position] + digit + text[position + 1 :]


def test_every_digit_of_the_proof_counts(tmp_path):
    text = seal(PROOFS["touching"][0])
    for changed_text in other_digits(text):
        with pytest.raises(
            Rejected, match=r"^(seal|version|features|plane|witness|negative)\b.* must be "
        ):
            check(parse(changed_text), TOUCH)


def test_every_digit_of_the_data_counts(tmp_path):
    content = "u,v,class\n12.5,3e-2,1\n-0.25,7,-1\n4,-19,1\n"
    entries = {"features": 2, "positive": ["1"], "negative": ["-1"]}
    rows = list(read(write(tmp_path, "a.csv", content), entries))
    proof = make("separable", rows, 2, plane={"w": ["2", "-1"], "b": "0"})
    judge(proof, rows)
    for number, text in enumerate(other_digits(content)):
        with pytest.raises(Rejected, match=r"the data must be those|rows must be 2, as in the data"):
            judge(proof, read(write(tmp_path, f"{number}.csv", text), proof))


def test_the_checker_stands_alone(tmp_path):
    proof = write(tmp_path, "proof.json", seal(PROOFS["touching"][0]))
    data = write(tmp_path, "data.csv", CSV)
    command = [sys.executable, "-I", "-m", "maxmargin.checker", proof, data]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    script = "import sys, maxmargin.checker.__main__ as c; c.main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-I", "-c", script, proof, data]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[1].split()
    ours = {name for name in modules if name.startswith("maxmargin")}
    assert all(
        m in ("maxmargin", "maxmargin._version") or m.startswith("maxmargin.checker") for m in ours
    )
    own = {
        "maxmargin",
        "sitecustomize",
        "usercustomize",
    }  # Python loads the last two where a machine has them
    foreign = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - own
    assert not {name for name in foreign if not name.startswith("_")}
