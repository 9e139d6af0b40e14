"""Machines on rows that stay in their partitions: what is asked of these, and what comes back.

The soft margin is :mod:`maxmargin.solvers.margin.soft_margin_partitions`, the verdict on separability
:mod:`maxmargin.solvers.exact.objections`.
"""
