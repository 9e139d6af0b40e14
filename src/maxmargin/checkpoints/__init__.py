"""Checkpoints of fits: see :func:`checkpoint`."""

from maxmargin.checkpoints.fit import CheckpointedFit, checkpoint

__all__ = ["CheckpointedFit", "checkpoint"]
