"""Our program, and functions of tests, in processes forked from one that has imported all of it.

A test file imports the fixture ``programs``. The signals, pipes, limits and exit codes are real.
"""

import atexit
import contextlib
import functools
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

import pytest

PATIENCE = 300  # seconds
FITTING = "fitting"  # a file that is made when a fit has read the clock so many times
READINGS = 100


class Program:
    """A process that runs ``maxmargin``: its standard files, its id, and how to wait for its end."""

    def __init__(self, ask, *given):
        pipes = [os.pipe(), os.pipe()[::-1], os.pipe()[::-1]]  # theirs, ours
        self.pid = ask("start", *given, files=[theirs for theirs, _ in pipes])
        for theirs, _ in pipes:
            os.close(theirs)
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(end, mode) for (_, end), mode in zip(pipes, ("wb", "rb", "rb"), strict=True)
        )
        self.ask = ask

    def wait(self):
        """Return the exit code, or minus the signal that ended it."""
        return self.ask("wait", self.pid)


class Programs:
    """The process that forks others."""

    def __init__(self, end):
        self.end, self.opened = end, contextlib.ExitStack()

    def ask(self, *given, files=()):
        """Ask for something, and wait for the answer."""
        socket.send_fds(self.end, [json.dumps(given).encode()], files)
        return json.loads(self.end.recv(1000))

    def start(self, *arguments, largest=None):
        """Start ``maxmargin`` here, with files of at most so many bytes, until the test ends.

        In the middle of a long fit it makes the file FITTING.
        """
        program = Program(self.ask, os.getcwd(), list(map(str, arguments)), largest)
        guard = threading.Timer(PATIENCE / 3, os.kill, (program.pid, signal.SIGKILL))
        guard.start()
        self.opened.callback(guard.cancel)
        for file in (program.stdin, program.stdout, program.stderr):
            self.opened.enter_context(file)
        return program


def run_apart(module, function, given):
    """Let ``children.main`` work in a process of its own; return its exit code, output and errors."""
    programs = Programs(forking())
    with open(os.devnull) as silent, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files = [silent.fileno(), out.fileno(), err.fileno()]
        child = programs.ask("work", os.getcwd(), module, function, given, files=files)
        guard = threading.Timer(PATIENCE - 10, os.kill, (child, signal.SIGKILL))
        guard.start()
        try:
            code = programs.ask("wait", child)
        finally:
            guard.cancel()
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


@functools.cache
def forking():
    """Start the process that forks others, once for all test files, and return our end of its socket."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, __file__, str(theirs.fileno())]
    parent = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    theirs.close()
    ours.settimeout(PATIENCE)

    def end():
        with parent, ours:
            parent.kill()

    atexit.register(end)
    return ours


@pytest.fixture
def programs():
    """Start programs, and ask for other things."""
    found = Programs(forking())
    with found.opened:
        yield found


def start(files, folder, arguments, largest):
    """Fork, and run the program with three standard files; return its id."""
    from maxmargin.cli.main import main

    child = fork(files, folder)
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by a shell's background jobs
        if largest is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        tell_of_fit()
    return child or main(arguments)  # which ends the process as it ends the program


def work(files, folder, module, function, given):
    """Fork, and do the work of a test with three standard files; return the id of the process."""
    import children

    child = fork(files, folder)
    if not child:
        code = 1
        try:
            warnings.resetwarnings()
            children.main(module, function, given)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return child


def fork(files, folder):
    """Return the id of a new process; in it 0, and it is in a folder with three standard files."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        for number, file in enumerate(files):
            os.dup2(file, number)
    for file in files:
        os.close(file)
    return child


def tell_of_fit():
    """Make the file FITTING once the clock, which a fit reads again and again, was read so often."""
    clock, readings = time.perf_counter, itertools.count(1)

    def told_of():
        if next(readings) == READINGS:
            Path(FITTING).touch()
        return clock()

    time.perf_counter = told_of


def serve(asked):
    """Do what is asked for until nobody asks."""
    from streaming import keep_killing

    while True:
        text, files, *_ = socket.recv_fds(asked, 1 << 16, 3)
        if not text:
            return
        name, *given = json.loads(text)
        if name == "start":
            answer = start(files, *given)
        elif name == "work":
            answer = work(files, *given)
        elif name == "kill a stream":
            answer = keep_killing(*given)
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(*given, 0)[1])
        asked.sendall(json.dumps(answer).encode())


def warm():
    """Import and compile what the programs need, before forking."""
    import maxmargin as mm
    from maxmargin.cli import inputs, output  # noqa: F401
    from maxmargin.stream import session  # noqa: F401

    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]], [0, 1, 1]
    for model in (mm.SoftMarginSVC(), mm.HardMarginSVC(), mm.Perceptron(order="shuffled")):
        model.fit(X, y).predict(X)
    mm.Perceptron().learn_one({"a": 1.0}, 0)


if __name__ == "__main__":
    warm()
    warnings.simplefilter("error")
    with socket.socket(fileno=int(sys.argv[1])) as end:
        serve(end)
