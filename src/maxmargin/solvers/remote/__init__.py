"""Margin machines on rows that stay in their partitions: a few rounds, small summaries, small problems.

Each partition answers a question about a plane; the small problem that the answers pose is solved here,
by the same solvers as in memory.
"""
