"""Code blocks without the blank line at their end, which doctest needs and the reader does not."""

from docutils import nodes
from sphinx.application import Sphinx


def trim(app: Sphinx, tree: nodes.document) -> None:
    """Cut the end of every block of code."""
    for block in tree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        if block.rawsource == block.astext():  # otherwise it is not highlighted from its text
            block.rawsource = text
            block[:] = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen for pages that have been read."""
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
