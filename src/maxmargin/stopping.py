"""Stopping rules, combined with ``|`` (any of them) and ``&`` (all of them)."""

from maxmargin.core.stopping import (
    AllCorrect,
    Cycle,
    MaxEpochs,
    MaxSeconds,
    MaxUpdates,
    NeverStops,
    Progress,
    StoppingRule,
    StopReason,
    TrainingErrorStalls,
    ValidationErrorStalls,
    WeightsSettle,
)

__all__ = [
    "AllCorrect",
    "Cycle",
    "MaxEpochs",
    "MaxSeconds",
    "MaxUpdates",
    "NeverStops",
    "Progress",
    "StopReason",
    "StoppingRule",
    "TrainingErrorStalls",
    "ValidationErrorStalls",
    "WeightsSettle",
]
