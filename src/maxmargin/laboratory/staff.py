"""How many workers there are: two at first, more under load that lasts, one to spare whenever possible.

A worker takes seconds to get warm. So one is kept in reserve, a lost one is replaced before it is
missed, and new ones are started one after the other, lest they take the time from those that work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from maxmargin.laboratory.process import Worker, WorkerEndedError

__all__ = ["Staff"]

FEWEST, MOST = 2, 5
GROW, SHRINK = 0.2, 60.0  # seconds without a spare worker, and with spare ones to no use
STARTING = 240.0  # a worker that is not warm by then never will be; the first one ever compiles


class Staff:
    """The workers of a server.

    Parameters
    ----------
    engine : str
        The module whose ``answer`` they call.
    ready : callable
        Called when one more worker is warm.
    give_up : callable
        Awaited when none can be started.
    """

    def __init__(
        self, engine: str, ready: Callable[[], None], give_up: Callable[[], Awaitable[None]]
    ) -> None:
        self.engine, self.ready, self.give_up = engine, ready, give_up
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.passing: set[Worker] = set()  # not yet warm, or on its way out
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
        """Start the first ones."""
        for _ in range(FEWEST):
            self._start()

    async def close(self) -> None:
        """End all, and wait until they are gone."""
        self.closed = True
        for timer in self.timers.values():
            timer.cancel()
        workers = {*self.idle, *self.busy, *self.passing}
        self.idle.clear()
        for worker in workers:
            worker.end()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.gather(*(worker.ended() for worker in workers))

    def take(self) -> Worker | None:
        """An idle worker for some work, if there is one."""
        worker = None
        while self.idle and worker is None:
            worker = self.idle.pop()
            self.busy.add(worker)
            if not worker.alive:
                self.lose(worker)
                worker = None
        if not self.idle:
            self.later(GROW, self._grow, "grow")
        return worker

    def give_back(self, worker: Worker) -> None:
        """A worker has done its work."""
        self.busy.discard(worker)
        self.idle.append(worker)

    def lose(self, worker: Worker) -> None:
        """A worker is of no use any more: see it off, and replace it."""
        self.busy.discard(worker)
        self._see_off(worker)
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
            self.passing.add(worker)
            await asyncio.wait_for(worker.warm(), STARTING)
        except (WorkerEndedError, TimeoutError, OSError):
            self.starting -= 1
            self.failures += 1
            if worker is not None:
                self._see_off(worker)
            return await self._failed()
        self.passing.discard(worker)
        self.starting -= 1
        self.failures = 0
        self.idle.append(worker)
        self.later(SHRINK, self._shrink, "shrink")
        return self.ready()

    async def _failed(self) -> None:
        """A worker did not start. Try again at once; after that, later."""
        if self.failures == 1:
            return self._grow()
        self.later(min(30.0, 2.0**self.failures), self._grow, "again")
        return await self.give_up() if self.hopeless else None

    def _see_off(self, worker: Worker) -> None:
        async def wait() -> None:
            await worker.ended()
            self.passing.discard(worker)

        self.passing.add(worker)
        worker.end()
        self.task(wait())

    def _grow(self) -> None:
        """One more worker if there is none to spare."""
        total = self.warm + self.starting
        few = total < FEWEST or not self.idle
        if few and not self.closed and not self.starting and total < MOST:
            self._start()

    def _shrink(self) -> None:
        """One worker less if several are to spare."""
        if self.warm > FEWEST:
            if len(self.idle) > 1:
                self._see_off(self.idle.pop(0))
            self.later(SHRINK, self._shrink, "shrink")
