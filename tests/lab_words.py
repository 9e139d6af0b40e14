"""Numbers as the lab's page writes them, written here once more."""

from decimal import ROUND_HALF_UP, Decimal


def number(value, digits=4):
    """A number with some significant digits and a true minus sign."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", Decimal(abs(value))
    tiny = size >= 1_000_000 or size < Decimal("1e-4")
    figures = digits - 1 if tiny else digits
    rounded = size.quantize(Decimal((0, (1,), size.adjusted() - figures + 1)), ROUND_HALF_UP)
    if not tiny:
        return sign + f"{float(rounded):.15g}"
    power = rounded.adjusted()
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{sign}{float(rounded.scaleb(-power)):.15g}·10{raised}"


def count(value):
    """A whole number in groups of three."""
    return f"{value:,}".replace(",", " ")


def share(part, whole):
    """3 of 40 (7.5 %)."""
    return f"{count(part)} of {count(whole)} ({number(100 * part / whole, 3)} %)"


def numbers(values):
    """(a, b, c)."""
    return f"({', '.join(number(v) for v in values)})"


def facts(reason):
    """Why a run stopped, without what to do about it: the page has its own names for that."""
    return reason.split(". ")[0].rstrip(".")
