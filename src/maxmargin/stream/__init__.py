"""Learning from a stream: predict, see the label, learn; with checkpoints that resume to the same bits.

:func:`run` works on any iterable of examples, :func:`hashed` bounds the number of features, and
:func:`as_river` makes a perceptron a model of River. The command line (``maxmargin stream``) does the
same to lines of text, many at a time.
"""

from maxmargin.stream.learner import hashed
from maxmargin.stream.river import as_river
from maxmargin.stream.session import run

__all__ = ["as_river", "hashed", "run"]
