"""Streams: predictions before learning, and the same bits as one example after the other."""

import io
import json
import re
import threading

import numpy as np
import pytest

import maxmargin as mm
from commands import run as program
from maxmargin.cli.stream import fixed_labels, run
from maxmargin.core.errors import InputError
from maxmargin.saving import to_dict
from maxmargin.stream import hashed
from maxmargin.stream import run as run_examples
from maxmargin.stream.learner import Learner, bucket
from maxmargin.stream.text_input import read_svmlight_lines
from streaming import Pieces, example, svmlight

PARAMETERS = [
    {},
    {"average": True},
    {"threshold": 0.4, "eta0": 0.1},
    {"average": True, "fit_intercept": False},
]


def in_blocks(lines, model, cuts, **options):
    """Predictions of a learner that gets the lines in blocks."""
    learner, predictions = Learner(model, **options), []
    for low, high in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        block = read_svmlight_lines(("\n".join(lines[low:high]) + "\n").encode(), low + 1)
        for predicted, _, labels in learner.take(block):
            predictions += [None if p < 0 else labels[p] for p in predicted.tolist()]
    return predictions


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 10, 200], [150]], ids=len)
def test_blocks_are_learned_as_one_by_one(parameters, cuts):
    lines = svmlight(300)
    one, other = (mm.Perceptron(random_state=0, **parameters) for _ in range(2))
    expected = []
    for x, y in map(example, lines):
        expected.append(one.predict_one(x))
        one.learn_one(x, y)
    assert in_blocks(lines, other, cuts) == expected
    assert to_dict(other) == to_dict(one)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_announced_classes_are_learned_as_one_by_one(parameters, classes):
    lines = svmlight(300, classes=classes)
    one, other = (mm.Perceptron(random_state=0, **parameters) for _ in range(2))
    labels = list(range(classes))
    expected = []
    for x, y in map(example, lines):
        expected.append(one.predict_one(x))
        one.learn_one(x, y, classes=labels)
    found = in_blocks(lines, other, [7, 100], labels=fixed_labels(list(map(str, labels))))
    assert found[0] == 0  # the classes are known from the start
    assert found[1:] == expected[1:]
    assert to_dict(other) == to_dict(one)


@pytest.mark.parametrize("first", ["1", "0"])
def test_one_class_for_a_long_time(first):
    lines = svmlight(200)
    lines = [first + line[1:] for line in lines[:120]] + lines[120:]
    one, other = (mm.Perceptron(random_state=0, average=True) for _ in range(2))
    expected = []
    for x, y in map(example, lines):
        expected.append(one.predict_one(x))
        one.learn_one(x, y)
    assert in_blocks(lines, other, [50, 90]) == expected
    assert to_dict(other) == to_dict(one)


def test_examples_without_labels_are_only_predicted():
    lines = svmlight(200)
    hidden = [line if k % 3 else line[2:] for k, line in enumerate(lines)]
    hidden[9] = "? " + hidden[9] + " 4000:1"  # a name that is not learned
    one, other = (mm.Perceptron(random_state=0) for _ in range(2))
    expected = []
    for k, (x, y) in enumerate(map(example, lines)):
        expected.append(one.predict_one(x))
        if k % 3:
            one.learn_one(x, y)
    assert in_blocks(hidden, other, [20]) == expected
    assert to_dict(other) == to_dict(one)
    assert "4000" not in other.feature_index_


@pytest.mark.parametrize("bits", [3, 8])
def test_hashed_features_are_learned_as_vectors(bits):
    lines = svmlight(200)
    one, other = (mm.Perceptron(random_state=0, average=True) for _ in range(2))
    expected = []
    for x, y in map(example, lines):
        v = np.zeros(1 << bits)
        for column, value in hashed(x, bits).items():
            v[column] = value
        expected.append(one.predict_one(v))
        one.learn_one(v, y)
    assert in_blocks(lines, other, [60], bits=bits) == expected
    assert np.array_equal(other.coef_, one.coef_)
    assert np.array_equal(other.intercept_, one.intercept_)


