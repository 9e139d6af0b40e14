"""How far a verdict is from the last digits of its data, and which coefficients run which way.

Neither is needed for the verdict. The first is measured along with it, in floating point on some rows;
the second takes a verdict without each of the columns, so it waits until somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from maxmargin.certificates.verdict import OnDemand, Precision
from maxmargin.core.parameters import NEVER
from maxmargin.estimators.question import Question
from maxmargin.rows import CsrRows, DenseRows, Rows
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, as_integers
from maxmargin.solvers.exact.separability import Finding, find_verdict
from maxmargin.solvers.exact.signs import rounded, signs

MAX_NEAREST_ROWS = 100  # rows next to the plane whose distances are compared,
MAX_NEAREST_NUMBERS = 1 << 18  # and numbers in them
SAMPLED_ROWS = 300  # rows that are factorised, or twice as many as columns
MAX_COLUMNS = 600  # of data whose columns are looked at
DEPENDENT_SHARE = 1e-12  # of a column, outside the span of others: as much as rounding leaves
COEFFICIENT_ROUNDING = Fraction(1, 10**9)  # relative distance from the fraction it is taken for
MAX_DENOMINATOR = 1_000  # of that fraction


def on_demand(
    question: Question, rows: ExactRows, finding: Finding, z: Sequence[Number] | None
) -> OnDemand:
    """What a verdict with plane ``z`` finds when it is asked for: rarely, and it may take long."""

    def precision() -> Precision:
        rows.deadline = NEVER
        return measure(question, rows, finding, z)

    if not question.rows.resident:  # a file may be gone by then
        measured = precision()
        return OnDemand(lambda: measured)
    if z is None or question.among is not None:
        return OnDemand(precision)
    return OnDemand(precision, lambda: directions(question, finding), question.count * rows.D**2)


def measure(
    question: Question, rows: ExactRows, finding: Finding, z: Sequence[Number] | None
) -> Precision:
    """Measure a verdict with plane ``z`` on its rows."""
    row, distance = (None, None) if z is None else _nearest(question, rows, finding, z)
    rank, exact, named = None, None, list[str]()
    if min(MAX_COLUMNS, rows.n - 1) >= rows.D:
        relations, used = _dependent(rows), int(np.count_nonzero(rows.used))
        near = [one for one in relations if not _is_exact(question, rows, one)]
        rank, exact = used - len(relations), used - len(relations) + len(near)
        named = [_written(question, rows, one) for one in near]
    if finding.kind == "overlapping" and finding.face is not None:
        exact = finding.face.rank
    return Precision(distance, row, rank, exact, tuple(named))


def _nearest(
    question: Question, rows: ExactRows, finding: Finding, z: Sequence[Number]
) -> tuple[int | None, float | None]:
    """The row nearest to the plane, of those not on it, and |a_i·z| as a share of Σ |a_ij z_j|."""
    found = finding.signs if finding.signs is not None and z is finding.plane else signs(rows, z)
    off = np.flatnonzero(found.of)
    if not len(off):
        return None, None
    size, few = np.abs(found.values[off]), max(1, min(MAX_NEAREST_ROWS, MAX_NEAREST_NUMBERS // rows.D))
    near = off[np.argpartition(size, few)[:few]] if len(off) > few else off
    terms = np.abs(rows.block(near)) @ np.abs(rounded(z))
    shares = np.abs(found.values[near]) / np.maximum(terms, np.finfo(float).tiny)
    for k in np.flatnonzero(np.abs(found.values[near]) <= found.bound).tolist():
        (a,) = rows.integers([int(near[k])])
        parts = [Fraction(v) * z[j] for j, v in a.entries()]
        zero = Fraction(0)
        shares[k] = float(abs(sum(parts, zero)) / sum(map(abs, parts), zero))
    k = int(np.argmin(shares))
    return int(question.given([int(near[k])])[0]), float(shares[k])


Relation = tuple[int, dict[int, float]]  # column j is the sum of others times these coefficients


def _dependent(rows: ExactRows) -> list[Relation]:
    """Columns that depend on those before them to rounding, in the coordinates of the exact rows."""
    step = max(1, rows.n // max(SAMPLED_ROWS, 2 * rows.D))
    order = np.array([*range(rows.d, rows.D), *range(rows.d)])  # the constant first
    A = rows.block(np.arange(0, rows.n, step))[:, order]
    length = np.linalg.norm(A, axis=0)
    seen = np.flatnonzero(length)
    R = np.asarray(np.linalg.qr(A[:, seen] / length[seen], mode="r"))
    small = np.abs(np.diag(R)) <= DEPENDENT_SHARE * rows.D
    if not np.any(small):
        return []
    held, relations = np.flatnonzero(~small), []
    for k in np.flatnonzero(small).tolist():
        before = held[held < k]
        c, *_ = np.linalg.lstsq(R[:, before], R[:, k], rcond=None)
        c *= length[seen[k]] / length[seen[before]]
        sizes = np.abs(c) * length[seen[before]]
        large = sizes > DEPENDENT_SHARE * rows.D * sizes.max(initial=0.0)
        others = dict(zip(order[seen[before[large]]].tolist(), c[large].tolist(), strict=True))
        j = int(order[seen[k]])
        if others and _holds(rows, j, others):
            relations.append((j, others))
    return relations


def _holds(rows: ExactRows, j: int, others: dict[int, float]) -> bool:
    """Whether a relation holds on all rows, to rounding."""
    z = np.zeros(rows.D)
    z[j], z[list(others)] = -1.0, list(others.values())
    alone = np.zeros(rows.D)
    alone[j] = 1.0
    left, size = np.max(np.abs(rows.values(z))), np.max(np.abs(rows.values(alone)))
    return bool(left <= DEPENDENT_SHARE * rows.D * size)


def _coefficients(question: Question, rows: ExactRows, relation: Relation) -> dict[int, Fraction]:
    """Coefficients in the units of the user, which may leave the range of doubles; the constant last."""
    j, others = relation
    powers = [*rows.powers, 0]
    units = [Fraction(1)] * rows.d + [Fraction(1, 10**question.places)]
    return {
        k: Fraction(others[k]) * Fraction(2) ** (powers[j] - powers[k]) * units[k]
        for k in sorted(others)
    }


def _is_exact(question: Question, rows: ExactRows, relation: Relation) -> bool:
    """Whether a relation with plain coefficients holds exactly, on a sample of the rows."""
    j, _ = relation
    unit = 10**question.places
    z = [Fraction(0)] * rows.D
    z[j] = Fraction(-1)
    for k, c in _coefficients(question, rows, relation).items():
        plain = c.limit_denominator(MAX_DENOMINATOR)
        if not plain or abs(plain - c) > COEFFICIENT_ROUNDING * abs(c):
            return False
        z[k] = plain * (unit if k == rows.d else 1)
    z = [v * Fraction(2) ** e for v, e in zip(z, [*rows.powers, 0], strict=False)]
    some = rows.restricted(np.arange(0, rows.n, max(1, rows.n // SAMPLED_ROWS)))
    return not np.any(signs(some, as_integers(z)).of)


def _written(question: Question, rows: ExactRows, relation: Relation) -> str:
    """x2 = x0 − x1, with the names of the columns."""
    text = ""
    for k, c in _coefficients(question, rows, relation).items():
        size = _size_text(abs(c))
        name = size
        if k < rows.d:
            name = question.features[k] if size == "1" else f"{size} {question.features[k]}"
        text += (" − " if text else "−") + name if c < 0 else (" + " if text else "") + name
    return f"{question.features[relation[0]]} = {text}"


def _size_text(c: Fraction) -> str:
    """Six digits, or the power of two nearby where a double has none of them."""
    exponent = c.numerator.bit_length() - c.denominator.bit_length()
    return f"{float(c):.6g}" if abs(exponent) < 1000 else f"2^{exponent}"


def directions(question: Question, finding: Finding) -> dict[str, int]:
    """Which coefficients of a logistic regression run to infinity: 1, −1, or 0 where both are possible.

    The likelihood rises without end along every z with a_i·z ≥ 0 for all rows. All of these are zero at
    j if all planes are that contain the rows on the plane: the coefficient is finite. Otherwise both
    signs are possible if and only if the plane can do without column j: between planes of both signs
    there is one with z_j = 0.
    """
    rows, z = question.exact_rows(), finding.plane
    assert z is not None
    flats = finding.face.flats() if finding.face is not None and finding.face.weights else None
    found = {}
    for j in np.flatnonzero(rows.used).tolist():
        if flats is not None and not any(u[j] for u in flats):
            continue
        sign = (z[j] > 0) - (z[j] < 0)
        found[question.names[j]] = 0 if _is_spared(question, finding, j) else sign
    return found


def _is_spared(question: Question, finding: Finding, j: int) -> bool:
    """Whether a plane with z_j = 0 does what the plane of the finding does."""
    rows = question.rows
    if j == rows.d:
        fewer = replace(question, fit_intercept=False)
    elif rows.d == 1:
        return False  # a constant does not separate
    else:
        fewer = replace(question, rows=_without(rows, j), whole=None)
    other = find_verdict(fewer.exact_rows(), 0.9, margin=False)
    return other.kind == finding.kind and np.array_equal(other.on_plane, finding.on_plane)


def _without(rows: Rows, j: int) -> Rows:
    """The rows without column j."""
    keep = np.delete(np.arange(rows.d), j)
    if isinstance(rows, CsrRows):
        return CsrRows.from_matrix(sparse.csr_array(rows.matrix[:, keep]))
    assert isinstance(rows, DenseRows)
    return DenseRows(np.ascontiguousarray(rows.X[:, keep]))
