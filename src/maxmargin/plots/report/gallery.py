"""Which pictures apply to a fitted model, and what is seen in each."""

from __future__ import annotations

import html
import warnings
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.errors import BudgetWarning
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.plots.certificate import CertificateDisplay
from maxmargin.plots.learning import ErrorDisplay
from maxmargin.plots.machine import machine_name, stand_in
from maxmargin.plots.mistakes import MistakesDisplay
from maxmargin.plots.path import PathDisplay
from maxmargin.plots.report.page import Proofs, badge, facts, gallery, picture, sentences, table
from maxmargin.plots.risk import RiskDisplay
from maxmargin.plots.separation import SeparabilityDisplay
from maxmargin.plots.weights import WeightSpaceDisplay
from maxmargin.plots.wspace import both_spaces
from maxmargin.plots.xspace import XSpaceDisplay

CHEAP = 200_000  # numbers of X up to which a path of C is followed for its picture
FACTORS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # of C along it
SECONDS = 2.0  # for each of them
PROOFS = {
    "separable": "The proven plane and its certified margin, with the nearest row of each class.",
    "touching": "The weak plane, which has no row on the wrong side, and the rows on it.",
    "overlapping": "The two hulls, and the witness: rows whose weighted means are the same point.",
}


def verdict_picture(verdict: Verdict, X: Any, y: Any) -> str:
    """Return the proof of a verdict about two classes, over its data."""
    return picture(
        lambda ax: SeparabilityDisplay.from_verdict(verdict, X, y, ax=ax),
        "The proof",
        PROOFS[verdict.kind] + _projected(X),
    )


def regions_picture(estimator: Any, X: Any, y: Any, names: Sequence[str]) -> str:
    """Return the regions of more than two classes."""
    return picture(
        lambda ax: XSpaceDisplay.from_estimator(estimator, X, y, names=names, ax=ax),
        "The regions",
        "What the model says where, in the plane shown, and the training rows." + _projected(X),
    )


