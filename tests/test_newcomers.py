"""What newcomers tripped over."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run as command
from maxmargin import checker

ROWS = "1 1:2 2:1\n-1 1:-2 2:-1\n1 1:3\n-1 2:-4\n"


def run(*arguments, stdin=None):
    """Exit code, and all that was said."""
    code, out, err = command(*arguments, stdin=stdin)
    return code, out + err


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


def test_a_proof_of_a_compressed_file_is_checked(tmp_path):
    with gzip.open(tmp_path / "a.svm.gz", "wt") as file:
        file.write(ROWS)
    assert run("separable", "a.svm.gz", "--proof", "p.json")[0] == 0
    assert run("verify", "p.json", "a.svm.gz")[0] == 0
    (tmp_path / "b.svm.gz").write_bytes((tmp_path / "a.svm.gz").read_bytes()[:-9])
    code, text = run("verify", "p.json", "b.svm.gz")
    assert code == 2 and text.startswith("b.svm.gz: ")
    code, text = run("verify", "p.json", "a.parquet")
    assert code == 2 and "Write its rows as one of these" in text


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


def test_predictions_may_go_nowhere():
    options = "--checkpoint", "state.json", "--every", "0ms", "--out", "/dev/null"
    assert run("stream", *options, stdin=ROWS)[0] == 0
    assert run("stream", *options, stdin=ROWS)[0] == 0  # and again


def test_a_model_is_not_a_proof(tmp_path):
    X, y = [[0.0], [2.5]], ["no", "yes"]
    mm.save(mm.SoftMarginSVC().fit(X, y), tmp_path / "model.json")
    with pytest.raises(checker.Rejected, match="a model file was given instead"):
        checker.parse((tmp_path / "model.json").read_text())


def test_other_separators_are_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;y\n1;2;no\n3;4;yes\n")
    with pytest.raises(mm.InputError, match="There is one column: fields are separated by commas"):
        mm.open_rows(path)


def test_the_certificate_of_several_machines_says_whose_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    model = mm.SoftMarginSVC().fit(X, y)
    whose = max(model.machines_, key=lambda label: model.machines_[label].certificate_.relative_gap)
    assert model.certificate_.problem == f"soft margin, C = 1: {whose!r}, the largest gap of 3 machines"


def test_a_gap_below_zero_is_rounding():
    proof = mm.SoftMarginSVC().fit([[0.0], [2.0], [1.0]], [0, 1, 1]).certificate_
    shown = str(replace(proof, primal=1.0, dual=1.0 + 2.0**-52))
    assert "0.0e+00   but for rounding, 2.2e-16 of the primal value" in shown


def test_displays_are_shown_in_one_line():
    X, y = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
    display = mm.plots.XSpaceDisplay.from_estimator(mm.HardMarginSVC().fit(X, y), X, y)
    assert "\n" not in repr(display) and len(repr(display)) < 100
