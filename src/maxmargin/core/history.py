"""What happened in a fit: a line for every epoch, and on request every update; and its checkpoints.

:class:`History` is the table behind every learning curve, :class:`Trace` the film from which animations
are cut.

Solvers leave their states in stages. A fit is a sequence of calls of solvers; each asks for its
:class:`Stage`, goes on from what an earlier process left there, and hands in its state after every epoch
or pass. Without a checkpoint nothing is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any, NamedTuple, overload

import numpy as np

from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.errors import InputError

MAX_LINES = 100_000


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
        Since the start of the run. Epochs on small data share out the time of one compiled call.
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
        if len(self._epochs) >= MAX_LINES:
            pairs = zip(self._epochs[::2], self._epochs[1::2], strict=False)
            odd = self._epochs[-1:] if len(self._epochs) % 2 else []
            self._epochs = [b._replace(mistakes=a.mistakes + b.mistakes) for a, b in pairs] + odd
        self._epochs.append(epoch)

    def extend(self, epochs: Sequence[Epoch]) -> None:
        """Add some epochs."""
        if len(self._epochs) + len(epochs) <= MAX_LINES:
            self._epochs += epochs
            return
        for epoch in epochs:
            self.append(epoch)

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


FORMAT = "maxmargin-trace-1"


@dataclass(frozen=True, slots=True)
class Update:
    """One update: which row, when, how wrong, and the weights afterwards.

    Attributes
    ----------
    step : int
        How many rows had been looked at, this one included (batch perceptron: the step number).
    row : int
        Index of the training row (batch perceptron: −1, all misclassified rows together).
    margin : float
        y·f(x) before the update, scaled as the run scales its rows (batch: −R, minus the risk).
    weights : numpy.ndarray
        z = (w, b) after the update.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Perceptron(record=True).fit([[90, 80], [40, 30]], [1, -1])
    >>> for update in model.trace_[:3]:
    ...     print(update.step, update.row, update.margin)
    1 0 0.0
    2 1 -6001.0
    4 1 -3500.0
    """

    step: int
    row: int
    margin: float
    weights: np.ndarray


class Trace(Sequence[Update]):
    """The updates of a run, and the weights it started from: ``trace_`` of a run with ``record=True``.

    A sequence of :class:`Update`; a slice of it is a shorter trace.

    Examples
    --------
    >>> import maxmargin as mm
    >>> trace = mm.Perceptron(record=True).fit([[90, 80], [40, 30]], [1, -1]).trace_
    >>> trace[0].row, trace[0].weights.tolist()
    (0, [90.0, 80.0, 1.0])
    >>> mm.Trace.from_json(trace.to_json())
    Trace(17 updates, 3 weights with the bias)
    """

    def __init__(self, start: np.ndarray, updates: Sequence[Update] = ()) -> None:
        self.start = start
        self._updates = list(updates)

    def append(self, update: Update) -> None:
        """Add one update."""
        self._updates.append(update)

    @overload
    def __getitem__(self, key: int) -> Update: ...
    @overload
    def __getitem__(self, key: slice) -> Trace: ...

    def __getitem__(self, key: int | slice) -> Update | Trace:
        if isinstance(key, slice):
            return Trace(self.start, self._updates[key])
        return self._updates[key]

    def __len__(self) -> int:
        return len(self._updates)

    def __iter__(self) -> Iterator[Update]:
        return iter(self._updates)

    def __repr__(self) -> str:
        return f"Trace({len(self)} updates, {len(self.start)} weights with the bias)"

    def negated(self) -> Trace:
        """Return the trace of the same run with the two classes exchanged."""
        turned = [Update(u.step, u.row, u.margin, 0.0 - u.weights) for u in self._updates]
        return Trace(0.0 - self.start, turned)

    @property
    def weights(self) -> np.ndarray:
        """All weights (w, b): the start in row 0, then one row per update."""
        return np.array([self.start, *(u.weights for u in self._updates)])

    def animate(self, X: Any, y: Any, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Show the run on its data X, y: ten updates slowly, a hundred fast; saved to ``path`` if given.

        See :func:`maxmargin.plots.animate` for the options; it needs matplotlib.
        """
        return import_module("maxmargin.plots.film.animation").animate(self, X, y, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain lists and numbers; floats keep every bit as decimal text."""
        return {
            "format": FORMAT,
            "start": self.start.tolist(),
            "updates": [
                {"step": u.step, "row": u.row, "margin": u.margin, "weights": u.weights.tolist()}
                for u in self._updates
            ],
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the trace as JSON text, written to ``path`` if one is given."""
        text = json.dumps(self.to_dict(), allow_nan=False)
        if path is not None:
            write_atomically(path, text.encode())
        return text

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read back what :meth:`to_json` wrote."""
        try:
            body = json.loads(text)
            if body["format"] != FORMAT:
                raise KeyError(body["format"])
            start = np.array(body["start"], dtype=np.float64)
            updates = [
                Update(u["step"], u["row"], u["margin"], np.array(u["weights"], dtype=np.float64))
                for u in body["updates"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"a trace must be JSON text of format {FORMAT!r}, as Trace.to_json writes it. "
                f"Got text that fails with {error!r} instead."
            ) from error
        return cls(start, updates)


State = Callable[[], dict[str, Any]]  # plain values, arrays, histories and traces, by name


class Stage:
    """One call of a solver; this one keeps nothing."""

    def resume(self, fresh: State) -> dict[str, Any] | None:
        """Return the state that an earlier process left, if any; it has the form of a fresh one."""
        return None

    def keep(self, state: State, ended: bool = False) -> None:
        """Keep the state if it is time; in any case if it is the last one of this call."""


class Stages:
    """Hands out stages; ``elapsed`` are the seconds that earlier processes have taken."""

    elapsed = 0.0

    def stage(self) -> Stage:
        """Return the stage of the next call."""
        return Stage()


# The stages of the fit that runs here; None without a checkpoint.
current_stages: ContextVar[Stages | None] = ContextVar("stages", default=None)


def next_stage() -> Stage:
    """Return the stage of a solver that is about to run."""
    return (current_stages.get() or Stages()).stage()


def elapsed() -> float:
    """Return the seconds that earlier processes have taken for this fit."""
    return (current_stages.get() or Stages()).elapsed


@contextmanager
def keeping(stages: Stages) -> Iterator[None]:
    """Let the solvers that run inside keep their states in these stages."""
    token = current_stages.set(stages)
    try:
        yield
    finally:
        current_stages.reset(token)
