"""The pictures of a report: which apply to a model, what is seen in each, and how they look.

As wide as a telephone, with their key below, so that they are readable there; at desk width they stand
side by side. Each is a PNG of few colours inside the page, on white paper, with a sentence that says
what is seen.
"""

from __future__ import annotations

import base64
import html
import io
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import BudgetWarning
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.plots.certificate import CertificateDisplay
from maxmargin.plots.learning import ErrorDisplay
from maxmargin.plots.mistakes import MistakesDisplay
from maxmargin.plots.path import PathDisplay
from maxmargin.plots.risk import RiskDisplay
from maxmargin.plots.sample import Drawn, draw_verdict
from maxmargin.plots.separability import SeparabilityDisplay
from maxmargin.plots.style import pyplot
from maxmargin.plots.w_space import both_spaces
from maxmargin.plots.weight_space import WeightSpaceDisplay
from maxmargin.plots.x_space import XSpaceDisplay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PATH_NUMBERS = 200_000  # numbers of X up to which a path of C is followed for its picture
C_FACTORS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # of C along it
MAX_SECONDS = 2.0  # for each of them
PROOFS = {
    "separable": "The proven plane and its certified margin, with the nearest row of each class.",
    "touching": "The weak plane, which has no row on the wrong side, and the rows on it.",
    "overlapping": "The two hulls, and the witness: rows whose weighted means are the same point.",
}
PANELS = {
    "gap": ("The gap", "The dual value bounds the optimum from below, the model attains the primal."),
    "slackness": (
        "Complementary slackness",
        "Every row has α = 0 or stands on its edge, or both.",
    ),
    "residuals": ("The conditions of Karush, Kuhn and Tucker", "How far each is from holding."),
}


def verdict_picture(verdict: Verdict, X: Any, y: Any) -> str:
    """Return the proof of a verdict about two classes, over its data or a sample of it."""
    drawn = draw_verdict(verdict, X, y)
    seen = PROOFS[verdict.kind] + _projected(drawn.X)
    return picture("The proof", seen, SeparabilityDisplay.from_verdict, *drawn[:3])


def regions_pictures(drawn: Drawn, names: Sequence[str]) -> list[str]:
    """Return the regions of more than two classes."""
    model, X, y, note = drawn
    rows = "a sample of the training rows" if note else "the training rows"
    seen = f"The predicted class at every place of the plane shown, and {rows}." + _projected(X)
    return [picture("The regions", seen, XSpaceDisplay.from_estimator, model, X, y, names=names)]


def model_pictures(drawn: Drawn, whole: tuple[Any, Any, Any], names: Sequence[str]) -> list[str]:
    """Return what applies to a model of two classes: the plane, its certificate or how it learned.

    ``whole`` is the model with its training rows and labels, ``drawn`` the same, or a sample of them.
    """
    model, shown, labels, note = drawn
    margin = hasattr(model, "certificate_")
    seen = "The plane and its normal w; crosses are misclassified rows."
    if margin:
        hard = model.certificate_.problem.startswith("hard")
        rest = "and support vectors in rings" if hard else "support vectors in rings, slack as segments"
        seen = f"The plane, its slab 2/‖w‖ wide, {rest}."
    seen += " A sample of the rows." if note else ""
    seen += _projected(shown)
    draw = XSpaceDisplay.from_estimator
    pictures = [picture("The model", seen, draw, model, shown, labels, names=names)]
    pictures += _certificate_pictures(model, shown, labels) if margin else _learning_pictures(*whole)
    whole_plane = not note and np.shape(shown)[1] == 2  # where weights are right depends on all rows
    return pictures + (_weight_pictures(model, shown, labels) if whole_plane else [])


