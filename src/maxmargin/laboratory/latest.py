"""Requests of a notebook's widget, answered in the kernel: per channel only the latest one waits."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from maxmargin.laboratory.messages import (
    Answer,
    MalformedError,
    channel_of,
    dropped,
    failed,
    parsed,
    respond,
    text_of,
)

__all__ = ["Latest"]


class Latest:
    """Answers one request after the other, in a thread that is there only while there is work.

    Dragging asks faster than Python may answer: a request that still waits when a newer one of its
    channel comes is dropped, so there is never more than one waiting per channel.
    """

    def __init__(self, answer: Answer, send: Callable[[dict[str, Any]], None]) -> None:
        self.answer, self.send = answer, send
        self.waiting: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def put(self, content: Any) -> None:
        """Take a message of the page."""
        try:
            request = parsed(json.dumps(content))
        except (MalformedError, TypeError, ValueError) as error:
            self.send(failed(getattr(error, "id", None), str(error)))
            return
        channel = channel_of(request)
        with self.lock:
            older = self.waiting.get(channel)
            self.waiting[channel] = request
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="maxmargin lab", daemon=True)
                self.thread.start()
        if older is not None:
            self.send(dropped(older["id"]))

    def forget(self) -> None:
        """Nobody waits any more."""
        with self.lock:
            self.waiting.clear()

    def join(self) -> None:
        """Wait until everything is answered."""
        thread = self.thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    self.thread = None
                    return
                request = self.waiting.pop(next(iter(self.waiting)))
            reply = respond(request, self.answer)
            self.send(json.loads(text_of(reply)))  # plain numbers and lists, and no NaN
