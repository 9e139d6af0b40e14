"""One worker as the server sees it: a process, a pipe to it and a pipe from it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

from maxmargin.laboratory.worker import ENGINE, HEAD, frame

__all__ = ["Worker", "WorkerEndedError"]

# Several workers share the machine: each computes with one thread.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerEndedError(Exception):
    """The process ended before it answered."""


class Worker:
    """A process that answers one request at a time."""

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

    async def warm(self) -> None:
        """Wait until it is ready for requests."""
        await self._receive()

    async def ask(self, request: str) -> str:
        """Send a request and wait for its reply."""
        try:
            self.requests.write(frame(request.encode()))
            await self.requests.drain()
        except (ConnectionError, RuntimeError) as error:  # the pipe is broken, or closed already
            raise WorkerEndedError from error
        return (await self._receive()).decode()

    async def _receive(self) -> bytes:
        try:
            head = await self.replies.readexactly(HEAD.size)
            return await self.replies.readexactly(HEAD.unpack(head)[0])
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
