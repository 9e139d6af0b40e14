"""A film: its frames, drawn once and kept as PNG of few colours, with what is written below them."""

from __future__ import annotations

import base64
import html
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.resources import files
from io import BytesIO
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import InputError, unwritable
from maxmargin.plots.film.captions import Still
from maxmargin.plots.film.frames import Painter

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Animation", "find_writer", "write"]


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
    command = [str(_ffmpeg()), "-y", "-loglevel", "error"]
    command += [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{wide}x{high}",
        "-r",
        str(RATE),
        "-i",
        "-",
    ]
    command += ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path.absolute())]
    ends = np.round(RATE * np.cumsum(film.durations)).astype(int)  # no rounding adds up
    repeats = np.diff(ends, prepend=0).tolist()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        with suppress(BrokenPipeError):  # it says why below
            for image, many in zip(chain([first], pictures), repeats, strict=True):
                raw = image.convert("RGB").crop((0, 0, wide, high)).tobytes()
                for _ in range(many):
                    process.stdin.write(raw)
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
