"""What newcomers tripped over on the command line: columns, and which file is which."""

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


def test_weights_of_rounding_are_no_margin(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n" + "1,5,0\n1,5,1\n" * 3 + "1,5,1\n")
    code, out, _ = command("fit", "d.csv")
    assert code == 0 and "w = 0 but for rounding, whatever C" in out and "margin 1/‖w‖" not in out
    assert '"margin": null' in command("fit", "d.csv", "--json")[1]
    (tmp_path / "e.csv").write_text("a,y\n-1,0\n-2,0\n1,1\n2,1\n")  # small weights of a small C are true
    assert "margin 1/‖w‖ = 1.66667e+11" in command("fit", "e.csv", "--C", "1e-12")[1]


# Streams, models, proofs: which file is which, and what was done with it.


def test_examples_without_a_label_are_counted():
    code, _, err = command("stream", stdin="1 1:2\n-1 1:-2\n? 1:3\n1:3\n")
    assert code == 0 and "2 examples learned: 2 mistakes" in err
    assert err.endswith(". 2 more without a label, only predicted\n")
    code, _, err = command("stream", stdin='{"x": {"a": 1}, "label": 1}\n')
    assert code == 0 and "1 more without a label, only predicted: a label is the first word" in err
    code, text = run("stream", stdin="a,b,y\n1,2,yes\n")
    assert (
        code == 2 and "Got a table instead. Learn from it with maxmargin fit --model perceptron" in text
    )


def test_advice_is_in_options_that_help(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    (tmp_path / "gap.csv").write_text("a,b,y\n1,2,no\n,1,yes\n")
    for subcommand in ("fit", "plot"):
        code, text = run(subcommand, "d.csv", "--C", "0")
        assert code == 2 and "For C → ∞ use --model hard-margin." in text
    assert run("fit", "d.csv", "--out", "model.json")[0] == 0
    assert "or the column (--drop)." in run("fit", "gap.csv")[1]
    for subcommand in ("predict", "audit"):
        code, text = run(subcommand, "model.json", "gap.csv")
        assert code == 2 and "or fit the model without the column (maxmargin fit --drop)." in text


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


def test_a_verdict_is_told_once(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,0\n2,1\n3,0\n")
    code, out, _ = command("fit", "d.csv", "--model", "hard-margin")
    assert code == 1 and out.count("weighted means") == 1 and out.endswith("which allows for slack.\n")


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
