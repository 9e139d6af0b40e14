"""The online protocol on any iterable of examples."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import check_number
from maxmargin.stream.session import StreamState, read_state, write_state


def run(
    iterable: Iterable[tuple[Any, Any]],
    model: Any,
    classes: Any = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 10.0,
) -> Iterator[tuple[Any, bool | None]]:
    """Predict each example, then learn from it.

    Parameters
    ----------
    iterable : iterable of (x, y)
        Examples: x a vector or a dict, y its label, or None to predict only.
    model : Perceptron, or any model with ``predict_one`` and ``learn_one``
        It is learned in place.
    classes : array-like, optional
        All labels; needed for more than two.
    checkpoint : path, optional
        A file for the state of the model and the number of examples learned. If it exists, the model is
        brought into the state in it and as many examples of the iterable are skipped: the same examples
        from their beginning give the same bits as a run that was never interrupted.
    every : float ≥ 0, default 10
        Seconds between checkpoints; there is one more at the end. A checkpoint counts an example when
        the next one is asked for.

    Yields
    ------
    prediction : label
        None while no label is known.
    mistake : bool
        Whether it differs from y; None if there is no y. No prediction is a mistake.

    Examples
    --------
    >>> import maxmargin as mm
    >>> examples = [({"a": 1.0}, "yes"), ({"b": 2.0}, "no"), ({"a": 2.0}, "yes")]
    >>> list(mm.stream.run(examples, mm.Perceptron()))
    [(None, True), ('yes', True), ('yes', False)]
    """
    check_number("every", every, least=0)
    for method in ("predict_one", "learn_one"):
        if not hasattr(model, method):
            raise InputError(
                f"model must have predict_one and learn_one. Got {type(model).__name__} instead. "
                "Use a Perceptron."
            )
    if checkpoint is None:
        return (_step(x, y, model, classes) for x, y in iterable)
    return _checkpointed(iterable, model, classes, checkpoint, every)


def _step(x: Any, y: Any, model: Any, classes: Any) -> tuple[Any, bool | None]:
    prediction = model.predict_one(x)
    if y is None:
        return prediction, None
    if classes is None:
        model.learn_one(x, y)
    else:
        model.learn_one(x, y, classes)
    return prediction, bool(prediction is None or prediction != y)


def _checkpointed(
    iterable: Iterable[tuple[Any, Any]],
    model: Any,
    classes: Any,
    path: str | os.PathLike[str],
    every: float,
) -> Iterator[tuple[Any, bool | None]]:
    state = read_state(path)
    if state is None:
        state = StreamState(model)
    else:
        _bring(model, state, path)
    tally, last = state.tally, time.monotonic()
    examples = itertools.islice(iterable, tally.examples, None)
    for x, y in examples:
        answer = _step(x, y, model, classes)
        yield answer
        tally.examples += 1
        if answer[1] is not None:
            tally.labelled += 1
            tally.mistakes += answer[1]
        if time.monotonic() - last >= every:
            write_state(state, path)
            last = time.monotonic()
    write_state(state, path)


def _bring(model: Any, state: StreamState, path: str | os.PathLike[str]) -> None:
    """Bring a model into the state of a checkpoint, if it is one of the same parameters."""
    saved = state.model
    same = type(saved) is type(model) and repr(saved.get_params()) == repr(model.get_params())
    if not same:
        raise InputError(
            f"{path}: the checkpoint must be of this model, {model!r}. Got {saved!r} instead. Use the "
            "same parameters, or another file."
        )
    vars(model).clear()
    vars(model).update(vars(saved))
    state.model = model
