"""Workers: processes that answer requests one after the other, and a pool of them for everybody.

``python -m maxmargin.laboratory.workers`` is one worker. On its standard input and output travel frames:
four bytes of length (big-endian), then that many bytes of JSON. The first frame out says that the worker
is warm. It ends when its input ends, even in the middle of a computation, so none outlives its server,
however that one ended.

In the pool no request blocks another, and the latest one wins. Every connection has channels. On a
channel one request runs and one waits, the newest; a request that a newer one replaces is answered with
"dropped". One that has been running for longer than ``PATIENCE`` when it is replaced is ended, and its
worker with it, as soon as a warm one can take over: there is always one to spare, so ending costs nobody
a wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, BinaryIO

from maxmargin.laboratory.protocol import Answer, dropped, failed, respond, to_json

ENGINE = "maxmargin.laboratory.engine"
FRAME_HEAD = struct.Struct(">I")
EXAMPLE = [[0.0, 0.0, 0, 0], [1.0, 0.0, 0, 0], [0.0, 2.0, 1, 0], [1.0, 2.0, 1, 0], [0.5, 2.5, 1, 1]]


def frame(text: bytes) -> bytes:
    """A text with its length before it."""
    return FRAME_HEAD.pack(len(text)) + text


def main(engine: str = ENGINE) -> None:
    """Answer until the input ends."""
    # The pipe to the server is kept apart: whatever a library prints goes to standard error instead.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's business
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_frames, args=(sys.stdin.buffer, requests), daemon=True).start()
    answer: Answer = import_module(engine).answer
    _warm(answer)
    try:
        _send(replies, b'{"ready":true}')
        while True:
            request = json.loads(requests.get())
            _send(replies, to_json(respond(request, answer)).encode())
    except BrokenPipeError:  # the server is gone
        os._exit(0)


def _send(replies: BinaryIO, text: bytes) -> None:
    replies.write(frame(text))
    replies.flush()


def _read_frames(pipe: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    """Pass frames on; at the end of the input end the process, whatever it is doing."""
    while head := pipe.read(FRAME_HEAD.size):
        requests.put(pipe.read(FRAME_HEAD.unpack(head)[0]))
    os._exit(0)


def _warm(answer: Answer) -> None:
    """Load and compile what the first answers need, before anybody waits for them."""
    for algorithm in ("perceptron", "batch", "pocket", "hard", "soft"):
        state = {"v": 1, "points": EXAMPLE, "labels": ["-1", "+1"], "algorithm": algorithm}
        with suppress(Exception):  # not the place to judge: a real request gets its error as a reply
            answer({"id": 0, "ask": "solve", "state": state})


# The server's side: a process with a pipe to it and a pipe from it.

# Several workers share the machine: each computes with one thread.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerEndedError(Exception):
    """The process ended before it answered."""


class Worker:
    """A process that answers one request at a time, a pipe to it and a pipe from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.requests, self.replies = process, process.stdin, process.stdout
        self.gone = asyncio.get_running_loop().create_task(process.wait())

    @classmethod
    async def start(cls, engine: str = ENGINE) -> Worker:
        """Start the process; it still has to get warm.

        It runs in a session of its own, so that Ctrl-C reaches the server alone, and looks for modules
        where they are installed, never in the current directory.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-W", "ignore", "-m", "maxmargin.laboratory.workers", engine),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**dict.fromkeys(THREADS, "1"), **os.environ},
            start_new_session=True,
            limit=2**20,
        )
        return cls(process)

    async def ask(self, request: str) -> str:
        """Send a request and wait for its reply."""
        try:
            self.requests.write(frame(request.encode()))
            await self.requests.drain()
        except (ConnectionError, RuntimeError) as error:  # the pipe is broken, or closed already
            raise WorkerEndedError from error
        return (await self.receive()).decode()

    async def receive(self) -> bytes:
        """Wait for the next frame: the first says that the worker is warm, the others are replies."""
        try:
            head = await self.replies.readexactly(FRAME_HEAD.size)
            return await self.replies.readexactly(FRAME_HEAD.unpack(head)[0])
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise WorkerEndedError from error

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.returncode is None

    def end(self) -> None:
        """End the process at once."""
        if not self.alive:
            return
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.kill()
            else:  # not Process.kill: it looks for the exit code itself, which asyncio then misses
                os.kill(self.process.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait until the process is gone and its pipes are closed."""
        await self.gone
        self.requests.close()
        with suppress(ConnectionError):
            await self.requests.wait_closed()


