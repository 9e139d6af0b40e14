"""Pieces of the page, as HTML: tables, sentences, proofs to save, and the whole."""

from __future__ import annotations

import base64
import html
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.certificates.verdict import Verdict
from maxmargin.plots.style import pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PROOF_BYTES = 1 << 21  # bytes of proofs on a page, all together
MAX_CHIPS = 60  # names in a row


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return the page with its sections, each a heading and what stands below it."""
    template = (
        resources.files("maxmargin.plots.report").joinpath("report.html").read_text(encoding="utf-8")
    )
    body = "\n".join(
        f"<section>\n<h2>{html.escape(name)}</h2>\n{part}\n</section>" for name, part in sections
    )
    parts = {"TITLE": html.escape(title), "VERSION": __version__, "BODY": body}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str = "", raw: bool = False
) -> str:
    """Return a table; ``raw`` cells are HTML already, but for the first of each row."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = []
    for first, *others in rows:
        cells = others if raw else [html.escape(cell) for cell in others]
        body.append(
            f"<tr><th>{html.escape(first)}</th>"
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return (
        f'<div class="wide"><table class="{kind}">'
        + (f"<thead><tr>{top}</tr></thead>\n" if head else "")
        + f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def sentences(text: str) -> str:
    """Return a text as paragraphs; lines that begin with · are a list."""
    lines = text.replace("\n  ", " ").splitlines()
    kinds = [' class="item"' if line.startswith("·") else "" for line in lines]
    said = [html.escape(line.lstrip("· ")) for line in lines]
    return "\n".join(f"<p{kind}>{line}</p>" for kind, line in zip(kinds, said, strict=True))


def chips(kinds: Mapping[str, str]) -> str:
    """Return names, each with the kind of its verdict, one after the other."""
    some = list(kinds.items())[:MAX_CHIPS]
    parts = [f'<span class="chip">{html.escape(name)} {badge(kind)}</span>' for name, kind in some]
    more = len(kinds) - len(some)
    return f"<p>{' '.join(parts)}{f' and {more} more' if more else ''}</p>" if parts else ""


def facts(text: str, of: str = "") -> str:
    """Return a printed certificate, name, value and meaning in columns, as a table under its heading.

    ``of`` says beside the heading which rows it is about.
    """
    heading, *lines = text.splitlines()
    heading += f", {of}" if of else ""
    fields = [re.split(r"\s{2,}", line.strip()) for line in lines]
    rows = [row for row in fields if len(row) == 3]
    found = "\n".join(line.strip() for line, row in zip(lines, fields, strict=True) if len(row) != 3)
    return f"<p>{html.escape(heading)}</p>\n{table((), rows, kind='facts')}\n{sentences(found)}"


def badge(kind: str) -> str:
    """Return the kind of a verdict as a coloured word."""
    return f'<span class="badge {kind}">{kind}</span>'


class Proofs:
    """Proofs as files inside the page, as many as there is room for."""

    def __init__(self, source: Mapping[str, Any] | None = None) -> None:
        self.source = dict(source or {})
        self.room = MAX_PROOF_BYTES

    def link(self, verdict: Verdict, name: str = "") -> str:
        """Return a link that saves the proof, or says that there is no room for it."""
        text = json.dumps(self._content(verdict), indent=1).encode("ascii")
        if len(text) > self.room:
            return "too large for this page: verdict.proof.save writes it"
        self.room -= len(text)
        data, file = base64.b64encode(text).decode(), self._file(name)
        return f'<a download="{file}" href="data:application/json;base64,{data}">Save the proof</a>'

    def block(self, verdict: Verdict, name: str = "") -> str:
        """Return fingerprint and seal of a proof, and how to check it."""
        content, link = self._content(verdict), self.link(verdict, name)
        check = f", and check it: <code>python -m maxmargin.checker {self._file(name)} DATA</code>"
        return (
            f'<p class="seal">Fingerprint of the data: <code>{content["data"]}</code><br>'
            f"Seal of the proof: <code>{content['seal']}</code></p>\n"
            f"<p>{link}{check if '</a>' in link else '.'}</p>"
        )

    def _content(self, verdict: Verdict) -> dict[str, Any]:
        assert verdict.proof is not None  # the time was not limited
        return verdict.proof.with_source(**self.source).to_dict()

    def _file(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        return f"proof-{plain}.json" if plain else "proof.json"


# Pictures on the page: as wide as a telephone, with their key below, so that they are readable there.
#
# At desk width they stand side by side. Each is a PNG of few colours inside the page, on white paper,
# with a sentence that says what is seen.

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
