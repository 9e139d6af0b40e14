"""The certificates of several machines, one per class or pair of classes."""

from __future__ import annotations

from collections.abc import Hashable

from maxmargin.certificates.certificate import Certificate

__all__ = ["Certificates"]


class Certificates(dict[Hashable, Certificate]):
    """A dict from class, or pair of classes, to certificate, that prints as a summary.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], ["a", "b", "c"]
    >>> found = mm.certify(mm.SoftMarginSVC(C=1.0).fit(X, y), X, y)
    >>> print(found)  # doctest: +ELLIPSIS
    3 certificates: soft margin, C = 1, audited. The largest relative gap is ..., that of ...
    · 'a': gap ... This is the optimum of the textbook problem, ...
    · 'b': gap ... This is the optimum of the textbook problem, ...
    · 'c': gap ... This is the optimum of the textbook problem, ...
    >>> sorted(found)
    ['a', 'b', 'c']
    """

    def __str__(self) -> str:
        if not self:
            return "No certificates."
        worst = max(self, key=lambda label: self[label].relative_gap)
        lines = [
            f"{len(self)} certificates: {self[worst].problem}. "
            f"The largest relative gap is {_gap(self[worst])}, that of {worst!r}."
        ]
        for label, proof in self.items():
            said = f" {proof.findings[0]}" if proof.findings else ""
            lines.append(f"· {label!r}: gap {_gap(proof)}.{said}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        gaps = ", ".join(f"{label!r}: gap {_gap(proof)}" for label, proof in self.items())
        return f"Certificates({gaps})"


def _gap(proof: Certificate) -> str:
    return f"{proof.relative_gap:.1e}"
