"""Checkpoints of streams: killed at any instant and resumed, a stream gives the same bits."""

import errno
import fcntl
import io
import itertools
import os
import resource
import signal
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import maxmargin as mm
from forks import PATIENCE
from forks import programs as programs
from maxmargin.cli.stream import run
from maxmargin.core.errors import InputError
from maxmargin.saving import to_dict
from maxmargin.stream import run as run_examples
from maxmargin.stream.session import read_state
from streaming import Pieces, example, svmlight
from thorough import THOROUGH

KILLED = {
    "plain": {},
    "average, announced": {"average": True, "labels": ["0", "1", "2"]},
    "hashed, JSON": {"bits": 6, "as_json": True, "threshold": 0.5},
}


def files(folder, **options):
    """Options with the two files of a stream in a folder."""
    return {
        **options,
        "checkpoint": str(folder / "state.json"),
        "out": str(folder / "predictions.txt"),
        "every": "0s",
    }


def whole(folder, content, options):
    """Both files after a stream that was never killed."""
    folder.mkdir()
    run(**files(folder, **options), stdin=io.BytesIO(content))
    return [(folder / name).read_bytes() for name in ("state.json", "predictions.txt")]


@pytest.mark.parametrize("options", KILLED.values(), ids=KILLED)
def test_a_stream_killed_again_and_again_gives_the_same_bits(options, programs, tmp_path):
    classes = len(options.get("labels", "01"))
    content = "\n".join(svmlight(500 if THOROUGH else 200, classes=classes)).encode()
    expected = whole(tmp_path / "whole", content, options)
    folder = tmp_path / "killed"
    folder.mkdir()
    (folder / "input.svm").write_bytes(content)
    kills, writing = programs.ask("kill a stream", str(folder), 7, files(folder, **options))
    assert kills > writing >= 1  # some died with a checkpoint half written, others not
    found = [(folder / name).read_bytes() for name in ("state.json", "predictions.txt")]
    assert found == expected
    run(**files(folder, **options), stdin=io.BytesIO(content))  # nothing left to do
    assert [(folder / name).read_bytes() for name in ("state.json", "predictions.txt")] == expected
    assert sorted(p.name for p in folder.iterdir()) == ["input.svm", "predictions.txt", "state.json"]


@pytest.mark.parametrize("cut", [1, 400, 401, 5000, 23_456])
def test_a_checkpoint_does_not_depend_on_how_lines_arrive(cut, tmp_path):
    content = "\n".join(svmlight(700)).encode()
    expected = whole(tmp_path / "whole", content, {})
    folder = tmp_path / "parts"
    folder.mkdir()
    end = content.index(b"\n", cut) + 1
    run(**files(folder), stdin=Pieces(content[:end], cut))
    run(**files(folder), stdin=Pieces(content, cut + 1))
    assert [(folder / name).read_bytes() for name in ("state.json", "predictions.txt")] == expected


def test_to_standard_output_go_the_predictions_after_the_checkpoint(tmp_path, capsys):
    lines = svmlight(100)
    path, everything, rest = str(tmp_path / "state.json"), io.BytesIO(), io.BytesIO()
    run(stdin=io.BytesIO("\n".join(lines).encode()), stdout=everything)
    run(stdin=io.BytesIO(("\n".join(lines[:60]) + "\n").encode()), stdout=io.BytesIO(), checkpoint=path)
    run(stdin=io.BytesIO("\n".join(lines).encode()), stdout=rest, checkpoint=path)
    assert rest.getvalue().splitlines() == everything.getvalue().splitlines()[60:]
    told = capsys.readouterr().err
    assert f"Resumed {path}: 60 examples" in told
    assert told.splitlines()[-1] == told.splitlines()[0]


def test_input_that_goes_on_is_not_skipped(tmp_path):
    lines = [line + "\n" for line in svmlight(100)]
    one, two = str(tmp_path / "one.json"), str(tmp_path / "two.json")
    run(stdin=io.BytesIO("".join(lines).encode()), stdout=io.BytesIO(), checkpoint=one)
    run(stdin=io.BytesIO("".join(lines[:60]).encode()), stdout=io.BytesIO(), checkpoint=two)
    rest = "".join(lines[60:]).encode()
    run(stdin=io.BytesIO(rest), stdout=io.BytesIO(), checkpoint=two, resume="go-on")
    assert to_dict(read_state(one).model) == to_dict(read_state(two).model)
    assert read_state(one).tally == read_state(two).tally
    run(stdin=io.BytesIO(rest), stdout=io.BytesIO(), checkpoint=two)  # and now it is known
    assert read_state(two).tally.examples == 100


