"""Compiled loops: a few lines each, one sweep, the lectures' letters. No policy, no stopping rule.

A kernel reaches a row only through the primitives in ``kernels.rows``, which exist once for dense
and once for sparse rows; so every kernel exists once. Numba is imported here and nowhere else.
"""
