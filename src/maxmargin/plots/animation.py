"""A recorded run as a film: the point in hand, the step, and the step in numbers.

The first updates pass slowly, the next ones fast, and of a long run the rest is left out up to the last.
Frames are drawn once, kept as PNG of few colours, and written as GIF, MP4 or one HTML page.
"""

from __future__ import annotations

import base64
import html
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from io import BytesIO
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.params import check_count, check_number
from maxmargin.core.trace import Trace
from maxmargin.plots.captions import Frame, tell
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.frames import Painter
from maxmargin.plots.style import pyplot
from maxmargin.plots.view import choose_view

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Animation", "animate"]

MOST = 1_000  # updates in one film, which bounds its memory
RATE = 50  # pictures per second of a video, which holds each frame for several
LEAST = 0.02  # seconds: many viewers of GIF slow down anything shorter


def animate(
    trace: Trace,
    X: Any,
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    slow: int = 10,
    fast: int = 100,
    seconds_slow: float = 1.0,
    seconds_fast: float = 0.08,
    frames: int | None = None,
    features: Any = None,
    title: str | None = None,
    dpi: float = 100,
) -> Animation:
    """Show a recorded run update by update: x-space, and for two features without bias w-space.

    Parameters
    ----------
    trace : Trace
        ``trace_`` of a perceptron that was fitted with ``record=True``.
    X, y : array-like
        The data of the fit; two classes. For one machine of several, y == its label.
    path : path, optional
        Where to save it, as by :meth:`Animation.save`.
    slow, fast : int ≥ 0
        How many updates pass slowly, and how many fast after them.
    seconds_slow, seconds_fast : float ≥ 0.02
        How long a frame of each kind is seen.
    frames : int from 1 to 1000, optional
        How many updates are shown one by one before the film jumps to the last; default slow + fast.
    features : pair of columns or "projection", optional
        What to show of more than two features; default the projection on the final w.
    title : str, optional
        The first words of each caption; default "Perceptron" or "Batch perceptron".
    dpi : float, default 100
        Dots per inch: two panels are 900 dots wide at 100.

    Returns
    -------
    Animation

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.animation import animate
    >>> X, y = [[2, 1], [1, 3], [-1, -1], [-2, 1]], [1, 1, -1, -1]
    >>> model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
    >>> film = animate(model.trace_, X, y)
    >>> film.frames, film.durations  # the start, one update, the end
    (3, [1.0, 1.0, 2.0])
    >>> print(film.captions[1][2])
    w = (0, 0) + (+1)·(2, 1) = (2, 1)
    """
    if path is not None:
        _writer(path)
    many_slow, many_fast = (_count(name, n) for name, n in (("slow", slow), ("fast", fast)))
    pause = check_number("seconds_slow", seconds_slow, least=LEAST)
    beat = check_number("seconds_fast", seconds_fast, least=LEAST)
    shown = many_slow + many_fast if frames is None else _count("frames", frames)
    if not 1 <= shown <= MOST:
        raise InputError(
            f"slow + fast, or frames if given, must be from 1 to {MOST} updates. Got {shown} instead. "
            "The last update is always shown."
        )
    points = read_points(X, y)
    _check(trace, points)
    if title is None:
        title = "Batch perceptron" if trace[0].row < 0 else "Perceptron"
    story = tell(trace, points, shown, title)
    durations = [pause] * (1 + min(many_slow, shown)) + [beat] * max(0, shown - many_slow)
    durations = durations[: 1 + len(trace)]
    if len(trace) > shown:
        durations.append(pause)  # after the jump
    durations.append(2 * pause)
    end = trace[-1].weights
    view = choose_view(points.X, end[:-1], features, None, points.names)
    bias = bool(trace.start[-1]) or any(u.weights[-1] != 0 for u in trace)
    both = points.X.shape[1] == 2 and not bias and features != "projection"
    dots = check_number("dpi", dpi, least=20, below=601)
    pyplot()  # a sentence on how to get matplotlib, if it is not there
    film = Animation(story, durations, lambda: Painter(points, view, both, bias, dots))
    if path is not None:
        film.save(path)
    return film


