"""``maxmargin plot``: one picture of a file and a model, or the film of a run.

``NEEDS`` says what each picture needs of the data and the model; what is lacking is said in the words of
the command line, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.checker import canonical
from maxmargin.cli.inputs import Table, cannot_write, check_columns, check_target, labels_of, open_table
from maxmargin.cli.models import fit_by_name
from maxmargin.cli.options import Source
from maxmargin.cli.samples import (
    draw,
    in_memory,
    is_drawable,
    model_among,
    model_rows,
    verdict_among,
    verdict_rows,
)
from maxmargin.core.errors import InputError, count, some

SOME = 10  # names that are written out
HELD_OUT = 0.3  # share of the rows on which a path of C is judged


@dataclass(frozen=True)
class Need:
    """What a picture is about; what is not said is not needed."""

    models: tuple[str, ...] = ()
    two_classes: bool = False  # or one machine of several
    two_features: bool = False
    bias: bool | None = None
    most_rows: int | None = None
    features: bool = False  # whether --features says what is shown
    shows: str = "rows"  # all "rows", or a "sample" of them, or "numbers" about them


FLAT = Need(two_classes=True, two_features=True, bias=False)
WEIGHTS = Need(("hard-margin",), two_classes=True, two_features=True, bias=True)
NEEDS = {
    "x-space": Need(features=True, shows="sample"),
    "w-space": FLAT,
    "both-spaces": FLAT,
    "risk": FLAT,
    "risk-surface": FLAT,
    "weights": WEIGHTS,
    "section": WEIGHTS,
    "certificate": Need(("hard-margin", "soft-margin"), two_classes=True, shows="sample"),
    "separability": Need(two_classes=True, features=True, shows="sample"),
    "mistakes": Need(("perceptron", "pocket"), two_classes=True, shows="numbers"),
    "errors": Need(("perceptron", "batch-perceptron", "pocket"), two_classes=True, shows="numbers"),
    "path": Need(("soft-margin",), shows="numbers"),
}
FILM = Need(("perceptron", "batch-perceptron"), two_classes=True, most_rows=2_000, features=True)


def check_need(
    name: str, need: Need, *, model: str, intercept: bool, d: int, n: int, labels: list[Any], alone: bool
) -> None:
    """Raise with everything that the picture ``name`` lacks; ``alone``: one machine is chosen."""
    lacks: list[tuple[str, str, str]] = []  # what is needed, what was given, what to do
    if need.two_classes and len(labels) > 2 and not alone:
        do = f"Choose a class, against all others, with --machine and one of {some(labels, SOME)}."
        lacks.append(("two classes", f"{len(labels)} classes", do))
    if need.two_features and d != 2:
        do = "Choose two features with --columns." if d > 2 else "Name a file with two."
        lacks.append(("two features", count(d, "feature"), do))
    if need.bias is True and not intercept:
        lacks.append(("a bias", "--no-intercept", "Leave out --no-intercept."))
    if need.bias is False and intercept:
        lacks.append(("a plane through the origin", "a bias", "Add --no-intercept."))
    if need.most_rows is not None and n > need.most_rows:
        lacks.append((f"at most {need.most_rows:,} rows", f"{n:,} rows", "Name a smaller file."))
    if need.models and model not in need.models:
        lacks.append((f"--model {_list(need.models, 'or')}", f"--model {model}", ""))
    if lacks:
        needed, given = (_list([lack[k] for lack in lacks], "and") for k in (0, 1))
        remedies = " ".join(lack[2] for lack in lacks if lack[2])
        raise InputError(f"{name} needs {needed}. Got {given} instead. {remedies}".rstrip())


def find_label(text: str, labels: list[Any]) -> Any:
    """The label that --machine means."""
    if len(labels) == 2:
        raise InputError(
            "--machine chooses one machine of several, for three or more classes. Got two classes "
            "instead, which have one. Leave it out."
        )
    known = {canonical(str(label)): label for label in labels}
    if canonical(text) not in known:
        raise InputError(
            f"--machine must be one of the labels {some(labels, SOME)}. Got {text!r} instead."
        )
    return known[canonical(text)]


def check_rows_to_hold_out(y: np.ndarray) -> None:
    """Raise unless some rows of every class can be held out and some kept."""
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        few = labels[np.argmin(counts)]
        raise InputError(
            "--kind path holds out rows of every class, and needs at least 2 rows of each. "
            f"Got 1 row of {few.item()!r} instead. Add rows, or leave this class out of the file."
        )
    held = int(np.ceil(HELD_OUT * len(y)))
    if held < len(labels):
        raise InputError(
            f"--kind path holds out {HELD_OUT:.0%} of the rows, and needs one of them for each class. "
            f"Got {len(y)} rows, {held} to hold out, and {len(labels)} classes instead. Add rows."
        )


def _list(parts: Sequence[str], word: str) -> str:
    """a, b and c."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


