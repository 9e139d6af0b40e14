"""Benchmarks: ratios against peers, interleaved in one run, best of several."""
