"""The lab in a cell of a notebook: the page's own modules, answered by this very kernel."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.protocol import (
    Answer,
    MalformedError,
    channel_of,
    dropped,
    failed,
    parse_request,
    respond,
    to_json,
)

# The page's modules as one text, for notebooks.
#
# A notebook loads a widget's code from a text without an address, so ``import … from "./store.js"``
# finds nothing there. The one module made here holds the sources of all others, in the order in which
# they need each other. In the browser each gets an address (a blob), written into those that import it.

PAGE = Path(__file__).parent / "page"
STYLES = ("lab.css", "results.css")
# import … from "./name.js", export … from "./name.js" or import "./name.js", at the beginning of a line
IMPORT = re.compile(
    r"""^((?:import\s*|(?:import|export)\s[^;'"()=]*?\bfrom\s*)["'])\./([\w-]+\.js)(?=["'])""",
    re.MULTILINE,
)
LOADER = """
const addresses = {};
for (const [name, text] of modules) {
  const linked = text.replace(/lab-module:([\\w-]+\\.js)/g, (_, other) => addresses[other]);
  addresses[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
const lab = await import(addresses[modules[modules.length - 1][0]]);
for (const address of Object.values(addresses)) URL.revokeObjectURL(address);
export default lab.default;
"""


def bundle(entry: str = "lab.js", folder: Path = PAGE) -> str:
    """One module whose default export is that of ``entry``."""
    modules = [(name, _marked(folder / name)) for name in _in_order(entry, folder)]
    return f"const modules = {json.dumps(modules)};\n{LOADER}"


def styles() -> str:
    """All rules for the looks of the lab."""
    return "\n".join((PAGE / name).read_text("utf-8") for name in STYLES)


def imports(text: str) -> list[str]:
    """The modules that a module imports."""
    return [name for _, name in IMPORT.findall(text)]


def _in_order(entry: str, folder: Path) -> list[str]:
    """The entry and all it needs, each after those it imports."""
    needs: dict[str, list[str]] = {}
    found = [entry]
    while found:
        name = found.pop()
        if name not in needs:
            needs[name] = imports((folder / name).read_text("utf-8"))
            found += needs[name]
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        ring = " → ".join(error.args[1])
        raise ValueError(f"modules must not import each other in a ring: {ring}") from error


def _marked(path: Path) -> str:
    """A module in which the addresses of others are still to be written."""
    return IMPORT.sub(r"\1lab-module:\2", path.read_text("utf-8"))


# Requests of a notebook's widget, answered in the kernel: per channel only the latest one waits.


class Latest:
    """Answers one request after the other, in a thread that is there only while there is work.

    Dragging asks faster than Python may answer: a request that still waits when a newer one of its
    channel comes is dropped, so there is never more than one waiting per channel.
    """

    def __init__(self, answer: Answer, send: Callable[[dict[str, Any]], None]) -> None:
        self.answer, self.send = answer, send
        self.waiting: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def put(self, content: Any) -> None:
        """Take a message of the page."""
        try:
            request = parse_request(json.dumps(content))
        except (MalformedError, TypeError, ValueError) as error:
            self.send(failed(getattr(error, "id", None), str(error)))
            return
        channel = channel_of(request)
        with self.lock:
            older = self.waiting.get(channel)
            self.waiting[channel] = request
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="maxmargin lab", daemon=True)
                self.thread.start()
        if older is not None:
            self.send(dropped(older["id"]))

    def forget(self) -> None:
        """Nobody waits any more."""
        with self.lock:
            self.waiting.clear()

    def join(self) -> None:
        """Wait until everything is answered."""
        thread = self.thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    self.thread = None
                    return
                request = self.waiting.pop(next(iter(self.waiting)))
            reply = respond(request, self.answer)
            self.send(json.loads(to_json(reply)))  # plain numbers and lists, and no NaN


class LabWidget(anywidget.AnyWidget):
    """What :func:`maxmargin.lab` returns: shown as the value of a cell.

    Attributes
    ----------
    state : dict
        All that the lab shows, as it is now: ``points``, ``labels``, ``algorithm``, ``options``, ….
    note : str
        How the points came about, if they are not simply the rows of X.
    """

    _esm = bundle()
    _css = styles()
    state = traitlets.Dict().tag(sync=True)
    note = traitlets.Unicode("")

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._latest = Latest(answer, self.send)
        self.on_msg(self._take)

    def _take(self, _widget: Any, content: Any, _buffers: Any) -> None:
        self._latest.put(content)

    def close(self) -> None:
        """Take the lab away; what was asked and not yet answered is forgotten."""
        self._latest.forget()
        super().close()

    @property
    def X(self) -> np.ndarray:
        """The points as they are now, of shape (n, 2)."""
        points = self.state.get("points", [])
        return np.array([point[:2] for point in points], dtype=np.float64).reshape(-1, 2)

    @property
    def y(self) -> np.ndarray:
        """The labels of the points as they are now: texts."""
        labels = self.state.get("labels", ["−1", "+1"])
        return np.array([labels[point[2]] for point in self.state.get("points", [])], dtype=str)

    def script(self) -> str:
        """A Python script that reproduces what the lab shows now."""
        known = {key: value for key, value in self.state.items() if key != "view"}
        return str(answer({"ask": "script", "state": known})["python"])