def test_a_checkpoint_can_be_left_alone(tmp_path):
    lines, path = svmlight(50), str(tmp_path / "state.json")
    content, fewer = ("\n".join(some).encode() for some in (lines, lines[:20]))
    run(stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint=path)
    first = Path(path).read_bytes()
    run(stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint=path, resume="never")
    assert Path(path).read_bytes() == first
    run(stdin=io.BytesIO(fewer), stdout=io.BytesIO(), checkpoint=path, resume="never")
    assert Path(path).read_bytes() != first


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta0": 2.0}, r"made with eta0=1\.0, and --eta0 asks for 2\.0"),
        ({"intercept": False}, "--no-intercept asks for False"),
        ({"bits": 4}, "made with --hash None, and 4 is asked for"),
        ({"labels": ["a", "b"]}, "other labels than --labels"),
        ({"out": "missing.txt"}, None),
    ],
)
def test_another_command_is_not_resumed(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = "\n".join(svmlight(50)).encode()
    run(stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint="state.json")
    before = Path("state.json").read_bytes()
    if words is None:  # the checkpoint knows of no file: it begins with what comes now
        run(**options, stdin=io.BytesIO(content), checkpoint="state.json")
        assert Path("missing.txt").read_bytes() == b""
        return
    with pytest.raises(InputError, match=words):
        run(**options, stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint="state.json")
    assert Path("state.json").read_bytes() == before


def test_predictions_may_go_nowhere(tmp_path):
    content = "\n".join(svmlight(20)).encode()
    options = {"checkpoint": str(tmp_path / "state.json"), "every": "0ms", "out": os.devnull}
    assert run(**options, stdin=io.BytesIO(content)) == 0
    assert run(**options, stdin=io.BytesIO(content)) == 0  # and again


def test_another_input_is_not_resumed(tmp_path):
    content, path = "\n".join(svmlight(50)).encode(), str(tmp_path / "state.json")
    run(stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint=path)
    before = Path(path).read_bytes()
    for other in (content[:-50], b"", content.replace(b"1:", b"2:", 1), b"\n" + content):
        with pytest.raises(InputError, match=r"must begin with the .* bytes that the checkpoint"):
            run(stdin=io.BytesIO(other), stdout=io.BytesIO(), checkpoint=path)
        assert Path(path).read_bytes() == before


def test_predictions_that_were_lost_are_missed(tmp_path):
    content = "\n".join(svmlight(50)).encode()
    run(**files(tmp_path), stdin=io.BytesIO(content))
    (tmp_path / "predictions.txt").write_bytes(b"1\n")
    with pytest.raises(InputError, match=r"must hold the \d+ bytes of predictions"):
        run(**files(tmp_path), stdin=io.BytesIO(content))


def test_every_changed_byte_of_a_checkpoint_is_noticed(tmp_path):
    run(**files(tmp_path, bits=4), stdin=io.BytesIO("\n".join(svmlight(20)).encode()))
    path = tmp_path / "state.json"
    text = path.read_bytes()
    for k in itertools.chain(range(0, len(text), 7), range(len(text) - 80, len(text))):
        path.write_bytes(text[:k] + bytes([text[k] ^ 1]) + text[k + 1 :])
        with pytest.raises(InputError, match=r"state\.json"):
            read_state(path)
    path.write_bytes(text[:-1])
    with pytest.raises(InputError, match=r"state\.json"):
        read_state(path)


def test_a_bad_line_leaves_a_checkpoint_before_it(tmp_path):
    lines = svmlight(60)
    bad = [*lines[:40], "1 1:oops", *lines[41:]]
    with pytest.raises(InputError, match="-:41"):
        run(**files(tmp_path), stdin=io.BytesIO("\n".join(bad).encode()))
    assert read_state(tmp_path / "state.json").tally.examples == 40
    expected = whole(tmp_path / "whole", "\n".join(lines).encode(), {})
    run(**files(tmp_path), stdin=io.BytesIO("\n".join(lines).encode()))  # mended
    assert (tmp_path / "state.json").read_bytes() == expected[0]


def full(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_checkpoint_and_says_so(tmp_path, monkeypatch, capsys):
    content, path = ("\n".join(svmlight(600)) + "\n").encode(), str(tmp_path / "state.json")
    half = content.index(b"\n", len(content) // 2) + 1
    run(stdin=io.BytesIO(content[:half]), stdout=io.BytesIO(), checkpoint=path)
    before = Path(path).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"No space left.*The file that was there is as it was"):
            run(stdin=Pieces(content, 1), stdout=io.BytesIO(), checkpoint=path, every="0s")
    told = capsys.readouterr().err
    assert "The stream goes on, and tries again." in told
    assert Path(path).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]
    out = io.BytesIO()
    run(stdin=io.BytesIO(content), stdout=out, checkpoint=path)  # now there is room
    assert out.getvalue().count(b"\n") == content[half:].count(b"\n")


@pytest.fixture
def live(programs, tmp_path):
    """A stream with a checkpoint, in a process of its own."""
    return programs.start("stream", "--checkpoint", tmp_path / "state.json")


def test_a_file_that_may_not_grow_leaves_the_old_checkpoint(programs, tmp_path):
    lines, path = svmlight(200, d=400), tmp_path / "state.json"
    few = "\n".join(lines[:5]).encode() + b"\n"
    run(stdin=io.BytesIO(few), stdout=io.BytesIO(), checkpoint=str(path))
    before = path.read_bytes()
    limited = programs.start("stream", "--checkpoint", path, largest=len(before) + 100)
    limited.stdin.write("\n".join(lines).encode())
    limited.stdin.close()
    assert b"File too large. The file that was there is as it was" in limited.stderr.read()
    assert limited.wait() == 2
    assert path.read_bytes() == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != len(before) + 100


def test_each_prediction_comes_at_once(live):
    for k, line in enumerate(svmlight(5)):
        live.stdin.write(line.encode() + b"\n")
        live.stdin.flush()
        assert live.stdout.readline().strip() in ((b"?",) if not k else (b"0", b"1"))
    live.stdin.close()
    assert live.stdout.read() == b""
    assert live.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_stream_gently(live, number, tmp_path):
    lines = svmlight(5)
    live.stdin.write(("\n".join(lines) + "\n").encode())
    live.stdin.flush()
    for _ in lines:
        live.stdout.readline()
    os.kill(live.pid, number)
    assert live.wait() == 0
    assert live.stderr.read().decode().startswith("5 examples learned")
    model = mm.Perceptron(random_state=0)
    for x, y in map(example, lines):
        model.learn_one(x, y)
    assert to_dict(read_state(tmp_path / "state.json").model) == to_dict(model)


def unread(pipe):
    """How many bytes are in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("skips", [False, True], ids=["learns", "skips"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_does_not_interrupt_the_read_ends_a_stream(number, skips, tmp_path, capsys):
    lines, path = svmlight(8), tmp_path / "state.json"
    content = ("\n".join(lines) + "\n").encode()
    if skips:
        run(stdin=io.BytesIO(content), stdout=io.BytesIO(), checkpoint=str(path))
    before = path.read_bytes() if skips else None
    ours, theirs = os.pipe()
    os.write(theirs, content[: content.rindex(b"\n", 0, -1) + 3])  # seven lines, and a part of one

    def kill():
        while unread(ours):
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    killer, guard = threading.Thread(target=kill), threading.Timer(PATIENCE, os.close, (theirs,))
    killer.start()
    guard.start()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {number})  # other threads receive it
    try:
        with open(ours, "rb") as silent:
            assert run(stdin=silent, stdout=io.BytesIO(), checkpoint=str(path)) == 0
            killer.join()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        guard.cancel()
    os.close(theirs)  # it was open all the time: the input had not ended
    if skips:
        assert path.read_bytes() == before
    else:
        assert "7 examples learned" in capsys.readouterr().err
        assert read_state(path).tally.examples == 7


def test_examples_in_python_are_resumed(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 4)), rng.integers(0, 2, 80).tolist()
    examples = [
        (dict(zip("abcd", x.tolist(), strict=True)), label) for x, label in zip(X, y, strict=True)
    ]
    path = tmp_path / "state.json"

    def new():
        return mm.Perceptron(average=True, random_state=0)

    one = new()
    expected = list(run_examples(examples, one))
    broken = run_examples(examples, new(), checkpoint=path, every=0.0)
    found = list(itertools.islice(broken, 30))
    broken.close()  # the example it was at does not count: it may not have been dealt with
    other = new()
    rest = list(run_examples(examples, other, checkpoint=path))
    assert found[:29] + rest == expected
    assert to_dict(one) == to_dict(other)
    assert read_state(path).tally.mistakes == sum(mistake for _, mistake in expected)
    with pytest.raises(InputError, match="the checkpoint must be of this model"):
        list(run_examples(examples, mm.Perceptron(), checkpoint=path))
