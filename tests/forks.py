"""Our program in processes of its own, forked from one that has imported all of it: milliseconds each.

A test file imports the fixture ``programs``. The signals, pipes, limits and exit codes are real.
"""

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
import threading
import time
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


@functools.cache
def forking(config):
    """Start the process that forks others, once for all test files, and return our end of its socket."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, __file__, str(theirs.fileno())]
    parent = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    theirs.close()
    ours.settimeout(PATIENCE)

    def end():
        with parent, ours:
            parent.kill()

    config.add_cleanup(end)
    return ours


@pytest.fixture
def programs(request):
    """Start programs, and ask for other things."""
    found = Programs(forking(request.config))
    with found.opened:
        yield found


def start(files, folder, arguments, largest):
    """Fork, and run the program with three standard files; return its id."""
    from maxmargin.cli.main import main

    child = os.fork()
    if not child:
        os.chdir(folder)
        for number, file in enumerate(files):
            os.dup2(file, number)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by a shell's background jobs
        if largest is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        tell_of_fit()
    for file in files:
        os.close(file)
    return child or main(arguments)  # which ends the process as it ends the program


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
        elif name == "kill a stream":
            answer = keep_killing(*given)
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(*given, 0)[1])
        asked.sendall(json.dumps(answer).encode())


def warm():
    """Import and compile what the programs need, before forking."""
    import maxmargin as mm
    from maxmargin.cli import fit, predict, stream  # noqa: F401

    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]], [0, 1, 1]
    for model in (mm.SoftMarginSVC(), mm.HardMarginSVC(), mm.Perceptron(order="shuffled")):
        model.fit(X, y).predict(X)
    mm.Perceptron().learn_one({"a": 1.0}, 0)


if __name__ == "__main__":
    warm()
    warnings.simplefilter("error")
    with socket.socket(fileno=int(sys.argv[1])) as end:
        serve(end)
