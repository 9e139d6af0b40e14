"""The lab's server in a process of its own: who runs, who is ended, what is left behind."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from browser import find_browser, main
from maxmargin import __version__
from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.workers import ENGINE
from serving import CALL, alive, ask, hear, served, tell, until
from serving import lab as lab
from serving import own_lab as own_lab

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def warm(page):
    """Wait until two workers answer side by side."""

    def two():
        for number in (10**6, 10**6 + 1):
            tell(page, number, "sleep", seconds=0.2, channel=f"warm {number}")
        return len({hear(page)["answer"]["pid"] for _ in range(2)}) == 2

    assert until(two)


# Answers and faults


def test_what_a_library_prints_does_not_disturb(lab):
    with lab.connect() as page:
        assert ask(page, 1, "print")["answer"]["value"] is None
        assert ask(page, 2, "echo", value=1)["answer"]["value"] == 1


def test_numbers_that_json_has_not_become_null(lab):
    with lab.connect() as page:
        assert ask(page, 1, "nan")["answer"] == {"values": [1.0, None, None]}


def test_a_fault_is_told_in_a_sentence(lab):
    with lab.connect() as page:
        reply = ask(page, 1, "fault")
        assert reply["id"] == 1 and "KeyError" in reply["error"]


def test_a_large_answer_arrives_whole(lab):
    with lab.connect() as page:
        assert len(ask(page, 1, "large", size=20_000_000)["answer"]["text"]) == 20_000_000


def test_hello_brings_what_the_lab_was_opened_with(tmp_path):
    start = {"points": [[0, 1, 0, 0]], "labels": ["a", "b"], "names": ["u", "v"]}
    with served(tmp_path, start=start) as server, server.connect() as page:
        assert ask(page, 1, "hello")["answer"]["start"] == start
        assert "start" not in ask(page, 2, "echo")["answer"]


def test_the_real_engine_answers_as_it_does_here(tmp_path):
    state = {"points": [[0.1, 0.2, 0, 0], [1.0, 0.7, 1, 0], [0.3, 0.9, 1, 0]], "algorithm": "hard"}
    with served(tmp_path, engine=ENGINE) as server, server.connect() as page:
        assert ask(page, 1, "hello")["answer"]["version"] == __version__
        reply = ask(page, 2, "solve", state=state)
        assert reply["answer"] == json.loads(json.dumps(answer({"ask": "solve", "state": state})))
        assert "state" in ask(page, 3, "solve", state="nothing")["error"]
        index, content = server.get()
        assert index.status == 200 and index.headers["content-type"].startswith("text/html")
        assert b"page.js" in content


# Latest wins, and nobody blocks anybody


@pytest.fixture(scope="module")
def patient_lab(tmp_path_factory):
    """A server whose replaced requests may go on."""
    with served(tmp_path_factory.mktemp("pids"), seconds=600, patience=600) as server:
        yield server


def begin(page, number, ask, folder, **more):
    """Send a request, and wait until a worker is at it."""
    begun = folder / f"{number} has begun"
    tell(page, number, ask, begun=str(begun), **more)
    assert until(begun.exists)


def test_on_one_channel_only_the_latest_waits(patient_lab, tmp_path):
    with patient_lab.connect() as page:
        begin(page, 1, "wait", tmp_path, file=str(tmp_path / "go"), channel="a")
        for number in range(2, 6):
            tell(page, number, "echo", channel="a")
        assert [hear(page) for _ in range(3)] == [{"id": k, "dropped": True} for k in (2, 3, 4)]
        (tmp_path / "go").touch()
        replies = [hear(page), hear(page)]
    assert [reply["id"] for reply in replies] == [1, 5] and all("answer" in reply for reply in replies)


def test_a_replaced_request_that_goes_on_is_ended(lab, tmp_path):
    with lab.connect() as page:
        warm(page)
        before = set(lab.workers())
        begin(page, 1, "spin", tmp_path, channel="a")
        tell(page, 2, "echo", channel="a")
        assert hear(page) == {"id": 1, "dropped": True}
        another = hear(page)["answer"]["pid"]  # a spare one took over
    assert until(lambda: len(before & set(lab.workers())) == len(before) - 1)
    assert another in lab.workers()


def test_channels_do_not_replace_each_other(lab, tmp_path):
    with lab.connect() as page:
        warm(page)
        begin(page, 1, "wait", tmp_path, file=str(tmp_path / "go"), channel="a")
        tell(page, 2, "echo", channel="b")
        assert hear(page)["id"] == 2
        (tmp_path / "go").touch()
        assert hear(page)["id"] == 1


def test_too_many_channels_are_refused(lab, tmp_path):
    with lab.connect() as page:
        for number in range(50):
            tell(page, number, "wait", file=str(tmp_path / "go"), channel=f"channel {number}")
        replies = [hear(page) for _ in range(18)]
        assert all("error" in reply for reply in replies)
        (tmp_path / "go").touch()
        assert all("answer" in hear(page) for _ in range(32))


def test_two_pages_do_not_block_each_other(own_lab):
    with own_lab.connect() as busy:
        warm(busy)
    with own_lab.connect() as busy, own_lab.connect() as page:
        for number in range(8):
            tell(busy, number, "spin", channel=f"channel {number}")
        for number in range(20):
            assert "answer" in ask(page, number, "echo")
        with pytest.raises(TimeoutError):
            busy.recv(timeout=0)  # all of it goes on


def test_a_page_that_leaves_leaves_no_work_behind(own_lab, tmp_path_factory):
    with own_lab.connect() as page:
        warm(page)
        begin(page, 1, "spin", tmp_path_factory.mktemp("marks"))
        before = set(own_lab.workers())
    assert until(lambda: before - set(own_lab.workers()))


def test_a_request_over_its_time_is_ended_with_an_error(tmp_path):
    with served(tmp_path, seconds=2) as server, server.connect() as page:
        assert "answer" in ask(page, 0, "echo")
        reply = ask(page, 1, "spin")
        assert reply["id"] == 1 and "longer than 2 seconds" in reply["error"]
        assert "answer" in ask(page, 2, "echo")


def test_a_worker_that_crashes_is_replaced(lab):
    with lab.connect() as page:
        for number in range(4):
            assert "ask again" in ask(page, 2 * number, "crash")["error"]
            assert "answer" in ask(page, 2 * number + 1, "echo")


def test_a_worker_that_is_killed_is_replaced(own_lab, tmp_path_factory):
    with own_lab.connect() as page:
        warm(page)
        pid = ask(page, 0, "echo")["answer"]["pid"]
        begin(page, 1, "spin", tmp_path_factory.mktemp("marks"))
        for worker in own_lab.workers():
            os.kill(worker, signal.SIGKILL)
        assert "ask again" in hear(page)["error"]
        assert until(lambda: not alive(pid))
        replies = (ask(page, number, "echo") for number in range(2, 9))
        # The spare ones were killed as well, which may be noticed only when they are asked.
        assert next(reply["answer"] for reply in replies if "answer" in reply)["pid"] != pid


def test_a_thousand_rapid_requests_leave_no_backlog(patient_lab, tmp_path):
    with patient_lab.connect() as page:
        begin(page, 0, "wait", tmp_path, file=str(tmp_path / "go"), channel="a")
        for number in range(1, 1000):
            tell(page, number, "echo", channel="a")
        assert [hear(page) for _ in range(998)] == [{"id": k, "dropped": True} for k in range(1, 999)]
        (tmp_path / "go").touch()
        replies = [hear(page), hear(page)]
        assert "answer" in ask(page, 1001, "echo", channel="a")
    assert [reply["id"] for reply in replies] == [0, 999] and all("answer" in reply for reply in replies)


def test_an_engine_that_cannot_start_is_told(tmp_path):
    with served(tmp_path, engine="no_such_engine") as server, server.connect() as page:
        assert "could not start" in ask(page, 1, "echo")["error"]
        assert "could not start" in ask(page, 2, "echo")["error"]


# The end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("busy", [False, True])
def test_the_end_leaves_no_process_behind(tmp_path, tmp_path_factory, number, busy):
    with served(tmp_path) as server, server.connect() as page:
        assert "answer" in ask(page, 0, "echo")
        if busy:
            begin(page, 1, "spin", tmp_path_factory.mktemp("marks"))
        assert until(lambda: len(server.workers()) >= 2)
        code = server.stop(number)
        assert code == (0 if number == signal.SIGINT else -number)
        assert until(lambda: not server.workers())
        assert server.process.stderr.read() == ""


def test_a_taken_port_is_told_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = {"port": taken.getsockname()[1], "open_browser": False}
        run = subprocess.run(
            [sys.executable, "-c", CALL, json.dumps(options)],
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert run.returncode != 0 and run.stdout == ""
    assert "is taken. Choose another with --port; --port 0 finds a free one." in run.stderr


def test_a_browser_is_found_or_the_reader_is_told_how_to_get_one(monkeypatch, capsys):
    monkeypatch.setenv("MAXMARGIN_BROWSER", sys.executable)
    assert find_browser() == sys.executable
    monkeypatch.setenv("MAXMARGIN_BROWSER", "/no/such/browser")
    monkeypatch.setattr("browser.install_browser", lambda: None)
    assert find_browser() is None
    main()
    assert "apt-get install chromium" in capsys.readouterr().err
