"""The command line: verdicts on files, proofs that verify or are rejected, errors in one line."""

import gzip
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run, write
from maxmargin.checker import Rejected, parse
from maxmargin.checker.__main__ import main as checker
from proofs import seal

APART = "a,b,kind\n0,0,no\n1,2.5,no\n4,3,yes\n-5,9e1,yes\n"
XOR = "a,b,kind\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n"
TOUCHING = "a,kind\n0,no\n1,no\n1,yes\n2,yes\n"
THREE = "a,b,kind\n0,0,x\n0,1,x\n5,0,y\n5,1,y\n0.5,7,z\n4,7,z\n"


def verify(proof, data, *options):
    code = run("verify", proof, data, *options)[0]
    assert checker([proof, data, *options]) == code  # the two are one
    return code


def check_refused(*arguments, match=""):
    code, out, err = run("separable", *arguments)
    assert (code, out) == (2, "")
    line = err.strip().splitlines()[-1]
    assert line.startswith("Error: ")
    assert match in line
    assert len(err.strip().splitlines()) == 1
    return line


@pytest.mark.parametrize(
    ("content", "code", "kind", "word"),
    [
        (APART, 0, "separable", "complete separation"),
        (TOUCHING, 1, "touching", "quasi-complete separation"),
        (XOR, 1, "overlapping", "no separation"),
    ],
    ids=["apart", "touching", "xor"],
)
def test_the_verdict_and_its_proof(content, code, kind, word):
    data = write("data.csv", content)
    found, out, err = run("separable", data, "--label", "kind", "--proof", "proof.json")
    assert (found, err) == (code, "")
    assert out.startswith(f"{kind.capitalize()} ({word})")
    assert verify("proof.json", data) == 0
    proof = mm.Proof.load("proof.json")
    rows = [line.split(",") for line in content.splitlines()[1:]]
    X, y = [[float(v) for v in row[:-1]] for row in rows], [row[-1] for row in rows]
    assert proof.kind == kind
    assert proof.verify(X, y)
    assert mm.separability(X, y).proof.to_dict()["data"] == proof.to_dict()["data"]
    mm.separability(X, y).proof.save("python.json")
    assert verify("python.json", data) == verify("python.json", data, "--label", "kind") == 0


def test_json():
    data = write("data.csv", XOR)
    code, out, _ = run("separable", data, "--json")
    content = json.loads(out)
    assert (code, content["kind"], content["statistical_name"]) == (1, "overlapping", "no separation")
    assert (content["positive"], content["negative"]) == ("yes", "no")
    assert (content["w"], content["b"], content["margin"]) == (None, None, None)
    assert sorted(content["witness"]["rows"]) == [0, 1, 2, 3]
    assert len(set(content["witness"]["weights"])) == 1
    content = json.loads(run("separable", write("data.csv", APART), "--json")[1])
    w, b = [Fraction(v) for v in content["w"]], Fraction(content["b"])
    for a, c, s in ((0, 0, -1), (1, Fraction(5, 2), -1), (4, 3, 1), (-5, 90, 1)):
        assert s * (w[0] * a + w[1] * c + b) > 0
    assert 0 < content["margin"][0] <= content["margin"][1]
    assert set(content["runs_to_infinity"]) <= {"a", "b", "intercept"}
    content = json.loads(run("separable", write("data.csv", TOUCHING), "--json")[1])
    assert content["on_plane"] == [1, 2]


def test_json_of_many_classes():
    code, out, _ = run("separable", write("data.csv", THREE), "--json")
    content = json.loads(out)
    assert code == 0
    assert set(content["rest"]) == {"x", "y", "z"}
    assert set(content["pairs"]) == {"x | y", "x | z", "y | z"}
    assert {v["kind"] for v in (*content["rest"].values(), *content["pairs"].values())} == {"separable"}
    assert content["rest"]["x"]["negative"] is None


