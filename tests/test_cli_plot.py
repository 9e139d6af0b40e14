"""The command plot: a picture, or one line in the words of the command line."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import maxmargin as mm
from commands import fresh_folder as fresh_folder
from commands import run as command
from maxmargin.cli.options import MODELS
from maxmargin.cli.plot import NEEDS
from maxmargin.plots import machine as machines
from maxmargin.plots.film.animation import animate
from thorough import further

mpl.use("Agg")
# matplotlib 3.11 fills up faces of fewer corners with whatever was in memory, and multiplies that.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in dot:RuntimeWarning")

RNG = np.random.default_rng(0)
TWO, THREE = np.arange(20) % 2, np.arange(30) % 3
GROUPS = np.array([[0, 4], [-4, -2], [4, -2]])
APART = np.round(RNG.normal(size=(20, 2)) + 4.0 * (2 * TWO - 1)[:, None], 2)
MIXED = np.round(RNG.normal(size=(20, 2)), 2)
FILES = {
    "two": (APART, np.array(["no", "yes"])[TWO]),
    "four": (np.round(RNG.normal(size=(20, 4)) + 3.0 * (2 * TWO - 1)[:, None], 2), TWO),
    "three": (np.round(RNG.normal(size=(30, 2)) + GROUPS[THREE], 2), np.array(["a", "b", "c"])[THREE]),
    "numbered": (np.round(RNG.normal(size=(30, 2)) + GROUPS[THREE], 2), THREE),
    "mixed": (MIXED, np.array(["no", "yes"])[TWO]),
    "one-class": (APART, ["yes"] * 20),
    "one-feature": (APART[:, :1], TWO),
    "tiny": ([[0, 0], [1, 2], [3, 1]], ["a", "b", "b"]),
    "tiny-three": ([[0, 0], [1, 2], [3, 1], [0, 5]], ["a", "b", "c", "c"]),
    "few": ([[0, 0], [1, 2], [3, 1], [0, 5], [4, 4], [5, 4]], ["a", "a", "b", "b", "c", "c"]),
    "far": (np.vstack([MIXED, [[50, 50], [51, 50]]]), [*np.array(["no", "yes"])[TWO], "far", "far"]),
    "many": (np.arange(4_002.0).reshape(2_001, 2), np.arange(2_001) % 2),
    "measured": (APART, np.linspace(0.1, 2.3, 20)),
}
# words of Python that do not belong on the command line
PYTHON = re.compile(
    r"fit_intercept|from_estimator|Display|SVC|record=|estimator|\bX\b|\by must|trace|[^-]path must"
)


def write(name):
    X, y = FILES[name]
    rows = [
        ",".join(map(str, [*row, label])) for row, label in zip(np.asarray(X).tolist(), y, strict=True)
    ]
    head = ",".join([*(f"f{k}" for k in range(np.shape(X)[1])), "kind"])
    with open(f"{name}.csv", "w", encoding="utf-8") as file:
        file.write("\n".join([head, *rows]) + "\n")
    return f"{name}.csv"


def run(name, *options):
    return command("plot", write(name), *options)


def check_drawn(name, *options, said=""):
    code, out, err = run(name, *options, "--out", "p.png")
    assert (code, out) == (0, "p.png\n"), err
    assert said in err if said else not err
    with Image.open("p.png") as picture:
        assert np.asarray(picture.convert("L")).std() > 5


def check_refused(name, *options):
    code, out, err = run(name, *options)
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert line.startswith("Error: ") and not PYTHON.search(line)
    return line


def options_for(kind):
    need = NEEDS[kind]
    return ["--kind", kind, *(["--model", need.models[0]] if need.models else []),
            *(["--no-intercept"] if need.bias is False else [])]  # fmt: skip


def test_every_kind_has_its_needs():
    assert {model for need in NEEDS.values() for model in need.models} <= set(MODELS)


@pytest.mark.parametrize("kind", NEEDS)
def test_every_kind_of_two_classes(kind):
    check_drawn("two", *options_for(kind))


@pytest.mark.parametrize("kind", NEEDS)
def test_every_kind_of_one_machine(kind):
    check_drawn("three", *options_for(kind), "--machine", "b")


@pytest.mark.parametrize("kind", NEEDS)
def test_what_is_drawn_of_three_classes(kind):
    if not NEEDS[kind].two_classes:
        check_drawn("three", *options_for(kind))
        return
    line = check_refused("three", *options_for(kind))
    assert line == (
        f"Error: --kind {kind} needs two classes. Got 3 classes instead. "
        "Choose a class, against all others, with --machine and one of a, b, c."
    )


@pytest.mark.parametrize(
    "name", ["four", "mixed", "tiny-three", "one-feature", further("tiny"), further("numbered")]
)
@pytest.mark.parametrize("model", MODELS)
def test_x_space_is_drawn_for_all_data_and_models(name, model):
    soft = model == "hard-margin" and name in ("mixed", "tiny-three")
    code, out, err = run(name, "--model", model)
    assert (code, out) == (0, "picture.png\n")
    assert soft == ("Drawn instead: the soft margin with C = 1." in err)
    assert not PYTHON.search(err)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [kind for kind in NEEDS if kind != "separability"])
@pytest.mark.parametrize("name", ["four", "three", "mixed", "one-class", "tiny-three", "one-feature"])
def test_a_picture_or_one_line_that_says_what_is_needed(name, kind, model, monkeypatch):
    """All combinations; pictures are drawn, but not saved."""
    monkeypatch.setattr("maxmargin.cli.plot._save", lambda *given: None)
    need, d, many = NEEDS[kind], np.shape(FILES[name][0])[1], len(set(FILES[name][1]))
    met = (not need.models or model in need.models) and (not need.two_classes or many == 2)
    met = met and (not need.two_features or d == 2) and need.bias is not False and many > 1
    met = met and not (kind in ("weights", "section") and name == "mixed")
    met = met and not (kind == "path" and name == "tiny-three")
    if met:
        code, _, err = run(name, "--kind", kind, "--model", model)
        assert code == 0 and not PYTHON.search(err)
        return
    line = check_refused(name, "--kind", kind, "--model", model)
    if name == "one-class":
        assert "the labels must be of two or more classes. Got 'yes' alone" in line
    elif name == "mixed" and kind in ("weights", "section") and model == "hard-margin":
        assert "Got classes that no plane separates instead. --kind separability shows why." in line
    elif kind == "path" and model == "soft-margin":
        assert (
            "needs 2 rows of every class, one to train on and one to hold out. Got 1 row of class 'a'"
            in line
        )
    else:
        assert line.startswith(f"Error: --kind {kind} needs ")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("separability", ("--model", "perceptron")),
        ("separability", ("--C", "2")),
        ("path", ("--C", "2")),
    ],
)
def test_what_a_picture_has_no_use_for_is_refused(kind, options):
    line = check_refused("four", "--kind", kind, *options)
    assert line.startswith(f"Error: --kind {kind} has no use for {options[0]}. Leave it out.")


@pytest.mark.parametrize("name", ["four", "mixed", "tiny-three", "one-feature"])
def test_verdicts_are_drawn_for_all_data(name):
    several = len(set(FILES[name][1])) > 2
    check_drawn(name, "--kind", "separability", *(("--machine", "a") if several else ()))


def test_all_that_is_missing_is_said_at_once():
    line = check_refused("four", "--kind", "weights", "--model", "pocket", "--no-intercept")
    assert line == (
        "Error: --kind weights needs two features, a bias and --model hard-margin. Got 4 features, "
        "--no-intercept and --model pocket instead. Choose two features with --columns. "
        "Leave out --no-intercept."
    )
    check_drawn("four", "--columns", "f0,f1", "--kind", "weights", "--model", "hard-margin")
    line = check_refused("one-feature", "--kind", "risk")
    assert "Got 1 feature and a bias instead. Name a file with two. Add --no-intercept." in line


def test_the_machine_that_is_drawn_is_that_of_the_label(monkeypatch):
    seen = []
    kept = machines.stand_in
    monkeypatch.setattr(
        "maxmargin.plots.machine.stand_in", lambda *given: seen.append(kept(*given)) or seen[-1]
    )
    X, y = FILES["numbered"]
    check_drawn("numbered", "--machine", "1")
    check_drawn("numbered", "--machine", "2.0", "--model", "perceptron")
    soft, online = mm.SoftMarginSVC().fit(X, y), mm.Perceptron().fit(X, y)
    for (found, rows, labels), model, label in zip(seen, (soft, online), (1, 2), strict=True):
        np.testing.assert_array_equal(found.coef_[0], model.machines_[label].coef_)
        np.testing.assert_array_equal(rows, X)
        assert (labels == f"class {label}").tolist() == (y == label).tolist()


def test_a_hard_margin_of_one_class_does_not_need_the_others_to_be_separable():
    check_drawn("far", "--model", "hard-margin", "--machine", "far", "--kind", "weights")
    check_refused("far", "--model", "hard-margin", "--machine", "no", "--kind", "weights")
    check_drawn("far", "--model", "hard-margin", "--machine", "no", said="No plane separates")


def test_a_hard_margin_without_a_solution_is_drawn_as_a_soft_one():
    why = (
        "No plane separates the classes. Drawn instead: the soft margin with C = 2. --kind separability "
    )
    check_drawn("mixed", "--model", "hard-margin", "--C", "2", said=f"{why}shows why.\n")
    check_drawn("two", "--model", "hard-margin", "--C", "2")  # it was not needed


def test_the_machine_is_named_in_the_picture(monkeypatch):
    titles = []
    monkeypatch.setattr("maxmargin.cli.plot._save", lambda *given: titles.append(given[2]))
    run("three", "--machine", "b")
    run("three")
    assert titles == ["b against all others", ""]


def test_labels_of_machines():
    line = check_refused("three", "--machine", "d")
    assert line == "Error: --machine must be one of the labels a, b, c. Got 'd' instead."
    assert "two classes instead, which have one. Leave it out." in check_refused(
        "two", "--machine", "no"
    )


def test_rows_to_hold_out():
    assert "Got 1 row of class 'class a' instead" in check_refused(
        "tiny-three", "--kind", "path", "--machine", "a"
    )
    assert (
        "3 classes in both parts. Got 4 rows to train on and 2 to hold out instead. Add rows"
        in check_refused("few", "--kind", "path")
    )
    check_drawn("few", "--kind", "path", "--machine", "a")


def test_measurements_are_no_labels():
    line = check_refused("measured")
    assert "labels must be classes: words or whole numbers. Got 0.1, 0.2" in line
    assert line.endswith("Name the column of the labels with --label.")


def test_options_that_would_do_nothing_are_refused():
    line = check_refused("four", "--kind", "certificate", "--features", "f0,f1")
    assert line.endswith(
        "--features is for x-space, separability and --animate. Got --kind certificate instead."
    )
    for options in (
        ["--slowly", "2"],
        ["--quickly", "2"],
        ["--animate", "f.gif", "--out", "p.png"],
        ["--features", "f0"],
    ):
        code, _, err = run("two", *options)
        assert code == 2 and "Error: --" in err
    line = check_refused("two", "--animate", "f.gif", "--kind", "risk")
    assert line == "Error: --kind risk and --animate are two pictures. Leave one of them out."


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--out", "p.bmp"], "--out must end in one of .png, .svg, .pdf, .jpg. Got 'p.bmp'"),
        (["--out", "no/p.png"], "--out must name a file that can be written. Got 'no/p.png'"),
        (["--animate", "f.avi"], "--animate must end in .gif, .mp4 or .html. Got 'f.avi'"),
        (["--animate", "no/f.gif"], "--animate must name a file that can be written. Got 'no/f.gif'"),
        (["--animate", "f.mp4"], "--animate must end in .gif or .html where the program ffmpeg"),
        (["--animate", "f.gif"], "--animate needs --model perceptron or batch-perceptron. Got --model"),
        (["--features", "f0,f7"], "--features must name two of f0, f1. Got 'f7' instead."),
    ],
)
def test_what_is_written_is_checked_first(options, match, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert match in check_refused("two", *options)


def test_a_picture_that_cannot_be_written(tmp_path):
    (tmp_path / "p.png").mkdir()
    line = check_refused("two", "--out", "p.png")
    assert line == "Error: --out must name a file that can be written. Got 'p.png': it is a folder."


@pytest.fixture
def films(monkeypatch):
    made = []
    kept = animate

    def watched(*given, **options):
        made.append((kept(*given, **options), options))
        return made[-1][0]

    monkeypatch.setattr("maxmargin.plots.film.animation.animate", watched)
    return made


@pytest.mark.parametrize("model", ["perceptron", "batch-perceptron"])
def test_a_film_of_one_machine_with_the_names_of_the_file(model, films):
    options = ["--model", model, "--machine", "1", "--slowly", "0.3", "--quickly", "0.1"]
    code, out, _ = run("numbered", *options, "--animate", "f.gif")
    assert (code, out) == (0, "f.gif\n")
    ((film, given),) = films
    kind = mm.Perceptron if model == "perceptron" else mm.BatchPerceptron
    found = kind(record=True).fit(*FILES["numbered"]).machines_[1]
    assert film.frames == len(found.trace_) + 2
    assert film.durations[0] == 0.3 and film.durations[-1] == 0.6
    assert film.captions[-1][0].split(" · ")[2].startswith(f"{found.n_mistakes_} mistake")
    assert film.captions[0][0].split(" · ")[0].endswith("erceptron, 1 against all others")
    assert given["names"] == ["f0", "f1"]
    with Image.open("f.gif") as gif:
        assert gif.n_frames == film.frames
        assert gif.info["duration"] == 300


def test_a_film_that_cannot_be_written(tmp_path):
    (tmp_path / "f.gif").mkdir()
    line = check_refused("numbered", "--model", "perceptron", "--machine", "1", "--animate", "f.gif")
    assert line.startswith("Error: --animate must name a file that can be written. Got 'f.gif': ")


def test_a_film_of_three_classes_asks_for_a_machine():
    line = check_refused("three", "--model", "perceptron", "--animate", "f.gif")
    assert line.endswith("Choose a class, against all others, with --machine and one of a, b, c.")


def test_a_run_without_updates_is_no_film():
    line = check_refused("two", "--model", "batch-perceptron", "--animate", "f.gif")
    assert line.endswith("Got a run without any instead: its first weights are right for every row.")


def test_too_many_rows_for_a_film():
    line = check_refused("many", "--model", "perceptron", "--animate", "f.gif")
    assert "at most 2,000 rows. Got 2,001 rows instead." in line


def test_features_of_a_film(films):
    code, *_ = run("four", "--model", "perceptron", "--features", "f2,1", "--animate", "f.html")
    assert code == 0
    assert films[0][1]["features"] == (2, 1)
