"""SHA-256 whose state can be handed on: that of ``hashlib`` cannot leave its process.

See FIPS 180-4 (National Institute of Standards and Technology 2015).
"""

from __future__ import annotations

from struct import pack
from typing import NamedTuple, Self

import numpy as np

from maxmargin.kernels.sha256 import FIRST, absorb

__all__ = ["Resumable"]

BLOCK = 64  # bytes


class Resumable(NamedTuple):
    """The digest of the bytes so far."""

    state: np.ndarray  # eight words, of all whole blocks
    rest: np.ndarray  # bytes that do not fill a block yet
    length: int  # bytes in all

    @classmethod
    def empty(cls) -> Self:
        """No bytes yet."""
        return cls(FIRST.copy(), np.empty(0, np.uint8), 0)

    def grown(self, data: np.ndarray) -> Self:
        """The digest after more bytes."""
        state, first = self.state.copy(), 0
        rest = self.rest
        if len(rest):
            first = min(BLOCK - len(rest), len(data))
            rest = np.concatenate([rest, data[:first]])
            if len(rest) == BLOCK:
                absorb(state, rest)
                rest = rest[:0]
        last = first + (len(data) - first) // BLOCK * BLOCK
        absorb(state, data[first:last])
        rest = np.concatenate([rest, data[last:]])
        return type(self)(state, rest, self.length + len(data))

    def digest(self) -> bytes:
        """The digest of all bytes: after a one, zeros, and their number in bits."""
        zeros = -(len(self.rest) + 9) % BLOCK
        end = b"\x80" + bytes(zeros) + pack(">Q", 8 * self.length)
        state = self.grown(np.frombuffer(bytearray(end), np.uint8)).state
        return state.astype(">u4").tobytes()