# How many workers there are: two at first, more under load that lasts, one to spare whenever possible.
#
# A worker takes seconds to get warm. So one is kept in reserve, and a lost one is replaced before it is
# missed.

MIN_WORKERS, MAX_WORKERS = 2, 5
GROW_AFTER = 0.2  # seconds without a spare worker
SHRINK_AFTER = 60.0  # seconds of a worker without work, if another is spare
START_TIMEOUT = 240.0  # a worker that is not warm by then never will be; the first one ever compiles

PATIENCE = 0.25  # seconds a replaced request may go on
SECONDS = 10.0  # a request may take this long
MAX_RUNNING = 3  # requests at a time of one connection, so that another always finds a worker
MAX_CHANNELS = 32  # per connection

TOO_MANY = f"A page has at most {MAX_CHANNELS} channels. Wait for replies before asking on a new one."
TOO_LONG = "This took longer than {:g} seconds and was ended. Use fewer points or updates."
LOST = "The worker ended before it answered. A new one takes over: ask again."
NO_WORKER = "The lab could not start its worker. Look at the terminal where it runs for the reason."


@dataclass(eq=False)
class Job:
    """One request on its way; ``finish`` has the last word on the text of its reply."""

    id: int
    channel: str
    text: str
    finish: Callable[[str], str] | None = None
    worker: Worker = field(init=False)
    since: float = 0.0
    done: bool = False


@dataclass(eq=False)
class Connection:
    """The requests of one connection, by channel, and the way back to it."""

    send: Callable[[str], Awaitable[None]]
    waiting: dict[str, Job] = field(default_factory=dict)
    running: dict[str, Job] = field(default_factory=dict)

    def next(self) -> Job | None:
        """The request that may start and whose channel has waited longest."""
        return next((job for name, job in self.waiting.items() if name not in self.running), None)

    def start(self, worker: Worker) -> Job:
        """Move that request to those that run."""
        job = self.next()
        assert job is not None
        job.worker, job.since = worker, asyncio.get_running_loop().time()
        self.running[job.channel] = self.waiting.pop(job.channel)
        return job


