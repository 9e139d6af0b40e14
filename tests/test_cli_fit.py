"""The commands fit and predict: every model, every kind of file, in memory and out of it."""

import gzip
import json
import math
import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run
from maxmargin.cli import inputs
from maxmargin.cli.options import MODELS
from maxmargin.files import write_svmlight
from maxmargin.rows import as_rows
from maxmargin.saving import load, save

RNG = np.random.default_rng(0)
SIGNS = np.arange(60) % 2
APART = np.round(RNG.normal(size=(60, 3)) + 4.0 * (2 * SIGNS - 1)[:, None], 2)
MIXED = np.round(RNG.normal(size=(60, 3)) + 0.5 * (2 * SIGNS - 1)[:, None], 2)
NAMES = ["f0", "f1", "f2"]
IRIS, KIND = load_iris(return_X_y=True)


def fitted(*arguments, stdin=None):
    """What fit prints for machines, and the model it writes."""
    code, out, err = run("fit", *arguments, "--json", "--out", "m.json", stdin=stdin)
    assert code == 0, err
    return json.loads(out), load("m.json")


def check_refused(*arguments, match=""):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert line.startswith("Error: ") and match in line
    return line


def table(X, y, header=NAMES, mark=","):
    rows = [mark.join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    head = [mark.join([*header, "kind"])] if header else []
    return "\n".join([*head, *rows]) + "\n"


def write(name, X, y):
    """Write a file of the kind its name says."""
    short = name.removesuffix(".gz")
    if short.endswith((".csv", ".tsv")):
        text = table(X, y, mark="\t" if short.endswith(".tsv") else ",").encode()
        with (gzip.open if name.endswith(".gz") else open)(name, "wb") as file:
            file.write(text)
    elif short.endswith(".svm"):
        write_svmlight(X, y, name)
    elif name.endswith(".npy"):
        np.save(name, np.column_stack([X, y]))
    elif name == "sparse.npz":
        csr = sparse.csr_array(X)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        np.savez(name, **parts, shape=csr.shape, format=b"csr", y=y)
    elif name.endswith(".npz"):
        np.savez(name, X=X, y=y)
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.feather
        import pyarrow.parquet

        columns = {**{n: X[:, k] for k, n in enumerate(NAMES)}, "kind": y}
        put = {".parquet": pyarrow.parquet.write_table, ".feather": pyarrow.feather.write_feather}
        put[os.path.splitext(name)[1]](pa.table(columns), name)
    return name


FILES = ["d.csv", "d.tsv", "d.csv.gz", "d.svm", "d.svm.gz", "d.npy", "d.npz", "sparse.npz"]
FILES += ["d.parquet", "d.feather"]


# Models


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_that_of_python(model):
    write("d.csv", APART, SIGNS)
    content, found = fitted("d.csv", "--model", model)
    expected = {
        "perceptron": mm.Perceptron(random_state=0),
        "batch-perceptron": mm.BatchPerceptron(),
        "pocket": mm.PocketPerceptron(random_state=0),
        "min-errors": mm.MinErrorClassifier(),
        "hard-margin": mm.HardMarginSVC(),
        "soft-margin": mm.SoftMarginSVC(C=1.0),
    }[model].fit(APART, SIGNS)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert type(found) is type(expected)
    assert (content["rows"], content["features"], content["classes"]) == (60, 3, [0, 1])
    assert content["training_errors"] == np.count_nonzero(expected.predict(APART) != SIGNS) == 0
    assert list(found.feature_names_in_) == NAMES
    if "margin" in model:
        assert content["certificate"]["primal"] == expected.certificate_.primal
        assert content["support"] == len(expected.support_)
    elif model == "min-errors":
        assert (content["errors"], content["proven"], content["given_up"]) == (0, True, [])
        assert found.proof_ == expected.proof_
    else:
        assert content["stop_reason"]["rule"] == expected.stop_reason_.rule
        assert content["updates"] == expected.n_mistakes_


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--C", "0.01"], mm.SoftMarginSVC(C=0.01)),
        (["--no-intercept"], mm.SoftMarginSVC(fit_intercept=False)),
        (["--tol", "0.5"], mm.SoftMarginSVC(tol=0.5)),
        (["--model", "perceptron", "--max-iter", "3"], mm.Perceptron(max_iter=3)),
        (["--model", "perceptron", "--threshold", "2"], mm.Perceptron(2.0)),
        (["--model", "perceptron", "--threshold", "1", "--eta0", "0.1"], mm.Perceptron(1.0, 0.1)),
        (["--model", "perceptron", "--average"], mm.Perceptron(average=True)),
        (
            ["--model", "perceptron", "--order", "shuffled", "--seed", "5"],
            mm.Perceptron(order="shuffled", random_state=5),
        ),
        (
            ["--model", "pocket", "--order", "random", "--max-updates", "20"],
            mm.PocketPerceptron(20, "random", random_state=0),
        ),
        (["--model", "min-errors", "--seed", "3"], mm.MinErrorClassifier(random_state=3)),
        (["--model", "batch-perceptron", "--max-iter", "2"], mm.BatchPerceptron(max_iter=2)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_every_option_does_what_it_says(options, expected):
    write("d.csv", MIXED, SIGNS)
    _, found = fitted("d.csv", *options)
    np.testing.assert_array_equal(found.coef_, expected.fit(MIXED, SIGNS).coef_)


def test_a_budget_of_time_is_told():
    write("d.csv", MIXED, SIGNS)
    endless = ["--model", "perceptron", "--order", "shuffled", "--max-iter", 10**9]
    code, out, _ = run("fit", "d.csv", *endless, "--max-seconds", 0.1)
    assert code == 0 and "The budget of 0.1 seconds ended" in out
    assert "(--max-seconds)" in out and "--model pocket or --model soft-margin" in out
    code, out, _ = run("fit", "d.csv", "--max-seconds", 1e-9)
    assert code == 0 and "stopped before the relative gap was 1e-06" in out and "--max-seconds" in out
    code, out, _ = run("fit", "d.csv", "--model", "min-errors", "--max-seconds", 1e-9)
    assert code == 0 and "The time was over before the fewest errors were proven" in out
    assert "Raise --max-seconds, or use --model pocket" in out


def test_a_fit_with_a_checkpoint_goes_on():
    np.savetxt("data.csv", np.column_stack([IRIS, KIND]), delimiter=",")
    options = "data.csv", "--no-header", "--checkpoint", "fit.ckpt", "--every", "0ms"
    assert run("fit", *options, "--jobs", "2", "--out", "one.json")[0] == 0
    assert load("one.json").n_jobs == 2
    assert run("fit", *options, "--out", "two.json")[0] == 0  # there is nothing left to do
    np.testing.assert_array_equal(load("one.json").coef_, load("two.json").coef_)
    code, _, error = run("fit", *options, "--C", "2")
    assert code == 2 and "fit.ckpt: the checkpoint must be of this model" in error
    code, _, error = run("fit", *options[:-1], "soon")
    assert code == 2 and "--every must be a time such as 10s" in error


def test_cross_validation_chooses_C():
    write("d.csv", MIXED, SIGNS)
    content, found = fitted("d.csv", "--cv")
    expected = mm.SoftMarginSVCCV(cv=5).fit(MIXED, SIGNS)
    assert (content["C"], found.C_) == (expected.C_, expected.C_)
    np.testing.assert_allclose(content["cv"]["errors"], 1 - expected.scores_.mean(axis=0))
    code, out, _ = run("fit", "d.csv", "--cv")
    assert code == 0 and f"C = {expected.C_:.6g} by cross-validation (5 folds" in out
    write("d.csv", MIXED[:5], [0, 0, 0, 1, 1])
    assert len(fitted("d.csv", "--cv")[1].scores_) == 2
    write("d.csv", MIXED[:4], [0, 0, 0, 1])
    check_refused("fit", "d.csv", "--cv", match="--cv needs at least 2 rows of every class")


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("model", ["soft-margin", "perceptron", "pocket"])
def test_three_classes(model, scheme):
    np.save("iris.npy", np.column_stack([IRIS, KIND]))
    content, found = fitted("iris.npy", "--model", model, "--multi-class", scheme)
    keys = {"ovr": ["0", "1", "2"], "ovo": ["0 | 1", "0 | 2", "1 | 2"]}[scheme]
    assert list(content["machines"]) == keys
    assert found.get_params()["multi_class"] == scheme
    assert content["training_error"] == np.mean(found.predict(IRIS) != KIND)
    code, out, _ = run("fit", "iris.npy", "--model", model, "--multi-class", scheme)
    lead = {"ovr": ["0: ", "1: ", "2: "], "ovo": ["1 against 0: ", "2 against 0: ", "2 against 1: "]}
    assert code == 0 and all(f"\n{text}" in out for text in lead[scheme])


def test_a_hard_margin_that_has_no_solution():
    write("d.csv", MIXED, SIGNS)
    code, out, err = run("fit", "d.csv", "--model", "hard-margin", "--out", "m.json")
    assert (code, err) == (1, "") and not os.path.exists("m.json")
    assert out.startswith("Overlapping (no separation): no plane") and out.count("no plane") == 1
    assert out.count("weighted means") == 1 and "--model soft-margin" in out
    code, out, _ = run("fit", "d.csv", "--model", "hard-margin", "--json")
    content = json.loads(out)
    assert (code, content["separable"], content["verdict"]["kind"]) == (1, False, "overlapping")
    np.save("iris.npy", np.column_stack([IRIS, KIND]))
    code, out, _ = run("fit", "iris.npy", "--model", "hard-margin", "--json")
    assert code == 1 and list(json.loads(out)["verdicts"]) == ["1", "2"]


def test_a_verdict_is_told_once(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,0\n2,1\n3,0\n")
    code, out, _ = run("fit", "d.csv", "--model", "hard-margin")
    assert code == 1 and out.count("weighted means") == 1 and out.endswith("which allows for slack.\n")


def test_weights_of_rounding_are_no_margin(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n" + "1,5,0\n1,5,1\n" * 3 + "1,5,1\n")
    code, out, _ = run("fit", "d.csv")
    assert code == 0 and "w = 0 but for rounding, whatever C" in out and "margin 1/‖w‖" not in out
    assert '"margin": null' in run("fit", "d.csv", "--json")[1]
    (tmp_path / "e.csv").write_text("a,y\n-1,0\n-2,0\n1,1\n2,1\n")  # small weights of a small C are true
    assert "margin 1/‖w‖ = 1.66667e+11" in run("fit", "e.csv", "--C", "1e-12")[1]


def test_people_read_the_certificate_and_the_error():
    write("d.csv", MIXED, SIGNS)
    code, out, err = run("fit", "d.csv", "--C", "0.5", "--validate", write("v.csv", APART, SIGNS))
    model = mm.SoftMarginSVC(C=0.5).fit(MIXED, SIGNS)
    wrong = [np.count_nonzero(model.predict(X) != SIGNS) for X in (MIXED, APART)]
    assert (code, err) == (0, "")
    assert str(model.certificate_) in out
    assert out.startswith("d.csv: 60 rows, 3 features, 2 classes (0, 1).\n")
    assert f"Training error: {100 * wrong[0] / 60:.2f} % ({wrong[0]} of 60 rows).\n" in out
    assert out.endswith(f"Validation error: {100 * wrong[1] / 60:.2f} % ({wrong[1]} of 60 rows).\n")
    code, out, _ = run("fit", "d.csv", "--model", "perceptron", "--validate", "v.csv", "--json")
    assert code == 0 and "validation_error" in json.loads(out)


# Files


@pytest.mark.parametrize("large", [False, True], ids=["in memory", "out of core"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("model", ["perceptron", "soft-margin", "hard-margin"])
def test_every_kind_of_file_gives_the_same_model(name, model, large, monkeypatch):
    if large:
        monkeypatch.setattr(inputs, "MAX_LOADED_BYTES", 0)
    write(name, APART, SIGNS)
    content, found = fitted(name, "--model", model)
    expected = {
        "perceptron": mm.Perceptron(),
        "soft-margin": mm.SoftMarginSVC(),
        "hard-margin": mm.HardMarginSVC(),
    }[model].fit(APART, SIGNS)
    if model == "perceptron":
        np.testing.assert_array_equal(found.coef_, expected.coef_)
    else:
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5)
        assert content["certificate"]["relative_gap"] < 1e-6
    assert any(file.endswith(".rows") for file in os.listdir()) == large
    code, out, err = run("predict", "m.json", name)
    assert code == 0 and out.split() == [str(v) for v in expected.predict(APART)]
    assert err == "Prediction error: 0.00 % (0 of 60 rows).\n"


@pytest.mark.parametrize("name", ["d.csv", "d.svm", "d.npy", "d.npz"])
def test_standard_input(name):
    write(name, APART, SIGNS)
    with open(name, "rb") as file:
        content = file.read()
    _, found = fitted("-", "--model", "perceptron", stdin=content)
    np.testing.assert_array_equal(found.coef_, mm.Perceptron().fit(APART, SIGNS).coef_)
    code, out, _ = run("predict", "m.json", "-", stdin=content)
    assert code == 0 and out.split() == [str(v) for v in SIGNS]
    broken = content[:40] + b"\x00\xff,,,:::\n"
    code, out, err = run("predict", "m.json", "-", stdin=broken)
    assert (code, out) == (2, "") and err.startswith("Error: -:") and "/tmp" not in err
    check_refused("fit", "-", "--validate", "-", match="Only one of DATA and --validate")


def test_a_folder_for_converted_files():
    write("d.csv", APART, SIGNS)
    fitted("d.csv", "--cache-dir", "cache", "--cv")
    assert len(os.listdir("cache")) == 1 and not [f for f in os.listdir() if f.endswith(".rows")]
    rows = os.path.join("cache", os.listdir("cache")[0])
    assert run("predict", "m.json", rows)[1].split() == [str(v) for v in SIGNS]


def test_validation_rows_are_read_like_the_training_rows():
    write("d.csv", APART, SIGNS)
    with open("v.csv", "w", encoding="utf-8") as file:  # other order, one column more
        file.write("kind,more,f2,f0,f1\n")
        for row, label in zip(APART.tolist(), SIGNS, strict=True):
            file.write(f"{label},text,{row[2]},{row[0]},{row[1]}\n")
    content, _ = fitted("d.csv", "--label", "kind", "--validate", "v.csv")
    assert content["validation_errors"] == 0
    with open("v.csv", "w", encoding="utf-8") as file:
        file.write(table(APART, [7] * 60))
    check_refused("fit", "d.csv", "--validate", "v.csv", match="among those trained on, 0, 1. Got 7")
    write_svmlight(APART[:, :2] * [1, 0], SIGNS, "v.svm")
    write("d.svm", APART, SIGNS)
    assert fitted("d.svm", "--validate", "v.svm")[0]["validation_error"] <= 0.5
    check_refused("fit", "d.csv", "--validate", "none.csv", match="none.csv")


# Prediction


def test_columns_are_found_by_name_and_the_label_is_optional():
    write("d.csv", APART, np.array(["no", "yes"])[SIGNS])
    fitted("d.csv", "--label", "kind", "--columns", "f2,f0")
    expected = list(np.array(["no", "yes"])[SIGNS])
    assert run("predict", "m.json", "d.csv")[1].split() == expected
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write("f0,x,f2\n" + "".join(f"{a},words,{c}\n" for a, _, c in APART.tolist()))
    code, out, err = run("predict", "m.json", "new.csv")
    assert (code, out.split(), err) == (0, expected, "")
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write("f0,truth,f2\n" + "".join(f"{a},yes,{c}\n" for a, _, c in APART.tolist()))
    assert run("predict", "m.json", "new.csv")[2] == ""
    err = run("predict", "m.json", "new.csv", "--label", "truth")[2]
    assert err == "Prediction error: 50.00 % (30 of 60 rows).\n"
    with open("bad.csv", "w", encoding="utf-8") as file:
        file.write("f0,f1\n1,2\n")
    check_refused("predict", "m.json", "bad.csv", match="'f2'")


@pytest.mark.parametrize("first", [False, True], ids=["label last", "label first"])
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_without_names_columns_are_counted(kind, first):
    whole = np.column_stack([SIGNS, APART] if first else [APART, SIGNS])
    for name, matrix in (("d", whole), ("new", APART)):
        if kind == "npy":
            np.save(f"{name}.npy", matrix)
        else:
            np.savetxt(f"{name}.csv", matrix, delimiter=",", fmt="%.17g")
    fitted(f"d.{kind}", "--label", "0" if first else "3")
    expected = [str(v) for v in SIGNS]
    assert run("predict", "m.json", f"d.{kind}")[1].split() == expected
    code, out, err = run("predict", "m.json", f"new.{kind}")
    assert (code, out.split(), err) == (0, expected, "")


def test_svmlight_rows_may_lack_the_last_features():
    write("d.svm", APART, SIGNS)
    _, found = fitted("d.svm")
    with open("new.svm", "w", encoding="utf-8") as file:
        file.write("0 1:-4 2:-3\n1 2:9\n0\n")
    values = found.decision_function([[-4.0, -3, 0], [0, 9, 0], [0, 0, 0]])
    code, out, _ = run("predict", "m.json", "new.svm", "--scores")
    assert code == 0
    np.testing.assert_array_equal([float(line.split("\t")[1]) for line in out.splitlines()], values)
    with open("new.svm", "w", encoding="utf-8") as file:
        file.write("9 1:-4 2:-3\n9 2:9\n")
    assert run("predict", "m.json", "new.svm")[2] == ""  # labels that nobody knows
    with open("new.svm", "w", encoding="utf-8") as file:
        file.write("0 1:-4 2:-3\n? 2:9\n")
    assert "50.00 % (1 of 2 rows)" in run("predict", "m.json", "new.svm")[2]
    with open("new.svm", "w", encoding="utf-8") as file:
        file.write("0 7:1\n")
    check_refused("predict", "m.json", "new.svm", match="7")


def test_text_is_encoded_as_in_training():
    colours = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("f0,colour,kind\n")
        for (a, *_), c, s in zip(APART.tolist(), colours, SIGNS, strict=True):
            file.write(f"{a},{c},{'yes' if s else 'no'}\n")
    check_refused("fit", "d.csv", match="--one-hot")
    content, found = fitted("d.csv", "--one-hot", "--label", "kind")
    assert list(found.feature_names_in_) == ["f0", "colour=blue", "colour=green", "colour=red"]
    assert found.encoding_["categories"] == {"colour": ["blue", "green", "red"]}
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write("colour,f0\nred,-9\nred,9\nblue,5\n")
    X = [[-9.0, 0, 0, 1], [9, 0, 0, 1], [5, 1, 0, 0]]
    code, out, err = run("predict", "m.json", "new.csv", "--scores")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    values = np.array(X) @ found.coef_[0] + found.intercept_[0]
    np.testing.assert_allclose([float(v) for _, v in lines], values)
    assert [label for label, _ in lines] == ["no", "yes", "yes"]
    with open("new.csv", "a", encoding="utf-8") as file:
        file.write("mauve,3\n")
    check_refused("predict", "m.json", "new.csv", match="Got 'mauve' instead")
    code, out, _ = run("fit", "d.csv", "--one-hot", "--label", "kind", "--validate", "d.csv", "--json")
    assert code == 0 and json.loads(out)["validation_errors"] == content["training_errors"]


def test_predictions_for_machines_and_in_a_file():
    np.save("iris.npy", np.column_stack([IRIS, KIND]))
    _, found = fitted("iris.npy")
    code, out, _ = run("predict", "m.json", "iris.npy", "--json", "--scores")
    content = json.loads(out)
    assert content["labels"] == found.predict(IRIS).tolist()
    np.testing.assert_array_equal(content["scores"], found.decision_function(IRIS))
    assert content["error"] == np.mean(found.predict(IRIS) != KIND) == content["errors"] / 150
    code, out, _ = run("predict", "m.json", "iris.npy", "--scores", "--out", "p.txt")
    assert (code, out) == (0, "")
    with open("p.txt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    assert len(lines) == 150 and {len(line) for line in lines} == {4}
    check_refused("predict", "m.json", "iris.npy", "--out", "no/p.txt", match="--out must name a file")
    check_refused("predict", "-", "iris.npy", match="MODEL must be a file")
    check_refused("predict", "iris.npy", "iris.npy", match="iris.npy")


def test_models_of_python_predict_too():
    write("d.csv", APART, SIGNS)
    model = mm.HardMarginSVC().fit(APART, SIGNS)
    save(model, "plain.json")
    assert run("predict", "plain.json", "d.csv")[1].split() == [str(v) for v in SIGNS]
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    save(model, "named.json")
    code, out, err = run("predict", "named.json", "d.csv")
    assert (code, out.split(), err) == (0, [str(v) for v in SIGNS], "")
    assert "Prediction error: 0.00 %" in run("predict", "named.json", "d.csv", "--label", "kind")[2]
    save(mm.HardMarginSVC(), "empty.json")
    check_refused("predict", "empty.json", "d.csv", match="must be a fitted model")


# Exports


def test_exports():
    onnxruntime = pytest.importorskip("onnxruntime")
    write("d.csv", APART, np.array(["no", "yes"])[SIGNS])
    code, _, err = run("fit", "d.csv", "--onnx", "m.onnx", "--liblinear", "m.model", "--out", "m.json")
    assert code == 0 and err == "m.model: labels of LIBLINEAR are integers: 0 for no, 1 for yes.\n"
    session = onnxruntime.InferenceSession("m.onnx")
    labels, values = session.run(["label", "decision"], {"X": APART})
    np.testing.assert_allclose(values, load("m.json").decision_function(as_rows(APART)), rtol=1e-12)
    assert labels.tolist() == np.array(["no", "yes"])[SIGNS].tolist()
    assert run("predict", "m.model", "d.csv")[1].split() == [str(v) for v in SIGNS]


# Refusals


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            ["--model", "perceptron", "--C", "1"],
            "--C is for --model soft-margin. Got --model perceptron",
        ),
        (["--model", "hard-margin", "--cv"], "--cv is for --model soft-margin"),
        (["--model", "pocket", "--tol", "0.1"], "--tol is for --model hard-margin and soft-margin"),
        (["--eta0", "2"], "--eta0 is for --model perceptron"),
        (["--average"], "--average is for --model perceptron"),
        (["--model", "batch-perceptron", "--order", "random"], "--order is for --model"),
        (["--max-updates", "3"], "--max-updates is for --model pocket"),
        (["--cv", "--C", "2"], "--cv chooses C"),
        (["--C", "-1"], "C must be"),
        (["--C", "nan"], "C must be"),
        (["--C", "inf"], "C must be"),
        (["--tol", "2"], "--tol"),
        (["--model", "forest"], "--model"),
        (["--out", "no/m.json"], "--out must name a file that can be written"),
        (["--out", "m.onnx"], "Use maxmargin fit --onnx for ONNX"),
        (["--onnx", "."], "--onnx must name a file that can be written"),
        (["--label", "none"], "none"),
    ],
)
def test_options_that_cannot_be_used(options, match):
    write("d.csv", APART, SIGNS)
    check_refused("fit", "d.csv", *options, match=match)
    assert os.listdir() == ["d.csv"]


def test_infinite_numbers_are_null_in_json():
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("a,y\n1,0\n1,1\n")
    code, out, _ = run("fit", "d.csv", "--json")
    content = json.loads(out)
    assert code == 0 and content["margin"] is None
    assert not math.isnan(content["certificate"]["primal"])
