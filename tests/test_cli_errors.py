"""The command errors: the fewest errors of any plane on a file, and a proof that is checked."""

import gzip
import json
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run, write
from exact import in_fractions, meeting_weights
from maxmargin.checker.__main__ import main as checker
from maxmargin.estimators import progress
from maxmargin.files import write_svmlight

XOR = "a,b,kind\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n"
APART = "a,b,kind\n0,0,no\n1,2.5,no\n4,3,yes\n-5,9e1,yes\n"
THREE = "a,b,kind\n0,0,x\n1,1,x\n0,1,y\n1,0,y\n0.5,0.5,z\n4,7,z\n"
TEXTS = "a,town,kind\n0,Rome,no\n1,Rome,yes\n2,Rome,no\n0,Oslo,yes\n1,Oslo,no\n2,Oslo,yes\n5,Bern,yes\n"


def fewest(X, y, intercept=True):
    """The fewest rows without which the others are separable, by trying all sets of rows."""
    rows, y = in_fractions(np.asarray(X, dtype=float)), [int(v) for v in y]
    sets = [out for k in range(len(y)) for out in combinations(range(len(y)), k)]
    for out in sets:
        left = [i for i in range(len(y)) if i not in out]
        one_class = intercept and len({y[i] for i in left}) < 2
        if one_class or not meeting_weights([rows[i] for i in left], [y[i] for i in left], intercept):
            return len(out)
    return len(y)


def verify(proof, data, *options):
    code = run("verify", proof, data, *options)[0]
    assert checker([proof, data, *options]) == code  # the two are one
    return code


def as_json(*arguments):
    code, out, err = run("errors", *arguments, "--json")
    assert err == ""
    return code, json.loads(out)


