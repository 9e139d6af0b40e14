"""A film: its frames, drawn once and kept as PNG of few colours, with what is written below them."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING

from maxmargin.plots.film.captions import Still
from maxmargin.plots.film.frames import Painter
from maxmargin.plots.film.writers import write

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Animation"]


class Animation:
    """A film of a run, made by :func:`maxmargin.plots.animate`; shows itself in notebooks.

    Attributes
    ----------
    frames : int
        How many there are: the start, one per update shown, and the end.
    durations : list of float
        Seconds each is seen.
    captions : list of tuple of str
        What is written below each: where the run is, the row in hand, and the step in numbers.
    """

    def __init__(
        self, story: list[Still], durations: list[float], painter: Callable[[], Painter]
    ) -> None:
        self.durations = durations
        self.captions = [frame.lines for frame in story]
        self._story = story
        self._painter = painter
        self._drawn: list[bytes] = []

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self._story)

    def __len__(self) -> int:
        return self.frames

    def __repr__(self) -> str:
        return f"Animation({self.frames} frames, {sum(self.durations):.3g} seconds)"

    def images(self) -> Iterator[Image.Image]:
        """The frames as Pillow images; drawn at the first call."""
        from PIL import Image

        if not self._drawn:
            painter = self._painter()
            self._box, self._panels = painter.panels, len(painter.axes)
            self._drawn = [_png(image) for image in painter.paint(self._story)]
        for png in self._drawn:
            yield Image.open(BytesIO(png))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the film: the ending of ``path`` says whether as .gif, .mp4 or .html."""
        write(self, path)

    def to_html(self) -> str:
        """Return one page with a player, the frames inside it, that asks nothing of the network."""
        pictures = [  # without the caption, which the page writes itself
            base64.b64encode(_png(image.crop(self._box))).decode() for image in self.images()
        ]
        left, top, right, bottom = self._box
        film = {
            "pictures": pictures,
            "seconds": self.durations,
            "captions": self.captions,
            "panels": self._panels,
            "shape": (right - left) / (bottom - top),
        }
        page = files("maxmargin.plots.film").joinpath("player.html").read_text(encoding="utf-8")
        page = page.replace("{{title}}", html.escape(self.captions[0][0].split(" · ")[0]))
        return page.replace("{{film}}", json.dumps(film).replace("<", "\\u003c"))

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        style = "width:100%;height:740px;border:0"
        return f'<iframe title="Animation of a run" style="{style}" srcdoc="{page}"></iframe>'


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
