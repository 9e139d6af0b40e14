"""Pictures of what the lectures draw, made from real estimators.

Displays in scikit-learn's manner: made by ``from_…``, which computes once and draws; ``plot(ax)`` draws
again elsewhere, and the artists are kept as attributes ending in an underscore. They need matplotlib:
``pip install 'maxmargin[plots]'``.
"""

from maxmargin.plots.xspace import XSpaceDisplay

__all__ = ["XSpaceDisplay"]