def cloud(n, d, seed):
    """Small integers with ties, and labels that no plane explains."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    return rng.integers(-1, 2, (n, d)).astype(float), y


def test_what_is_printed():
    data = write("data.csv", XOR)
    code, out, err = run("errors", data, "--proof", "proof.json")
    assert (code, err) == (0, "")
    head, wrong, *_, last = out.splitlines()
    assert head == "1 error found; no plane makes fewer."
    assert wrong.startswith("· Wrong or on the plane: row ")
    assert "(n_complete): 1; for" in " ".join(out.split()) and "(n_overlap): 1." in out
    assert last == "Features: a, b. Label: kind."
    code, out, err = run("verify", "proof.json", data)
    assert (code, err) == (0, "") and out.startswith("The proof holds: errors, 4 rows, 2 features")
    assert "no plane makes fewer than 1 error, and this one makes 1" in out


def test_separable_rows_need_no_error():
    code, out, _ = run("errors", write("data.csv", APART), "--proof", "proof.json")
    assert code == 0 and out.startswith("0 errors found; no plane makes fewer.\nFeatures")
    assert verify("proof.json", "data.csv") == 0


@pytest.mark.parametrize("kind", ["csv", "svm", "svm.gz", "npy"])
@pytest.mark.parametrize(("n", "d", "seed"), [(9, 1, 0), (10, 2, 1), (14, 4, 2)])
def test_the_fewest_errors_of_files(kind, n, d, seed):
    X, y = cloud(n, d, seed)
    if kind == "csv":
        lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
        data = write("d.csv", "\n".join([",".join([*"abcd"[:d], "y"]), *lines]))
    elif kind == "npy":
        data = "d.npy"
        np.save(data, np.column_stack([X, y]))
    else:
        write_svmlight(X, y, "d.svm")
        with open("d.svm", "rb") as plain, gzip.open("d.svm.gz", "wb") as packed:
            packed.write(plain.read())
        data = f"d.{kind}"
    code, found = as_json(data, "--proof", "proof.json")
    assert code == 0
    assert found["lower"] == found["upper"] == fewest(X, y) == len(found["given_up"]) > 0
    assert found["n_complete"] == [found["lower"]] * 2 and found["n_overlap"][1] <= found["upper"]
    f = y * (X @ found["w"] + found["b"])
    if found["plane_is_exact"]:
        assert np.flatnonzero(f <= 0).tolist() == found["given_up"]  # small numbers: hardly rounded
    assert verify("proof.json", data) == 0


def test_columns_of_text():
    data = write("data.csv", TEXTS)
    code, found = as_json(data, "--one-hot", "--proof", "proof.json")
    towns = [line.split(",")[1] for line in TEXTS.splitlines()[1:]]
    X = [
        [float(line.split(",")[0]), *(town == name for name in ("Bern", "Oslo", "Rome"))]
        for line, town in zip(TEXTS.splitlines()[1:], towns, strict=True)
    ]
    y = [1 if line.endswith("yes") else -1 for line in TEXTS.splitlines()[1:]]
    assert code == 0 and found["lower"] == found["upper"] == fewest(X, y)
    assert verify("proof.json", data) == 0
    assert verify("proof.json", write("data.csv", TEXTS.replace("5,Bern", "5,Oslo"))) == 1


@pytest.mark.parametrize(
    ("options", "classes"),
    [(["--class", "x"], "xyz"), (["--class", "z", "--against", "x"], "xz")],
    ids=["against the rest", "a pair"],
)
def test_classes_of_several(options, classes):
    data = write("data.csv", THREE)
    code, found = as_json(data, *options, "--proof", "proof.json")
    cells = [line.split(",") for line in THREE.splitlines()[1:]]
    used = [i for i, cell in enumerate(cells) if cell[-1] in classes]
    X = [[float(v) for v in cells[i][:-1]] for i in used]
    y = [1 if cells[i][-1] == options[1] else -1 for i in used]
    assert code == 0 and found["lower"] == found["upper"] == fewest(X, y)
    assert set(found["given_up"]) <= set(used)  # rows of the file, not of the classes
    assert found["positive"] == [options[1]]
    assert verify("proof.json", data) == 0


def test_planes_through_the_origin():
    data = write("d.csv", "a,y\n1,0\n2,1\n3,1\n")
    assert as_json(data)[1]["upper"] == 0
    code, found = as_json(data, "--no-intercept", "--proof", "proof.json")
    assert (code, found["lower"], found["upper"], found["b"]) == (0, 1, 1, 0.0)
    assert verify("proof.json", data) == 0


def test_numbers_as_they_are_written():
    data = write("d.csv", "a,b,c,y\n0.1,0.2,0.3,0\n0.4,0.5,0.9,0\n0.1,0.5,0.6,1\n0.4,0.2,0.6,1\n")
    assert as_json(data)[1]["upper"] == 0  # thanks to the 17th digit of 0.3
    code, found = as_json(data, "--decimal", "--proof", "proof.json")
    assert (code, found["lower"], found["upper"]) == (0, 1, 1)
    assert verify("proof.json", data) == 0
    assert mm.Proof.load("proof.json").content["numbers"] == "decimal"


def test_when_time_ends_first_the_bounds_are_printed():
    X, y = load_breast_cancer(return_X_y=True)
    write_svmlight(X[:, :3], y, "d.svm")
    code, out, err = run("errors", "d.svm", "--max-seconds", "1e-9", "--proof", "proof.json")
    assert (code, err) == (3, "")
    assert out.splitlines()[0].endswith(" (time ended first).")
    assert verify("proof.json", "d.svm") == 0
    code, found = as_json("d.svm", "--max-seconds", "1e-9")
    assert code == 3 and found["late"] and not found["proven"]
    assert found["lower"] < found["upper"] == found["n_complete"][1]


@pytest.mark.parametrize("terminal", [False, True])
def test_the_bar_is_for_terminals(terminal, monkeypatch):
    """Standard error is a terminal or none; whether a bar is asked for."""
    given, time_limit = [], progress.time_limit

    def limit(name, seconds, verbose):
        given.append((name, seconds, verbose))
        return time_limit(name, seconds, 0)

    monkeypatch.setattr(progress, "time_limit", limit)
    monkeypatch.setattr(
        "maxmargin.cli.errors.sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: terminal))
    )
    assert run("errors", write("data.csv", XOR))[0] == 0
    assert given == [("errors", 60.0, int(terminal))]


def test_rows_of_a_large_file():
    data = write("data.csv", XOR)
    assert run("errors", data, "--cache-dir", "cache", "--proof", "proof.json")[0] == 0
    assert verify("proof.json", data) == 0
    code, out, _ = run("errors", "-", stdin=XOR)
    assert code == 0 and out.startswith("1 error found; no plane makes fewer.")


def test_what_cannot_be_used():
    data = write("data.csv", THREE)
    for arguments, words in (
        ([data], "Choose with --class LABEL"),
        ([data, "--against", "x"], "--against needs --class"),
        ([data, "--class", "w"], "--class must be one of the labels"),
        ([data, "--class", "x", "--against", "x"], "must be two classes"),
        ([data, "--class", "x", "--proof", "none/p.json"], "--proof"),
        ([data, "--class", "x", "--max-seconds", "0"], "--max-seconds"),
        (["none.csv"], "none.csv"),
    ):
        code, out, err = run("errors", *arguments)
        assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
        assert err.startswith("Error: ") and words in err


def test_any_changed_digit_of_a_proof_is_rejected():
    data = write("data.csv", XOR)
    run("errors", data, "--proof", "proof.json")
    with open("proof.json") as file:
        text = file.read()
    digits = [k for k, c in enumerate(text) if c.isdigit()]
    assert len(digits) > 50
    for k in digits:
        write("changed.json", f"{text[:k]}{(int(text[k]) + 1) % 10}{text[k + 1 :]}")
        assert checker(["changed.json", data]) == 1


def test_a_proof_that_claims_more_is_rejected():
    """The seal is no protection: whoever changes a proof may seal it again."""
    data = write("data.csv", XOR)
    run("errors", data, "--proof", "proof.json")
    with open("proof.json") as file:
        entries = json.load(file)
    entries.pop("seal")
    honest = mm.Proof(entries)
    honest.save("same.json")
    assert verify("same.json", data) == 0
    mm.Proof({**entries, "lower": "2", "upper": "2"}).save("more.json")
    assert verify("more.json", data) == 1
    shares = json.loads(json.dumps(entries))
    shares["tree"]["leaves"][0]["shares"] = [str(Fraction(0))]
    mm.Proof(shares).save("less.json")
    assert verify("less.json", data) == 1
