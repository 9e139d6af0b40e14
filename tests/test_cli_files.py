"""Files on the command line: which column is what, which file is which, and what to do otherwise."""

import numpy as np
import pytest

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run as command


def run(*arguments, stdin=None):
    """Exit code, and all that was said."""
    code, out, err = command(*arguments, stdin=stdin)
    return code, out + err


# Tables as they are found: numbered rows, a label that is none.


def table(name, columns, n=30, seed=0):
    """Write a table of two separable classes, with columns before and after its features."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 4 * y[:, None]
    known = {"a": X[:, 0], "b": X[:, 1], "y": y, "id": np.arange(n) + 100, "": np.arange(n)}
    known |= {
        "patient_id": rng.permutation(n),
        "year": 2 * np.arange(n) + 1,
        "count": rng.permutation(n),
    }
    lines = [",".join(columns), *(",".join(str(known[c][i]) for c in columns) for i in range(n))]
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return name


@pytest.mark.parametrize(
    ("column", "why", "drop"),
    [
        ("id", "column id counts the rows", "--drop id."),
        ("", "the column without a name counts the rows", '--drop "".'),
        ("patient_id", "column patient_id holds a different whole number in every row", "patient_id."),
        ("year", "column year holds whole numbers in order, all different", "--drop year."),
        ("count", None, None),
    ],
)
@pytest.mark.parametrize("subcommand", ["fit", "separable", "fit in blocks"])
def test_numbers_of_rows_are_no_feature_unnoticed(subcommand, column, why, drop):
    words = [subcommand.split()[0], table("d.csv", [column, "a", "b", "y"])]
    words += ["--cache-dir", "."] if "blocks" in subcommand else []
    code, out, err = command(*words)
    assert code == 0 and f"Features: {column or '(no name)'}, a, b. Label: y.\n" in out
    if why is None:
        assert err == ""
        return
    assert err.startswith(f"Warning: d.csv: {why}, and is used as a feature.") and err.endswith(
        f"{drop}\n"
    )
    code, out, err = command(*words, "--drop", column)
    assert (code, err) == (0, "") and "Features: a, b. Label: y.\n" in out


def test_texts_that_number_the_rows():
    with open("d.csv", "w") as file:
        file.write("who,a,y\n" + "".join(f"P{i},{i % 7},{i % 2}\n" for i in range(20)))
    code, _, err = command("fit", "d.csv", "--one-hot")
    assert code == 0 and "column who has 20 different texts in 20 rows" in err and "--drop who" in err


def test_a_label_with_a_class_for_every_row():
    path = table("d.csv", ["y", "a", "id"])
    for subcommand in ("fit", "separable", "plot", "report"):
        code, text = run(subcommand, path)
        assert code == 2 and "Got 30 classes among 30 rows in column id, the last one instead." in text
        assert "Name the column of the labels with --label. The others are y, a." in text
    code, _, err = command("fit", path, "--label", "id")  # as one likes
    assert code == 0 and "30 classes among 30 rows in column id: most classes have a single row" in err
    assert command("fit", path, "--label", "y", "--drop", "id")[0] == 0


# Data, models, proofs: which file is which.


def test_advice_is_in_options_that_help(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    (tmp_path / "gap.csv").write_text("a,b,y\n1,2,no\n,1,yes\n")
    for subcommand in ("fit", "plot"):
        code, text = run(subcommand, "d.csv", "--C", "0")
        assert code == 2 and "For C → ∞ use --model hard-margin." in text
    assert run("fit", "d.csv", "--out", "model.json")[0] == 0
    assert "or leave out the column (--drop)." in run("fit", "gap.csv")[1]
    for subcommand in ("predict", "audit"):
        code, text = run(subcommand, "model.json", "gap.csv")
        assert code == 2 and "or leave out the column (from the fit on: maxmargin fit --drop)." in text


def test_files_in_the_wrong_places(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    assert run("fit", "d.csv", "--out", "model.json")[0] == 0
    assert run("separable", "d.csv", "--proof", "proof.json")[0] == 0
    for subcommand in ("predict", "audit"):
        code, text = run(subcommand, "d.csv", "model.json")
        assert code == 2 and "MODEL comes first, DATA second." in text
        assert "Swap them: model.json d.csv." in text
        code, text = run(subcommand, "d.csv", "d.csv")
        assert code == 2 and "If it holds rows, name it second, as DATA, and a model first." in text
        code, text = run(subcommand, "proof.json", "d.csv")
        assert code == 2 and "Got a proof instead." in text
    for path in ("model.json", "d.csv"):
        code, text = run("verify", path, "d.csv")
        assert code == 2 and f"{path}: must be a proof" in text and "Name the proof first" in text
    with pytest.raises(
        mm.InputError, match=r"d\.csv: must be a model .* Read data with maxmargin\.read_data"
    ):
        mm.load("d.csv")


# Columns that are there under another name, or not at all.


def test_columns_that_a_model_misses(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    (tmp_path / "upper.csv").write_text("A,B\n1,2\n")
    (tmp_path / "bare.csv").write_text("a,b\n1,2\n")
    assert run("fit", "d.csv", "--out", "model.json")[0] == 0
    code, text = run("predict", "model.json", "upper.csv")
    assert code == 2 and "fitted to, a, b. Got none named 'a' among A, B. Rename them" in text
    assert run("predict", "model.json", "upper.csv", "--columns", "A,B")[0] == 0
    code, text = run("audit", "model.json", "bare.csv")
    assert code == 2 and "must hold labels, in training those of column y. Got only features" in text


def test_the_label_is_not_dropped_unnoticed(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    code, text = run("fit", "d.csv", "--drop", "y")
    assert (
        code == 2
        and "Got the label column 'y', which is the last one. Name another label (--label)" in text
    )
    assert run("fit", "d.csv", "--out", "model.json")[0] == 0
    assert run("predict", "model.json", "d.csv", "--drop", "y") == (
        0,
        "no\nyes\n",
    )  # labels are not read


def test_a_label_that_stands_first(tmp_path):
    (tmp_path / "d.csv").write_text("target,a,b\n1,2.5,0\n0,1.5,1\n")
    code, _, err = command("fit", "d.csv")
    assert code == 0 and "column target is used as a feature, and b, the last one, as the label" in err
    assert command("fit", "d.csv", "--label", "target")[2] == ""


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        (
            "d.csv",
            "a;b;y\n1,5;2;no\n",
            "replace decimal commas by points, and then semicolons by commas",
        ),
        ("d.csv", "a\tb\ty\n1\t2\tno\n", "This file has tabs: let its name end in .tsv."),
        ("d.tsv", "a,b,y\n1,2,no\n", "This file has commas: let its name end in .csv."),
        ("d.txt", "a,b,y\n1,2,no\n", "If it is a table, let its name end in .csv."),
        ("d.txt", "a b y\n1 2 no\n", "or let the name of a table end in .csv."),
        ("d.xlsx", "PK", "Save the sheet as .csv."),
        ("d.jsonl", "{}", "Learn from JSON lines with maxmargin.stream"),
    ],
)
def test_tables_of_another_kind(name, text, advice, tmp_path):
    (tmp_path / name).write_text(text)
    code, said = run("fit", name)
    assert code == 2 and advice in said


# Labels and indices that are none.


@pytest.mark.parametrize("label", ["nan", "NaN", "-inf", "NA", "<NA>", "null"])
def test_missing_labels_are_no_class(label, tmp_path):
    (tmp_path / "a.csv").write_text(f"a,b,y\n1,2,1\n3,4,{label}\n5,6,2\n")
    code, text = run("fit", "a.csv")
    assert code == 2 and f"a.csv, row 1: a label must not be missing. Got '{label}'" in text
    if " " not in label and label != "<NA>":
        (tmp_path / "a.svm").write_text(f"1 1:2\n{label} 1:3\n")
        code, text = run("fit", "a.svm")
        assert code == 2 and "a.svm, row 1: a label must not be missing" in text


def test_labels_and_rows_of_another_number():
    np.savez("a.npz", X=np.eye(3), y=[0, 1])
    code, text = run("fit", "a.npz")
    assert code == 2 and "a.npz: must hold a label for each of the 3 rows. Got 2 labels" in text
    with pytest.raises(mm.InputError):
        mm.open_rows("a.npz")


def test_an_index_0_is_refused_unless_said(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2 2:3\n-1 0:3\n")
    code, text = run("fit", "a.svm")
    assert code == 2 and "a.svm:2: indices must run from 1. Got 0 instead" in text
    assert "--first-index" in text
    assert run("fit", "a.svm", "--first-index", "0", "--out", "model.json")[0] == 0
    assert run("predict", "model.json", "a.svm")[0] == 0  # the model remembers it
    mm.save(mm.Perceptron().fit(np.eye(3), [0, 1, 1]), "other.json")
    code, text = run("predict", "other.json", "a.svm")
    assert code == 2 and "a.svm:2: indices must run from 1" in text
    code, text = run("fit", "a.csv", "--first-index", "0")
    assert code == 2