# The pictures of a file: a model or one of its machines, by the kinds of the command line.

CS = [10.0**k for k in range(-3, 4)]  # along a path
TITLES = {"perceptron": "Perceptron", "batch-perceptron": "Batch perceptron"}  # of a film


class Picture:
    """What is drawn of which data; a model is fitted for the pictures that show one."""

    def __init__(
        self, data: Table, model: str, C: float, intercept: bool, label: Hashable, shown: dict[str, Any]
    ) -> None:
        self.data, self.names, self.shown = data, data.names, shown
        self.note = ""  # what there is to say if not all rows are drawn
        self.model, self.C, self.intercept, self.label = model, C, intercept, label

    @property
    def machine_name(self) -> str:
        """What the machine that was chosen tells apart."""
        from maxmargin.plots.machine import machine_name

        return "" if self.label is None else machine_name(self.label)

    @property
    def sides(self) -> np.ndarray:
        """The labels, or two: the class that was chosen, and all others."""
        from maxmargin.plots.machine import REST

        y = self.data.y
        return y if self.label is None else np.where(y == self.label, f"class {self.label}", REST)

    def fit(self, kind: str = "") -> tuple[Any, Any, Any]:
        """The model and its data, or the machine that was chosen and its own."""
        from maxmargin.plots.machine import stand_in

        X, y, label = self.data.X, self.data.y, self.label
        if self.model == "hard-margin":  # the machines of other classes need not exist
            y, label = self.sides, None
        estimator, note = fit_by_name(self.model, self.C, self.intercept, X, y)
        if note and kind in ("weights", "section"):
            raise InputError(
                f"--kind {kind} shows where the planes that separate the classes are. Got classes that "
                "no plane separates instead. --kind separability shows why."
            )
        if note:
            click.echo(f"{note} --kind separability shows why.", err=True)
        if kind and NEEDS[kind].shows == "sample" and not is_drawable(self.data):
            sample = draw(self.data, wanted=model_rows(estimator))
            estimator, X, y = model_among(estimator, sample.rows), sample.X, y[sample.rows]
            self.note = sample.note
        return (estimator, X, y) if label is None else stand_in(estimator, X, y, label)

    def film(self, path: str, tempo: dict[str, float]) -> None:
        """Write the film of the run."""
        from maxmargin.plots.film.animation import write

        machine, X, y = self.fit()
        if not len(machine.trace_):
            raise InputError(
                "--animate shows the updates of a run. Got a run without any instead: its first weights "
                "are right for every row."
            )
        title = ", ".join(filter(None, (TITLES[self.model], self.machine_name)))
        film = machine.trace_.animate(X, y, names=self.names, title=title, **tempo, **self.shown)
        write(film, path, "--animate")

    def draw(self, kind: str) -> Any:
        """The picture of that kind."""
        from maxmargin import plots

        if kind == "separability":
            return self._separability()
        if kind == "path":
            return self._path()
        named: dict[str, Any] = {"names": self.names}
        pictures: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
            "x-space": (plots.XSpaceDisplay.from_estimator, named | self.shown),
            "w-space": (plots.WSpaceDisplay.from_estimator, named),
            "both-spaces": (plots.both_spaces, named),
            "risk": (plots.RiskDisplay.from_estimator, named),
            "risk-surface": (plots.RiskDisplay.from_estimator, named | {"kind": "surface"}),
            "weights": (plots.WeightSpaceDisplay.from_estimator, named),
            "section": (plots.WeightSpaceDisplay.from_estimator, named | {"kind": "section"}),
            "certificate": (plots.CertificateDisplay.from_estimator, {}),
            "mistakes": (plots.MistakesDisplay.from_estimator, {}),
            "errors": (lambda model, X, y: plots.ErrorDisplay.from_estimator(model), {}),
        }
        picture, options = pictures[kind]
        return picture(*self.fit(kind), **options)

    def _separability(self) -> Any:
        from maxmargin.estimators.separability import Options, decide
        from maxmargin.plots import SeparabilityDisplay

        X, y = self.data.X, self.data.y
        sides = None if self.label is None else (self.label, None)
        found: Any = decide(X, y, Options(self.intercept), self.names, sides)
        if not is_drawable(self.data):
            sample = draw(self.data, *verdict_rows(found, self.data))
            found, X, y = verdict_among(found, sample.rows), sample.X, sample.y
            self.note = sample.note
        return SeparabilityDisplay.from_verdict(found, X, y, **self.shown)

    def _path(self) -> Any:
        from maxmargin.estimators.soft_margin import SoftMarginSVC
        from maxmargin.plots import PathDisplay

        y = self.sides
        check_rows_to_hold_out(y)
        parts = train_test_split(np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=0)
        train, test = ((self.data.X[rows], y[rows]) for rows in parts)
        machines = SoftMarginSVC(fit_intercept=self.intercept).path(*train, CS)
        return PathDisplay.from_path(machines, *train, *test)