def test_hashing_adds_what_meets_with_signs():
    names = [f"name {k}" for k in range(200)]
    places = {name: bucket(name, 4) for name in names}
    assert {column for column, _ in places.values()} == set(range(16))
    assert {sign for _, sign in places.values()} == {1.0, -1.0}
    total = hashed(dict.fromkeys(names, 1.0), 4)
    assert total == {c: sum(s for d, s in places.values() if d == c) for c in total}
    with pytest.raises(InputError, match="bits must be an integer from 1 to 28"):
        hashed({"a": 1.0}, 40)


def test_a_wide_row_is_sorted_by_comparing(monkeypatch):
    from maxmargin.stream import learner as features

    lines = svmlight(100, d=300, k=90)
    one, other = (mm.Perceptron(random_state=0) for _ in range(2))
    expected = in_blocks(lines, one, [])
    monkeypatch.setattr(features, "MAX_MARKED_COLUMNS", 0)
    assert in_blocks(lines, other, []) == expected
    assert to_dict(other) == to_dict(one)


def test_run_yields_predictions_and_mistakes():
    examples = [({"a": 1.0}, "yes"), ({"b": 2.0}, "no"), ({"a": 2.0}, "yes"), ({"a": 1.0}, None)]
    model = mm.Perceptron()
    answers = list(run_examples(examples, model))
    assert answers == [(None, True), ("yes", True), ("yes", False), ("yes", None)]
    assert model.n_mistakes_ == 2


def test_run_predicts_before_it_learns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 3, 50)
    model, twin = mm.Perceptron(), mm.Perceptron()
    answers = list(run_examples(zip(X, y.tolist(), strict=True), model, classes=[0, 1, 2]))
    for (prediction, mistake), x, label in zip(answers, X, y.tolist(), strict=True):
        assert prediction == twin.predict_one(x)
        assert mistake == (prediction != label)
        twin.learn_one(x, label, classes=[0, 1, 2])


def test_run_takes_any_model_of_that_kind_and_no_other():
    class Always:
        def predict_one(self, x):
            return 1

        def learn_one(self, x, y):
            pass

    assert list(run_examples([([1.0], 1), ([1.0], 0)], Always())) == [(1, False), (1, True)]
    with pytest.raises(InputError, match="model must have predict_one and learn_one"):
        run_examples([], mm.HardMarginSVC())


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_read_as_python_reads_them(seed):
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(300):
        whole = "".join(map(str, rng.integers(0, 10, rng.integers(1, 12))))
        part = "".join(map(str, rng.integers(0, 10, rng.integers(0, 22))))
        point = "." + part if rng.random() < 0.7 else ""
        power = f"e{rng.integers(-30, 30)}" if rng.random() < 0.2 else ""
        texts.append(rng.choice(["", "-", "+"]) + whole + point + power)
    text = "".join(f"1 {k + 1}:{value}\n" for k, value in enumerate(texts)).encode()
    block = read_svmlight_lines(text, 1)
    assert block.error is None
    assert block.data.tobytes() == np.array([float(t) for t in texts]).tobytes()
    assert block.numbers.tolist() == list(range(1, 301))
    assert block.lines.tolist() == list(range(1, 301))


def test_lines_of_all_kinds_are_told_apart():
    text = (
        b"\n# nothing\n 1 1:2 # end\r\n2:3 4:5\n-1\n  \n?  7:1e2\nlong-label-here 1:.5\ncaf\xc3\xa9 2:1"
    )
    block = read_svmlight_lines(text, 10)
    assert block.error is None
    assert block.lines.tolist() == [12, 13, 14, 16, 17, 18]
    labels = [None if c < 0 else block.labels[c] for c in block.codes]
    assert labels == [1, None, -1, None, "long-label-here", "café"]
    assert block.data.tolist() == [2.0, 3.0, 5.0, 100.0, 0.5, 1.0]
    assert block.indptr.tolist() == [0, 1, 3, 3, 4, 5, 6]


def command(text, **options):
    """Run the command on a text; return its output."""
    out = io.BytesIO()
    assert run(**options, stdin=io.BytesIO(text), stdout=out) == 0
    return out.getvalue().decode()


