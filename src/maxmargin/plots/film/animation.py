"""A recorded run as a film: the current rows, the step, and the step in numbers.

The first updates pass slowly, the next ones fast, and of a long run the rest is left out up to the last.
Frames are drawn once and kept as PNG of few colours; GIF, MP4 and a page of HTML are made from them.
"""

from __future__ import annotations

import base64
import html
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import InputError, unwritable
from maxmargin.core.history import Trace
from maxmargin.core.parameters import check_count, check_number
from maxmargin.plots.data import Points, choose_view, read_points
from maxmargin.plots.film.captions import Still, make_stills
from maxmargin.plots.film.frames import Painter
from maxmargin.plots.report.page import fill_template
from maxmargin.plots.style import pyplot

if TYPE_CHECKING:
    from PIL import Image

# A film as a file: GIF by Pillow, MP4 by the program ffmpeg, or one HTML page with a player.

RATE = 50  # pictures per second of a video, which holds each frame for several


def write(film: Animation, path: str | PathLike[str], name: str = "path") -> None:
    """Write the film as the ending of ``path`` says; errors call the path ``name``."""
    writer = find_writer(path, name)
    try:
        with replacing(path) as place:
            writer(film, place)
    except OSError as error:
        raise unwritable(path, error, name) from error


def find_writer(path: str | PathLike[str], name: str = "path") -> Callable[[Animation, Path], None]:
    """The writer for an ending, before any work is done; errors call the path ``name``."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in WRITERS:
        raise InputError(f"{name} must end in .gif, .mp4 or .html. Got {str(path)!r} instead.")
    if ending == ".mp4" and _ffmpeg() is None:
        raise InputError(
            f"{name} must end in .gif or .html where the program ffmpeg, which writes videos, is not "
            f"found. Got {str(path)!r} instead. Install ffmpeg so that it is on the PATH (or set "
            "matplotlib's animation.ffmpeg_path), or save as .gif or .html."
        )
    if not target.absolute().parent.is_dir():
        raise unwritable(path, f"there is no folder {str(target.parent)!r}", name)
    return WRITERS[ending]


def _write_gif(film: Animation, path: Path) -> None:
    rest = film.images()
    first = next(rest)
    milliseconds = [10 * round(100 * s) for s in film.durations]  # GIF counts in hundredths
    first.save(
        path, "GIF", save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=True
    )


def _write_html(film: Animation, path: Path) -> None:
    path.write_bytes(film.to_html().encode())


def _write_mp4(film: Animation, path: Path) -> None:
    pictures = film.images()
    first = next(pictures)
    wide, high = (side - side % 2 for side in first.size)  # video wants even sides
    raw = f"-f rawvideo -pix_fmt rgb24 -s {wide}x{high} -r {RATE} -i -"
    video = "-an -pix_fmt yuv420p -movflags +faststart"
    command = [str(_ffmpeg()), "-y", "-loglevel", "error", *raw.split(), *video.split()]
    command.append(str(path.absolute()))
    ends = np.round(RATE * np.cumsum(film.durations)).astype(int)  # no rounding adds up
    repeats = np.diff(ends, prepend=0).tolist()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        with suppress(BrokenPipeError):  # it says why below
            for image, many in zip(chain([first], pictures), repeats, strict=True):
                dots = image.convert("RGB").crop((0, 0, wide, high)).tobytes()
                for _ in range(many):
                    process.stdin.write(dots)
        with suppress(BrokenPipeError):
            process.stdin.close()
        said = process.stderr.read().decode(errors="replace").strip()
        failed = process.wait() != 0
    if failed:
        raise InputError(
            f"the video must be one that ffmpeg can write. Got {path.name!r} instead, and ffmpeg says: "
            f"{said.splitlines()[-1] if said else 'nothing'}. Save as .gif or .html."
        )


def _ffmpeg() -> str | None:
    """Where the program is: by matplotlib's setting, which is its name, to be found on the PATH."""
    from matplotlib import rcParams

    return shutil.which(str(rcParams["animation.ffmpeg_path"]))


WRITERS = {".gif": _write_gif, ".mp4": _write_mp4, ".html": _write_html}


class Animation:
    """A film of a run, made by :func:`maxmargin.plots.animate`; shows itself in notebooks.

    Attributes
    ----------
    frames : int
        How many there are: the start, one per update shown, and the end.
    durations : list of float
        Seconds each is seen.
    captions : list of tuple of str
        What is written below each: where the run is, the current row, and the step in numbers.
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
        title = html.escape(self.captions[0][0].split(" · ")[0])
        content = json.dumps(film).replace("<", "\\u003c")
        return fill_template("film/player.html", title=title, film=content)

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        style = "width:100%;height:740px;border:0"
        return f'<iframe title="Animation of a run" style="{style}" srcdoc="{page}"></iframe>'


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


MAX_UPDATES = 1_000  # in one film, which bounds its memory
SHORTEST_FRAME = 0.02  # seconds: many viewers of GIF slow down anything shorter


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
    names: Sequence[str] | None = None,
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
    names : sequence of str, optional
        Names of the features; default those of a data frame, or x0, x1 and so on.
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
    >>> from maxmargin.plots.film.animation import animate
    >>> X, y = [[2, 1], [1, 3], [-1, -1], [-2, 1]], [1, 1, -1, -1]
    >>> model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
    >>> film = animate(model.trace_, X, y)
    >>> film.frames, film.durations  # the start, one update, the end
    (3, [1.0, 1.0, 2.0])
    >>> print(film.captions[1][2])
    w = (0, 0) + (+1)·(2, 1) = (2, 1)
    """
    pyplot()  # a sentence on how to get matplotlib, if it is not there
    if path is not None:
        find_writer(path)
    many_slow, many_fast = (check_count(*n, least=0) or 0 for n in (("slow", slow), ("fast", fast)))
    pause = check_number("seconds_slow", seconds_slow, least=SHORTEST_FRAME)
    beat = check_number("seconds_fast", seconds_fast, least=SHORTEST_FRAME)
    shown = many_slow + many_fast
    if frames is not None:
        shown = check_count("frames", frames, least=0) or 0
    if not 1 <= shown <= MAX_UPDATES:
        raise InputError(
            f"slow + fast, or frames if given, must be from 1 to {MAX_UPDATES} updates. "
            f"Got {shown} instead. The last update is always shown."
        )
    points = read_points(X, y, names=names)
    _check(trace, points)
    batch = trace[0].row < 0
    if title is None:
        title = "Batch perceptron" if batch else "Perceptron"
    story = make_stills(trace, points, shown, title)
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
    film = Animation(story, durations, lambda: Painter(points, view, both, bias, dots, batch))
    if path is not None:
        film.save(path)
    return film


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
    weights = [trace.start, *(update.weights for update in trace)]
    if any(z.shape != (d + 1,) for z in weights):
        given = len(np.ravel(trace.start)) - 1
        raise InputError(
            f"X must have as many columns as the run that made the trace. Got {d} columns and a trace "
            f"for {given} instead. Pass the X of the fit."
        )
    missing = [update.row for update in trace if not -1 <= update.row < n]
    if missing:
        raise InputError(
            f"X must hold every row of the trace. Got {n} rows and an update of row {missing[0]} "
            "instead. Pass the X of the fit."
        )
    if not np.all(np.isfinite(weights)):
        raise InputError("trace must hold finite weights. Got nan or inf instead.")
