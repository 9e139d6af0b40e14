"""``maxmargin plot``: one picture of a file and a model, or the film of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from sklearn.model_selection import train_test_split

from maxmargin.cli.models import fitted
from maxmargin.cli.reading import read_data
from maxmargin.core.errors import InputError

__all__ = ["run"]

CS = [10.0**k for k in range(-3, 4)]  # along a path
ENDINGS = (".png", ".svg", ".pdf", ".jpg")


def run(
    path: str,
    label: str | None,
    columns: list[str],
    drop: list[str],
    header: bool | None,
    model: str,
    C: float,
    intercept: bool,
    kind: str,
    features: list[str],
    out: str,
    film: str | None,
    tempo: dict[str, float],
) -> int:
    """Draw and save; print where; return 0."""
    import matplotlib as mpl

    mpl.use("Agg")
    from maxmargin import plots

    if film is not None and kind != "x-space":
        raise InputError(f"--kind {kind} and --animate are two pictures. Leave one of them out.")
    if film is None and Path(out).suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in one of {', '.join(ENDINGS)}. Got {out!r} instead.")
    data = read_data(path, label, columns, drop, header)
    X, y = data.X, data.y
    estimator, notes = fitted(model, C, intercept, X, y)
    for note in notes:
        click.echo(note, err=True)
    shown: dict[str, Any] = {}
    if features:
        shown["features"] = tuple(map(_column(data.names), features))
    if film is not None:
        trace = getattr(estimator, "trace_", None)
        if trace is None or isinstance(trace, dict):
            raise InputError(
                "--animate needs --model perceptron or batch-perceptron, two classes and at most 2,000 "
                f"rows. Got {model}, {len(set(y.tolist()))} classes and {len(y)} rows instead."
            )
        trace.animate(X, y, film, **tempo, **shown)
        click.echo(film)
        return 0

    def verdict() -> Any:
        from maxmargin.estimators.separability import decide

        found = decide(X, y, fit_intercept=intercept, names=data.names)
        return plots.SeparabilityDisplay.from_verdict(found, X, y, **shown)

    def path_of_C() -> Any:
        from maxmargin.estimators.softmargin import SoftMarginSVC

        if model != "soft-margin":
            raise InputError(f"--kind path needs --model soft-margin. Got {model} instead.")
        try:
            parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        except ValueError as error:
            raise InputError(
                f"--kind path holds out rows of every class. Got too few: {error}"
            ) from error
        X_train, X_test, y_train, y_test = parts
        machines = SoftMarginSVC(fit_intercept=intercept).path(X_train, y_train, CS)
        return plots.PathDisplay.from_path(machines, X_train, y_train, X_test, y_test)

    draw: dict[str, Callable[[], Any]] = {
        "x-space": lambda: plots.XSpaceDisplay.from_estimator(
            estimator, X, y, names=data.names, **shown
        ),
        "w-space": lambda: plots.WSpaceDisplay.from_estimator(estimator, X, y),
        "both-spaces": lambda: plots.both_spaces(estimator, X, y),
        "risk": lambda: plots.RiskDisplay.from_estimator(estimator, X, y),
        "risk-surface": lambda: plots.RiskDisplay.from_estimator(estimator, X, y, kind="surface"),
        "weights": lambda: plots.WeightSpaceDisplay.from_estimator(estimator, X, y),
        "section": lambda: plots.WeightSpaceDisplay.from_estimator(estimator, X, y, kind="section"),
        "certificate": lambda: plots.CertificateDisplay.from_estimator(estimator, X, y),
        "separability": verdict,
        "path": path_of_C,
        "mistakes": lambda: plots.MistakesDisplay.from_estimator(estimator, X, y),
        "errors": lambda: plots.ErrorDisplay.from_estimator(estimator),
    }
    _save(draw[kind](), out)
    click.echo(out)
    return 0


def _column(names: list[str]) -> Callable[[str], int]:
    def column(name: str) -> int:
        if name in names:
            return names.index(name)
        if name.isascii() and name.isdigit() and int(name) < len(names):
            return int(name)
        raise InputError(f"--features must name two of {', '.join(names[:20])}. Got {name!r} instead.")

    return column


def _save(display: Any, out: str) -> None:
    ax = getattr(display, "ax_", None)
    figure = display.figure_ if ax is None and hasattr(display, "figure_") else None
    if figure is None:
        figure = (ax if ax is not None else display.x_ax_).figure
    try:
        figure.savefig(out, dpi=150)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"--out must name a file that can be written. Got {out!r}: {reason}."
        ) from error
