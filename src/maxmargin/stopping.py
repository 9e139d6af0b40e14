"""When to stop: small named rules, combined with ``|`` (any of them) and ``&`` (all of them).

>>> from maxmargin.stopping import MaxSeconds, ValidationErrorStalls
>>> rule = ValidationErrorStalls(patience=3) | MaxSeconds(60)
>>> print(rule)
ValidationErrorStalls(patience=3, tol=0.0, fraction=0.1) | MaxSeconds(seconds=60)
"""

from maxmargin.core.stopping_rules import (
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
