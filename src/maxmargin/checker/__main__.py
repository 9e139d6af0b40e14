"""``python -m maxmargin.checker proof.json data.csv [--label NAME]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from maxmargin.checker import Rejected, Unreadable, check, parse, read
from maxmargin.checker.files import READERS
from maxmargin.checker.form import MODEL, ratio


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Unreadable(
            f"{message}. Usage: python -m maxmargin.checker proof.json data.csv [--label NAME]"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Check a proof against a file: 0 if it holds, 1 if it is rejected, 2 if a file is of no use."""
    arguments = _Arguments(
        prog="python -m maxmargin.checker", description="Check a proof against its data."
    )
    arguments.add_argument("proof", help="the proof, a JSON file")
    arguments.add_argument("data", help=f"the data, a file ending in {', '.join(READERS)}")
    arguments.add_argument(
        "--label", help="name or 0-based number of the label column of a table or matrix"
    )
    try:
        given = arguments.parse_args(argv)
        try:
            text = Path(given.proof).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise Unreadable(f"{given.proof}: {error}. Name a proof that can be read.") from None
        _refuse_other_files(text, given.proof)
        proof = parse(text)
        left_out = check(proof, read(given.data, proof, given.label))
    except Rejected as error:
        return _say(f"Rejected: {error}.", 1)
    except Unreadable as error:
        return _say(str(error), 2)
    sides = " against ".join(_some(proof[side]) for side in ("positive", "negative"))
    size = f"{_count(proof['rows'], 'row')}, {_count(proof['features'], 'feature')}"
    origin = "" if proof["intercept"] else ", planes through the origin"
    columns = ""
    if "columns" in proof:
        columns = f" (label {proof.get('label', 'as given')}; features {_some(proof['columns'])})"
    origin += ", numbers as written in decimals" if "numbers" in proof else ""
    left = f", {_count(left_out, 'row')} of other classes left out" if left_out else ""
    found = f": {_bounds(proof)}" if proof["kind"] == "errors" else ""
    return _say(f"The proof holds: {proof['kind']}, {size}, {sides}{origin}{left}{columns}{found}.", 0)


def _refuse_other_files(text: str, path: str) -> None:
    """A damaged proof is rejected; what never was a proof cannot be used."""
    found = "a model file" if MODEL in text[:100] else "" if text.lstrip()[:1] == "{" else "other text"
    if found:
        raise Unreadable(
            f"{path}: must be a proof, a JSON object as maxmargin separable --proof writes it. Got "
            f"{found} instead. Name the proof first, then its data."
        )


def _bounds(proof: Mapping[str, Any]) -> str:
    """Say how many errors there are at least, and how many the plane makes."""
    lower, upper = (Fraction(*ratio(proof[name])) for name in ("lower", "upper"))
    if "costs" not in proof:
        least = _count(int(lower), "error")
        return f"no plane makes fewer than {least}, and this one makes {int(upper)}"
    least, here = map(_shown, (lower, upper))
    return f"no plane makes errors of total weight less than {least}, and this one makes {here}"


def _shown(number: Fraction) -> str:
    """Show a number exactly if it is short."""
    if max(number.numerator, number.denominator) < 10**12:
        return str(number)
    rounded = Context(prec=12).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"about {rounded.normalize()}"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _some(labels: Sequence[str]) -> str:
    """Name a few labels."""
    return ", ".join(labels[:5]) + (" and others" if len(labels) > 5 else "")


def _say(sentence: str, status: int) -> int:
    """Print one line that every terminal can show, and return the status."""
    line = " ".join(sentence.split()).encode("ascii", "backslashreplace").decode()
    print(line, file=sys.stderr if status == 2 else sys.stdout)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
