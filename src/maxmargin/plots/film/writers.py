"""A film as a file: GIF by Pillow, MP4 by the program ffmpeg, or one HTML page with a player."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.core.atomic import replacing
from maxmargin.core.errors import InputError, unwritable

if TYPE_CHECKING:
    from maxmargin.plots.film.film import Animation

__all__ = ["find_writer", "write"]

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
