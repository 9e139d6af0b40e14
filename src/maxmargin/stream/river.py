"""Perceptrons as models of River, for its pipelines and its progressive validation."""

from __future__ import annotations

from functools import cache
from typing import Any

from maxmargin.core.errors import InputError


def as_river(model: Any, classes: Any = None) -> Any:
    """Wrap a model with ``learn_one`` and ``predict_one`` as a classifier of River.

    Parameters
    ----------
    model : Perceptron, PocketPerceptron or BatchPerceptron
        It is learned in place: ``wrapped.model`` is the same object.
    classes : array-like, optional
        All labels; needed for more than two.

    Returns
    -------
    river.base.Classifier
        Fit for ``river.evaluate.progressive_val_score`` and for pipelines.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | mm.stream.as_river(mm.Perceptron(average=True))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.03%
    """
    return _kind()(model, classes)


@cache
def _kind() -> Any:
    try:
        from river import base
    except ImportError:
        raise InputError(
            "as_river needs the package river. Got none instead. Install it: pip install river."
        ) from None

    class MaxMarginClassifier(base.Classifier):
        """A classifier of River that asks a model of maxmargin."""

        def __init__(self, model: Any, classes: Any = None) -> None:
            self.model = model
            self.classes = classes

        @property
        def _multiclass(self) -> bool:
            return True

        @classmethod
        def _unit_test_params(cls) -> Any:
            from maxmargin.estimators.perceptron import Perceptron

            yield {"model": Perceptron()}

        def learn_one(self, x: dict[Any, float], y: Any) -> None:
            """Learn from one example."""
            self.model.learn_one(x, y, self.classes)

        def predict_one(self, x: dict[Any, float], **_: Any) -> Any:
            """Return the label of one example; None before any is known."""
            return self.model.predict_one(x)

    return MaxMarginClassifier