NUMBERS = np.array([[0, 0, 0], [1, 2.5, 0], [4, 3, 1], [-5, 9, 1]])
SAME = {
    "header.csv": "a,b,y\n0,0,0\n1,2.5,0\n4,3,1\n-5,9,1\n",
    "plain.csv": "0,0,0\n1,2.5,0\n4,3,1\n-5,9,1\n",
    "quoted.csv": '"a","b ""x""","y"\n"0","0","0"\n"1","2.5","0"\n"4","3","1.0"\n"-5","9","+1"\n',
    "tabs.tsv": "a\tb\ty\n0\t0\t0\n1\t2.5\t0\n4\t3\t1\n-5\t9\t1\n",
    "windows.csv": "a,b,y\r\n0,0,0\r\n1,2.5,0\r\n4,3,1\r\n-5,9,1\r\n",
    "marked.csv": "\ufeffa,b,y\n0,0,0\n1,2.5,0\n4,3,1\n-5,9,1\n",
    "blank.csv": "\na,b,y\n0,0,0\n\n1,2.5,0\n4,3,1\n   \n-5,9,1\n\n",
    "spaces.csv": "a, b, y\n0, 0, 0\n 1,2.5 ,0\n4,3, 1\n-5,9,1 \n",
    "one.svm": "0\n0 1:1 2:2.5\n+1 1:4 2:3 # a comment\n1 1:-5 2:9\n",
    "zero.txt": "0 0:0\n0 qid:7 0:1 1:2.5\n\n1 0:4 1:3\n1.0 0:-5 1:9\n",
    "matrix.npy": None,
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_numbers_in_many_formats(name):
    if name == "matrix.npy":
        np.save(name, NUMBERS)
    else:
        write(name, SAME[name])
    counted = ["--first-index", "0"] if name == "zero.txt" else []
    assert run("separable", name, *counted, "--proof", "proof.json")[0] == 0
    assert verify("proof.json", name) == 0
    X, y = NUMBERS[:, :2], NUMBERS[:, 2].astype(int)
    proof = mm.Proof.load("proof.json")
    assert proof.verify(X, y)
    assert proof.to_dict()["data"] == mm.separability(X, y).proof.to_dict()["data"]
    mm.HardMarginSVC().prove(X, y).proof.save("optimum.json")
    if name != "zero.txt":  # a proof made elsewhere counts features from 1
        assert verify("optimum.json", name) == 0


@pytest.mark.parametrize("name", SAME)
def test_large_files_are_not_loaded(name, monkeypatch):
    monkeypatch.setattr("maxmargin.cli.inputs.MAX_LOADED_BYTES", 0)
    monkeypatch.setattr("maxmargin.cli.inputs.read_data", None)
    if name == "matrix.npy":
        np.save(name, NUMBERS)
    else:
        write(name, SAME[name])
    counted = ["--first-index", "0"] if name == "zero.txt" else []
    assert run("separable", name, *counted, "--proof", "proof.json")[0] == 0
    assert verify("proof.json", name) == 0
    assert sum(file.endswith(".rows") for file in os.listdir()) == 1


def test_text_can_be_encoded_and_proven():
    data = write("data.csv", "a,colour,kind\n0,red,no\n1,red,yes\n0.5,blue,yes\n0.7,red,no\n")
    assert "--one-hot" in check_refused(data)
    assert run("separable", data, "--one-hot")[0] == 0
    assert run("separable", data, "--one-hot", "--proof", "p.json")[0] == 0
    assert run("verify", "p.json", data)[0] == 0


def test_a_proof_about_categories():
    data = write("data.csv", "size,colour,y\n1.5,red,n\n2,blue,y\n3, red ,n\n0.1,green,y\n")
    assert run("separable", data, "--one-hot", "--proof", "p.json")[0] == 0
    assert run("verify", "p.json", data)[0] == 0
    entries = json.loads(Path("p.json").read_text())
    assert entries["categories"] == [[], ["blue", "green", "red"]] and entries["features"] == 4
    other = write("other.csv", "size,colour,y\n1.5,red,n\n2,blue,y\n3,red,n\n0.1,blue,y\n")
    code, out, _ = run("verify", "p.json", other)
    assert code == 1 and "the data must be those of the proof" in out
    unknown = write("unknown.csv", "size,colour,y\n1.5,black,n\n")
    code, _, err = run("verify", "p.json", unknown)
    assert code == 2 and "categories blue, green, red. Got 'black'" in err
    for categories, words in (
        ([[], ["blue", "green"]], "categories must make 4 features"),
        ([[], ["blue", "red", "red"]], "no category must be named twice"),
        ([["blue", "green", "red", ""]], "categories are of columns"),
    ):
        with pytest.raises(Rejected, match=words):
            parse(seal({**entries, "categories": categories}))
    swapped = seal({**entries, "categories": [[], ["red", "green", "blue"]]})
    Path("swapped.json").write_text(swapped)
    assert run("verify", "swapped.json", data)[0] == 1


@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", ">f8", ">i4"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_proof_about_a_matrix_can_be_verified(dtype, order):
    matrix = np.array([[0, 3, 0], [1, 1, 1], [2, 7, 1]]).astype(dtype, order=order)
    np.save("m.npy", matrix)
    assert run("separable", "m.npy", "--proof", "proof.json")[0] == 0
    if verify("proof.json", "m.npy") != 0:  # a rare kind of number: there is advice, and it is good
        assert "matrix.astype(float)" in run("verify", "proof.json", "m.npy")[2]
        np.save("m.npy", matrix.astype(float))
        assert verify("proof.json", "m.npy") == 0


@pytest.mark.parametrize("label", ["kind", "1"])
def test_labels_and_features_by_name_or_number(label):
    data = write("data.csv", "a,kind,b,c\n0,n,5,1\n1,n,5,0\n2,y,5,1\n3,y,5,0\n")
    for options, names in (
        ([], ["a", "b", "c"]),
        (["--columns", "a, c"], ["a", "c"]),
        (["--columns", "3,0"], ["c", "a"]),
        (["--drop", "b"], ["a", "c"]),
        (["--columns", "a,b,c", "--drop", "2"], ["a", "c"]),
    ):
        code, *_ = run("separable", data, "--label", label, *options, "--proof", "proof.json")
        assert code == 0
        assert mm.Proof.load("proof.json").content["columns"] == names
        assert verify("proof.json", data) == 0
    assert run("separable", data, "--label", label, "--columns", "c")[0] == 1
    assert run("separable", data, "--label", label, "--drop", "a")[0] == 1


def test_columns_with_the_same_name():
    data = write("data.csv", "x,x,y\n1,2,a\n3,5,b\n")
    assert "data.csv:1: columns must have different names" in check_refused(data)
    assert run("separable", data, "--drop", "1", "--proof", "proof.json")[0] == 0
    assert verify("proof.json", data) == 0


def test_a_header_of_numbers_and_the_name_of_the_label():
    # What a data frame without column names writes.
    data = write("data.csv", "0,1,target\n1,2,0\n3,5,1\n")
    code, out, err = run("separable", data, "--label", "target", "--json")
    content = json.loads(out)
    assert (code, err, content["positive"], content["negative"]) == (0, "", 1, 0)
    assert content["work"]["rows_filtered"] == 2  # the header is not taken for a row
    assert sorted(content["runs_to_infinity"]) == ["0", "1", "intercept"]


def test_the_classes_to_tell_apart():
    data = write("data.csv", THREE + "2.5,3.5,y\n2,3,z\n")
    assert run("separable", data)[0] == 1
    assert run("separable", data, "--class", "x", "--proof", "x.json")[0] == 0
    assert run("separable", data, "--class", "x", "--against", "y", "--proof", "xy.json")[0] == 0
    assert run("separable", data, "--class", "z", "--proof", "z.json")[0] == 1
    for proof in ("x.json", "xy.json", "z.json"):
        assert verify(proof, data) == 0
    content = json.loads(run("separable", data, "--class", "y", "--against", "x", "--json")[1])
    assert (content["positive"], content["negative"]) == ("y", "x")
    write("other.csv", (THREE + "2.5,3.5,y\n2,3,z\n").replace("4,7,z", "4,8,z"))
    assert verify("xy.json", "other.csv") == 0  # the class z is no part of it
    assert verify("x.json", "other.csv") == 1


def test_numbers_as_classes():
    data = write("data.csv", "x,y\n0,1\n1,1\n2,2\n3,2\n4,3\n")
    for name in ("2", "2.0", "+2", " 2"):
        content = json.loads(run("separable", data, "--class", name, "--against", "1", "--json")[1])
        assert (content["positive"], content["negative"]) == (2, 1)


def test_planes_through_the_origin():
    data = write("data.csv", "x,y\n1,0\n2,1\n")
    assert run("separable", data)[0] == 0
    assert run("separable", data, "--no-intercept", "--proof", "proof.json")[0] == 1
    assert verify("proof.json", data) == 0
    assert mm.Proof.load("proof.json").content["intercept"] is False


@pytest.mark.parametrize("label", ["a b", "Ä ö", "a,b", 'say "x"', "日本", "True", "line\nbreak"])
def test_any_text_is_a_label(label):
    quoted = '"' + label.replace('"', '""') + '"'
    data = write("data.csv", f"x,y\n0,{quoted}\n1,other\n2,other\n")
    assert run("separable", data, "--class", label, "--proof", "proof.json")[0] == 0
    assert verify("proof.json", data) == 0
    assert mm.Proof.load("proof.json").verify([[0], [1], [2]], [label, "other", "other"])


def test_long_numbers_are_different_labels():
    ids = "12345678901234567890", "12345678901234567891"
    data = write("data.csv", f"x,y\n1,{ids[0]}\n2,7\n3,{ids[1]}\n")
    code, out, err = run("separable", data, "--json")
    assert (code, err) == (1, "")  # the class 7 is between the others
    assert sorted(json.loads(out)["rest"]) == [*ids, "7"]


@pytest.mark.parametrize(
    "content", [XOR, TOUCHING, APART.replace("9e1", "90")], ids=["xor", "touching", "apart"]
)
def test_any_changed_digit_is_rejected(content):
    data = write("data.csv", content)
    run("separable", data, "--proof", "proof.json")
    with open("proof.json") as file:
        text = file.read()
    digits = [k for k, c in enumerate(text) if c.isdigit() and c.isascii()]
    assert len(digits) > 50
    for k in digits:
        write("changed.json", f"{text[:k]}{(int(text[k]) + 1) % 10}{text[k + 1 :]}")
        assert checker(["changed.json", data]) == 1
    for k in (k for k, c in enumerate(content) if c.isdigit()):
        write("changed.csv", f"{content[:k]}{(int(content[k]) + 1) % 10}{content[k + 1 :]}")
        assert verify("proof.json", "changed.csv") == 1


def test_other_changes_of_the_data_are_rejected():
    write("data.csv", APART)
    run("separable", "data.csv", "--proof", "proof.json")
    lines = APART.splitlines()
    for changed in (
        lines[:-1],
        [*lines, "4,3,yes"],
        [lines[0], *lines[:0:-1]],
        [line.replace("no", "yes") if k == 1 else line for k, line in enumerate(lines)],
        lines[:1],
    ):
        assert verify("proof.json", write("other.csv", "\n".join(changed))) == 1
    for harmless in ("\n" + APART, APART.replace("2.5", "2.50"), APART.replace("\n", "\r\n")):
        assert verify("proof.json", write("other.csv", harmless)) == 0


def test_a_proof_of_a_compressed_file_is_checked(tmp_path):
    with gzip.open(tmp_path / "a.svm.gz", "wt") as file:
        file.write("1 1:2 2:1\n-1 1:-2 2:-1\n1 1:3\n-1 2:-4\n")
    assert run("separable", "a.svm.gz", "--proof", "p.json")[0] == 0
    assert verify("p.json", "a.svm.gz") == 0
    (tmp_path / "b.svm.gz").write_bytes((tmp_path / "a.svm.gz").read_bytes()[:-9])
    code, out, err = run("verify", "p.json", "b.svm.gz")
    assert code == 2 and (out + err).startswith("b.svm.gz: ")
    code, out, err = run("verify", "p.json", "a.parquet")
    assert code == 2 and "Write its rows as one of these" in out + err


def test_a_model_is_not_a_proof(tmp_path):
    X, y = [[0.0], [2.5]], ["no", "yes"]
    mm.save(mm.SoftMarginSVC().fit(X, y), tmp_path / "model.json")
    with pytest.raises(Rejected, match="a model file was given instead"):
        parse((tmp_path / "model.json").read_text())


def test_files_that_cannot_be_verified():
    data = write("data.csv", APART)
    run("separable", data, "--proof", "proof.json")
    for proof, table in (
        ("none.json", data),
        ("proof.json", "none.csv"),
        ("proof.json", write("d.xyz", APART)),
        ("proof.json", write("empty.svm", "1 9:1\n")),
        ("proof.json", write("nan.csv", APART.replace("2.5", "nan"))),
        ("proof.json", write("ragged.csv", APART.replace("2.5,", ""))),
        (write("bytes.json", b"\xff\xfe"), data),
    ):
        code, out, err = run("verify", proof, table)
        assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
        assert checker([proof, table]) == 2
    for text in ("{", "{}", '{"kind": "separable"}', "{" * 100_000):  # a proof that is damaged
        assert verify(write("bad.json", text), data) == 1
    for text in ("", "[]", "null", "1e5", "[" * 100_000, '{"format": "maxmargin-model"}', APART):
        assert verify(write("bad.json", text), data) == 2  # no proof at all


REFUSED = {
    "empty": ("d.csv", "", []),
    "blank": ("d.csv", "\n\n  \n", []),
    "header only": ("d.csv", "a,y\n", []),
    "one column": ("d.csv", "y\n1\n2\n", []),
    "one class": ("d.csv", "a,y\n1,x\n2,x\n", []),
    "one row": ("d.csv", "a,y\n1,x\n", []),
    "nan": ("d.csv", "a,y\n1,x\nnan,z\n", []),
    "infinite": ("d.csv", "a,y\n1,x\n-inf,z\n", []),
    "too large": ("d.csv", "a,y\n1,x\n1e400,z\n", []),
    "text": ("d.csv", "a,y\n1,x\ntwo,z\n", []),
    "missing value": ("d.csv", "a,y\n1,x\n,z\n", []),
    "underscore": ("d.csv", "a,y\n1,x\n1_0,z\n", []),
    "ragged": ("d.csv", "a,b,y\n1,2,x\n1,z\n", []),
    "trailing comma": ("d.csv", "a,y\n1,x,\n2,z,\n", []),
    "open quote": ("d.csv", 'a,y\n1,x\n"2,z\n', []),
    "long field": ("d.csv", "a,y\n" + "1" * 200_000 + ",x\n2,z\n", []),
    "latin": ("d.csv", "a,y\n1,é\n2,z\n".encode("latin1"), []),
    "garbage": ("d.csv", bytes(range(256)) * 9, []),
    "no such label": ("d.csv", "a,y\n1,x\n2,z\n", ["--label", "w"]),
    "number too large": ("d.csv", "a,y\n1,x\n2,z\n", ["--label", "2"]),
    "number far too large": ("d.csv", "a,y\n1,x\n2,z\n", ["--label", "9" * 5000]),
    "no such column": ("d.csv", "a,y\n1,x\n2,z\n", ["--columns", "a,b"]),
    "no such drop": ("d.csv", "a,y\n1,x\n2,z\n", ["--drop", "b"]),
    "label as a feature": ("d.csv", "a,y\n1,x\n2,z\n", ["--columns", "a,y"]),
    "no feature": ("d.csv", "a,y\n1,x\n2,z\n", ["--drop", "a"]),
    "no such class": ("d.csv", "a,y\n1,x\n2,z\n", ["--class", "w"]),
    "no such other class": ("d.csv", "a,y\n1,x\n2,z\n", ["--class", "x", "--against", "w"]),
    "the same class": ("d.csv", "a,y\n1,x\n2,z\n", ["--class", "x", "--against", "x"]),
    "many classes": ("d.csv", "a,y\n1,x\n2,z\n3,w\n", ["--proof", "p.json"]),
    "no such folder": ("d.csv", "a,y\n1,x\n2,z\n", ["--proof", "none/p.json"]),
    "measured labels": ("d.csv", "a,y\n1,0.5\n2,1.5\n3,7.25\n", []),
    "unknown ending": ("d.xyz", "a,y\n1,x\n2,z\n", []),
    "empty svmlight": ("d.svm", "", []),
    "no features": ("d.svm", "1\n2\n", []),
    "no label": ("d.svm", "1:2 2:3\n", []),
    "no colon": ("d.svm", "1 2\n", []),
    "unsorted": ("d.svm", "1 2:1 1:1\n-1 1:1\n", []),
    "repeated": ("d.svm", "1 2:1 2:1\n-1 1:1\n", []),
    "negative index": ("d.svm", "1 -2:1\n-1 1:1\n", []),
    "long index": ("d.svm", "1 " + "9" * 5000 + ":1\n-1 1:1\n", []),
    "nan in svmlight": ("d.svm", "1 1:nan\n-1 1:1\n", []),
    "svmlight with a label": ("d.svm", "1 1:1\n-1 1:2\n", ["--label", "0"]),
    "not npy": ("d.npy", b"garbage", []),
    "empty npy": ("d.npy", b"", []),
    "zip": ("d.npy", b"PK\x03\x04garbage", []),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(name):
    file, content, options = REFUSED[name]
    check_refused(write(file, content), *options)
    assert not os.path.exists("p.json")


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.zeros(4),
        np.zeros((2, 2, 2)),
        np.array([["a", "b"]]),
        np.array([[1j, 0], [2, 1]]),
        np.array([[np.nan, 0], [2, 1]]),
        np.array([[3.0, 1], [2, 1]]),
    ],
    ids=["no rows", "no columns", "vector", "cube", "text", "complex", "nan", "one class"],
)
def test_matrices_that_cannot_be_used(matrix):
    np.save("d.npy", matrix)
    check_refused("d.npy")