ENDINGS = (".png", ".svg", ".pdf", ".jpg")


def run(
    file: Source,
    model: str,
    C: float,
    intercept: bool,
    kind: str,
    machine: str | None,
    features: list[str],
    out: str,
    film: str | None,
    tempo: dict[str, float],
) -> int:
    """Draw and save; print where; return 0."""
    from maxmargin.plots.style import pyplot

    pyplot().switch_backend("Agg")
    name, need = (f"--kind {kind}", NEEDS[kind]) if film is None else ("--animate", FILM)
    if features and not need.features:
        raise InputError(f"--features is for x-space, separability and --animate. Got {name} instead.")
    if film is None:
        _check_out(out)
    else:
        _check_film(film, kind)
    data = open_table(file)
    labels = labels_of(data.y, file.path)
    alone = None if machine is None else find_label(machine, labels)
    n, d = data.shape
    check_need(
        name, need, model=model, intercept=intercept, d=d, n=n, labels=labels, alone=machine is not None
    )
    check_columns(data, file, labels)
    shown = {"features": tuple(map(_column(data.names), features))} if features else {}
    if need.shows == "rows" or is_drawable(data):
        data = in_memory(data, name)
    picture = Picture(data, model, C, intercept, alone, shown)
    if film is not None:
        picture.film(film, tempo)
    else:
        _save(picture.draw(kind), out, picture.machine_name, picture.note)
    click.echo(out if film is None else film)
    return 0


def _check_out(out: str) -> None:
    if Path(out).suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in one of {', '.join(ENDINGS)}. Got {out!r} instead.")
    check_target(out, "--out")


def _check_film(film: str, kind: str) -> None:
    from maxmargin.plots.film.animation import find_writer

    if kind != "x-space":
        raise InputError(f"--kind {kind} and --animate are two pictures. Leave one of them out.")
    find_writer(film, "--animate")


def _column(names: list[str]) -> Callable[[str], int]:
    def column(name: str) -> int:
        if name in names:
            return names.index(name)
        if name.isascii() and name.isdigit() and int(name) < len(names):
            return int(name)
        raise InputError(f"--features must name two of {', '.join(names[:20])}. Got {name!r} instead.")

    return column


def _save(display: Any, out: str, machine: str, note: str) -> None:
    ax = getattr(display, "ax_", None)
    figure = display.figure_ if ax is None and hasattr(display, "figure_") else None
    if figure is None:
        figure = (ax if ax is not None else display.x_ax_).figure
    if machine:
        figure.suptitle(": ".join(filter(None, (figure.get_suptitle(), machine))))
    if note:
        click.echo(note, err=True)
        figure.supxlabel(note, fontsize=9, color="#4D4D4D")
    try:
        figure.savefig(out, dpi=150)
    except OSError as error:
        raise cannot_write(out, "--out", error.strerror or str(error)) from error
