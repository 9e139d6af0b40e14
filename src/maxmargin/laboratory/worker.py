"""``python -m maxmargin.laboratory.worker``: one process that answers requests, one after the other.

On standard input and output travel frames: four bytes of length (big-endian), then that many bytes of
JSON. The first frame out says that the worker is warm. A worker ends when its input ends, even in the
middle of a computation, so none outlives its server, however that one ended.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import struct
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from maxmargin.laboratory.protocol import Answer, respond, to_json

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
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
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


def _read(pipe: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:2])