class Pool:
    """Who is served next, and by which worker: the connections take turns."""

    def __init__(self, engine: str = ENGINE, seconds: float = SECONDS) -> None:
        self.engine, self.seconds = engine, seconds
        self.connections: list[Connection] = []
        self.size = 0  # workers that are there or about to be
        self.warm = 0  # of these, the ones that can work
        self.failures = 0  # to start one, since the last success
        self.idle: dict[Worker, asyncio.Future[tuple[Connection, Job]]] = {}  # and what they wait for
        self.stale: set[Job] = set()  # replaced, and running for too long
        self.ending: set[Job] = set()  # of these, whose worker was told to end
        self.tasks: set[asyncio.Task[None]] = set()
        self.growth: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Start the first workers; requests that come before they are warm wait."""
        for _ in range(MIN_WORKERS):
            self._add_worker()

    async def close(self) -> None:
        """End all workers, and wait until they are gone."""
        if self.growth is not None:
            self.growth.cancel()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def connect(self, send: Callable[[str], Awaitable[None]]) -> Connection:
        """A place for a new connection."""
        self.connections.append(Connection(send))
        return self.connections[-1]

    def leave(self, connection: Connection) -> None:
        """A connection is gone: nobody waits for its answers any more."""
        self.connections.remove(connection)
        connection.waiting.clear()
        for job in connection.running.values():
            self._replace(job)

    async def submit(self, connection: Connection, job: Job) -> None:
        """Take a request; reply at once to the one it replaces."""
        channel = job.channel
        if len({*connection.waiting, *connection.running, channel}) > MAX_CHANNELS:
            return await connection.send(to_json(failed(job.id, TOO_MANY)))
        if self.hopeless:
            return await connection.send(to_json(failed(job.id, NO_WORKER)))
        older = connection.waiting.get(channel)
        connection.waiting[channel] = job
        if channel in connection.running:
            self._replace(connection.running[channel])
        self._dispatch()
        if older is not None:
            await connection.send(to_json(dropped(older.id)))
        return None

    @property
    def hopeless(self) -> bool:
        """Whether there is no worker, and the last attempts to start one failed."""
        return self.failures > 1 and not self.warm

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside everything else, until the end of the server at most."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _add_worker(self) -> None:
        self.size += 1
        self._task(self._keep_worker())

    def _grow(self) -> None:
        """One more worker if there is still none to spare, and none is getting warm."""
        self.growth = None
        if self.warm == self.size < MAX_WORKERS and not self.idle:
            self._add_worker()

    async def _keep_worker(self) -> None:
        """Start a worker, start another when it has ended, until none is needed here any more."""
        needed = True
        while needed:
            worker, wait = None, 0.0
            try:
                worker = await Worker.start(self.engine)
                await asyncio.wait_for(worker.receive(), START_TIMEOUT)
                self.failures = 0
                needed = await self._employ(worker)
            except (WorkerEndedError, TimeoutError, OSError):
                self.failures += 1
                if self.hopeless:
                    await self._give_up()
                if self.failures > 1:
                    wait = min(30.0, 2.0**self.failures)
            finally:
                if worker is not None:
                    worker.end()
                    await worker.ended()
            await asyncio.sleep(wait)
        self.size -= 1

    async def _employ(self, worker: Worker) -> bool:
        """Let a warm worker serve until it ends; whether another is needed in its place."""
        self.warm += 1
        try:
            while True:
                self.idle[worker] = job = asyncio.get_running_loop().create_future()
                self._dispatch()
                either = [job, worker.gone]
                await asyncio.wait(either, timeout=SHRINK_AFTER, return_when=asyncio.FIRST_COMPLETED)
                self.idle.pop(worker, None)
                if job.done():
                    if not await self._serve(worker, *job.result()):
                        return True
                elif not worker.alive:
                    return True
                elif self.idle and self.size > MIN_WORKERS:
                    return False
        finally:
            self.warm -= 1

    def _dispatch(self) -> None:
        """Give idle workers the next requests, by turns; end what is stale for the others."""
        # One page may use all workers; of several, none takes the last one.
        most = MAX_RUNNING
        if len(self.connections) > 1:
            most = min(most, max(1, self.warm - 1))
        while self.idle:
            ready = next((c for c in self.connections if len(c.running) < most and c.next()), None)
            if ready is None:
                break
            self.connections.remove(ready)
            self.connections.append(ready)
            worker, wanted = self.idle.popitem()
            job = ready.start(worker)
            wanted.set_result((ready, job))
        if not self.idle and self.growth is None:
            self.growth = asyncio.get_running_loop().call_later(GROW_AFTER, self._grow)
        # Without a spare worker, ending one would only mean waiting for a new one.
        for job in list(self.stale - self.ending)[: max(0, len(self.idle) - len(self.ending))]:
            self.ending.add(job)
            job.worker.end()

    async def _serve(self, worker: Worker, connection: Connection, job: Job) -> bool:
        """Run a request to its end, whichever it is; whether the worker can take another."""
        alive = False
        try:
            reply = await asyncio.wait_for(worker.ask(job.text), self.seconds)
        except TimeoutError:
            reply = to_json(failed(job.id, TOO_LONG.format(self.seconds)))
        except WorkerEndedError:
            reply = to_json(dropped(job.id) if job in self.ending else failed(job.id, LOST))
        else:
            alive = True
            reply = reply if job.finish is None else job.finish(reply)
        job.done = True
        self.stale.discard(job)
        self.ending.discard(job)
        self._task(self._reply(connection, job, reply))
        return alive

    async def _reply(self, connection: Connection, job: Job, reply: str) -> None:
        """Send a reply and free its channel, in this order: a slow reader waits for itself."""
        try:
            await connection.send(reply)
        finally:
            del connection.running[job.channel]
        self._dispatch()

    def _replace(self, job: Job) -> None:
        """A newer request came, or nobody waits any more: stale if it goes on for too long."""

        def too_long() -> None:
            if not job.done:
                self.stale.add(job)
                self._dispatch()

        loop = asyncio.get_running_loop()
        loop.call_later(max(0.0, PATIENCE - (loop.time() - job.since)), too_long)

    async def _give_up(self) -> None:
        """No worker starts: say so to all who wait."""
        for connection in list(self.connections):
            jobs = list(connection.waiting.values())
            connection.waiting.clear()
            for job in jobs:
                await connection.send(to_json(failed(job.id, NO_WORKER)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
