"""``maxmargin plot``: one picture of a file and a model, or the film of a run.

``NEEDS`` says what each picture needs of the data and the model; what is lacking is said in the words of
the command line, all at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options
from maxmargin.cli.fit import fit_to_draw

if TYPE_CHECKING:
    import numpy as np

UNUSED = {"separability": ("model", "C"), "path": ("C",)}  # options that a picture has no use for
ENDINGS = ".png", ".svg", ".pdf", ".jpg"
CS = [10.0**k for k in range(-3, 4)]  # along a path
PATH_HELD_OUT = 0.3  # share of the rows on which a path is judged
FILM_TITLES = {"perceptron": "Perceptron", "batch-perceptron": "Batch perceptron"}
MAX_LISTED = 10  # labels that an error lists


@dataclass(frozen=True)
class Need:
    """What a picture is about; what is not said is not needed."""

    models: tuple[str, ...] = ()
    two_classes: bool = False  # or one machine of several
    two_features: bool = False
    bias: bool | None = None
    max_rows: int | None = None
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
FILM = Need(("perceptron", "batch-perceptron"), two_classes=True, max_rows=2_000, features=True)


@click.command()
@options.data()
@options.model
@options.choice("--kind", list(NEEDS))
@click.option(
    "--machine",
    metavar="LABEL",
    help="Of three or more classes: the class whose machine, against all others, is drawn.",
)
@options.features
@click.option("--out", type=click.Path(), help="The picture.  [default: picture.png]")
@click.option(
    "--animate", "film", type=click.Path(), help="Write the film of a run: .gif, .mp4 or .html."
)
@click.option(
    "--slowly",
    type=click.FloatRange(0.02, 60),
    help="Seconds for each of the first ten updates of a film.  [default: 1.0]",
)
@click.option(
    "--quickly",
    type=click.FloatRange(0.02, 60),
    help="Seconds for each of the next hundred.  [default: 0.08]",
)
def plot(
    file: options.Source,
    model: str,
    C: float,
    no_intercept: bool,
    kind: str,
    machine: str | None,
    features: str | None,
    out: str | None,
    film: str | None,
    slowly: float | None,
    quickly: float | None,
) -> None:
    """Draw a picture of a model and its data, or the film of a perceptron's run.

    w-space, both-spaces, risk and risk-surface need two features and --no-intercept; weights and section
    two features and --model hard-margin; certificate a margin; mistakes and errors a perceptron. path
    shows the error of soft margins against C on held-out rows. Of three or more classes, x-space and
    path show all, and the others one machine, chosen with --machine.
    """
    options.check_model_options(model, options.DRAWN_MODELS_OF)
    for option in UNUSED.get(kind, ()):
        if options.is_given(option):
            raise click.UsageError(f"--kind {kind} has no use for --{option}. Leave it out.")
    shown = options.two_features(features)
    if film is None and (slowly or quickly):
        raise click.UsageError("--slowly and --quickly are for a film. Name it with --animate.")
    if film is not None and out is not None:
        raise click.UsageError("--animate names the film, --out a picture. Leave one of them out.")
    from maxmargin.plots.sample import in_memory, is_drawable
    from maxmargin.plots.style import pyplot

    pyplot().switch_backend("Agg")
    name, need = (f"--kind {kind}", NEEDS[kind]) if film is None else ("--animate", FILM)
    if shown and not need.features:
        raise mm.InputError(
            f"--features is for x-space, separability and --animate. Got {name} instead."
        )
    out = _check_target(out or "picture.png") if film is None else _check_film(film, kind)
    table = cli.inputs.open_table(file)
    labels = cli.inputs.find_labels(table.y, file.path)
    label = None if machine is None else _chosen_class(machine, labels)
    if lacks := list(_lacks(need, table, labels, machine, model, not no_intercept)):
        needed, given, remedies = zip(*lacks, strict=True)
        raise mm.InputError(
            f"{name} needs {_listed(needed, 'and')}. Got {_listed(given, 'and')} instead. "
            f"{' '.join(filter(None, remedies))}".rstrip()
        )
    cli.inputs.check_columns(table, file, labels)
    view: dict[str, Any] = {"features": _places(shown, table.names)} if shown else {}
    if need.shows == "rows" or is_drawable(table.X):
        table = table._replace(X=in_memory(table.X, name))
    picture = Picture(table, model, C, not no_intercept, label, view)
    if film is None:
        _save(picture.draw(kind), out, picture.machine_name, picture.note)
    else:
        tempo = {"seconds_slow": slowly, "seconds_fast": quickly}
        picture.film(out, {key: seconds for key, seconds in tempo.items() if seconds is not None})
    click.echo(out)


def _check_target(out: str) -> str:
    if Path(out).suffix.lower() not in ENDINGS:
        raise mm.InputError(f"--out must end in one of {', '.join(ENDINGS)}. Got {out!r} instead.")
    cli.inputs.check_target(out, "--out")
    return out


def _check_film(film: str, kind: str) -> str:
    from maxmargin.plots.film.animation import find_writer

    if kind != "x-space":
        raise mm.InputError(f"--kind {kind} and --animate are two pictures. Leave one of them out.")
    find_writer(film, "--animate")
    return film


def _chosen_class(machine: str, labels: list[Any]) -> Any:
    """Return the label that --machine means."""
    if len(labels) == 2:
        raise mm.InputError(
            "--machine chooses one machine of several, for three or more classes. Got two classes "
            "instead, which have one. Leave it out."
        )
    return cli.inputs.label_called(machine, labels, "--machine")


def _lacks(
    need: Need,
    table: cli.inputs.Table,
    labels: list[Any],
    machine: str | None,
    model: str,
    intercept: bool,
) -> Iterator[tuple[str, str, str]]:
    """Yield what a picture needs and does not get: what is needed, what was given, what to do."""
    from maxmargin.core.errors import listed, plural

    n, d = table.shape
    if need.two_classes and len(labels) > 2 and machine is None:
        choices = listed(labels, MAX_LISTED)
        do = f"Choose a class, against all others, with --machine and one of {choices}."
        yield "two classes", f"{len(labels)} classes", do
    if need.two_features and d != 2:
        do = "Choose two features with --columns." if d > 2 else "Name a file with two."
        yield "two features", plural(d, "feature"), do
    if need.bias is True and not intercept:
        yield "a bias", "--no-intercept", "Leave out --no-intercept."
    if need.bias is False and intercept:
        yield "a plane through the origin", "a bias", "Add --no-intercept."
    if need.max_rows is not None and n > need.max_rows:
        yield f"at most {need.max_rows:,} rows", f"{n:,} rows", "Name a smaller file."
    if need.models and model not in need.models:
        yield f"--model {_listed(need.models, 'or')}", f"--model {model}", ""


def _listed(parts: Sequence[str], word: str) -> str:
    """Return a, b and c."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _places(features: Sequence[str], names: list[str]) -> tuple[int, ...]:
    """Return the numbers of features that are called by name or number."""
    places = []
    for name in features:
        by_number = name.isascii() and name.isdigit() and int(name) < len(names)
        if name not in names and not by_number:
            raise mm.InputError(
                f"--features must name two of {', '.join(names[:20])}. Got {name!r} instead."
            )
        places.append(names.index(name) if name in names else int(name))
    return tuple(places)


