"""The page's modules as one text, for notebooks.

A notebook loads a widget's code from a text without an address, so ``import … from "./store.js"``
finds nothing there. The one module made here holds the sources of all others, in the order in which
they need each other. In the browser each gets an address (a blob), written into those that import it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["PAGE", "bundle", "imports", "styles"]

PAGE = Path(__file__).parent / "page"
STYLES = ("lab.css", "truth.css")
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
    done: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(
                f"modules must not import each other in a ring: {' → '.join((*above, name))}"
            )
        if name not in done:
            for other in imports((folder / name).read_text("utf-8")):
                visit(other, (*above, name))
            done.append(name)

    visit(entry, ())
    return done


def _marked(path: Path) -> str:
    """A module in which the addresses of others are still to be written."""
    return IMPORT.sub(r"\1lab-module:\2", path.read_text("utf-8"))
