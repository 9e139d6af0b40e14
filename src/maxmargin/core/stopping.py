"""Rules that end a run because it is done, or would never be."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.core.params import check_count
from maxmargin.core.phrases import count
from maxmargin.core.rules import Check, Progress, StoppingRule, StopReason, otherwise

__all__ = ["AllCorrect", "Cycle", "NeverStops"]


@dataclass(frozen=True)
class AllCorrect(StoppingRule):
    """Every training row has y·f(x) > δ: the perceptron would never change again.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Perceptron(threshold=1.0).fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> print(model.stop_reason_)
    All training points are correct (y·f(x) > 1) after 2 updates in 2 epochs: the classes are separated.
    """

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if not p.all_correct:
                return None
            beyond = f" (y·f(x) > {p.threshold:g})" if p.threshold else ""
            text = (
                f"All training points are correct{beyond} after {count(p.updates, 'update')} "
                f"in {count(p.epoch, 'epoch')}: the classes are separated."
            )
            return StopReason("all_correct", text, solved=True)

        return check


@dataclass(frozen=True)
class Cycle(StoppingRule):
    """The weights came back exactly to an earlier value: the run provably never ends.

    With rows in a fixed order an epoch is a function of the weights alone, so one repetition means
    repetition for ever. One earlier value is kept and moved on at epochs 1, 2, 4, 8, … (Brent 1980),
    which finds a cycle of any length with the memory of one weight vector.

    Examples
    --------
    >>> import maxmargin as mm
    >>> xor = mm.datasets.load("xor")
    >>> mm.Perceptron().fit(xor.X, xor.y).stop_reason_.rule
    'cycle'
    """

    def watch(self) -> Check:
        """Start watching one run."""
        kept: bytes = b""
        since, horizon = 0, 1

        def check(p: Progress) -> StopReason | None:
            nonlocal kept, since, horizon
            if not p.repeats or p.mistakes == 0:
                return None
            kept = kept or p.before.tobytes()
            since += 1
            now = p.weights.tobytes()
            if now == kept:
                text = (
                    f"The weights after epoch {p.epoch} are exactly those after epoch "
                    f"{p.epoch - since}, so the run would repeat for ever. Unless the weights have "
                    "outgrown the precision of doubles, this proves that no plane separates the "
                    f"classes: {otherwise(p)}."
                )
                return StopReason("cycle", text)
            if since == horizon:
                kept, since, horizon = now, 0, 2 * horizon
            return None

        return check


@dataclass(frozen=True)
class NeverStops(StoppingRule):
    """Exact arithmetic proves that no plane separates the classes: the run would never end.

    After ``patience`` epochs with mistakes the verdict of :func:`maxmargin.separability` is asked for,
    once. If the classes are separable, the run goes on; otherwise it ends, and ``stop_reason_.verdict``
    holds the verdict with its witness and proof.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import NeverStops
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Perceptron(stop=NeverStops(patience=2)).fit(X[50:], y[50:])
    >>> model.stop_reason_.rule, model.stop_reason_.verdict.kind
    ('never_stops', 'overlapping')
    """

    patience: int = 5

    def __post_init__(self) -> None:
        check_count("NeverStops.patience", self.patience)

    def watch(self) -> Check:
        """Start watching one run."""
        waited = 0
        proven: StopReason | None = None

        def check(p: Progress) -> StopReason | None:
            nonlocal waited, proven
            waited += p.mistakes > 0
            if waited != self.patience or p.mistakes == 0 or p.verdict is None:
                return proven
            verdict = p.verdict()
            if verdict.separable:
                return None
            text = (
                f"No plane separates the classes ({verdict.kind}): {verdict.witness}. The run would "
                f"never end: {otherwise(p)}."
            )
            proven = StopReason("never_stops", text, verdict=verdict)
            return proven

        return check
