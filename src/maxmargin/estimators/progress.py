"""Telling the world how a fit is going: a progress bar, and scikit-learn's callbacks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from maxmargin.core.errors import Remedy
from maxmargin.core.parameters import Deadline, check_count, check_number

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

try:
    from sklearn import callback as sklearn_callback
except ImportError:  # scikit-learn before 1.9 has no callbacks
    sklearn_callback = None


class _NoCallbacks:
    """Stands for scikit-learn's mixin where there is none."""


CallbackSupportMixin: Any = getattr(sklearn_callback, "CallbackSupportMixin", _NoCallbacks)
F = TypeVar("F", bound=Callable[..., Any])


def with_callbacks(method: F) -> F:
    """Set up and tear down the estimator's callbacks around ``method``, where there are any."""
    if sklearn_callback is None:
        return method
    return cast(F, sklearn_callback.with_callbacks(method))


PATIENCE = 0.5  # seconds before a progress bar appears
OFTEN = 0.1  # seconds between two notes beside it


class Bar:
    """A progress bar on standard error, shown from its first note on."""

    def __init__(self, name: str, total: int | None) -> None:
        self.name, self.total = name, total
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def show(self, note: str, completed: int = 0) -> None:
        """Show how far the work is."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=self.total, note="")
        assert self._task is not None
        self._bar.update(self._task, completed=completed, note=note)

    def stop(self) -> None:
        """Leave it as it stands."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def shown(name: str, end: float) -> Iterator[Deadline]:
    """A deadline at which some work ends, with a bar of this name if the work is long."""
    bar, next_note = Bar(name, None), time.perf_counter() + PATIENCE

    def tell(doing: str) -> None:
        nonlocal next_note
        now = time.perf_counter()
        if doing and now > next_note:
            next_note = now + OFTEN
            bar.show(doing)

    try:
        yield Deadline(end, tell)
    finally:
        bar.stop()


def time_limit(
    name: str, max_seconds: float | None, verbose: int = 0
) -> AbstractContextManager[Deadline]:
    """Check both options; return the deadline of some work as a context, with a bar of this name."""
    check_count("verbose", verbose, least=0)
    if max_seconds is not None:
        check_number("max_seconds", max_seconds, above=0, remedy=Remedy("None means no limit"))
    end = time.perf_counter() + (math.inf if max_seconds is None else max_seconds)
    if not verbose:
        return nullcontext(Deadline(end))
    return shown(name, end)


class Watch:
    """Observes epochs: shows a bar if asked to and the fit is long, and calls callbacks.

    ``attributes`` turns the weights of all ``machines`` into the fitted attributes a callback may
    predict with; where some have stopped, or run on their own, it has none.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        total: int | None,
        machines: int,
        attributes: Callable[[np.ndarray], dict[str, Any]],
    ) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self.machines, self.attributes = machines, attributes
        self._bar = Bar(type(estimator).__name__, total)
        self._context: Any = None

    def __enter__(self) -> Watch:
        self._began = time.perf_counter()
        if getattr(self.estimator, "_skl_callbacks", None):
            self._context = self.estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._bar.stop()
        if self._context is not None and kind is None:
            self._context.call_on_fit_task_end(estimator=self.estimator, X=self.X, y=self.y)

    def epoch(self, epoch: int, mistakes: int, weights: Callable[[], np.ndarray]) -> bool:
        """Report the end of an epoch; True if a callback asks to stop."""
        return self.step("epoch", epoch, f"{mistakes} mistakes in it", weights)

    def step(self, unit: str, number: int, note: str, weights: Callable[[], np.ndarray]) -> bool:
        """Report the end of an epoch or a pass; True if a callback asks to stop."""
        if self.estimator.verbose and time.perf_counter() - self._began > PATIENCE:
            self._bar.show(f"{unit} {number}, {note}", number)
        if self._context is None:
            return False
        given: dict[str, Any] = {"estimator": self.estimator, "X": self.X, "y": self.y}
        task = self._context.subcontext(task_name=unit)
        task.call_on_fit_task_begin(**given)
        Z = weights()
        attributes = self.attributes(Z) if len(Z) == self.machines else None
        return bool(task.call_on_fit_task_end(**given, reconstruction_attributes=attributes))


def watching(estimator: Any, *given: Any) -> Watch | None:
    """Return what observes a fit (see :class:`Watch`), if somebody wants to know how it is going."""
    wanted = estimator.verbose or getattr(estimator, "_skl_callbacks", None)
    return Watch(estimator, *given) if wanted else None