def test_the_command_reads_svmlight_and_json_alike(capsys):
    lines = svmlight(120)
    objects = []
    for line in lines:
        x, y = example(line)
        objects.append(json.dumps({"id": 7, "x": x, "y": y}))
    svm = command("\n".join(lines).encode())
    assert command("\n".join(objects).encode()) == svm
    assert svm.splitlines()[0] == "?"
    assert set(svm.splitlines()[1:]) == {"0", "1"}
    summary = capsys.readouterr().err.splitlines()
    assert summary[0] == summary[1]
    right = [p == line[0] for p, line in zip(svm.splitlines(), lines, strict=True)]
    mistakes = right.count(False)
    assert summary[0] == f"120 examples learned: {mistakes} mistakes, error {mistakes / 120:.5f}"


def test_the_command_hashes_numbers_and_names_alike():
    lines = svmlight(120)
    objects = [json.dumps(dict(zip("xy", example(line), strict=True))) for line in lines]
    assert command("\n".join(objects).encode(), bits=5) == command("\n".join(lines).encode(), bits=5)
    assert command("\n".join(lines).encode(), bits=1) != command("\n".join(lines).encode())


def test_vectors_and_labels_of_json():
    text = b'{"x": [1, 2.5], "y": true}\n{"x": [-1, true], "y": false}\n\n{"x": [2, 1], "y": null}\n'
    found = [json.loads(line) for line in command(text, as_json=True).splitlines()]
    assert found == [
        {"prediction": None, "label": True, "mistake": True},
        {"prediction": True, "label": False, "mistake": True},
        {"prediction": True, "label": None, "mistake": None},
    ]
    assert command(text).splitlines() == ["?", "true", "true"]


def test_every_option_changes_something():
    text = "\n".join(svmlight(400, seed=3)).encode()
    plain = command(text)
    for option in (
        {"average": True},
        {"threshold": 2.0},
        {"intercept": False},
        {"bits": 3},
        {"labels": ["1", "0"]},
        {"as_json": True},
    ):
        assert command(text, **option) != plain, option
    assert command(text, threshold=2.0, eta0=0.1) != command(text, threshold=2.0)


def test_reports_come_at_every_so_many_examples(capsys):
    lines = svmlight(250)
    out = command("\n".join(lines).encode(), report=100).splitlines()
    wrong = np.array([p != line[0] for p, line in zip(out, lines, strict=True)])
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    for k, line in enumerate(told[:2], 1):
        total, recent = wrong[: 100 * k].sum(), wrong[100 * (k - 1) : 100 * k].mean()
        assert line == (
            f"{100 * k} examples: {total} mistakes, error {total / (100 * k):.5f}, "
            f"of the last 100 {recent:.5f}"
        )


def test_a_model_can_be_saved_at_the_end(tmp_path):
    lines = svmlight(100)
    command("\n".join(lines).encode(), model_path=str(tmp_path / "model.json"))
    model = mm.Perceptron(random_state=0)
    for x, y in map(example, lines):
        model.learn_one(x, y)
    from maxmargin.saving import load

    assert to_dict(load(tmp_path / "model.json")) == to_dict(model)


BAD = {
    b"1 1:1\n0 1:2\n2 1:3\n": r"-:3: the label must be one of 0, 1\. Got '2'.*--labels",
    b"1 1:1\na 1:2\n": r"-:2: labels must be all numbers or all words",
    b"1 1:1\n0 qid:7 1:2\n2 qid:7 1:3\n": r"-:3: the label must be one of 0, 1\. Got '2'",
    b"1 1:1\n\n0 2:1 1:1\n": r"-:3: features must be index:value with increasing indices",
    b"1 1:x\n": r"-:1: feature 1 must be a finite number",
    b"1 1:1e300\n": r"-:1: feature values must be at most",
    b"\xff\xfe1\x00": r"must be text in UTF-8\. Got UTF-16",
    b"1 1:1\n\xe9t\xe9 1:1\n": r"-:2: must be text in UTF-8",
    b'{"x": 3}\n': r"-:1: must be an object",
    b'{"x": {"a": "b"}}\n': r"-:1: feature 'a' must be a number",
    b'{"x": {"a": NaN}}\n': r"-:1: must be JSON",
    b'{"x": {"a": 1}, "y": [1]}\n': r"-:1: y must be a text",
    b'{"x": {"a": 1}, "y": 1}\n{"x":\n': r"-:2: must be JSON",
}


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_bad_lines_are_refused_with_their_place(text):
    from maxmargin.cli.stream import stream

    with pytest.raises(InputError, match=BAD[text]) as found:
        command(text)
    there = {option for parameter in stream.params for option in parameter.opts}
    assert set(re.findall(r"--\w[\w-]*", str(found.value))) <= there  # remedies that can be had


