"""The report page: everything is on it, it asks for nothing from outside, and a browser shows it."""

import base64
import io
import re
import shutil
import subprocess

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.cli.main import main
from maxmargin.plots import write_report

mpl.use("Agg")
X, Y = load_iris(return_X_y=True)
BROWSER = next(
    (b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None
)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()  # the page closes what it draws


def pictures(page):
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("L")) for data in found]


def check(path, sections=5):
    page = path.read_text(encoding="utf-8")
    assert page.count("<section>") == sections and "{{" not in page
    text = re.sub(r"data:[a-z/]+;base64,[^\"]+", "", page)
    assert not re.findall(r"(?:https?:)?//[a-z]", text)  # nothing from outside
    drawn = pictures(page)
    assert drawn and all(picture.std() > 5 for picture in drawn)  # not blank
    return page


MODELS = {
    "hard": mm.HardMarginSVC(),
    "soft": mm.SoftMarginSVC(C=0.5),
    "perceptron": mm.Perceptron(),
    "pocket": mm.PocketPerceptron(max_updates=200, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_two_classes(name, tmp_path):
    model = MODELS[name].fit(X, Y == 0)
    page = check(write_report(tmp_path / "r.html", model, X, Y == 0))
    assert "Separable (complete separation)" in page and "150 rows, 4 features, 2 classes" in page
    assert mm.separability(X, Y == 0).proof.to_dict()["data"] in page
    assert ("Certificate" in page) == (name in ("hard", "soft"))
    assert "these are the rows it was trained on" in page


def test_three_classes_and_validation(tmp_path):
    A, B, a, b = train_test_split(X, Y, random_state=0)
    model = mm.SoftMarginSVC().fit(A, a)
    page = check(write_report(tmp_path / "r.html", model, A, a, X_val=B, y_val=b, title="<Iris>"))
    wrong = int(np.count_nonzero(model.predict(B) != b))
    assert f"{wrong} of {len(b)} validation rows are wrong" in page
    assert "&lt;Iris&gt;" in page and "3 classes against the rest" in page


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
    (data_uri,) = re.findall(r"data:application/json;base64,([^\"]+)", page)
    proof.write_bytes(base64.b64decode(data_uri))
    assert (
        CliRunner().invoke(main, ["verify", str(proof), str(data), "--label", "target"]).exit_code == 0
    )
    assert "455 rows were trained on, 114 were held out" in page and "--share 0.2" in page
    assert re.search(r"\d+ of 114 validation rows are wrong", page)


def test_a_hard_margin_without_a_solution_is_said_to_be_soft(tmp_path):
    data = tmp_path / "xor.csv"
    data.write_text("a,b,y\n" + "0,0,0\n1,1,0\n0,1,1\n1,0,1\n" * 5)
    out = tmp_path / "r.html"
    done = CliRunner().invoke(
        main, ["report", str(data), "--model", "hard-margin", "--share", "0", "--out", str(out)]
    )
    assert done.exit_code == 0 and "soft margin" in done.stderr
    assert "Overlapping" in check(out)


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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("size", ["1000,3000", "390,3000"])
def test_a_browser_shows_it_without_complaint(size, tmp_path):
    model = mm.HardMarginSVC().fit(X, Y == 0)
    page = write_report(tmp_path / "r.html", model, X, Y == 0)
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--enable-logging=stderr", "--disable-background-networking", "--disable-sync",
        "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={tmp_path / 's.png'}",
        f"--window-size={size}", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "CONSOLE" not in done.stderr
    shot = np.asarray(Image.open(tmp_path / "s.png").convert("L"))
    assert shot.shape[1] == int(size.split(",")[0]) and shot.std() > 5
