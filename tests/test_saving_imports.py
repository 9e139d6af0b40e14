"""Models trained elsewhere come in with the same predictions, and can be audited."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin.core.errors import InputError
from maxmargin.files.cache import read_store, write_store
from maxmargin.saving import (
    LinearModel,
    audit,
    from_coef_csv,
    from_liblinear,
    from_libsvm,
    from_sklearn,
    load,
    read_any,
    save,
)
from zoo import assert_same

X, y = load_iris(return_X_y=True)
CODES = [[0, 1, 2], [5, -1, 2], [9, 4, 1]]
FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "libsvm.expected.json").read_text())
SKLEARN = [
    svm.LinearSVC(C=2.0, loss="hinge", max_iter=100_000, random_state=0),
    svm.LinearSVC(multi_class="crammer_singer", tol=1e-2, max_iter=100_000, random_state=0),
    svm.SVC(kernel="linear", C=3.0, class_weight={0: 2.0}),
    svm.NuSVC(kernel="linear", nu=0.1),
    linear_model.Perceptron(fit_intercept=False),
    linear_model.SGDClassifier(random_state=0),
    linear_model.LogisticRegression(max_iter=10_000),
    linear_model.RidgeClassifier(),
]


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("estimator", SKLEARN, ids=lambda e: type(e).__name__)
def test_models_of_scikit_learn(estimator, two, tmp_path):
    rows = (y < 2) if two else np.ones(len(y), dtype=bool)
    fitted = estimator.fit(X[rows], y[rows])
    found = from_sklearn(fitted)
    assert found.predict(X).tolist() == fitted.predict(X).tolist()
    assert found.score(X, y) == fitted.score(X, y)
    if two or not hasattr(fitted, "dual_coef_"):
        assert np.allclose(
            found.decision_function(X), fitted.decision_function(X), rtol=1e-12, atol=1e-12
        )
    save(found, tmp_path / "m.json")
    assert_same(found, load(tmp_path / "m.json"))


def test_what_scikit_learn_says_of_the_training_is_kept():
    two = y < 2
    linear = from_sklearn(svm.LinearSVC(C=2.0, max_iter=100_000).fit(X[two], y[two]))
    assert (linear.C, linear.loss, linear.intercept_scaling) == (2.0, "squared_hinge", 1.0)
    logistic = from_sklearn(linear_model.LogisticRegression().fit(X[two], y[two]))
    assert (logistic.loss, logistic.intercept_scaling) == ("log_loss", None)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = from_sklearn(svm.SVC(kernel="linear").fit(frame, y))
    assert named.feature_names_in_.tolist() == list("abcd")
    assert named.predict(frame).tolist() == named.predict(X).tolist()


@pytest.mark.parametrize(
    "broken", [svm.SVC().fit(X, y), svm.LinearSVC(), linear_model.LinearRegression().fit(X, y), 3]
)
def test_what_is_no_linear_classifier(broken):
    with pytest.raises(InputError, match="linear classifier"):
        from_sklearn(broken)


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("options", ["-s 3 -B 1", "-s 1 -B -1", "-s 4 -B 2", "-s 0 -B 0.5", "-s 5 -B 1"])
def test_models_of_liblinear(tmp_path, codes, two, options):
    util = pytest.importorskip("liblinear.liblinearutil")
    rows = (y > 0) if two else np.ones(len(y), dtype=bool)
    labels = np.array(codes)[y]
    trained = util.train(labels[rows], X[rows], f"{options} -q")
    util.save_model(str(tmp_path / "m"), trained)
    expected, _, values = util.predict([], X, util.load_model(str(tmp_path / "m")), "-q")
    found = read_any(tmp_path / "m")
    assert found.predict(X).tolist() == expected
    assert found.classes_.tolist() == sorted(set(labels[rows].tolist()))
    if two and "-s 4" not in options:
        sign = 1.0 if trained.get_labels()[0] == found.classes_[1] else -1.0
        assert np.allclose(sign * found.decision_function(X), np.array(values)[:, 0], atol=1e-10)


def test_an_audit_of_liblinear_says_that_the_bias_was_penalised(tmp_path):
    util = pytest.importorskip("liblinear.liblinearutil")
    rows, labels = X[50:] + 3.0, y[50:]
    util.save_model(str(tmp_path / "m"), util.train(labels, rows, "-s 3 -B 1 -c 1 -e 1e-8 -q"))
    said = " ".join(audit(read_any(tmp_path / "m"), rows, labels, C=1.0).findings)
    assert "regularised the bias" in said
    util.save_model(str(tmp_path / "m"), util.train(labels, rows, "-s 2 -B 1 -c 1 -q"))
    assert "squared_hinge" in " ".join(audit(read_any(tmp_path / "m"), rows, labels, C=1.0).findings)


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_libsvm(name):
    """Files of LIBSVM 3.37 (svm-train -t 0), with what its svm-predict said of all rows."""
    expected = EXPECTED[name]
    found = read_any(FIXTURES / name)
    assert found.predict(X).tolist() == expected["predictions"]
    if expected["values"] is not None:
        sign = 1.0 if expected["labels"][0] == found.classes_[1] else -1.0
        assert np.allclose(
            sign * found.decision_function(X), expected["values"], rtol=0, atol=1e-11
        )  # of sums of 10³


def test_probabilities_in_a_libsvm_model_are_passed_over(tmp_path):
    (tmp_path / "m").write_text(LIBSVM.replace("nr_sv", "probA -1.5\nprobB 0.25\nnr_sv"))
    assert from_libsvm(tmp_path / "m").coef_.tolist() == [[0.5, 0.75]]


def test_an_audit_of_libsvm_judges_every_pair():
    found = audit(read_any(FIXTURES / "libsvm-1-three-0.model"), X, np.array([5, -1, 2])[y], C=2.0)
    assert list(found) == [(-1, 2), (-1, 5), (2, 5)]
    assert all(proof.relative_gap < 1e-2 for proof in found.values())
    ours = mm.SoftMarginSVC(multi_class="ovo", class_weight="balanced").fit(X, y)
    for form in (X, sparse.csr_array(X), X.tolist(), pd.DataFrame(X)):
        assert all(proof.relative_gap < 1e-5 for proof in audit(ours, form, y).values())


def test_features_beyond_the_last_one_of_libsvm_have_weight_zero():
    found, wide = read_any(FIXTURES / "libsvm-1-two-0.model"), np.column_stack([X, np.ones((len(X), 3))])
    assert found.decision_function(wide).tolist() == found.decision_function(X).tolist()
    labels = np.array([5, -1, 2])[y]
    assert audit(found, wide[50:], labels[50:], C=2.0).relative_gap < 1e-2
    assert found.with_features(7).coef_.shape == (1, 7)
    with pytest.raises(ValueError, match="features"):
        found.decision_function(X[:, :3].tolist())


def test_an_audit_compares_the_classes():
    plane = LinearModel([[1.0]], [-0.5], np.array([3, 4]))
    with pytest.raises(InputError, match=r"the classes of the model, \[3, 4\]. Got \[0, 1\]"):
        audit(plane, [[0.0], [1.0]], [0, 1])
    nameless = LinearModel([[2.0]], [-1.0])
    assert audit(nameless, [[0.0], [1.0]], [0, 1]).relative_gap == pytest.approx(0.0, abs=1e-9)
    assert (
        audit(LinearModel([[2.0]], [-1.0], np.array([0, 1]), C=1.0), [[0.0], [1.0]], [0, 1]).margin
        is None
    )
    three = LinearModel(np.eye(3), np.zeros(3))
    found = audit(three, np.eye(3), [0, 1, 2], C=1.0)
    assert list(found) == [0, 1, 2]


TABLES = {
    "feature,weight\nx,1.5\nintercept,-2\ny,3\n": ([[1.5, 3.0]], [-2.0], None, ["x", "y"]),
    "x,1.5\ny,3\n": ([[1.5, 3.0]], [0.0], None, ["x", "y"]),
    "\ufefffeature;b1;a;c\r\nx;1;2;3\r\n(Intercept);4;5;6\r\n": (
        [[2.0], [1.0], [3.0]],
        [5.0, 4.0, 6.0],
        ["a", "b1", "c"],
        ["x"],
    ),
    "x\ty\tintercept\n1\t2\t3\n": ([[1.0, 2.0]], [3.0], None, ["x", "y"]),
    'class,"x, 1",bias\n2,1,0\n0,2,1\n1,3,2\n': (
        [[2.0], [3.0], [1.0]],
        [1.0, 2.0, 0.0],
        [0, 1, 2],
        ["x, 1"],
    ),
    "1e0, 2, 3\n": ([[1.0, 2.0]], [3.0], None, None),
    "1\n2\n3\n": ([[1.0, 2.0]], [3.0], None, None),
    "1,2\n3,4\n5,6\n": ([[1.0], [3.0], [5.0]], [2.0, 4.0, 6.0], None, None),
}


@pytest.mark.parametrize("text", TABLES)
def test_tables_of_weights(text, tmp_path):
    W, b, classes, names = TABLES[text]
    (tmp_path / "coef.csv").write_text(text, encoding="utf-8", newline="")
    for read in (from_coef_csv, read_any):
        found = read(tmp_path / "coef.csv")
        assert found.coef_.tolist() == W
        assert found.intercept_.tolist() == b
        assert classes == (None if found.classes_ is None else found.classes_.tolist())
        assert names == (None if found.feature_names_in_ is None else found.feature_names_in_.tolist())


LIBLINEAR = (
    "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\n"
    "w\n0.5 \n-0.25 \n1 \n"
)
LIBSVM = (
    "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    "1 1:0.5 2:1 \n-1 2:0.25 \n"
)


def test_small_models_in_text(tmp_path):
    (tmp_path / "m").write_text(LIBLINEAR.replace("\n", "\r\n"), newline="")
    found = from_liblinear(tmp_path / "m")
    assert (found.coef_.tolist(), found.intercept_.tolist()) == ([[0.5, -0.25]], [1.0])
    (tmp_path / "m").write_text(LIBSVM)
    found = from_libsvm(tmp_path / "m")
    assert (found.coef_.tolist(), found.intercept_.tolist()) == ([[0.5, 0.75]], [-0.5])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LIBLINEAR.replace("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVR"), ":6: the solver must be one of"),
        (LIBLINEAR.replace("0.5", "nan"), ":7: numbers must be finite. Got 'nan'"),
        (LIBLINEAR.replace("0.5", "1_0"), ":7: numbers must be finite"),
        (LIBLINEAR.replace("0.5", "0.5 1"), ":7: w must have 3 lines of 1"),
        (LIBLINEAR.replace("1 \n", ""), "the file is cut off"),
        (LIBLINEAR + "3\n", ":10: w must have"),
        (LIBLINEAR.replace("label 1 -1", "label 1 1"), "2 distinct classes"),
        (LIBLINEAR.replace("nr_feature 2", "nr_feature 2000000000"), "weights at most"),
        (LIBLINEAR.replace("w\n", "x\n"), "solver_type, nr_class"),
        (LIBLINEAR.replace("bias 1\n", ""), "Got no bias"),
        (LIBSVM.replace("linear", "rbf"), "kernel_type must be linear"),
        (LIBSVM.replace("c_svc", "one_class"), "svm_type must be"),
        (LIBSVM.replace("1:0.5 2:1", "2:0.5 1:1"), ":9: indices must ascend"),
        (LIBSVM.replace("1:0.5", "0:0.5"), ":9: an integer from 1"),
        (LIBSVM.replace("1:0.5", "1:"), ":9: numbers must be finite"),
        (LIBSVM.replace("-1 2:0.25 \n", ""), "the file is cut off"),
        (LIBSVM.replace("nr_sv 1 1", "nr_sv 1 2"), "add to 2"),
        (LIBSVM.replace("rho 0.5", "rho 0.5 1"), "rho must hold 1"),
        (LIBSVM.replace("2:1", "300000000:1"), "an integer from 1"),
        ("a,b\n1\n", ":2: every line must have 2 cells"),
        ("feature,weight\nx,one\n", ":2: numbers must be finite"),
        ("feature,weight\nx,1\nx,2\n", "named once"),
        ("feature,0,1\nx,1,2\n", "for two classes there is one plane"),
        ("x\n", "names and numbers"),
        ('x,"1\n', ":1: a line must be cells"),
        ("", "not empty"),
        (" \n", "not empty"),
    ],
)
def test_broken_text_is_refused_with_its_place(text, words, tmp_path):
    (tmp_path / "m").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_any(tmp_path / "m")
    assert str(caught.value).startswith(str(tmp_path / "m"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x80\x04\x95", "could run code"),
        (b"\x08\x08\x12\x09maxmargin\0\0", "binary file"),
        ("größe,1".encode("latin-1"), "not text in UTF-8"),
        (b"{", "not a whole model file"),
        (b"{}", "not a whole model file"),
    ],
)
def test_other_files_are_refused(data, words, tmp_path):
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(InputError, match=words):
        read_any(tmp_path / "m")
    with pytest.raises(InputError, match="cannot be read"):
        read_any(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_any(tmp_path / "nothing")


@given(st.sampled_from([LIBLINEAR, LIBSVM, *TABLES]), st.data())
def test_any_edit_of_text_gives_a_model_or_an_input_error(tmp_path_factory, text, data):
    path = tmp_path_factory.getbasetemp() / "edited"
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 5)))
        new = data.draw(
            st.sampled_from(
                ["", "0", "-1", "1e999", "nan", "\n", " ", ":", ",", '"', "w\n", "SV\n", "99999999"]
            )
            | st.text(max_size=5)
        )
        text = text[:start] + new + text[end:]
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert np.all(np.isfinite(read_any(path).coef_))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"coef_": [[1.0, 2.0]], "intercept_": [1.0, 2.0]},
            "one intercept per row of coefficients. Got .* 2 intercepts",
        ),
        ({"coef_": [[np.nan]], "intercept_": [1.0]}, "finite weights. Got nan"),
        (
            {"coef_": [[1.0]], "intercept_": [1.0], "classes_": np.array([0, 1, 2])},
            "3 classes need 3 rows of weights. Got 1",
        ),
        (
            {"coef_": np.ones((3, 1)), "intercept_": np.ones(3), "classes_": np.array([0, 1])},
            "2 classes need 1 rows of weights. Got 3",
        ),
        (
            {"coef_": [[1.0]], "intercept_": [1.0], "feature_names_in_": np.array(["a", "b"])},
            "every feature must have a name. Got 2 for 1",
        ),
    ],
)
def test_linear_models_must_fit_together(wrong, words):
    with pytest.raises(InputError, match=words):
        LinearModel(**wrong)


def test_rows_of_a_file_are_predicted_and_audited(tmp_path):
    with write_store(tmp_path / "rows", {"names": list("abcd")}) as out:
        out.add(X, y)
    rows = read_store(tmp_path / "rows")
    frame = pd.DataFrame(X, columns=list("abcd"))
    pairs = from_sklearn(svm.SVC(kernel="linear").fit(frame, y))
    assert pairs.predict(rows).tolist() == pairs.predict(frame).tolist()
    assert pairs.score(rows) == pairs.score(frame, y)
    found, expected = audit(pairs, rows), audit(pairs, frame, y)
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    assert [proof.primal for proof in found.values()] == pytest.approx(
        [proof.primal for proof in expected.values()]
    )
    with pytest.raises(InputError, match="needs the labels"):
        audit(pairs, X)
