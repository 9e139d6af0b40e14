"""The lab in a cell of a notebook: the page's own modules, answered by this very kernel."""

from __future__ import annotations

from typing import Any

import anywidget
import numpy as np
import traitlets

from maxmargin.laboratory.bundle import bundle, styles
from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.latest import Latest

__all__ = ["LabWidget"]


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