class Animation:
    """A film of a run, made by :func:`animate`; shows itself in notebooks.

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
        self, story: list[Frame], durations: list[float], painter: Callable[[], Painter]
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
        _writer(path)(self, Path(path))

    def to_html(self) -> str:
        """Return one page with a player, the frames inside it, that asks nothing of the network."""
        pictures = [  # without the caption, which the page writes itself
            base64.b64encode(_png(image.crop(self._box))).decode() for image in self.images()
        ]
        film = {
            "pictures": pictures,
            "seconds": self.durations,
            "captions": self.captions,
            "panels": self._panels,
        }
        page = files("maxmargin.plots").joinpath("player.html").read_text(encoding="utf-8")
        page = page.replace("{{title}}", html.escape(self.captions[0][0].split(" · ")[0]))
        return page.replace("{{film}}", json.dumps(film).replace("<", "\\u003c"))

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        style = "width:100%;height:640px;border:0"
        return f'<iframe title="Animation of a run" style="{style}" srcdoc="{page}"></iframe>'


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _write_gif(film: Animation, path: Path) -> None:
    rest = film.images()
    first = next(rest)
    milliseconds = [10 * round(100 * s) for s in film.durations]  # GIF counts in hundredths
    first.save(
        path, "GIF", save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=True
    )


def _write_html(film: Animation, path: Path) -> None:
    path.write_text(film.to_html(), encoding="utf-8")


def _write_mp4(film: Animation, path: Path) -> None:
    program = _ffmpeg(path)
    pictures = film.images()
    first = next(pictures)
    wide, high = (side - side % 2 for side in first.size)  # video wants even sides
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{wide}x{high}", "-r", str(RATE), "-i", "-", "-an", "-pix_fmt", "yuv420p"]
    command += ["-movflags", "+faststart", str(path.absolute())]
    ends = np.round(RATE * np.cumsum(film.durations)).astype(int)
    repeats = np.diff(ends, prepend=0)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            for image, many in zip(chain([first], pictures), repeats.tolist(), strict=True):
                raw = image.convert("RGB").crop((0, 0, wide, high)).tobytes()
                for _ in range(many):
                    process.stdin.write(raw)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it says why below
        said = process.stderr.read().decode(errors="replace").strip()
        failed = process.wait() != 0
    if failed:
        raise InputError(
            f"path must be one that ffmpeg can write. Got {str(path)!r} instead, and ffmpeg says: "
            f"{said.splitlines()[-1] if said else 'nothing'}. Save as .gif or .html."
        )


def _ffmpeg(path: Path) -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError(
            "path must end in .gif or .html where the program ffmpeg is not installed. "
            f"Got {str(path)!r} instead. Install ffmpeg, or save as .gif or .html."
        )
    return program


WRITERS = {".gif": _write_gif, ".mp4": _write_mp4, ".html": _write_html}


def _writer(path: str | PathLike[str]) -> Callable[[Animation, Path], None]:
    """The writer for an ending, before any work is done."""
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise InputError(f"path must end in .gif, .mp4 or .html. Got {str(path)!r} instead.")
    if ending == ".mp4":
        _ffmpeg(Path(path))
    return WRITERS[ending]


def _count(name: str, value: Any) -> int:
    count = check_count(name, value, least=0)
    assert count is not None
    return count


def _check(trace: Trace, points: Points) -> None:
    """Raise unless the trace can be one of a run on these points."""
    if not isinstance(trace, Trace):
        raise InputError(
            f"trace must be a Trace, such as trace_ after a fit with record=True. "
            f"Got {type(trace).__name__} instead. Of several classes, take trace_[label]."
        )
    if len(points.classes) != 2:
        raise InputError(
            f"y must hold two classes. Got {len(points.classes)} instead. For the trace of one machine "
            "against the rest pass y == label."
        )
    if not len(trace):
        raise InputError(
            "trace must hold at least one update. Got none instead: the first weights were right for "
            "every row, and there is nothing to show."
        )
    n, d = points.X.shape
    if any(z.shape != (d + 1,) for z in (trace.start, *(u.weights for u in trace))):
        given = len(np.ravel(trace.start)) - 1
        raise InputError(
            f"X must have as many columns as the run that made the trace. Got {d} columns and a trace "
            f"for {given} instead. Pass the X of the fit."
        )
    if any(not -1 <= u.row < n for u in trace):
        row = next(u.row for u in trace if not -1 <= u.row < n)
        raise InputError(
            f"X must hold every row of the trace. Got {n} rows and an update of row {row} instead. "
            "Pass the X of the fit."
        )
    if not all(np.all(np.isfinite(z)) for z in (trace.start, *(u.weights for u in trace))):
        raise InputError("trace must hold finite weights. Got nan or inf instead.")
