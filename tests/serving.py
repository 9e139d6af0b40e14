"""A real lab server in a process of its own, and plain clients for it."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

HERE = Path(__file__).parent
CALL = """
import json, sys
from maxmargin.laboratory import workers
from maxmargin.laboratory.server import serve
options = json.loads(sys.argv[1])
workers.PATIENCE = options.pop("patience", workers.PATIENCE)
sys.exit(serve(**options))
"""


class Served:
    """A running server: its process, its link and the numbers of its workers."""

    def __init__(self, process, url, pids):
        self.process, self.url, self.pids = process, url, pids
        self.host = urlsplit(url).netloc
        self.origin = f"http://{self.host}"
        self.query = urlsplit(url).query

    def workers(self):
        """The processes of the workers that are still there."""
        return [int(path.name) for path in self.pids.iterdir() if alive(int(path.name))]

    def connect(self, **options):
        """A websocket to the server; as the page would open it, unless told otherwise."""
        query = f"?{self.query}" if self.query else ""
        options = {"origin": self.origin, "proxy": None, "max_size": None, **options}
        return connect(f"ws://{self.host}/ws{query}", **options)

    def get(self, path="/", method="GET", **headers):
        """The response to a plain request, and its content."""
        connection = http.client.HTTPConnection(self.host, timeout=300)
        try:
            connection.request(method, path, headers={"Host": self.host, **headers})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def stop(self, number=signal.SIGINT, seconds=60):
        """End the server by a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextmanager
def served(pids, *, engine="standin", **options):
    """A server on a free port with the stand-in engine; ended at the end, with what it started."""
    options = {"open_browser": False, "engine": engine, **options}
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        "STANDIN_PIDS": str(pids),
        "PYTHONWARNINGS": "error",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    server = None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), process.stderr.read()
        server = Served(process, url, Path(pids))
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server for all tests of a file; a request is not ended for want of time."""
    with served(tmp_path_factory.mktemp("pids"), seconds=600) as server:
        yield server


@pytest.fixture
def own_lab(tmp_path):
    """A server that a test may harm, likewise."""
    with served(tmp_path, seconds=600) as server:
        yield server


def alive(pid):
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    with suppress(OSError):
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def until(condition, seconds=300.0):
    """Wait until something holds; whether it did in time."""
    end = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return held


def tell(socket, number, ask, **more):
    """Send a request."""
    socket.send(json.dumps({"id": number, "ask": ask, **more}))


def hear(socket, seconds=300.0):
    """The next reply. The very first one may have to wait until everything is compiled."""
    return json.loads(socket.recv(timeout=seconds))


def ask(socket, number, ask, **more):
    """Send a request and wait for its reply."""
    tell(socket, number, ask, **more)
    return hear(socket)
