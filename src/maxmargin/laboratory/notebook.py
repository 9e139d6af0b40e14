"""``mm.lab(X, y)``: the lab as a widget in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxmargin.core.errors import InputError

if TYPE_CHECKING:
    from maxmargin.laboratory.widget import LabWidget

FIRST_REQUEST = {"ask": "preset", "name": "separable", "n": 24, "margin": 0.25, "seed": 3}


def lab(
    X: Any = None,
    y: Any = None,
    *,
    names: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    algorithm: str = "perceptron",
    **options: Any,
) -> LabWidget:
    """Open the lab in a notebook: drag points, watch every update, read the proof beside it.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d), optional
        At most 2,000 rows. More than two features are projected: along the normal of a soft margin and
        along the largest other direction. Without it, the lab opens with a small example.
    y : array of shape (n,), optional
        Labels, of at most five classes.
    names : sequence of d names, optional
        Names of the features.
    features : two names or places, optional
        Show these two features as they are, instead of a projection.
    algorithm : {"perceptron", "batch", "pocket", "hard", "soft"}
        What is run first.
    **options
        Options of the algorithm as the lab names them: ``intercept``, ``threshold``, ``rate``,
        ``order``, ``averaged``, ``step``, ``C``, ``scheme``, ``epochs``, ``seed``, ``polish``.

    Returns
    -------
    LabWidget
        Show it as the value of a cell. Its ``state``, ``X`` and ``y`` follow what is done in it, and
        ``script()`` is the Python that reproduces it.

    Examples
    --------
    >>> import maxmargin as mm
    >>> widget = mm.lab([[90, 80], [40, 30], [50, 40]], ["yes", "no", "no"], algorithm="hard")
    >>> widget.X.shape, widget.state["algorithm"]
    ((3, 2), 'hard')
    """
    if (X is None) != (y is None):
        raise InputError("lab needs both X and y, or neither of them. Got one instead.")
    try:
        from maxmargin.laboratory.widget import LabWidget
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anywidget", "ipywidgets", "traitlets"):
            raise
        raise InputError(
            "lab needs anywidget to show itself in a notebook. Got no such module. "
            "Run: pip install 'maxmargin[notebook]'; or, outside a notebook: maxmargin lab."
        ) from error
    from maxmargin.laboratory.engine import answer
    from maxmargin.laboratory.state import read_state
    from maxmargin.laboratory.tables import opening

    note = ""
    if X is None:
        made = answer(FIRST_REQUEST)
        state = {"v": 1, **{key: made[key] for key in ("points", "labels", "names")}}
    else:
        state, note = opening(X, y, names, features)
    state = {**state, "algorithm": algorithm, "options": options}
    read_state(state)  # a sentence on what is not an algorithm or an option
    return LabWidget(state=state, note=note)
