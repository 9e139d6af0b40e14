"""Pieces of the page, as HTML: tables, sentences, proofs to save, and the whole."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from maxmargin._version import __version__
from maxmargin.certificates.verdict import Verdict

__all__ = ["Proofs", "badge", "chips", "facts", "page", "sentences", "table"]

ROOM = 1 << 21  # bytes of proofs on a page, all together
CHIPS = 60  # names in a row


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return the page with its sections, each a heading and what stands below it."""
    template = (
        resources.files("maxmargin.plots.report").joinpath("report.html").read_text(encoding="utf-8")
    )
    body = "\n".join(
        f"<section>\n<h2>{html.escape(name)}</h2>\n{part}\n</section>" for name, part in sections
    )
    parts = {"TITLE": html.escape(title), "VERSION": __version__, "BODY": body}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str = "", raw: bool = False
) -> str:
    """Return a table; ``raw`` cells are HTML already, but for the first of each row."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = []
    for first, *others in rows:
        cells = others if raw else [html.escape(cell) for cell in others]
        body.append(
            f"<tr><th>{html.escape(first)}</th>"
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return (
        f'<div class="wide"><table class="{kind}">'
        + (f"<thead><tr>{top}</tr></thead>\n" if head else "")
        + f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def sentences(text: str) -> str:
    """Return a text as paragraphs; lines that begin with · are a list."""
    lines = text.replace("\n  ", " ").splitlines()
    kinds = [' class="item"' if line.startswith("·") else "" for line in lines]
    said = [html.escape(line.lstrip("· ")) for line in lines]
    return "\n".join(f"<p{kind}>{line}</p>" for kind, line in zip(kinds, said, strict=True))


def chips(kinds: Mapping[str, str]) -> str:
    """Return names, each with the kind of its verdict, one after the other."""
    some = list(kinds.items())[:CHIPS]
    parts = [f'<span class="chip">{html.escape(name)} {badge(kind)}</span>' for name, kind in some]
    more = len(kinds) - len(some)
    return f"<p>{' '.join(parts)}{f' and {more} more' if more else ''}</p>" if parts else ""


def facts(text: str, of: str = "") -> str:
    """Return a printed certificate, name, value and meaning in columns, as a table under its heading.

    ``of`` says beside the heading which rows it is about.
    """
    heading, *lines = text.splitlines()
    heading += f", {of}" if of else ""
    fields = [re.split(r"\s{2,}", line.strip()) for line in lines]
    rows = [row for row in fields if len(row) == 3]
    found = "\n".join(line.strip() for line, row in zip(lines, fields, strict=True) if len(row) != 3)
    return f"<p>{html.escape(heading)}</p>\n{table((), rows, kind='facts')}\n{sentences(found)}"


def badge(kind: str) -> str:
    """Return the kind of a verdict as a coloured word."""
    return f'<span class="badge {kind}">{kind}</span>'


class Proofs:
    """Proofs as files inside the page, as many as there is room for."""

    def __init__(self, source: Mapping[str, Any] | None = None) -> None:
        self.source = dict(source or {})
        self.room = ROOM

    def link(self, verdict: Verdict, name: str = "") -> str:
        """Return a link that saves the proof, or says that there is no room for it."""
        text = json.dumps(self._content(verdict), indent=1).encode("ascii")
        if len(text) > self.room:
            return "too large for this page: verdict.proof.save writes it"
        self.room -= len(text)
        data, file = base64.b64encode(text).decode(), self._file(name)
        return f'<a download="{file}" href="data:application/json;base64,{data}">Save the proof</a>'

    def block(self, verdict: Verdict, name: str = "") -> str:
        """Return fingerprint and seal of a proof, and how to check it."""
        content, link = self._content(verdict), self.link(verdict, name)
        check = f", and check it: <code>python -m maxmargin.checker {self._file(name)} DATA</code>"
        return (
            f'<p class="seal">Fingerprint of the data: <code>{content["data"]}</code><br>'
            f"Seal of the proof: <code>{content['seal']}</code></p>\n"
            f"<p>{link}{check if '</a>' in link else '.'}</p>"
        )

    def _content(self, verdict: Verdict) -> dict[str, Any]:
        return verdict.proof.with_source(**self.source).to_dict()

    def _file(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        return f"proof-{plain}.json" if plain else "proof.json"
