"""A few workers for everybody: no request blocks another, and the latest one wins.

Every connection has a desk with channels. On a channel one request runs and one waits, the newest; a
request that a newer one replaces is answered with "dropped". One that has been running for longer than
``PATIENCE`` when it is replaced is ended, and its worker with it, as soon as a warm one can take over:
there is always one to spare, so ending costs nobody a wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from maxmargin.laboratory.messages import dropped, failed, text_of
from maxmargin.laboratory.process import Worker, WorkerEndedError
from maxmargin.laboratory.staff import Staff
from maxmargin.laboratory.worker import ENGINE

__all__ = ["Desk", "Job", "Pool"]

PATIENCE = 0.25  # seconds a replaced request may go on
SECONDS = 10.0  # a request may take this long
PER_DESK = 3  # running at a time for one connection, so that another always finds a worker
CHANNELS = 32  # per connection


TOO_MANY = f"A page has at most {CHANNELS} channels. Wait for replies before asking on a new one."
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
class Desk:
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
    """Who is served next: the desks take turns."""

    def __init__(self, engine: str = ENGINE, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.staff = Staff(engine, self._dispatch, self._give_up)
        self.desks: list[Desk] = []
        self.stale: set[Job] = set()  # replaced, and running for too long
        self.ending: set[Job] = set()  # of these, whose worker was told to end

    def open(self) -> None:
        """Start the first workers; requests that come before they are warm wait."""
        self.staff.open()

    async def close(self) -> None:
        """End all workers and wait until they are gone."""
        await self.staff.close()

    def desk(self, send: Callable[[str], Awaitable[None]]) -> Desk:
        """A place for a new connection."""
        self.desks.append(Desk(send))
        return self.desks[-1]

    def leave(self, desk: Desk) -> None:
        """A connection is gone: nobody waits for its answers any more."""
        self.desks.remove(desk)
        desk.waiting.clear()
        for job in desk.running.values():
            self._replace(job)

    async def submit(self, desk: Desk, job: Job) -> None:
        """Take a request; reply at once to the one it replaces."""
        channel = job.channel
        if len({*desk.waiting, *desk.running, channel}) > CHANNELS:
            return await desk.send(text_of(failed(job.id, TOO_MANY)))
        if self.staff.hopeless:
            return await desk.send(text_of(failed(job.id, NO_WORKER)))
        older = desk.waiting.get(channel)
        desk.waiting[channel] = job
        if channel in desk.running:
            self._replace(desk.running[channel])
        self._dispatch()
        if older is not None:
            await desk.send(text_of(dropped(older.id)))
        return None

    def _dispatch(self) -> None:
        """Give idle workers the next requests, the desks in turn; end what is stale for the others."""
        # One page may use all workers; of several, none takes the last one.
        most = PER_DESK if len(self.desks) == 1 else min(PER_DESK, max(1, self.staff.warm - 1))
        while ready := next((desk for desk in self.desks if desk.ready(most)), None):
            worker = self.staff.take()
            if worker is None:
                break
            self.desks.remove(ready)
            self.desks.append(ready)
            self._run(ready, ready.next(), worker)
        # Without a spare worker, ending one would only mean waiting for a new one.
        for job in list(self.stale - self.ending)[: max(0, len(self.staff.idle) - len(self.ending))]:
            self.ending.add(job)
            job.worker.end()

    def _run(self, desk: Desk, job: Job, worker: Worker) -> None:
        job.worker, job.since = worker, asyncio.get_running_loop().time()
        desk.running[job.channel] = job
        self.staff.task(self._serve(desk, job, worker))

    async def _serve(self, desk: Desk, job: Job, worker: Worker) -> None:
        """Run a request to its end, whichever it is, and send the reply."""
        try:
            reply = await asyncio.wait_for(worker.ask(job.text), self.seconds)
        except TimeoutError:
            reply = text_of(failed(job.id, TOO_LONG.format(self.seconds)))
            self.staff.lose(worker)
        except WorkerEndedError:
            reply = text_of(dropped(job.id) if job in self.ending else failed(job.id, LOST))
            self.staff.lose(worker)
        else:
            self.staff.give_back(worker)
            reply = reply if job.finish is None else job.finish(reply)
        job.done = True
        self.stale.discard(job)
        self.ending.discard(job)
        self._dispatch()
        try:
            await desk.send(reply)
        finally:  # the channel is free only when the reply is on its way: a slow reader waits for itself
            del desk.running[job.channel]
        self._dispatch()

    def _replace(self, job: Job) -> None:
        """A newer request came, or nobody waits any more: stale if it goes on for too long."""

        def too_long() -> None:
            if not job.done:
                self.stale.add(job)
                self._dispatch()

        spent = asyncio.get_running_loop().time() - job.since
        self.staff.later(max(0.0, PATIENCE - spent), too_long, job)

    async def _give_up(self) -> None:
        """No worker starts: say so to all who wait."""
        for desk in list(self.desks):
            jobs = list(desk.waiting.values())
            desk.waiting.clear()
            for job in jobs:
                await desk.send(text_of(failed(job.id, NO_WORKER)))
