"""Algorithms: one per file, policy in plain Python, data only through ``rows`` and ``kernels``."""
