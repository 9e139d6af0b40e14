"""Exact arithmetic: signs of planes, dependent rows, the simplex method, and the verdict they lead to.

Doubles are whole numbers times powers of two, so every question about signs and sums of rows has an
answer in integers. Floating point is used to guess, and to decide what its error bounds decide.
"""