def test_missing_files_and_folders():
    check_refused("none.csv", match="none.csv")
    os.mkdir("folder.csv")
    code, out, err = run("separable", "folder.csv")
    assert (code, out) == (2, "") and "Traceback" not in err
    assert run("separable", write("d.csv", APART), "--against", "no")[0] == 2


def test_huge_and_tiny_numbers():
    data = write("d.csv", "a,b,y\n1e308,5e-324,x\n-1e308,5e-324,x\n1e308,0,z\n-1.7e308,0,z\n")
    assert run("separable", data, "--proof", "proof.json")[0] == 0
    assert verify("proof.json", data) == 0


def test_as_programs():
    write("data.csv", XOR)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}

    def program(*arguments):
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )

    made = program("maxmargin", "separable", "data.csv", "--proof", "p.json")
    assert (made.returncode, made.stderr) == (1, "")
    held = program("maxmargin", "verify", "p.json", "data.csv")
    alone = program("maxmargin.checker", "p.json", "data.csv")
    assert (held.returncode, held.stdout) == (alone.returncode, alone.stdout)
    assert held.returncode == 0
    lost = program("maxmargin", "separable", "none.csv")
    assert (lost.returncode, lost.stdout) == (2, "")
    assert len(lost.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "options", "code", "words"),
    [
        ("0,1,y\n1,2,0\n3,5,1\n", [], 0, "rows of 1 and 0"),  # names that are numbers
        ("0,1,y\n1,2,0\n3,5,1\n", ["--label", "y"], 0, "rows of 1 and 0"),
        ("NA,2,0\n3,4,1\n5,6,0\n", [], 2, "--header or --no-header"),
        ("2020,sales,y\n3,4,1\n5,6,0\n", ["--header"], 0, "rows of 1 and 0"),
        ("1,2,0\n3,4,\n", [], 2, "data.csv:2: the label must not be empty"),
        ("x,y\n9007199254740993,0\n1,1\n", [], 2, "would be rounded"),
    ],
)
def test_headers_and_gaps(content, options, code, words):
    data = write("data.csv", content)
    found = run("separable", data, *options, "--proof", "proof.json")
    assert found[0] == code and words in found[1] + found[2]
    if code == 0:
        assert verify("proof.json", data) == 0


def test_a_label_that_is_nan_is_a_gap(tmp_path):
    np.save(tmp_path / "gap.npy", np.array([[1.0, 0.0], [2.0, np.nan], [3.0, 1.0]]))
    found = run("separable", str(tmp_path / "gap.npy"))
    assert found[0] == 2 and "row 1: a label must not be missing" in found[2]
