"""Small examples by name, and made data whose answer is known before any solver has run.

``load`` returns what the lectures draw on the board. The generators place the points that decide the
answer on a grid of binary fractions, so that the doubles in X are the construction itself, not a rounded
copy of it: the largest margin of :func:`make_separable` is a number one can compare with ``==``.

>>> from maxmargin import datasets
>>> X, y, margin = datasets.make_separable(200, 4, 0.25)
>>> X.shape, margin
((200, 4), 0.25)
"""

from maxmargin.datasets.examples import Dataset, load, names
from maxmargin.datasets.generators import make_overlapping, make_separable, make_touching

__all__ = ["Dataset", "load", "make_overlapping", "make_separable", "make_touching", "names"]
