"""What happened, epoch by epoch: the table behind every learning curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

__all__ = ["Epoch", "History"]

MOST = 100_000  # lines of a history


class Epoch(NamedTuple):
    """One pass over the training rows, as it stood at the end of the pass.

    Attributes
    ----------
    epoch : int
        1 for the first pass.
    mistakes : int
        Updates made in this pass (for the batch perceptron: misclassified rows before the step); in a
        long history all since the line before.
    training_error : float
        E_in, the share of training rows with y·f(x) ≤ 0; nan where it was not measured.
    validation_error : float
        The same on the validation rows; nan without validation.
    norm : float
        ‖w‖, without the bias.
    seconds : float
        Since the start of the run.
    risk : float
        The perceptron risk R(w, b) at the end of the pass (batch perceptron); nan otherwise.
    running_error : float
        E_in of the running weights (pocket, whose ``training_error`` is the pocket's); else nan.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Perceptron().fit([[90, 80], [40, 30], [50, 40]], [1, -1, -1])
    >>> last = model.history_[-1]
    >>> last.epoch, last.mistakes, last.training_error
    (10, 0, 0.0)
    """

    epoch: int
    mistakes: int
    training_error: float
    validation_error: float
    norm: float
    seconds: float
    risk: float = float("nan")
    running_error: float = float("nan")


class History(Sequence[Epoch]):
    """A sequence of :class:`Epoch`; ``history["mistakes"]`` is a column as an array.

    A run without end does not fill the memory: of 100,000 lines every two are joined, with the mistakes
    of both and all else as it stood after the second.

    Examples
    --------
    >>> import maxmargin as mm
    >>> history = mm.Perceptron().fit([[90, 80], [40, 30], [50, 40]], [1, -1, -1]).history_
    >>> len(history), history["mistakes"].tolist()
    (10, [3, 1, 3, 3, 3, 3, 3, 3, 3, 0])
    """

    def __init__(self, epochs: Sequence[Epoch] = ()) -> None:
        self._epochs = list(epochs)

    def append(self, epoch: Epoch) -> None:
        """Add one epoch."""
        if len(self._epochs) >= MOST:
            pairs = zip(self._epochs[::2], self._epochs[1::2], strict=False)
            odd = self._epochs[-1:] if len(self._epochs) % 2 else []
            self._epochs = [b._replace(mistakes=a.mistakes + b.mistakes) for a, b in pairs] + odd
        self._epochs.append(epoch)

    @property
    def passed(self) -> int:
        """How many epochs there were."""
        return self._epochs[-1].epoch if self._epochs else 0

    def amend(self, **values: Any) -> None:
        """Write some values of the last epoch anew."""
        self._epochs[-1] = self._epochs[-1]._replace(**values)

    @overload
    def __getitem__(self, key: int) -> Epoch: ...
    @overload
    def __getitem__(self, key: slice) -> History: ...
    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...

    def __getitem__(self, key: int | slice | str) -> Epoch | History | np.ndarray:
        if isinstance(key, str):
            if key not in self.columns():
                raise KeyError(f"{key!r} is not a column; the columns are {self.columns()}")
            return np.array([getattr(e, key) for e in self._epochs])
        if isinstance(key, slice):
            return History(self._epochs[key])
        return self._epochs[key]

    def __len__(self) -> int:
        return len(self._epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self._epochs)

    def __repr__(self) -> str:
        return f"History({len(self)} epochs, columns {', '.join(self.columns())})"

    @staticmethod
    def columns() -> list[str]:
        """Names of the columns."""
        return list(Epoch._fields)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per epoch, ready for ``pandas.DataFrame`` or JSON."""
        return [e._asdict() for e in self._epochs]
