"""Pictures of what the lectures draw, made from real estimators.

Displays in scikit-learn's manner: made by ``from_…``, which computes once and draws; ``plot(ax)`` draws
again elsewhere, and the artists are kept as attributes ending in an underscore. They need matplotlib:
``pip install 'maxmargin[plots]'``.
"""

from maxmargin.plots.certificate import CertificateDisplay
from maxmargin.plots.film.animation import animate
from maxmargin.plots.learning import ErrorDisplay
from maxmargin.plots.mistakes import MistakesDisplay
from maxmargin.plots.path import PathDisplay
from maxmargin.plots.report.page import write_report
from maxmargin.plots.risk import RiskDisplay
from maxmargin.plots.separability import SeparabilityDisplay
from maxmargin.plots.w_space import BothSpaces, WSpaceDisplay, both_spaces
from maxmargin.plots.weight_space import WeightSpaceDisplay
from maxmargin.plots.x_space import XSpaceDisplay

__all__ = [
    "BothSpaces",
    "CertificateDisplay",
    "ErrorDisplay",
    "MistakesDisplay",
    "PathDisplay",
    "RiskDisplay",
    "SeparabilityDisplay",
    "WSpaceDisplay",
    "WeightSpaceDisplay",
    "XSpaceDisplay",
    "animate",
    "both_spaces",
    "write_report",
]
