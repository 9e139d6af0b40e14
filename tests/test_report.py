"""The report page: everything is on it, it asks for nothing from outside, and a browser shows it."""

import base64
import html
import io
import json
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.cli.main import main
from maxmargin.plots import write_report
from maxmargin.plots.report.pictures import picture
from thorough import THOROUGH, further

mpl.use("Agg")
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
BROWSER = next(
    (b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None
)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()  # the page closes what it draws


RENDER = "maxmargin.plots.report.pictures._png"


def empty(figure):
    """A picture without ink."""
    buffer = io.BytesIO()
    Image.new("L", (840, 2)).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture
def blank(monkeypatch):
    """Pictures are drawn but not rendered: for tests that ask which ones there are."""
    monkeypatch.setattr(RENDER, empty)


@pytest.fixture
def measured(monkeypatch):
    """Every word of the pictures is read and laid out, but nothing is rendered."""
    monkeypatch.setattr(RENDER, lambda figure: figure.draw_without_rendering() or empty(figure))


def pictures(page):
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in found]


def captions(page):
    return re.findall(r"<figcaption><b>(.*?)\.</b>", page)


class Nesting(HTMLParser):
    """Every tag that opens is closed, in order."""

    def __init__(self):
        super().__init__()
        self.stack, self.blocks = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            self.blocks.append("open" in dict(attrs))
        if tag not in ("meta", "link", "img", "br"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    @classmethod
    def of(cls, page):
        parser = cls()
        parser.feed(page)
        parser.close()
        assert parser.stack == []
        return parser


def check(path, sections=5, rendered=True):
    page = path.read_text(encoding="utf-8")
    assert page.count("<section>") == sections and "{{" not in page
    text = re.sub(r"data:[a-z/]+;base64,[^\"]+", "", page)
    assert not re.findall(r"(?:https?:)?//[a-z]", text)  # nothing from outside
    assert not re.findall(r"<(?:script|iframe|object)|@import|url\(", text)
    Nesting.of(page)
    drawn = pictures(page)
    assert drawn and len(drawn) == len(captions(page))
    if rendered:
        assert all(np.asarray(picture.convert("L")).std() > 5 for picture in drawn)  # not blank
    assert {picture.size[0] for picture in drawn} == {840}  # one width: a telephone's, twice as fine
    return page


def proofs(page):
    found = re.findall(r'download="([^"]+)" href="data:application/json;base64,([^"]+)"', page)
    return {name: base64.b64decode(data) for name, data in found}


CERTIFICATE = ["The gap", "Complementary slackness", "The conditions of Karush, Kuhn and Tucker"]
MODELS = {
    "hard": (mm.HardMarginSVC(), ["The model", *CERTIFICATE]),
    "soft": (mm.SoftMarginSVC(C=0.5), ["The model", *CERTIFICATE, "Other values of C"]),
    "cv": (mm.SoftMarginSVCCV([0.1, 1.0], cv=2), ["The model", *CERTIFICATE, "The choice of C"]),
    "perceptron": (mm.Perceptron(), ["The model", "The error", "The mistakes"]),
    "batch": (mm.BatchPerceptron(), ["The model", "The error"]),
    "pocket": (
        mm.PocketPerceptron(max_updates=200, random_state=0),
        ["The model", "The error", "The mistakes"],
    ),
    "fewest errors": (mm.MinErrorClassifier(), ["The model"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_two_classes(name, tmp_path, request):
    rendered = THOROUGH or name in ("soft", "cv", "perceptron")  # which have all kinds of pictures
    if not rendered:
        request.getfixturevalue("measured")
    model, expected = MODELS[name]
    model.fit(X, Y == 0)
    page = check(write_report(tmp_path / "r.html", model, X, Y == 0), rendered=rendered)
    assert captions(page) == ["The proof", *expected]
    assert "Separable (complete separation)" in page and "150 rows, 4 features, 2 classes" in page
    proof = mm.separability(X, Y == 0).proof.to_dict()
    assert proof["data"] in page and proof["seal"] in page
    assert list(proofs(page)) == ["proof.json"]
    assert ("Certificate" in page) == (name in ("hard", "soft", "cv"))
    if "Certificate" in page:
        assert f"<td>{model.certificate_.primal:.12g}</td>" in page
    assert "these are the rows it was trained on" in page and "<details" not in page


def test_three_classes_and_validation(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.plots.report.page.MAX_PICTURED_MACHINES", 1)
    A, B, a, b = train_test_split(X, Y, random_state=0)
    model = mm.SoftMarginSVC().fit(A, a)
    path = write_report(tmp_path / "r.html", model, A, a, X_val=B, y_val=b, title="<Iris>")
    page = check(path, sections=6)
    said = model.predict(B)
    assert f"{np.count_nonzero(said != b)} of {len(b)} validation rows are wrong" in page
    assert "&lt;Iris&gt;" in page and "3 classes against the rest" in page
    found = re.findall(r"<tr><th>\d</th>(.*?)</tr>", page.split('class="matrix"')[1])
    counts = [[int(re.sub(r"<.*?>", "", cell)) for cell in row.split("</td>")[:-1]] for row in found]
    assert counts == confusion_matrix(b, said).tolist()


@pytest.mark.parametrize(
    ("multi_class", "name"),
    [
        ("ovr", "hard"),
        ("ovr", "pocket"),
        ("ovo", "soft"),
        ("ovo", "perceptron"),
        ("ovo", "batch"),
        ("ovo", "fewest errors"),
        further("ovr", "soft"),
        further("ovr", "perceptron"),
        further("ovo", "hard"),
        further("ovo", "pocket"),
    ],
)
@pytest.mark.usefixtures("blank")
def test_every_machine_has_its_verdict_proof_and_pictures(multi_class, name, tmp_path):
    labels = NAMES[Y]
    data = X if name != "hard" else X + 10 * np.eye(4)[Y]  # separable, all of them
    model = clone(MODELS[name][0]).set_params(multi_class=multi_class)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        model.fit(data, labels)
    page = check(write_report(tmp_path / "r.html", model, data, labels), sections=6, rendered=False)
    assert Nesting.of(page).blocks == [True, False, False]  # the first one is open
    verdict = mm.separability(data, labels)
    own = verdict.pairs if multi_class == "ovo" else verdict.rest
    expected = MODELS[name][1][: 4 if name in ("hard", "soft") else None]
    seen = captions(page.split("Machine by machine")[1])
    assert seen == 3 * ["The proof", *expected]
    blocks = page.split("<details")[1:]
    saved = list(proofs(page).values())
    for block, proof, (label, machine) in zip(blocks, saved, model.machines_.items(), strict=True):
        first = label if multi_class == "ovr" else label[1]
        other = "all others" if multi_class == "ovr" else label[0]
        assert f"<summary>{first} against {other}" in block
        assert f"{own[label].kind}</span></summary>" in block
        content = own[label].proof.to_dict()
        assert content["seal"] in block and json.loads(proof) == content
        if name in ("hard", "soft"):
            assert f"<td>{machine.certificate_.dual:.12g}</td>" in block
        elif name == "fewest errors":
            assert str(machine.bounds_).splitlines()[0] in block
        else:
            assert html.escape(str(machine.stop_reason_)) in block


@pytest.mark.usefixtures("blank")
def test_the_page_says_which_rows_a_margin_is_about(tmp_path):
    y, part = Y == 0, np.arange(0, 150, 2)
    model = mm.HardMarginSVC().fit(X[part], y[part])
    page = write_report(tmp_path / "r.html", model, X[part], y[part], whole=(X, y)).read_text("utf-8")
    assert "</span> on all 150 rows</p>" in page
    assert "<p>Certificate: hard margin, on the 75 training rows</p>" in page
    assert "slack as segments" not in page  # a hard margin has none
    model = mm.SoftMarginSVC().fit(X, y)
    page = write_report(tmp_path / "r.html", model, X, y).read_text("utf-8")
    assert "training rows</p>" not in page and "slack as segments" in page


@pytest.mark.usefixtures("blank")
def test_of_many_machines_some_have_pictures_and_the_others_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.plots.report.page.MAX_PICTURED_MACHINES", 2)
    y = np.repeat(np.arange(4), 5)
    rows = np.c_[np.cos(y), np.sin(y)] * 9 + 0.1 * np.random.default_rng(0).normal(size=(20, 2))
    model = mm.Perceptron(max_iter=1)
    with pytest.warns(mm.BudgetWarning):
        model.fit(rows, y)
    page = check(write_report(tmp_path / "r.html", model, rows, y), sections=6, rendered=False)
    assert len(Nesting.of(page).blocks) == 3 and "2 more machines" in page
    assert "The first 2 are shown with pictures, the other 2 in a table." in page
    assert len(captions(page)) == 1 + 2 * 4 and len(proofs(page)) == 4
    rest = page.split("2 more machines")[1].split("</details>")[0]
    for label in (2, 3):
        machine = model.machines_[label]
        wrong = np.count_nonzero((machine.decision_function(rows) > 0) != (y == label))
        row = rest.split(f"<th>{label} against all others</th>")[1].split("</tr>")[0]
        assert f"<td>1</td><td>{machine.n_mistakes_}</td><td>{wrong}</td>" in row


FLAT = np.array([[2.0, 5.0], [-4.0, -2.0], [4.0, -4.0]]), np.array([1, -1, -1])
SPACES = ["x-space", "w-space", "The perceptron risk"]


@pytest.mark.parametrize(
    ("model", "expected", "rendered"),
    [
        (mm.Perceptron(fit_intercept=False, record=True), SPACES, True),
        (mm.BatchPerceptron(0.1, fit_intercept=False, record=True), SPACES, False),
        (mm.HardMarginSVC(fit_intercept=False), SPACES, False),
        (mm.HardMarginSVC(), ["Weight space", "A section of weight space"], True),
        (mm.Perceptron(), ["The mistakes"], False),
    ],
)
def test_two_features_show_the_spaces_of_weights(model, expected, rendered, tmp_path, request):
    if not rendered:  # the same kinds of pictures are in another case
        request.getfixturevalue("blank")
    page = check(write_report(tmp_path / "r.html", model.fit(*FLAT), *FLAT), rendered=rendered)
    assert captions(page)[-len(expected) :] == expected


@pytest.mark.usefixtures("blank")
def errors_told(page):
    """The least number of errors that the page tells, of how many rows, and those of the model."""
    found = re.search(r"fewer than <b>(\d+) errors?</b> on the (\d+) rows .*makes (\d+)\. A row", page)
    return None if found is None else tuple(map(int, found.groups()))


@pytest.mark.usefixtures("blank")
def test_the_fewest_errors_are_told(tmp_path, monkeypatch):
    """Of small data of two classes that overlap, with a proof; 1 and 3 are told elsewhere, too."""
    for columns, fewest in ((slice(0, 4), 1), (slice(2, 4), 3)):
        X_two, y_two = X[50:, columns], Y[50:]
        model = mm.SoftMarginSVC().fit(X_two, y_two)
        page = write_report(tmp_path / "r.html", model, X_two, y_two).read_text(encoding="utf-8")
        wrong = np.count_nonzero(model.predict(X_two) != y_two)
        assert errors_told(page) == (fewest, 100, wrong)
        (proof,) = [one for name, one in proofs(page).items() if "errors" in name]
        (tmp_path / "p.json").write_bytes(proof)
        assert mm.Proof.load(tmp_path / "p.json").verify(X_two, y_two)
    monkeypatch.setattr("maxmargin.plots.report.page.MAX_NUMBERS_OF_ERRORS", 399)
    model = mm.SoftMarginSVC().fit(X[50:], Y[50:])
    page = write_report(tmp_path / "r.html", model, X[50:], Y[50:]).read_text(encoding="utf-8")
    assert errors_told(page) is None
    model = mm.SoftMarginSVC().fit(X[:100], Y[:100])  # separable
    page = write_report(tmp_path / "r.html", model, X[:100], Y[:100]).read_text(encoding="utf-8")
    assert errors_told(page) is None


def test_the_path_of_C_is_followed_only_if_that_is_cheap(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.plots.report.pictures.MAX_PATH_NUMBERS", 599)
    page = check(
        write_report(tmp_path / "r.html", mm.SoftMarginSVC().fit(X, Y == 0), X, Y == 0), rendered=False
    )
    assert "Other values of C" not in page


@pytest.mark.usefixtures("measured")
def test_labels_are_taken_as_they_are(tmp_path):
    few = slice(None, None, 6)
    labels = np.array(["<b>a&\"'", "$x_$ $^$", "{{body}}"])[Y[few]]
    data = X[few, :2] + 10 * np.eye(3)[Y[few], :2]
    model = mm.HardMarginSVC().fit(data, labels)
    path = write_report(tmp_path / "r.html", model, data, labels, names=["<i>", "$\\frac$"])
    page = path.read_text(encoding="utf-8")
    Nesting.of(page)
    assert "<b>a" not in page and "<i>" not in page
    assert "<summary>&lt;b&gt;a&amp;&quot;&#x27; against all others" in page
    assert "<summary>{{body}} against all others" in page
    assert sorted(proofs(page)) == [
        "proof-b-a-against-all-others.json",
        "proof-body-against-all-others.json",
        "proof-x-against-all-others.json",
    ]


def test_names_in_pictures_are_no_formulas(monkeypatch):
    kept = []
    monkeypatch.setattr(
        "maxmargin.plots.report.pictures._png", lambda figure: kept.append(figure) or b""
    )
    model = mm.Perceptron().fit(FLAT[0], ["$x_$", "_y", "_y"])
    draw = mm.plots.XSpaceDisplay.from_estimator
    given = FLAT[0], np.array(["$x_$", "_y", "_y"])
    picture("n", "s", draw, model, *given, names=["$\\frac$", "b"])
    (ax,) = kept[0].axes
    assert ax.get_xlabel() == "$\\frac$" and not ax.xaxis.label.get_parse_math()
    key = [text.get_text().strip() for text in ax.get_legend().get_texts()]
    assert {"$x_$", "_y"} <= set(key)
    kept[0].draw_without_rendering()


@pytest.mark.usefixtures("blank")
def test_rows_of_a_file_have_the_page_of_rows_in_memory(tmp_path):
    few = slice(None, None, 3)
    data = np.column_stack([X[few], Y[few] == 0])
    np.savetxt(tmp_path / "d.csv", data, delimiter=",", header="a,b,c,d,kind", comments="")
    rows = mm.open_rows(tmp_path / "d.csv", label="kind")
    model = mm.SoftMarginSVC().fit(X[few], rows.labels)
    pages = [
        write_report(tmp_path / "r.html", model, given, rows.labels, names="abcd").read_text("utf-8")
        for given in (X[few], rows)
    ]
    assert pages[0] == pages[1]


@pytest.mark.usefixtures("blank")
def test_a_proof_without_room_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.plots.report.page.MAX_PROOF_BYTES", 100)
    page = check(
        write_report(tmp_path / "r.html", mm.Perceptron().fit(X, Y == 0), X, Y == 0), rendered=False
    )
    assert not proofs(page) and "too large for this page" in page


@pytest.mark.usefixtures("blank")
def test_validation_labels_that_the_model_does_not_know(tmp_path):
    model = mm.Perceptron().fit(X[:100], Y[:100])
    path = write_report(tmp_path / "r.html", model, X[:100], Y[:100], X_val=X, y_val=Y)
    row = check(path, rendered=False).split("<tr><th>2</th>")[1].split("</tr>")[0]
    assert sum(int(n) for n in re.findall(r">(\d+)<", row)) == 50
    assert "50 of 150 validation rows are wrong" in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("blank")
def test_a_model_of_another_package(tmp_path):
    model = LogisticRegression(max_iter=1_000).fit(X, Y)
    page = check(write_report(tmp_path / "r.html", model, X, Y), sections=6, rendered=False)
    assert captions(page) == ["The regions", *["The proof"] * 3]


def test_the_command_writes_a_page_that_says_how_to_make_it_again(tmp_path):
    data = tmp_path / "tumours.csv"
    load_breast_cancer(as_frame=True).frame.to_csv(data, index=False)
    out = tmp_path / "r.html"
    options = ["report", str(data), "--label", "target", "--model", "hard-margin", "--out", str(out)]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0 and done.output.strip() == str(out)
    page = check(out)
    assert "mean radius" in page and "--label target" in page
    proof = tmp_path / "proof.json"
    proof.write_bytes(proofs(page)["proof.json"])  # it knows where its labels are
    assert CliRunner().invoke(main, ["verify", str(proof), str(data)]).exit_code == 0
    assert "455 rows were trained on, 114 were held out" in page and "--share 0.2" in page
    assert re.search(r"\d+ of 114 validation rows are wrong", page)


@pytest.mark.usefixtures("blank")
def test_the_page_says_how_the_file_is_read(tmp_path):
    data, out = tmp_path / "rows.svm", tmp_path / "r.html"
    data.write_text("1 0:1 1:2\n-1 0:-1 1:-2\n" * 5)
    options = ["--first-index", "0", "--model", "perceptron", "--share", "0", "--out", str(out)]
    done = CliRunner().invoke(main, ["report", str(data), *options])
    assert done.exit_code == 0, done.output
    assert "--first-index 0" in check(out, rendered=False)


@pytest.mark.usefixtures("blank")
def test_a_hard_margin_without_a_solution_is_said_to_be_soft(tmp_path):
    data = tmp_path / "xor.csv"
    data.write_text("a,b,y\n" + "0,0,0\n1,1,0\n0,1,1\n1,0,1\n" * 5)
    out = tmp_path / "r.html"
    done = CliRunner().invoke(
        main, ["report", str(data), "--model", "hard-margin", "--share", "0", "--out", str(out)]
    )
    assert done.exit_code == 0 and "soft margin" in done.stderr
    page = check(out, rendered=False)
    assert "Overlapping" in page and f"<h1>soft-margin on {data}</h1>" in page
    assert f"<p>{html.escape(done.stderr.strip())}</p>" in page  # and why


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        ("aaaab", [], "one to train on and one to hold out. Got 1 row of class 'b' instead"),
        ("aabbcc", [], "each of the 3 classes in both parts. Got 4 rows to train on and 2 to hold out"),
        (
            "aabbcc",
            ["--share", "0.8"],
            "of the 3 classes in both parts. Got 1 row to train on and 5 to hold out",
        ),
        (
            "a" * 30 + "bb",
            ["--share", "0.9"],
            "--share 0.9 needs a row of every class to train on. Got none",
        ),
    ],
)
@pytest.mark.usefixtures("blank")
def test_classes_too_small_to_split(labels, options, said, tmp_path):
    data, out = tmp_path / "small.csv", tmp_path / "r.html"
    data.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    command = ["report", str(data), "--model", "perceptron", "--out", str(out)]
    done = CliRunner().invoke(main, command + options)
    assert done.exit_code == 2 and said in done.stderr and "Use --share 0" in done.stderr
    assert "n_samples" not in done.stderr and "test_size" not in done.stderr and not out.exists()
    assert CliRunner().invoke(main, [*command, "--share", "0"]).exit_code == 0
    assert "these are the rows it was trained on" in check(
        out, 6 if "c" in labels else 5, rendered=False
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [("0,0,c\n", "labels must be among those trained on, 'a', 'b'. Got 'c' instead"),
     ("0,a\n", "must have 2 features, as the rows trained on. Got 1 instead")],
)  # fmt: skip
def test_validation_rows_of_another_kind(rows, said, tmp_path):
    data, other = tmp_path / "d.csv", tmp_path / "v.csv"
    data.write_text("0,0,a\n1,1,b\n")
    other.write_text(rows)
    done = CliRunner().invoke(main, ["report", str(data), "--validate", str(other)])
    assert done.exit_code == 2 and said in done.stderr


@pytest.mark.usefixtures("blank")
def test_the_proof_of_each_class_can_be_checked_against_the_file(tmp_path):
    data, out, proof = tmp_path / "iris.csv", tmp_path / "r.html", tmp_path / "p.json"
    frame = load_iris(as_frame=True).frame
    frame.insert(0, "number", range(150))
    frame.to_csv(data, index=False)
    command = ["report", str(data), "--label", "target", "--drop", "number", "--out", str(out)]
    assert CliRunner().invoke(main, command).exit_code == 0
    page = check(out, sections=6, rendered=False)
    assert len(proofs(page)) == 3
    for text in proofs(page).values():
        proof.write_bytes(text)
        done = CliRunner().invoke(main, ["verify", str(proof), str(data)])
        assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("blank")
def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(mm.InputError, match="can be written"):
        write_report(tmp_path / "no" / "r.html", mm.Perceptron().fit(X, Y == 0), X, Y == 0)


@pytest.mark.parametrize("kind", ["x-space", "certificate", "separability", "path"])
def test_the_command_plot(kind, tmp_path):
    data, out = tmp_path / "iris.csv", tmp_path / "p.png"
    rows = np.column_stack([X[:, 2:], Y == 0])
    np.savetxt(data, rows, delimiter=",", header="length,width,setosa", comments="", fmt="%g")
    done = CliRunner().invoke(main, ["plot", str(data), "--kind", kind, "--out", str(out)])
    import matplotlib.pyplot as plt

    plt.close("all")
    assert done.exit_code == 0, done.output
    assert np.asarray(Image.open(out).convert("L")).std() > 5


def test_the_command_plot_films_a_run(tmp_path):
    data, out = tmp_path / "p.csv", tmp_path / "p.gif"
    data.write_text("a,b,y\n1,2,1\n-1,-1,0\n2,-1,0\n-2,1,1\n")
    options = ["plot", str(data), "--model", "perceptron", "--no-intercept", "--animate", str(out)]
    options += ["--slowly", "0.5"]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0, done.output
    with Image.open(out) as film:
        assert film.n_frames >= 3 and film.info["duration"] == 500
    import matplotlib.pyplot as plt

    plt.close("all")


def browse(address, tmp_path, *options):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--enable-logging=stderr", "--disable-background-networking", "--disable-sync",
        "--disable-component-update", "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'profile'}", *options, address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "CONSOLE" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory):
    """A page about two classes, as it is."""
    model = mm.HardMarginSVC().fit(X, Y == 0)
    return write_report(tmp_path_factory.mktemp("page") / "r.html", model, X, Y == 0)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_without_complaint(dark, plain_page, tmp_path):
    options = [f"--screenshot={tmp_path / 's.png'}", "--window-size=1000,3000"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    browse(plain_page.as_uri(), tmp_path, *options)
    shot = np.asarray(Image.open(tmp_path / "s.png").convert("L"))
    assert shot.shape[1] == 1000 and shot.std() > 5
    assert (shot[0, 0] < 60) == dark


# Windows cannot be as narrow as a telephone, frames can: three of them, measured when all are there.
FRAME = '<iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe>'
MEASURE = """<script>window.onload = () => {
document.title = [...document.querySelectorAll('iframe')].map(frame => {
  const page = frame.contentDocument, shown = [...page.images].filter(i => i.checkVisibility());
  const widths = shown.map(i => i.width);
  return [page.documentElement.scrollWidth, shown.length, Math.min(...widths), Math.max(...widths)];
}).join(' '); }</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.usefixtures("blank")
def test_nothing_is_wider_than_the_screen(tmp_path):
    labels = np.array(["a_long_name_without_any_space_in_it" * 2, "b", "c"])[Y]
    model = mm.SoftMarginSVC().fit(X, labels)
    page = html.escape(write_report(tmp_path / "r.html", model, X, labels).read_text(encoding="utf-8"))
    frames, screens = tmp_path / "frames.html", (390, 768, 1280)
    text = "".join(FRAME.format(width=width, page=page) for width in screens) + MEASURE
    frames.write_text(text, encoding="utf-8")
    seen = browse(frames.as_uri(), tmp_path, "--dump-dom", "--window-size=1400,900")
    found = re.search(r"<title>([\d ,]+)</title>", seen)[1].split()
    for width, numbers in zip(screens, found, strict=True):
        across, shown, narrowest, widest = map(int, numbers.split(","))
        assert across == width and shown == 7  # the regions, the path, and the first machine's
        assert 300 <= narrowest <= widest <= 450  # readable everywhere