@dataclass
class Picture:
    """What is drawn of which data; a model is fitted for the pictures that show one."""

    table: cli.inputs.Table
    model: str
    C: float
    intercept: bool
    label: Hashable  # the class whose machine is drawn; None for all
    view: dict[str, Any]
    note: str = ""  # what there is to say if not all rows are drawn

    @property
    def machine_name(self) -> str:
        """What the machine that was chosen tells apart."""
        from maxmargin.plots.machine import machine_name

        return "" if self.label is None else machine_name(self.label)

    @property
    def sides(self) -> np.ndarray:
        """The labels, or two: the class that was chosen, and all others."""
        import numpy as np

        from maxmargin.plots.machine import REST

        y = self.table.y
        return y if self.label is None else np.where(y == self.label, f"class {self.label}", REST)

    def fit(self, kind: str = "") -> tuple[Any, Any, Any]:
        """Return the model and its data, or the machine that was chosen and its own."""
        from maxmargin.plots.machine import stand_in
        from maxmargin.plots.sample import draw_model

        X, y, label = self.table.X, self.table.y, self.label
        if self.model == "hard-margin":  # the machines of other classes need not exist
            y, label = self.sides, None
        estimator, note = fit_to_draw(self.model, self.C, self.intercept, X, y)
        if note and kind in ("weights", "section"):
            raise mm.InputError(
                f"--kind {kind} shows where the planes that separate the classes are. Got classes that "
                "no plane separates instead. --kind separability shows why."
            )
        if note:
            click.echo(f"{note} --kind separability shows why.", err=True)
        if kind and NEEDS[kind].shows == "sample":
            estimator, X, y, self.note = draw_model(estimator, X, y)
        return (estimator, X, y) if label is None else stand_in(estimator, X, y, label)

    def film(self, path: str, tempo: dict[str, float]) -> None:
        """Write the film of the run."""
        from maxmargin.plots.film.animation import write

        machine, X, y = self.fit()
        if not len(machine.trace_):
            raise mm.InputError(
                "--animate shows the updates of a run. Got a run without any instead: its first weights "
                "are right for every row."
            )
        title = ", ".join(filter(None, (FILM_TITLES[self.model], self.machine_name)))
        film = machine.trace_.animate(X, y, names=self.table.names, title=title, **tempo, **self.view)
        write(film, path, "--animate")

    def draw(self, kind: str) -> Any:
        """Return the picture of that kind."""
        from maxmargin import plots

        if kind == "separability":
            return self._separability()
        if kind == "path":
            return self._path()
        if kind == "errors":
            return plots.ErrorDisplay.from_estimator(self.fit(kind)[0])
        named: dict[str, Any] = {"names": self.table.names}
        pictures: dict[str, tuple[Any, dict[str, Any]]] = {
            "x-space": (plots.XSpaceDisplay.from_estimator, named | self.view),
            "w-space": (plots.WSpaceDisplay.from_estimator, named),
            "both-spaces": (plots.both_spaces, named),
            "risk": (plots.RiskDisplay.from_estimator, named),
            "risk-surface": (plots.RiskDisplay.from_estimator, named | {"kind": "surface"}),
            "weights": (plots.WeightSpaceDisplay.from_estimator, named),
            "section": (plots.WeightSpaceDisplay.from_estimator, named | {"kind": "section"}),
            "certificate": (plots.CertificateDisplay.from_estimator, {}),
            "mistakes": (plots.MistakesDisplay.from_estimator, {}),
        }
        picture, given = pictures[kind]
        return picture(*self.fit(kind), **given)

    def _separability(self) -> Any:
        from maxmargin.estimators.separability import Options, decide
        from maxmargin.plots.sample import draw_verdict

        X, y, names = self.table.X, self.table.y, self.table.names
        sides = None if self.label is None else (self.label, None)
        verdict: Any = decide(X, y, Options(self.intercept), names, sides)
        verdict, X, y, self.note = draw_verdict(verdict, X, y)
        return mm.plots.SeparabilityDisplay.from_verdict(verdict, X, y, **self.view)

    def _path(self) -> Any:
        X, y = self.table.X, self.sides
        remedy = "Add rows, or leave small classes out of the file."
        train, test = cli.inputs.hold_out(y, PATH_HELD_OUT, "--kind path", remedy)
        train_rows = X[train], y[train]
        machines = mm.SoftMarginSVC(fit_intercept=self.intercept).path(*train_rows, CS)
        return mm.plots.PathDisplay.from_path(machines, *train_rows, X[test], y[test])


def _save(display: Any, out: str, machine: str, note: str) -> None:
    from maxmargin.core.errors import unwritable

    ax = display.ax_ if hasattr(display, "ax_") else display.x_ax_  # of both spaces
    figure = ax.figure
    if machine:
        figure.suptitle(": ".join(filter(None, (figure.get_suptitle(), machine))))
    if note:
        click.echo(note, err=True)
        figure.supxlabel(note, fontsize=9, color="#4D4D4D")
    try:
        figure.savefig(out, dpi=150)
    except OSError as error:
        raise unwritable(out, error, "--out") from error