def test_the_place_in_a_named_file_has_its_name(tmp_path):
    path = tmp_path / "rows.svm"
    for text, words in (
        (b"1 1:1\n0 1:x\n", ":2: feature 1"),
        (b"1 1:1\n0 2:1\n2 1:1\n", ":3: the label"),
        (b'{"x": 3}', ":1: must be an object"),
        (b"\x1f\x8b\x08", ": .*gzip"),
    ):
        path.write_bytes(text)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}{words}"), path.open("rb") as file:
            run(stdin=file, stdout=io.BytesIO())


@pytest.mark.parametrize("bad", [None, "2 1:1", "1 1:bad"])
def test_lines_are_read_while_others_are_learned(bad, monkeypatch, tmp_path):
    """With a thread for every piece, and without: the same predictions, errors and checkpoints."""
    from maxmargin.stream import session

    lines = svmlight(300)
    if bad is not None:
        lines[200] = bad
    content, found, before = "\n".join(lines).encode(), [], set(threading.enumerate())
    for worth in (0, 1 << 30):
        monkeypatch.setattr(session, "MIN_THREADED_BYTES", worth)
        out, state, words = io.BytesIO(), tmp_path / f"{worth}.json", ""
        try:
            run(stdin=Pieces(content, 5), stdout=out, checkpoint=str(state))
        except InputError as error:
            words = str(error)
        found.append((out.getvalue(), state.read_bytes(), words))
    assert found[0] == found[1]
    assert found[0][0].count(b"\n") == (300 if bad is None else 200)
    assert found[0][2].startswith("-:201:" if bad else "")
    for thread in set(threading.enumerate()) - before:
        thread.join(300)
    assert set(threading.enumerate()) <= before


def test_what_comes_before_a_bad_line_is_predicted():
    lines, out = svmlight(60), io.BytesIO()
    expected = command("\n".join(lines[:40]).encode())
    lines[40] = "1 1:bad"
    with pytest.raises(InputError, match="-:41: feature 1"):
        run(stdin=io.BytesIO("\n".join(lines).encode()), stdout=out)
    assert out.getvalue().decode() == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": "soon"}, "--every must be a time such as 10s"),
        ({"labels": ["a"]}, "--labels must name two or more"),
        ({"labels": ["1", "1.0"]}, "--labels must name two or more distinct"),
        ({"bits": 0}, "bits must be"),
        ({"eta0": -1.0}, "eta0 must be"),
        ({"resume": "never"}, "--resume is for a stream with a --checkpoint"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        command(b"", **options)


def test_examples_without_a_label_are_counted():
    code, _, err = program("stream", stdin="1 1:2\n-1 1:-2\n? 1:3\n1:3\n")
    assert code == 0 and "2 examples learned: 2 mistakes" in err
    assert err.endswith(". 2 more without a label, only predicted\n")
    code, _, err = program("stream", stdin='{"x": {"a": 1}, "label": 1}\n')
    assert code == 0 and "1 more without a label, only predicted: a label is the first word" in err
    code, _, err = program("stream", stdin="a,b,y\n1,2,yes\n")
    assert (
        code == 2 and "Got a table instead. Learn from it with maxmargin fit --model perceptron" in err
    )


def test_an_empty_stream_is_no_mistake(capsys):
    assert command(b"") == command(b"\n \n# only words\n") == ""
    assert capsys.readouterr().err.splitlines() == ["0 examples learned: 0 mistakes, no labels"] * 2