def model_pictures(model: Any, X: Any, y: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield what applies to a model of two classes: the plane, its certificate or how it learned."""
    margin = hasattr(model, "certificate_")
    seen = "The plane and its normal w; crosses are misclassified rows."
    if margin:
        hard = model.certificate_.problem.startswith("hard")
        rest = (
            "and support vectors in rings." if hard else "support vectors in rings, slack as segments."
        )
        seen = f"The plane, its slab 2/‖w‖ wide, {rest}"
    yield picture(
        lambda ax: XSpaceDisplay.from_estimator(model, X, y, names=names, ax=ax),
        "The model",
        seen + _projected(X),
    )
    if margin:
        yield from certificate_pictures(model, X, y)
    else:
        yield from learning_pictures(model, X, y)
    if np.shape(X)[1] == 2:
        yield from _weights(model, X, y)


def path_picture(estimator: Any, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Iterator[str]:
    """Yield the error along a path of C around that of a soft-margin machine, if that is cheap."""
    if hasattr(estimator, "scores_"):
        yield picture(
            lambda ax: PathDisplay.from_estimator(estimator, ax=ax),
            "The choice of C",
            "The error in the folds of the cross-validation, and the C that was chosen.",
        )
    if not isinstance(estimator, SoftMarginSVC) or np.prod(np.shape(X)) > CHEAP:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # a picture may be a little off
        machine = clone(estimator).set_params(max_seconds=SECONDS, warm_start=False)
        path = machine.path(X, y, [factor * estimator.C for factor in FACTORS])
    known = "" if X_val is None else " The dashed line marks the fewest validation errors."
    yield picture(
        lambda ax: PathDisplay.from_path(path, X, y, X_val, y_val, ax=ax),
        "Other prices of slack",
        f"The error if C were smaller or larger; the model of this page has C = {estimator.C:g}.{known}",
    )


def certificate_pictures(model: Any, X: Any, y: Any) -> Iterator[str]:
    """Yield the panels of a certificate: gap, slackness and residuals."""
    panels = {
        "gap": "The gap. The dual value bounds the optimum from below, the model attains the primal.",
        "slackness": "Complementary slackness. Every row has α = 0 or stands on its edge, or both.",
        "residuals": "The conditions of Karush, Kuhn and Tucker. How far each is from holding.",
    }
    for panel, text in panels.items():
        name, seen = text.split(". ", 1)
        yield picture(partial(_one_panel, model, X, y, panel), name, seen)


def _one_panel(model: Any, X: Any, y: Any, panel: str, ax: Any) -> None:
    CertificateDisplay.from_estimator(model, X, y, panel=panel, ax=ax)


def learning_pictures(model: Any, X: Any, y: Any) -> Iterator[str]:
    """Yield how a perceptron learned: its error after each epoch, and its mistakes."""
    history = getattr(model, "history_", None)
    if history is None or not len(history):  # another package's model, or learned from a stream
        return
    if not np.all(np.isnan(history["training_error"])):
        yield picture(
            lambda ax: ErrorDisplay.from_estimator(model, ax=ax),
            "The error",
            "After each epoch, with the moment and the reason of stopping.",
        )
    if hasattr(model, "order"):
        yield picture(
            lambda ax: MistakesDisplay.from_estimator(model, X, y, ax=ax),
            "The mistakes",
            "All mistakes so far, and the bound that they stay below if the classes are separable.",
        )


def _weights(model: Any, X: Any, y: Any) -> Iterator[str]:
    """Two features: the spaces that weights live in."""
    if not getattr(model, "fit_intercept", True):
        yield picture(
            partial(_one_space, model, X, y, 0), "x-space", "Points, and the line w·x = 0 of the model."
        )
        yield picture(
            partial(_one_space, model, X, y, 1),
            "w-space",
            "Each point is a line, and the model a point; where all are right is yellow.",
        )
        yield picture(
            lambda ax: RiskDisplay.from_estimator(model, X, y, ax=ax),
            "The perceptron risk",
            "Contours over the space of weights, creased along the lines of the points.",
        )
    elif isinstance(model, HardMarginSVC):
        yield picture(
            lambda ax: WeightSpaceDisplay.from_estimator(model, X, y, ax=ax),
            "Weight space",
            "Each row is a plane, feasible is what lies beyond all; the optimum has the least ‖w‖.",
            projection="3d",
            height=4.0,
        )
        yield picture(
            lambda ax: WeightSpaceDisplay.from_estimator(model, X, y, kind="section", ax=ax),
            "A section of weight space",
            "At the w₁ of the optimum, where constraints are lines.",
        )


def _one_space(model: Any, X: Any, y: Any, place: int, ax: Any) -> None:
    """One of the two spaces; the other is drawn elsewhere and left."""
    from matplotlib.figure import Figure

    other = Figure().add_subplot()
    both_spaces(model, X, y, ax=(ax, other) if place == 0 else (other, ax))


def _projected(X: Any) -> str:
    if np.shape(X)[1] <= 2:
        return ""
    return f" The {np.shape(X)[1]} features are projected so that lengths along the first axis are true."


# More than two classes on the page: every machine with its verdict, its proof and its pictures.

SHOWN = 10  # machines that have pictures


def machine_blocks(
    estimator: Any,
    X: Any,
    y: Any,
    verdict: MulticlassVerdict,
    whole: tuple[Any, Any],
    names: Sequence[str],
    proofs: Proofs,
    of: str = "",
) -> str:
    """Return a block for each machine, the first one open, and a table of those beyond ten."""
    verdicts = _verdicts(estimator, verdict)
    first = dict(list(verdicts.items())[:SHOWN])
    blocks = [
        _block(estimator, X, y, label, verdicts[label], whole, names, proofs, of, opened=place == 0)
        for place, label in enumerate(first)
    ]
    rest = {label: v for label, v in verdicts.items() if label not in first}
    kind = "pairs of classes" if isinstance(next(iter(verdicts)), tuple) else "classes"
    told = "Open a line to see its proof and its pictures."
    if rest:
        told = f"The first {SHOWN} are shown with pictures, the other {len(rest)} in a table."
        blocks.append(
            f"<details>\n<summary>{len(rest)} more machines</summary>\n"
            f"{_table(estimator, X, y, rest, proofs)}\n</details>"
        )
    return "\n".join([f"<p>{len(verdicts)} {kind}, and a machine for each. {told}</p>", *blocks])


def machine_text(machine: Any, of: str = "") -> str:
    """Return the certificate of a margin machine and what it is of, or why a perceptron stopped."""
    if hasattr(machine, "certificate_"):
        return facts(str(machine.certificate_), of)
    if hasattr(machine, "stop_reason_"):
        return f"<p>{html.escape(str(machine.stop_reason_))}</p>"
    return ""


def _verdicts(estimator: Any, verdict: MulticlassVerdict) -> dict[Hashable, Verdict]:
    """The verdict about each machine; of a model without machines, about each class."""
    known: dict[Hashable, Verdict] = dict(verdict.rest)
    known.update(verdict.pairs.items())
    return {label: known[label] for label in getattr(estimator, "machines_", verdict.rest)}


def _block(
    estimator: Any,
    X: Any,
    y: Any,
    label: Hashable,
    verdict: Verdict,
    whole: tuple[Any, Any],
    names: Sequence[str],
    proofs: Proofs,
    of: str,
    *,
    opened: bool,
) -> str:
    name, text = machine_name(label), ""
    pictures = [verdict_picture(verdict, *whole)]
    if hasattr(estimator, "machines_"):
        machine, rows, labels = stand_in(estimator, X, y, label)
        text = machine_text(estimator.machines_[label], of)
        pictures += model_pictures(machine, rows, labels, names)
    return "\n".join(
        [
            f"<details{' open' if opened else ''}>",
            f"<summary>{html.escape(name)} {badge(verdict.kind)}</summary>",
            sentences(str(verdict)),
            proofs.block(verdict, name),
            text,
            gallery(pictures),
            "</details>",
        ]
    )


def _table(estimator: Any, X: Any, y: Any, verdicts: dict[Hashable, Verdict], proofs: Proofs) -> str:
    machines = getattr(estimator, "machines_", {})
    margin = hasattr(estimator, "certificate_")
    head = ["machine", "verdict", "proof"]
    if machines:
        head[2:2] = ["margin", "relative gap", "wrong"] if margin else ["epochs", "updates", "wrong"]
    rows = []
    for label, verdict in verdicts.items():
        row = [machine_name(label), badge(verdict.kind), proofs.link(verdict, machine_name(label))]
        if machines:
            machine, part, labels = stand_in(estimator, X, y, label)
            wrong = f"{np.count_nonzero(machine.predict(part) != labels):,}"
            if margin:
                facts = [f"{machine.margin_:.4g}", f"{machine.certificate_.relative_gap:.1e}"]
            else:
                facts = [f"{machine.n_iter_:,}", f"{machine.n_mistakes_:,}"]
            row[2:2] = [*facts, wrong]
        rows.append(row)
    return table(head, rows, raw=True)
