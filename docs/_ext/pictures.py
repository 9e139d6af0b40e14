"""Matplotlib's plot directive, numbered through the page, or silent for a quick look at the text.

Within a Markdown page every ``eval-rst`` block is parsed by itself, and the directive would begin to
count its files anew in each: two pictures of a page would have the same name.
"""

from __future__ import annotations

from docutils.nodes import Node
from matplotlib.sphinxext import plot_directive
from sphinx.application import Sphinx

COUNTED = "_plot_counter"  # where the directive keeps its count


class Picture(plot_directive.PlotDirective):
    """A picture with a name of its own."""

    def run(self) -> list[Node]:
        """Make the picture, unless none are wanted."""
        document = self.state_machine.document
        env = document.settings.env
        if not env.config.make_pictures:
            return []
        document.attributes[COUNTED] = env.current_document.get(COUNTED, 0)
        made = super().run()
        env.current_document[COUNTED] = document.attributes[COUNTED]
        return list(made)


def setup(app: Sphinx) -> dict[str, bool]:
    """Put it in the place of the other."""
    plot_directive.setup(app)
    app.add_config_value("make_pictures", True, "env", bool)
    app.add_directive("plot", Picture, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
