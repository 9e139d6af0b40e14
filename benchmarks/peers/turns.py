"""Turns of many contestants, each in a process of its own: none can stop the others.

A contestant is prepared (imports, conversion to its own format, a fit of a few rows), then it waits for
its turns. In every round each contestant has one turn while the others sleep. A turn that exceeds the
limit ends the process, and so does a crash or too much memory: all are outcomes like any other.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

METHODS = multiprocessing.get_all_start_methods()
CONTEXT: Any = multiprocessing.get_context("fork" if "fork" in METHODS else "spawn")
PAUSE = 0.02  # seconds between turns: threads of one's BLAS must not spin beside the next
WATCH = 0.003  # seconds between two looks at the memory of a first turn


@dataclass
class Outcome:
    """What became of a contestant: its best time, or why it has none."""

    seconds: float | None = None
    turns: int = 0
    memory: int | None = None  # bytes beyond those before the first turn, at most
    trouble: str = ""  # "" if all went well
    found: dict[str, Any] = field(default_factory=dict)  # what the first turn reported


@dataclass
class Budget:
    """How long a contestant may take."""

    rounds: int
    limit: float  # seconds for one turn, and for all turns together
    ready: float  # seconds for the preparation


def private_bytes(pid: int | None) -> int | None:
    """The memory that a process has for itself, or None where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
        return 1024 * int(text.split("RssAnon:")[1].split()[0])
    except (OSError, IndexError):
        return None


def _bounded() -> None:
    """Let this process have half of the machine's memory beyond what it has: no other must suffer."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = (pages + os.sysconf("SC_PHYS_PAGES") // 2) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):
        pass  # where the system has no such limits


def _serve(pipe: Any, prepare: Callable[[], Callable[[], Any]]) -> None:
    """The life of a contestant: get ready, then one turn for each message."""
    warnings.simplefilter("ignore")
    _bounded()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        run = prepare()
        gc.collect()
        pipe.send(("ready", None))
        while pipe.recv():
            pipe.send(("done", run()))
    except EOFError:
        pass
    except BaseException as error:
        lines = str(error).strip().splitlines() or [""]
        pipe.send(("failed", f"{type(error).__name__}: {lines[0]}"[:160].rstrip(": ")))
    finally:
        os._exit(0)  # nothing of the parent's is cleaned up twice


class Contestant:
    """A process that takes turns."""

    def __init__(self, prepare: Callable[[], Callable[[], Any]], budget: Budget) -> None:
        self.outcome, self._budget, self._total = Outcome(), budget, 0.0
        self._pipe, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(theirs, prepare), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fork beside the threads of a BLAS, which allow for it
            self._process.start()
        theirs.close()
        self._wait(budget.ready, "getting ready")

    @property
    def wants(self) -> bool:
        """Whether it has another turn."""
        alive = self._process.is_alive() and not self.outcome.trouble
        return alive and self.outcome.turns < self._budget.rounds and self._total < self._budget.limit

    def turn(self) -> None:
        """Run once; the first turn is watched for its memory."""
        time.sleep(PAUSE)
        before = private_bytes(self._process.pid) if self.outcome.turns == 0 else None
        began = time.perf_counter()
        with contextlib.suppress(OSError):  # it may have ended while it slept: then there is no answer
            self._pipe.send(True)
        answer = self._wait(self._budget.limit, "", before)
        self._total += time.perf_counter() - began
        if answer is None:
            return
        seconds, found = answer
        if self.outcome.turns == 0:
            self.outcome.found = found
        best = self.outcome.seconds
        self.outcome.seconds = seconds if best is None else min(best, seconds)
        self.outcome.turns += 1

    def _wait(self, limit: float, doing: str, before: int | None = None) -> Any:
        """The answer; None, and the reason in ``trouble``, if there is none in time."""
        ends, peak = time.perf_counter() + limit, before or 0
        while not self._pipe.poll(WATCH if before is not None else max(0.0, ends - time.perf_counter())):
            if before is not None:
                peak = max(peak, private_bytes(self._process.pid) or 0)
                self.outcome.memory = peak - before
            if time.perf_counter() >= ends:
                self.outcome.trouble = f"> {limit:g} s" + (f" {doing}" if doing else "")
                self.close()
                return None
        try:
            kind, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            self.outcome.trouble = f"its process ended ({self._process.exitcode})"
            return None
        if kind == "failed":
            self.outcome.trouble = answer
            return None
        if before is not None:
            peak = max(peak, private_bytes(self._process.pid) or 0)
            self.outcome.memory = peak - before
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join(5)
        self._pipe.close()


def compete(
    contestants: dict[str, Callable[[], Callable[[], Any]]], budget: Budget
) -> dict[str, Outcome]:
    """Give every contestant its turns; return what became of each.

    A contestant is a function that prepares it and returns its turn: a function without arguments that
    returns its seconds and a dict of what it found.
    """
    gc.freeze()  # the collector of a child must not copy the parent's pages
    fields = {name: Contestant(prepare, budget) for name, prepare in contestants.items()}
    try:
        for _ in range(budget.rounds):
            for contestant in fields.values():
                if contestant.wants:
                    contestant.turn()
    finally:
        for contestant in fields.values():
            contestant.close()
    return {name: contestant.outcome for name, contestant in fields.items()}
