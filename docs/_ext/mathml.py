"""Mathematics as MathML, which browsers draw by themselves: no script, and nothing to fetch.

The translation from LaTeX is docutils'. It refuses what it does not know, so a formula that would not be
drawn is a warning of the build.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

WORDS = {
    r"\dots": r"\ldots",
    r"\iff": r"\;\Longleftrightarrow\;",
    r"\implies": r"\;\Longrightarrow\;",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
}


def translated(latex: str, block: bool) -> str:
    """Return the MathML of a formula."""
    for word, same in WORDS.items():
        latex = re.sub(rf"{re.escape(word)}(?![A-Za-z])", lambda _, same=same: same, latex)
    latex = re.sub(r"\\([td]?frac)\s*(\d)\s*(\d)", r"\\\1{\2}{\3}", latex)
    if block and r"\\" in latex and r"\begin" not in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    written = tex2mathml(latex, as_block=block)
    if r"\left" in latex:
        return written
    # Bars and braces stay as they are: a browser would stretch some of them and shrink others.
    written = re.sub("<mo>([‖∥{}])</mo>", r'<mo stretchy="false">\1</mo>', written)
    return re.sub(
        '<mo stretchy="false">([‖∥|])', r'<mo stretchy="false" lspace="0" rspace="0">\1', written
    )


def _written(node: nodes.Element, block: bool) -> str:
    try:
        return translated(node.astext(), block)
    except MathError as error:
        logger.warning("%s in %r", error, node.astext(), location=node, type="math")
        return f"<code>{node.astext()}</code>"


def hold_together(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Put each formula within a line into one unbreakable piece with the brackets beside it."""
    for node in list(tree.findall(nodes.math)):
        parent, place = node.parent, node.parent.index(node)
        piece = nodes.inline("", "", node.copy(), classes=["math-inline"])
        piece[0].extend(child.copy() for child in node.children)
        last = parent[place - 1] if place else None
        if isinstance(last, nodes.Text) and (touching := re.search(r"[(\[]+$", last)):
            parent[place - 1] = nodes.Text(last[: touching.start()])
            piece.insert(0, nodes.Text(touching[0]))
        following = parent[place + 1] if place + 1 < len(parent) else None
        if isinstance(following, nodes.Text) and (touching := re.match(r"[.,;:)\]’]+", following)):
            parent[place + 1] = nodes.Text(following[touching.end() :])
            piece.append(nodes.Text(touching[0]))
        parent[place] = piece


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(_written(node, block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """Write a formula on its own line, in a box that scrolls if the page is narrow."""
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(_written(node, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make ``html_math_renderer = "mathml"`` known."""
    app.connect("doctree-resolved", hold_together)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
