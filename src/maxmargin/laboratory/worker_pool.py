"""A few workers for everybody: no request blocks another, and the latest one wins.

Every connection has channels. On a channel one request runs and one waits, the newest; a request that a
newer one replaces is answered with "dropped". One that has been running for longer than
``PATIENCE`` when it is replaced is ended, and its worker with it, as soon as a warm one can take over:
there is always one to spare, so ending costs nobody a wait.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from maxmargin.laboratory.protocol import dropped, failed, text_of
from maxmargin.laboratory.worker import ENGINE, FRAME_HEAD, frame

# Several workers share the machine: each computes with one thread.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerEndedError(Exception):
    """The process ended before it answered."""


class Worker:
    """A process that answers one request at a time, a pipe to it and a pipe from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.requests, self.replies = process, process.stdin, process.stdout

    @classmethod
    async def start(cls, engine: str = ENGINE) -> Worker:
        """Start the process; it still has to get warm.

        It runs in a session of its own, so that Ctrl-C reaches the server alone, and looks for modules
        where they are installed, never in the current directory.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-W", "ignore", "-m", "maxmargin.laboratory.worker", engine),
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
        await self.process.wait()
        self.requests.close()
        with suppress(ConnectionError):
            await self.requests.wait_closed()


# How many workers there are: two at first, more under load that lasts, one to spare whenever possible.
#
# A worker takes seconds to get warm. So one is kept in reserve, a lost one is replaced before it is
# missed, and new ones are started one after the other, lest they take the time from those that work.

MIN_WORKERS, MAX_WORKERS = 2, 5
GROW_AFTER, SHRINK_AFTER = 0.2, 60.0  # seconds without a spare worker, and with needless spare ones
START_TIMEOUT = 240.0  # a worker that is not warm by then never will be; the first one ever compiles


class Workers:
    """The workers of a server; ``ready`` is called when one is warm, ``give_up`` when none starts."""

    def __init__(
        self, engine: str, ready: Callable[[], None], give_up: Callable[[], Awaitable[None]]
    ) -> None:
        self.engine, self.ready, self.give_up = engine, ready, give_up
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.in_transit: set[Worker] = set()  # not yet warm, or on its way out
        self.starting = 0
        self.failures = 0
        self.closed = False
        self.tasks: set[asyncio.Task[None]] = set()
        self.timers: dict[object, asyncio.TimerHandle] = {}

    @property
    def warm(self) -> int:
        """How many can work."""
        return len(self.idle) + len(self.busy)

    @property
    def hopeless(self) -> bool:
        """Whether none is there, and the last attempts to start one failed."""
        return self.failures > 1 and not self.warm

    def open(self) -> None:
        """Start the first ones; requests that come before they are warm wait."""
        for _ in range(MIN_WORKERS):
            self._start()

    async def close(self) -> None:
        """End all, and wait until they are gone."""
        self.closed = True
        for timer in self.timers.values():
            timer.cancel()
        workers = {*self.idle, *self.busy, *self.in_transit}
        self.idle.clear()
        for worker in workers:
            worker.end()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.gather(*(worker.ended() for worker in workers))

    def take(self) -> Worker | None:
        """An idle worker for some work, if there is one."""
        while self.idle and not self.idle[-1].alive:
            self.lose(self.idle.pop())
        worker = self.idle.pop() if self.idle else None
        if worker is not None:
            self.busy.add(worker)
        if not self.idle:
            self.later(GROW_AFTER, self._grow, "grow")
        return worker

    def give_back(self, worker: Worker) -> None:
        """A worker has done its work."""
        self.busy.discard(worker)
        self.idle.append(worker)

    def lose(self, worker: Worker) -> None:
        """A worker is of no use any more: end and replace it."""
        self.busy.discard(worker)
        self._end(worker)
        self._grow()

    def task(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside everything else, until the end of the server at most."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def later(self, seconds: float, act: Callable[[], None], name: object) -> None:
        """Act once, some time later; a second call under the same name changes nothing until then."""

        def do() -> None:
            del self.timers[name]
            act()

        if not self.closed and name not in self.timers:
            self.timers[name] = asyncio.get_running_loop().call_later(seconds, do)

    def _start(self) -> None:
        self.starting += 1
        self.task(self._started())

    async def _started(self) -> None:
        """Start a worker and put it to the idle ones when it is warm."""
        worker = None
        try:
            worker = await Worker.start(self.engine)
            self.in_transit.add(worker)
            await asyncio.wait_for(worker.receive(), START_TIMEOUT)
        except (WorkerEndedError, TimeoutError, OSError):
            self.starting -= 1
            self.failures += 1
            if worker is not None:
                self._end(worker)
            return await self._failed()
        self.in_transit.discard(worker)
        self.starting -= 1
        self.failures = 0
        self.idle.append(worker)
        self.later(SHRINK_AFTER, self._shrink, "shrink")
        return self.ready()

    async def _failed(self) -> None:
        """A worker did not start. Try again at once; after that, later."""
        if self.failures == 1:
            return self._grow()
        self.later(min(30.0, 2.0**self.failures), self._grow, "again")
        return await self.give_up() if self.hopeless else None

    def _end(self, worker: Worker) -> None:
        async def wait() -> None:
            await worker.ended()
            self.in_transit.discard(worker)

        self.in_transit.add(worker)
        worker.end()
        self.task(wait())

    def _grow(self) -> None:
        """One more worker if there is none to spare."""
        total = self.warm + self.starting
        needed = total < MIN_WORKERS or not self.idle
        if needed and not self.closed and not self.starting and total < MAX_WORKERS:
            self._start()

    def _shrink(self) -> None:
        """One worker less if several are to spare."""
        if self.warm > MIN_WORKERS:
            if len(self.idle) > 1:
                self._end(self.idle.pop(0))
            self.later(SHRINK_AFTER, self._shrink, "shrink")


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

    def ready(self, most: int) -> bool:
        """Whether a request of this connection may start when so many may run."""
        return len(self.running) < most and not self.waiting.keys() <= self.running.keys()

    def next(self) -> Job:
        """The request that may start and whose channel has waited longest."""
        return self.waiting.pop(next(name for name in self.waiting if name not in self.running))


class Pool:
    """Who is served next: the connections take turns."""

    def __init__(self, engine: str = ENGINE, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.workers = Workers(engine, self._dispatch, self._give_up)
        self.connections: list[Connection] = []
        self.stale: set[Job] = set()  # replaced, and running for too long
        self.ending: set[Job] = set()  # of these, whose worker was told to end

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
            return await connection.send(text_of(failed(job.id, TOO_MANY)))
        if self.workers.hopeless:
            return await connection.send(text_of(failed(job.id, NO_WORKER)))
        older = connection.waiting.get(channel)
        connection.waiting[channel] = job
        if channel in connection.running:
            self._replace(connection.running[channel])
        self._dispatch()
        if older is not None:
            await connection.send(text_of(dropped(older.id)))
        return None

    def _dispatch(self) -> None:
        """Give idle workers the next requests, by turns; end what is stale for the others."""
        # One page may use all workers; of several, none takes the last one.
        most = MAX_RUNNING
        if len(self.connections) > 1:
            most = min(most, max(1, self.workers.warm - 1))
        while ready := next(
            (connection for connection in self.connections if connection.ready(most)), None
        ):
            worker = self.workers.take()
            if worker is None:
                break
            self.connections.remove(ready)
            self.connections.append(ready)
            job = ready.next()
            job.worker, job.since = worker, asyncio.get_running_loop().time()
            ready.running[job.channel] = job
            self.workers.task(self._serve(ready, job, worker))
        # Without a spare worker, ending one would only mean waiting for a new one.
        for job in list(self.stale - self.ending)[: max(0, len(self.workers.idle) - len(self.ending))]:
            self.ending.add(job)
            job.worker.end()

    async def _serve(self, connection: Connection, job: Job, worker: Worker) -> None:
        """Run a request to its end, whichever it is, and send the reply."""
        try:
            reply = await asyncio.wait_for(worker.ask(job.text), self.seconds)
        except TimeoutError:
            reply = text_of(failed(job.id, TOO_LONG.format(self.seconds)))
            self.workers.lose(worker)
        except WorkerEndedError:
            reply = text_of(dropped(job.id) if job in self.ending else failed(job.id, LOST))
            self.workers.lose(worker)
        else:
            self.workers.give_back(worker)
            reply = reply if job.finish is None else job.finish(reply)
        job.done = True
        self.stale.discard(job)
        self.ending.discard(job)
        self._dispatch()
        try:
            await connection.send(reply)
        finally:  # the channel is free only when the reply is on its way: a slow reader waits for itself
            del connection.running[job.channel]
        self._dispatch()

    def _replace(self, job: Job) -> None:
        """A newer request came, or nobody waits any more: stale if it goes on for too long."""

        def too_long() -> None:
            if not job.done:
                self.stale.add(job)
                self._dispatch()

        spent = asyncio.get_running_loop().time() - job.since
        self.workers.later(max(0.0, PATIENCE - spent), too_long, job)

    async def _give_up(self) -> None:
        """No worker starts: say so to all who wait."""
        for connection in list(self.connections):
            jobs = list(connection.waiting.values())
            connection.waiting.clear()
            for job in jobs:
                await connection.send(text_of(failed(job.id, NO_WORKER)))
