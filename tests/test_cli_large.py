"""Files whose rows cannot all be drawn: pictures of a sample, numbers of all rows; and progress."""

import io
import json
import sys
import time

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from commands import run
from maxmargin.cli import output
from maxmargin.cli.inputs import open_table
from maxmargin.cli.options import Source
from maxmargin.plots import CertificateDisplay, ErrorDisplay, SeparabilityDisplay, XSpaceDisplay
from maxmargin.plots import sample as drawing

N, SOME = 1_000, 100
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).round(3)
SCORE = X @ [1.0, 2.0, -1.0]
Y = np.where(SCORE + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
APART = np.abs(SCORE) > 0.2
NOTE = f"A fixed sample is drawn and counted: {SOME} of "


@pytest.fixture(autouse=True)
def little_room(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(drawing, "copy_limit", lambda: 3 * N - 1)
    monkeypatch.setattr(drawing.draw, "__defaults__", ((), (), SOME))
    monkeypatch.setattr("maxmargin.cli.inputs.MAX_LOADED_BYTES", 1_000)


def write(name, rows=X, labels=Y):
    with open(name, "w", encoding="utf-8") as file:
        file.write("a,b,c,kind\n")
        for row, label in zip(rows.tolist(), labels, strict=True):
            file.write(",".join([*map(repr, row), str(label)]) + "\n")
    return name


@pytest.fixture
def drawn(monkeypatch):
    """What was given to the displays."""
    given = []
    for display, name in (
        (XSpaceDisplay, "from_estimator"),
        (CertificateDisplay, "from_estimator"),
        (SeparabilityDisplay, "from_verdict"),
    ):
        before = getattr(display, name)

        def spy(model, rows, labels, *, before=before, **options):
            given.append((model, rows, labels))
            return before(model, rows, labels, **options)

        monkeypatch.setattr(display, name, spy)
    return given


@pytest.mark.parametrize("kind", ["x-space", "certificate"])
def test_pictures_of_a_sample_have_the_model_of_all_rows(kind, drawn):
    code, out, err = run("plot", write("d.csv"), "--kind", kind, "--out", "p.png")
    assert (code, out) == (0, "p.png\n") and err.startswith(NOTE + f"{N:,} rows")
    ((model, rows, labels),) = drawn
    whole = mm.SoftMarginSVC().fit(X, Y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-4)
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
    assert rows.shape == (SOME, 3) and set(labels) == {"no", "yes"}
    where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    np.testing.assert_allclose(model.dual_, whole.dual_[where], atol=1e-4)
    np.testing.assert_allclose(model.slack_, whole.slack_[where], atol=1e-4)
    assert len(model.free_support_) == len(whole.free_support_)  # the few on the edges are all there


@pytest.mark.parametrize("apart", [True, False])
def test_the_sample_of_a_verdict_holds_its_proof(apart, drawn):
    rows, labels = (X[APART], np.where(SCORE > 0, "yes", "no")[APART]) if apart else (X, Y)
    drawing.copy_limit = lambda: 3 * len(rows) - 1  # the fixture puts it back
    assert run("plot", write("d.csv", rows, labels), "--kind", "separability", "--out", "p.png")[0] == 0
    ((verdict, shown, given),) = drawn
    assert shown.shape == (SOME, 3) and verdict.separable == apart
    if apart:
        f = shown @ verdict.w + verdict.b
        every = rows @ verdict.w + verdict.b
        assert np.all((f > 0) == (given == "yes"))
        assert f[f > 0].min() == every[every > 0].min() and f[f < 0].max() == every[every < 0].max()
        return
    witness = verdict.witness
    assert set(given[witness.positive]) == {"yes"} and set(given[witness.negative]) == {"no"}
    point = witness.positive_weights.astype(float) @ shown[witness.positive]
    np.testing.assert_allclose(point, witness.point, atol=1e-9)


def test_kinds_of_numbers_use_all_rows_and_kinds_of_planes_need_them():
    write("d.csv")
    for kind, model in (("path", "soft-margin"), ("mistakes", "perceptron"), ("errors", "perceptron")):
        code, _, err = run("plot", "d.csv", "--kind", kind, "--model", model, "--out", "p.png")
        assert code == 0 and not err
    flat = ["plot", "d.csv", "--columns", "a,b", "--no-intercept", "--out", "p.png", "--kind"]
    assert run(*flat, "risk")[0] == 0  # two features fit
    drawing.copy_limit = lambda: 100
    code, out, err = run(*flat, "risk")
    assert (code, out) == (2, "") and "--kind risk needs all rows in memory, at most 100 numbers" in err
    drawing.copy_limit = lambda: 20
    code, out, err = run("plot", "d.csv", "--out", "p.png")
    assert (code, out) == (2, "") and "which leave room for 6." in err


@pytest.mark.parametrize("model", ["soft-margin", "perceptron"])
def test_the_page_has_the_numbers_of_all_rows(model):
    write("d.csv")
    code, out, err = run("report", "d.csv", "--model", model, "--share", "0", "--out", "r.html")
    assert (code, out) == (0, "r.html\n") and NOTE in err
    with open("r.html", encoding="utf-8") as file:
        page = file.read()
    content = json.loads(run("fit", "d.csv", "--model", model, "--json")[1])
    assert f"{content['training_errors']:,} of {N:,} training rows are wrong" in page
    assert f"{N:,} rows, 3 features, 2 classes." in page and NOTE in page
    for name, column in zip("abc", X.T, strict=True):
        values = "".join(f"<td>{v:.4g}</td>" for v in (column.min(), column.mean(), column.max()))
        assert f"<th>{name}</th>{values}" in page
    assert "<script src" not in page and page.count("<figure>") == {"soft-margin": 5}.get(model, 4)


def test_a_page_shows_the_bound_of_a_pocket_on_all_rows(monkeypatch):
    made, before = [], ErrorDisplay.from_estimator
    spy = lambda *given, **options: made.append(before(*given, **options)) or made[-1]  # noqa: E731
    monkeypatch.setattr(ErrorDisplay, "from_estimator", spy)
    rows = np.tile([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 3.0, 1.0]], (N // 4, 1))
    labels = np.tile(["a", "b", "b", "b"], N // 4)
    labels[0] = "b"  # where many of the other class are
    write("d.csv", rows, labels)
    assert run("report", "d.csv", "--model", "pocket", "--share", "0", "--out", "r.html")[0] == 0
    (display,) = made
    assert display.least == display.result == 1 / N


def test_a_page_with_rows_held_out_and_three_classes():
    labels = np.digitize(SCORE, [-1, 1])
    write("d.csv", X, labels)
    assert run("report", "d.csv", "--share", "0.25", "--out", "r.html")[0] == 0
    with open("r.html", encoding="utf-8") as file:
        page = file.read()
    assert "750 rows were trained on, 250 were held out" in page and "of 250 validation rows" in page
    assert page.count("Save the proof") == 3 and page.count("<b>The proof.</b>") == 3  # each machine
    assert NOTE not in page and page.count("<b>The model.</b> The plane") == 3  # 750 rows can be drawn
    write("v.csv", X[:500], labels[:500])
    assert run("report", "d.csv", "--validate", "v.csv", "--out", "r.html")[0] == 0
    with open("r.html", encoding="utf-8") as file:
        page = file.read()
    assert "of 500 validation rows" in page and NOTE + f"{N:,} rows" in page
    assert page.count(" A sample of the rows.") == 6  # of the model of each machine, seen and in words


def test_the_lab_opens_with_a_sample(monkeypatch):
    served = []
    monkeypatch.setattr("maxmargin.laboratory.server.serve", lambda *a, **k: served.append(k) or 0)
    code, _, err = run("lab", write("d.csv"), "--features", "a,b")
    (points,) = (given["start"]["points"] for given in served)
    assert code == 0 and f"{len(points):,} of {N:,} rows are shown." in err
    known = {tuple(row) for row in X[:, :2].tolist()}
    assert {tuple(point[:2]) for point in points} <= known


def test_text_is_encoded_by_all_of_the_family(monkeypatch):
    monkeypatch.setattr("maxmargin.laboratory.server.serve", lambda *a, **k: 0)
    drawing.copy_limit = lambda: 1 << 20
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("colour,a,kind\n" + "red,1,yes\nblue,-1,no\nred,2,yes\nblue,3,no\n" * 5)
    for command in (["plot", "--out", "p.png"], ["report", "--out", "r.html"], ["lab"]):
        assert run(command[0], "d.csv", *command[1:])[0] == 2
        assert run(command[0], "d.csv", *command[1:], "--one-hot", "--cache-dir", "kept")[0] == 0


def test_samples_of_sparse_rows_in_memory(monkeypatch):
    drawing.copy_limit = lambda: 10_000
    S = sparse.random(500, 40, 0.1, random_state=0, format="csr")
    mm.write_svmlight(S, np.arange(500) % 2, "s.svm")
    monkeypatch.setattr("maxmargin.cli.inputs.MAX_LOADED_BYTES", 1 << 28)
    table = open_table(Source("s.svm"))
    sample = drawing.draw(table.X, table.y, [np.array([3, 499])])
    assert {3, 499} <= set(sample.rows) and len(sample.rows) == SOME
    np.testing.assert_array_equal(sample.X, S.toarray()[sample.rows])
    np.testing.assert_array_equal(*(drawing.draw(table.X, table.y).rows for _ in range(2)))


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.skipif(not output.OPEN_FILES.is_dir(), reason="only Linux tells how far a file is read")
def test_how_far_a_file_is_read(tmp_path):
    (tmp_path / "d").write_bytes(b"x" * 100_000)
    assert output.bytes_read(str(tmp_path / "d")) == 0
    with (tmp_path / "d").open("rb", buffering=0) as file:
        file.read(40_000)
        assert output.bytes_read(str(tmp_path / "d")) == 40_000
    assert output.bytes_read(str(tmp_path / "none")) == 0


def test_progress_is_for_terminals(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "BAR_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(output, "BAR_INTERVAL_SECONDS", 0.001)
    (tmp_path / "d.csv").write_bytes(b"x" * 100_000)
    for kind in (io.StringIO, Terminal):
        monkeypatch.setattr(sys, "stderr", kind())
        end = time.monotonic() + (120 if kind is Terminal else 0)
        with output.progress_bar(str(tmp_path / "d.csv")), (tmp_path / "d.csv").open("rb") as file:
            file.read(50_000)
            while "reading d.csv" not in sys.stderr.getvalue() and time.monotonic() < end:
                pass
        assert ("reading d.csv" in sys.stderr.getvalue()) == (kind is Terminal)
