"""The frames of an animated run: what stays is drawn once, and what moves is laid over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.data import Points
from maxmargin.plots.film.brushes import palette
from maxmargin.plots.film.captions import Still
from maxmargin.plots.film.wpanel import WPanel
from maxmargin.plots.film.xpanel import XPanel
from maxmargin.plots.style import BLACK
from maxmargin.plots.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL import Image

__all__ = ["Painter"]

EARLY = 4  # frames that fit into w-space before it grows
GROWTH = 1.5  # how much it grows at a time
LINE = 0.22  # inches between lines of the caption
LETTERS = 10.0  # their size; a line that is too wide for the picture is smaller
SHAPE = {True: (9.0, 4.5, 3.9), False: (7.0, 5.6, 4.6)}  # inches: picture, panel, its height; two or one


class Painter:
    """Draws frames on one canvas: x-space, and w-space beside it if ``both``.

    Attributes
    ----------
    axes : list of Axes
        x-space, w-space.
    moving : dict of str to artist
        What changes from frame to frame, as in :class:`XPanel` and :class:`WPanel`.
    """

    def __init__(
        self, points: Points, view: View, both: bool, bias: bool, dpi: float, batch: bool = False
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.view = view
        self.caption = 0.2 + LINE * (3 + bias)  # inches below the panels
        wide, self.each, self.high = SHAPE[both]
        self.size = (wide, self.high + self.caption)
        self.figure = Figure(figsize=self.size, dpi=dpi, facecolor="white")
        self.canvas: Any = FigureCanvasAgg(self.figure)
        self.axes = [self._panel(k, 1 + both) for k in range(1 + both)]
        self.x_panel = XPanel(self.axes[0], points, view, bias)
        self.w_panel = WPanel(self.axes[1], points, view, batch) if both else None
        self.moving = self.x_panel.moving | (self.w_panel.moving if self.w_panel else {})
        self.texts = [self._text(k) for k in range(3 + bias)]
        self.path: list[np.ndarray] = []
        self.reach = np.ones(2)  # lengths of w that fit into w-space and into x-space
        self._still: Any = None

    def _panel(self, place: int, many: int) -> Axes:
        wide, high = self.size
        left, right, low, top = 0.65, 0.2, 0.55, 0.62  # inches around the axes
        free = 0.5 * (wide - many * self.each)
        return self.figure.add_axes(
            (
                (free + place * self.each + left) / wide,
                (self.caption + low) / high,
                (self.each - left - right) / wide,
                (self.high - low - top) / high,
            )
        )

    def _text(self, k: int) -> Any:
        """Line k of the caption."""
        place = 0.25 / self.size[0], (self.caption - 0.1 - LINE * k) / self.size[1]
        weight = "bold" if k == 0 else "normal"
        return self.figure.text(
            *place, "", weight=weight, color=BLACK, va="center", animated=True, parse_math=False
        )

    @property
    def panels(self) -> tuple[int, int, int, int]:
        """Where the panels are, in dots from the upper left corner, without the caption."""
        free = 0.5 * (self.size[0] - len(self.axes) * self.each)
        corners = (free, 0.0, self.size[0] - free, self.high)
        left, top, right, bottom = (round(self.figure.dpi * inches) for inches in corners)
        return left, top, right, bottom

    def paint(self, frames: Sequence[Still]) -> Iterator[Image.Image]:
        """Draw frame after frame as images of few colours, which compress well."""
        from PIL import Image

        few = Image.new("P", (1, 1))
        few.putpalette(palette())
        self.path, self._still = [], None
        self.reach = np.max([self._lengths(frame) for frame in frames[:EARLY]], axis=0)
        self.reach[self.reach == 0] = 1.0
        for frame in frames:
            self.draw(frame)
            size, dots = self.canvas.get_width_height(), self.canvas.buffer_rgba()
            shown = Image.frombuffer("RGBA", size, dots, "raw", "RGBA", 0, 1)
            yield shown.convert("RGB").quantize(palette=few, dither=Image.Dither.NONE)

    def draw(self, frame: Still) -> None:
        """Draw one frame; w-space grows now and then, so that early steps are seen as well."""
        old, new = (self.view.axes @ z[:-1] for z in (frame.before, frame.after))
        if self.path and not np.array_equal(old, self.path[-1]):
            self.path += [np.full(2, np.nan), old]  # updates were left out
        self.path.append(new)
        while np.any(self._lengths(frame) > self.reach):
            self.reach, self._still = GROWTH * self.reach, None
        if self._still is None:
            if self.w_panel is not None:
                self.w_panel.grow(self.reach[0])
            self.canvas.draw()
            self._still = self.canvas.copy_from_bbox(self.figure.bbox)
        self.x_panel.move(frame, old, new, self.reach[1])
        if self.w_panel is not None:
            self.w_panel.move(frame, old, new, self.path)
        self.canvas.restore_region(self._still)
        for artist in self.moving.values():
            artist.axes.draw_artist(artist)
        for k, text in enumerate(self.texts):
            self._write(text, frame.lines[k] if k < len(frame.lines) else "")

    def _write(self, text: Any, line: str) -> None:
        text.set_text(line)
        for shrink in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5):
            text.set_fontsize(LETTERS * shrink)
            if text.get_window_extent().x1 <= self.figure.bbox.x1 - 0.1 * self.figure.dpi:
                break
        self.figure.draw_artist(text)

    def _lengths(self, frame: Still) -> np.ndarray:
        """How long w is: as it is, and in x-space as drawn."""
        flat = [self.view.axes @ z[:-1] for z in (frame.before, frame.after)]
        both = [(float(np.linalg.norm(v)), self.x_panel.length(v)) for v in flat]
        return np.asarray(np.max(both, axis=0))
