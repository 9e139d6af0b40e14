"""The command audit: models of maxmargin, LIBLINEAR, LIBSVM and of a table of weights."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import maxmargin as mm
from commands import run as command
from maxmargin.cli import inputs
from maxmargin.files import write_svmlight
from maxmargin.saving import from_sklearn, save, to_liblinear

X, Y = load_breast_cancer(return_X_y=True)
X = np.round(StandardScaler().fit_transform(X)[:, :6], 4)
NAMES = [f"f{k}" for k in range(6)]


@pytest.fixture(autouse=True)
def _in_a_fresh_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), Y, strict=True)]
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("\n".join([",".join([*NAMES, "kind"]), *rows]) + "\n")
    write_svmlight(X, Y, "d.svm")


def run(*arguments):
    return command("audit", *arguments)


def check_refused(*arguments, match=""):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert line.startswith("Error: ") and match in line


def judged(*arguments):
    code, out, err = run(*arguments, "--json")
    assert err == ""
    return code, json.loads(out)


@pytest.mark.parametrize("large", [False, True], ids=["in memory", "out of core"])
@pytest.mark.parametrize("data", ["d.csv", "d.svm"])
def test_our_own_models_are_optimal(data, large, monkeypatch):
    if large:
        monkeypatch.setattr(inputs, "MAX_LOADED_BYTES", 0)
    for model in (mm.SoftMarginSVC(C=0.3), mm.SoftMarginSVCCV([0.1, 1.0])):
        save(model.fit(X, Y), "m.json")
        code, content = judged("m.json", data, "--tol", "1e-6")
        assert (code, content["optimal"]) == (0, True)
        price = getattr(model, "C_", None) or model.C
        assert f"C = {price:g}" in content["certificate"]["problem"]
        assert abs(content["certificate"]["relative_gap"]) < 1e-6
    assert judged("m.json", data, "--C", "7")[0] == 1  # not the optimum of another problem


def test_the_certificate_is_that_of_python():
    model = mm.SoftMarginSVC(C=1.0)
    save(model.fit(X, Y), "m.json")
    code, out, err = run("m.json", "d.csv", "--C", "3")
    expected = mm.certify(model, X, Y, C=3.0)
    assert (code, err) == (1, "")
    assert out.startswith(str(expected)) and expected.findings
    assert out.endswith(
        f"Not optimal: (P − D) / P = {expected.relative_gap:.1e}, and 0.001 is allowed.\n"
    )
    loose = 1.1 * expected.relative_gap
    assert run("m.json", "d.csv", "--C", "3", "--tol", loose)[0] == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_of_liblinear_with_its_bias_penalised():
    shifted = X + np.array([50.0, 0, 0, 0, 0, 0])
    write_svmlight(shifted, Y, "shifted.svm")
    other = LinearSVC(loss="hinge", C=1.0, random_state=0, max_iter=100).fit(shifted, Y)
    to_liblinear(from_sklearn(other), "m.model")
    code, content = judged("m.model", "shifted.svm", "--C", "1")
    assert (code, content["optimal"]) == (1, False)
    assert "above the optimum" in content["certificate"]["findings"][0]
    check_refused("m.model", "shifted.svm", match="does not tell its C. Give it with --C")


LIBSVM = """\
svm_type c_svc
kernel_type linear
nr_class 2
total_sv {n}
rho {rho!r}
label 1 0
nr_sv {up} {down}
SV
"""


def test_a_linear_model_of_libsvm():
    other = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, Y)
    alpha = other.dual_coef_[0]
    order = [*np.flatnonzero(alpha > 0), *np.flatnonzero(alpha < 0)]
    up = int(np.count_nonzero(alpha > 0))
    head = LIBSVM.format(n=len(order), rho=-float(other.intercept_[0]), up=up, down=len(order) - up)
    lines = [
        " ".join([repr(float(alpha[k])), *(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v)])
        for k, row in ((k, other.support_vectors_[k].tolist()) for k in order)
    ]
    with open("m.model", "w", encoding="utf-8") as file:
        file.write(head + "\n".join(lines) + "\n")
    for data in ("d.svm", "d.csv"):
        code, content = judged("m.model", data, "--C", "1")
        assert (code, content["optimal"]) == (0, True)
    assert judged("m.model", "d.svm", "--C", "1", "--tol", "1e-12")[0] == 1


def test_a_table_of_weights():
    model = mm.SoftMarginSVC(C=1.0).fit(X, Y)
    lines = [f"{name},{w!r}" for name, w in zip(NAMES, model.coef_[0].tolist(), strict=True)]
    with open("coef.csv", "w", encoding="utf-8") as file:
        file.write(
            "\n".join(["name,weight", *lines, f"intercept,{float(model.intercept_[0])!r}"]) + "\n"
        )
    assert run("coef.csv", "d.csv", "--C", "1")[0] == 0
    with open("coef.csv", "w", encoding="utf-8") as file:
        file.write(",".join(map(repr, [*model.coef_[0].tolist(), float(model.intercept_[0]) + 0.5])))
    code, content = judged("coef.csv", "d.csv", "--C", "1")
    assert code == 1
    assert any("With the same w, b = " in text for text in content["certificate"]["findings"])


def test_columns_in_another_order():
    save(_named(mm.SoftMarginSVC(C=1.0).fit(X, Y)), "m.json")
    rows = [",".join(map(str, [label, *row[::-1]])) for row, label in zip(X.tolist(), Y, strict=True)]
    with open("other.csv", "w", encoding="utf-8") as file:
        file.write("\n".join([",".join(["kind", *NAMES[::-1]]), *rows]) + "\n")
    assert run("m.json", "other.csv", "--label", "kind")[0] == 0


def _named(model):
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    return model


def test_hard_margins():
    A, a = X[:40], (X[:40, 0] > 0).astype(int)
    model = mm.HardMarginSVC().fit(A, a)
    save(model, "m.json")
    np.save("a.npy", np.column_stack([A, a]))
    code, content = judged("m.json", "a.npy")
    assert code == 0 and content["certificate"]["margin"][0] == pytest.approx(model.margin_)
    save(mm.Perceptron().fit(A, a), "p.json")
    check_refused("p.json", "a.npy", match="--C")
    code, content = judged("p.json", "a.npy", "--C", "inf")
    assert code == 1 and "less than the largest" in content["certificate"]["findings"][0]
    code, out, err = run("m.json", "d.csv")  # no plane separates these
    assert (code, err) == (1, "") and "Audit a soft margin (--C)." in out
    code, content = judged("m.json", "d.csv")
    assert (code, content["optimal"]) == (1, False)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_three_classes(scheme):
    A, a = load_iris(return_X_y=True)
    np.save("iris.npy", np.column_stack([A, a]))
    save(mm.SoftMarginSVC(C=1.0, multi_class=scheme).fit(A, a), "m.json")
    code, content = judged("m.json", "iris.npy")
    keys = {"ovr": ["0", "1", "2"], "ovo": ["0 | 1", "0 | 2", "1 | 2"]}[scheme]
    assert code == 0 and list(content["certificates"]) == keys
    code, out, _ = run("m.json", "iris.npy", "--C", "50")
    assert code == 1 and all(f"{label}: Certificate: " in out for label in keys)


def test_what_cannot_be_judged():
    save(mm.SoftMarginSVC().fit(X, Y), "m.json")
    np.save("narrow.npy", np.column_stack([X[:, :3], Y]))
    check_refused("m.json", "narrow.npy", match="6 features of the model. Got 3")
    np.save("other.npy", np.column_stack([X, Y + 3]))
    check_refused("m.json", "other.npy", match="the classes of the model, [0, 1]. Got [3, 4]")
    np.savez("bare.npz", X=X)
    check_refused("m.json", "bare.npz", match="labels")
    check_refused("none.json", "d.csv", match="none.json")
    check_refused("m.json", "none.csv", match="none.csv")
    check_refused("-", "d.csv", match="MODEL must be a file")
    check_refused("m.json", "d.csv", "--C", "0", match="--C")
    check_refused("d.csv", "d.csv", "--C", "1", match="d.csv")
