"""The members of a class that its page shows: what maxmargin wrote, inherited or not, and no more.

Our estimators inherit from scikit-learn; its methods are explained in its own documentation.
"""

from typing import Any

from sphinx.application import Sphinx


def written_elsewhere(
    app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip a member that another library defines, or that has nothing to say."""
    if name.startswith("_"):
        return True
    function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    home = getattr(function, "__module__", None) or ""
    if not callable(function) or not home.startswith("maxmargin") or not function.__doc__:
        return True
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to autodoc."""
    app.connect("autodoc-skip-member", written_elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
