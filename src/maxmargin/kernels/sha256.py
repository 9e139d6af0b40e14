"""The compression function of SHA-256, in the letters of the standard."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.kernels.jit import jit


def _fraction(value: int, power: int) -> int:
    """The first 32 bits of the fraction of a square (power 2) or cube root (3)."""
    if power == 2:
        return math.isqrt(value << 64) & 0xFFFFFFFF
    scaled, root = value << 96, 0
    for bit in reversed(range(40)):
        if (root | 1 << bit) ** 3 <= scaled:
            root |= 1 << bit
    return root & 0xFFFFFFFF


PRIMES = [p for p in range(2, 312) if all(p % q for q in range(2, math.isqrt(p) + 1))]
FIRST = np.array([_fraction(p, 2) for p in PRIMES[:8]], dtype=np.uint32)
K = np.array([_fraction(p, 3) for p in PRIMES], dtype=np.uint32)


@jit
def turned(x: np.uint32, k: int) -> np.uint32:
    """Turn the bits of a word to the right."""
    return np.uint32(np.uint32(x >> np.uint32(k)) | np.uint32(x << np.uint32(32 - k)))


@jit
def absorb(H: np.ndarray, data: np.ndarray) -> None:
    """Take in whole blocks of 64 bytes."""
    W = np.empty(64, np.uint32)
    for start in range(0, len(data), 64):
        for t in range(16):
            j = start + 4 * t
            high = np.uint32(data[j]) << np.uint32(24) | np.uint32(data[j + 1]) << np.uint32(16)
            W[t] = np.uint32(high | np.uint32(data[j + 2]) << np.uint32(8) | np.uint32(data[j + 3]))
        for t in range(16, 64):
            s0 = turned(W[t - 15], 7) ^ turned(W[t - 15], 18) ^ np.uint32(W[t - 15] >> np.uint32(3))
            s1 = turned(W[t - 2], 17) ^ turned(W[t - 2], 19) ^ np.uint32(W[t - 2] >> np.uint32(10))
            W[t] = np.uint32(s1 + W[t - 7] + s0 + W[t - 16])
        a, b, c, d, e, f, g, h = H[0], H[1], H[2], H[3], H[4], H[5], H[6], H[7]
        for t in range(64):
            s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
            T1 = np.uint32(h + s1 + ((e & f) ^ (~e & g)) + K[t] + W[t])
            s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
            T2 = np.uint32(s0 + ((a & b) ^ (a & c) ^ (b & c)))
            h, g, f, e = g, f, e, np.uint32(d + T1)
            d, c, b, a = c, b, a, np.uint32(T1 + T2)
        H[0] += a
        H[1] += b
        H[2] += c
        H[3] += d
        H[4] += e
        H[5] += f
        H[6] += g
        H[7] += h