def path_pictures(estimator: Any, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> list[str]:
    """Return the error along a path of C around that of a soft-margin machine, if that is cheap."""
    pictures = []
    if hasattr(estimator, "scores_"):
        seen = "The error in the folds of the cross-validation, and the C that was chosen."
        pictures.append(picture("The choice of C", seen, PathDisplay.from_estimator, estimator))
    if not isinstance(estimator, SoftMarginSVC) or np.prod(np.shape(X)) > MAX_PATH_NUMBERS:
        return pictures
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # a picture may be a little off
        machine = clone(estimator).set_params(max_seconds=MAX_SECONDS, warm_start=False)
        path = machine.path(X, y, [factor * estimator.C for factor in C_FACTORS])
    known = "" if X_val is None else " The dashed line marks the fewest validation errors."
    seen = f"The error for smaller and larger C; the model of this page has C = {estimator.C:g}.{known}"
    draw = PathDisplay.from_path
    return [*pictures, picture("Other values of C", seen, draw, path, X, y, X_val, y_val)]


def _certificate_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Return the panels of a certificate: gap, slackness and residuals."""
    draw = CertificateDisplay.from_estimator
    return [picture(*words, draw, model, X, y, panel=panel) for panel, words in PANELS.items()]


def _learning_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Return how a perceptron learned: its error after each epoch, and its mistakes."""
    history, pictures = getattr(model, "history_", None), []
    if history is None or not len(history):  # another package's model, or learned from a stream
        return []
    if not np.all(np.isnan(history["training_error"])):
        seen = "After each epoch, with the moment and the reason of stopping."
        pictures.append(picture("The error", seen, ErrorDisplay.from_estimator, model))
    if hasattr(model, "order"):
        seen = "All mistakes so far, and the bound that they stay below if the classes are separable."
        pictures.append(picture("The mistakes", seen, MistakesDisplay.from_estimator, model, X, y))
    return pictures


def _weight_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Two features: the spaces that weights live in."""
    data = model, X, y
    if not getattr(model, "fit_intercept", True):
        line = "Points, and the line w·x = 0 of the model."
        cone = "Each point is a line, and the model a point; where all are right is yellow."
        risk = "Contours over the space of weights, creased along the lines of the points."
        return [
            picture("x-space", line, _one_space, *data, place=0),
            picture("w-space", cone, _one_space, *data, place=1),
            picture("The perceptron risk", risk, RiskDisplay.from_estimator, *data),
        ]
    if not isinstance(model, HardMarginSVC):
        return []
    solid = "Each row is a plane, feasible is what lies beyond all; the optimum has the least ‖w‖."
    section = "At the w₁ of the optimum, where constraints are lines."
    draw = WeightSpaceDisplay.from_estimator
    return [
        picture("Weight space", solid, draw, *data, projection="3d", height=4.0),
        picture("A section of weight space", section, draw, *data, kind="section"),
    ]


def _one_space(model: Any, X: Any, y: Any, *, place: int, ax: Any) -> None:
    """One of the two spaces; the other is drawn elsewhere and left."""
    from matplotlib.figure import Figure

    other = Figure().add_subplot()
    both_spaces(model, X, y, ax=(ax, other) if place == 0 else (other, ax))


def _projected(X: Any) -> str:
    if np.shape(X)[1] <= 2:
        return ""
    return f" The {np.shape(X)[1]} features are projected so that lengths along the first axis are true."


# How a picture is made: a figure of the width of a telephone, cut to its ink.

WIDTH, HEIGHT = 4.2, 3.5  # inches, without the key
LINE_HEIGHT = 0.19  # inches that a line of the key takes
DPI = 200
PAD = 0.08  # inches of paper around it
SPARE_HEIGHT = 0.5  # inches above and below, for what the layout did not foresee; cut off if empty
WHITE = 250  # what is darker is ink
MAX_TICKS = 5  # intervals between them, at most
SHADES = 96  # colours of a picture
FONT_SIZES = {"font.size": 10.0, "axes.titlesize": 11.0, "axes.labelsize": 10.0, "legend.fontsize": 9.0}


def picture(
    name: str,
    seen: str,
    draw: Callable[..., Any],
    *data: Any,
    height: float = HEIGHT,
    projection: str | None = None,
    **options: Any,
) -> str:
    """Return what ``draw(*data, ax=ax, **options)`` draws as a figure, with a name and what is seen."""
    pyplot()  # or a sentence on how to get it
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", FONT_SIZES]):  # the page looks the same everywhere
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        draw(*data, ax=figure.add_subplot(projection=projection), **options)
        _fit(figure, height)
        png = base64.b64encode(_png(figure)).decode()
    seen = seen.replace(" = ", "\u00a0=\u00a0")  # a formula is not broken
    alt, caption = html.escape(f"{name}: {seen}"), f"<b>{html.escape(name)}.</b> {html.escape(seen)}"
    return (
        f'<figure><img alt="{alt}" src="data:image/png;base64,{png}"><figcaption>{caption}'
        "</figcaption></figure>"
    )


def gallery(pictures: list[str]) -> str:
    """Return pictures one below the other on a telephone, side by side on a desk."""
    return f'<div class="gallery">{"".join(pictures)}</div>' if pictures else ""


def _fit(figure: Figure, height: float) -> None:
    """Make room for keys, which are below, and take names as they are: a dollar is no formula."""
    lines = 0
    for ax in figure.axes:
        key: Any = ax.get_legend()
        entries = [] if key is None else key.get_texts()
        if key is not None:
            lines = max(lines, _lines([text.get_text() for text in entries], key._ncols))
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *entries):
            text.set_parse_math(False)
            text.set_text(text.get_text().replace(r"\$", "$"))  # escaped or not
        _thin(ax.xaxis)
    tall = height + LINE_HEIGHT * lines + 2.0 * SPARE_HEIGHT
    figure.set_size_inches(WIDTH, tall)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=PAD, rect=(0.0, SPARE_HEIGHT / tall, 1.0, 1.0 - 2.0 * SPARE_HEIGHT / tall))


def _lines(entries: list[str], columns: int) -> int:
    """How many lines the longest column of a key has, about."""
    each = [entry.count("\n") + 1 for entry in entries] or [0]
    return max(math.ceil(sum(each) / columns), math.ceil(len(each) / columns) + max(each) - 1)


def _thin(axis: Any) -> None:
    """Fewer ticks along a short axis, where nobody has chosen them."""
    from matplotlib.ticker import AutoLocator, MaxNLocator

    if type(axis.get_major_locator()) is AutoLocator:
        axis.set_major_locator(MaxNLocator(MAX_TICKS, steps=(1, 2, 5, 10)))


def _png(figure: Figure) -> bytes:
    """The figure from its highest to its lowest ink."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    inked = np.flatnonzero(np.any(pixels < WHITE, axis=(1, 2)))
    low, high = inked[[0, -1]] + [-int(PAD * DPI), int(PAD * DPI)]
    image = Image.fromarray(np.ascontiguousarray(pixels[max(low, 0) : high]))
    buffer = io.BytesIO()
    image.quantize(SHADES, dither=Image.Dither.NONE).save(buffer, format="PNG")
    return buffer.getvalue()
