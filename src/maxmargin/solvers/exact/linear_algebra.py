"""Linear dependence of rows, exactly: independent rows, and the weights with which rows cancel.

Ranks are found modulo primes, where a rank can only be too small, and then only if each of them divides
a determinant; solutions are found over the rationals and checked.

A basis of many sparse rows is chosen modulo a prime. Columns of few entries come first, as many at once
as share no row; what they leave of the other rows is the same problem with fewer columns, and in the end
a dense one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from math import lcm
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpz, fmpz_mat, nmod_mat
from scipy import sparse

from maxmargin.core.parameters import Deadline
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive
from maxmargin.solvers.exact.modular import leading_columns, primes

PRIMES = (1 << 61) - 1, (1 << 63) - 25, (1 << 64) - 59
PIECE_ENTRIES = 1 << 18  # numbers of a matrix whose echelon form is computed in one call
CONFIRMED_ENTRIES = 2_500  # numbers of a matrix whose rank is confirmed in integers
SOLVED_AT_ONCE = 3e6  # n³ for numbers of 53 bits, which takes a tenth of a second: then digit by digit
MIN_MODULAR_EQUATIONS = 150  # of which remainders are computed modulo
MAX_OTHER_PRIMES = 3  # few primes
FIRST_DIGITS = 16  # of a solution, before it is looked at
LONG_BITS = 512  # of whole numbers in systems that are solved in floating point first
CHANCE_BITS = 32  # by which a fraction is shorter than one that fits by chance
WEIGHT_BITS = 12, 30  # of the weights that are rounded
SPARSE_PRIME = (1 << 21) - 9  # sums of 2^10 products of two residues are exact in doubles
MIN_PIVOT_SHARE = 0.05  # of the columns that must be pivots at once
MAX_SPARSE_DENSITY = 0.2  # of rows that are eliminated as sparse ones
FIRST_BATCH, LAST_BATCH = 256, 4_096  # rows eliminated at a time as dense ones


def solve(M: Any, rhs: Any, deadline: Deadline) -> tuple[list[list[int]], int]:
    """The solution of a regular system of integers: integers, and their common denominator > 0."""
    deadline.check()
    A, b = fmpz_mat(M), fmpz_mat(rhs)
    if len(rhs[0]) > len(M):  # many right-hand sides: the inverse is quicker
        inverse, scale = solve(
            M, [[int(i == j) for j in range(len(M))] for i in range(len(M))], deadline
        )
        return [[int(v) for v in row] for row in (fmpz_mat(inverse) * b).tolist()], scale
    long, longest = [max([v.bit_length() for row in part for v in row]) for part in (M, rhs)]
    if len(M) ** 3 * (long / 53) ** 1.5 * max(1.0, len(rhs[0]) / 2) > SOLVED_AT_ONCE:
        x, scale = _by_digits(A, b, (2 * len(M) << long, 2 << longest), deadline)
    else:
        fractions: Any = A.solve(b)
        x, scale = fractions.numer_denom()
    return [[int(v) for v in row] for row in x.tolist()], int(scale)


def _by_digits(A: Any, b: Any, limits: tuple[int, int], deadline: Deadline) -> tuple[Any, Any]:
    """The same digit by digit (Dixon 1982): it can be ended at any time.

    In A^-1 b = x_0 + x_1 p + x_2 p² + …, with C = A^-1 modulo p,

        x_k = C r_k modulo p,  r_0 = b,  r_k+1 = (r_k − A x_k)/p.

    """
    n, width = b.nrows(), b.ncols()
    k, digits, wanted = 0, list[Any](), FIRST_DIGITS
    while (C := _inverse(A, k)) is None:  # one prime in 2^60 or so
        deadline.check()
        k += 1
    p = _prime(k)
    x, modulus = fmpz_mat(n, width), fmpz(1)
    remainders = _remainders(A, b, k, sum(limits))
    r = next(remainders)
    while True:
        deadline.check(doing=f"{modulus.bit_length():,} bits of the solution of {n:,} equations")
        digits.append(_lift(C * nmod_mat(r, p)))
        r = remainders.send(digits[-1])
        if len(digits) == wanted:
            x += _joined(digits, fmpz(p)) * modulus
            modulus *= fmpz(p) ** len(digits)
            found = _fractions(x.entries(), modulus, *limits)
            if found is not None:
                return fmpz_mat(n, width, found[0]), found[1]
            wanted, digits = max(FIRST_DIGITS, modulus.bit_length() // p.bit_length() // 4), []


def _remainders(A: Any, b: Any, k: int, limit: int) -> Generator[Any, Any, None]:
    """Yield r_0, and for each digit x_k that is sent r_k+1; no |r| is more than half the limit.

    So for one right-hand side of many equations a few other primes q are enough, and quicker.
    """
    p, others, Q, r = _prime(k), list[int](), fmpz(1), b
    many = b.nrows() > MIN_MODULAR_EQUATIONS and b.ncols() == 1
    while limit >= Q:
        k += 1
        others.append(_prime(k))
        Q *= others[-1]
    while not many or len(others) > MAX_OTHER_PRIMES:
        digit = yield r
        r = (r - A * digit) / fmpz(p)  # without a remainder
    # r is Σ part · (r modulo q), modulo Q
    parts = [Q // q * pow(int(Q // q), -1, q) for q in others]
    inverses = [pow(p, -1, q) for q in others]
    scaled = [nmod_mat(A, q) * v for q, v in zip(others, inverses, strict=True)]
    left = [nmod_mat(b, q) for q in others]
    while True:
        digit = yield r
        total = fmpz_mat(b.nrows(), b.ncols())
        for i, q in enumerate(others):
            left[i] = left[i] * inverses[i] - scaled[i] * nmod_mat(digit, q)
            total += _lift(left[i]) * parts[i]
        r = fmpz_mat(b.nrows(), b.ncols(), [_centred(v, Q) for v in total.entries()])


def _fractions(x: list[Any], m: Any, u_limit: int, v_limit: int) -> tuple[list[Any], Any] | None:
    """Numbers u and v > 0 with x = u/v modulo m, if they are so short that A u = v b; None if not.

    A u ≡ v b modulo m. Both sides are less than m/2 if |u| u_limit and v v_limit are less than m.
    """
    scale = fmpz(1)
    for value in x:
        u = _centred(value * scale, m)
        if abs(u) * u_limit >= m:
            scale *= _denominator(u, m)
        if scale * v_limit >= m:
            return None
    numerators = [_centred(value * scale, m) for value in x]
    return (numerators, scale) if all(abs(u) * u_limit < m for u in numerators) else None


def _denominator(value: Any, m: Any) -> Any:
    """The v > 0 for which v · value modulo m is short, by Euclid's algorithm; m if it is long."""
    r, rest, v, last = m, value % m, fmpz(1), fmpz(0)
    half = m.bit_length() // 2
    while rest.bit_length() > half:
        quotient, remainder = divmod(r, rest)
        r, rest, last, v = rest, remainder, v, last - quotient * v
    return abs(v) if rest.bit_length() + v.bit_length() + CHANCE_BITS < m.bit_length() else m


def _joined(digits: list[Any], place: Any) -> Any:
    """Σ digits_k place^k."""
    while len(digits) > 1:
        if len(digits) % 2:
            digits = [*digits, 0 * digits[0]]
        digits = [low + high * place for low, high in zip(digits[::2], digits[1::2], strict=True)]
        place *= place
    return digits[0]


def _centred(v: Any, m: Any) -> Any:
    v %= m
    return v - m if 2 * v > m else v


def _lift(A: Any) -> Any:
    """The residues as integers."""
    return fmpz_mat(A.nrows(), A.ncols(), list(map(int, A.entries())))


def _inverse(A: Any, k: int) -> Any:
    """The inverse modulo a prime, or None."""
    try:
        return nmod_mat(A, _prime(k)).inv()
    except ZeroDivisionError:
        return None


@cache
def _prime(k: int) -> int:
    """Primes of 63 bits, the largest first."""
    q = (1 << 63 if k == 0 else _prime(k - 1)) - 1
    while not fmpz(q).is_prime():
        q -= 1
    return q


Sparse = dict[int, int]


def solve_sparse(
    M: Sequence[Sparse], rhs: Sequence[Sparse], deadline: Deadline
) -> list[tuple[Sparse, int]]:
    """The same for few entries: for each unknown its integers by right-hand side, and their scale.

    Equations of one unknown, and unknowns of one equation, need no elimination.
    """
    size, known = len(M), list[tuple[int, int]]()
    homes: list[set[int]] = [set() for _ in range(size)]
    for i, row in enumerate(M):
        for j in row:
            homes[j].add(i)
    left = [set(row) for row in M]
    first = [(i, next(iter(left[i]))) for i in range(size) if len(left[i]) == 1]
    last = [(next(iter(homes[j])), j) for j in range(size) if len(homes[j]) == 1]
    later, open_i, open_j = list[tuple[int, int]](), set(range(size)), set(range(size))
    while first or last:
        forward = bool(first)
        i, j = first.pop() if forward else last.pop()
        if i not in open_i or j not in open_j:
            continue
        (known if forward else later).append((i, j))
        open_i.discard(i)
        open_j.discard(j)
        for k in homes[j]:
            left[k].discard(j)
            if k in open_i and len(left[k]) == 1:
                first.append((k, next(iter(left[k]))))
        for k in left[i]:
            homes[k].discard(i)
            if k in open_j and len(homes[k]) == 1:
                last.append((next(iter(homes[k])), k))
    x: list[dict[int, Number]] = [{} for _ in range(size)]
    for i, j in known:
        x[j] = _solved_for(M[i], rhs[i], j, x, 1)
    scale, core, unknown = 1, sorted(open_i), sorted(open_j)
    if core:
        sides = [_solved_for({**M[i], -1: 1}, rhs[i], -1, x, 1) for i in core]
        which = sorted({k for side in sides for k in side})
        common = lcm(*[v.denominator for side in sides for v in side.values()])
        matrix = [[M[i].get(j, 0) for j in unknown] for i in core]
        right = [[int(side.get(k, 0) * common) for k in which] or [0] for side in sides]
        found, scale = solve(matrix, right, deadline)
        scale *= common
        for j, values in zip(unknown, found, strict=True):
            x[j] = {k: v for k, v in zip(which, values, strict=False) if v}
        for _, j in known:
            x[j] = {k: v * scale for k, v in x[j].items()}
    for i, j in reversed(later):
        x[j] = _solved_for(M[i], rhs[i], j, x, scale)
    result = []
    for numbers in x:
        common = lcm(*[v.denominator for v in numbers.values()])
        result.append(({k: int(v * common) for k, v in numbers.items()}, scale * common))
    return result


def _solved_for(
    row: Sparse, side: Sparse, j: int, x: Sequence[dict[int, Number]], scale: int
) -> dict[int, Number]:
    """An equation solved for the one unknown that is not known yet."""
    total: dict[int, Number] = {k: v * scale for k, v in side.items()}
    for u, c in row.items():
        if u != j:
            for k, v in x[u].items():
                total[k] = total.get(k, 0) - c * v
    pivot = row[j]
    exact = {k: Fraction(v) / pivot for k, v in total.items() if v}
    return {k: v.numerator if v.denominator == 1 else v for k, v in exact.items()}


def pivots(A: Sequence[Sequence[int]], deadline: Deadline, enough: int | None = None) -> list[int]:
    """The columns in which the echelon form of A has its leading ones.

    They depend on each other in no case; should every prime divide a determinant, some may be missing.
    A rank that is ``enough`` is not doubted.
    """
    size, best = len(A) * len(A[0]), list[int]()
    exact: Any = fmpz_mat(A) if size <= PIECE_ENTRIES else None
    full = min(len(A), len(A[0]))
    for prime in PRIMES if exact is not None else islice(primes(), len(PRIMES)):
        deadline.check()
        if exact is None:  # one call would take seconds
            R = np.array([[v % prime for v in row] for row in A], dtype=np.float64)
            columns = leading_columns(R, prime, deadline)
        else:
            columns = _leading(*nmod_mat(exact, prime).rref())
        best = max(best, columns, key=len)
        if len(best) in (full, enough):
            break
        if size <= CONFIRMED_ENTRIES:
            full = int(exact.rank())
            if len(best) == full:
                break
    if len(best) < full and size <= CONFIRMED_ENTRIES:  # each prime divides a determinant
        form, _, rank = exact.rref()
        return _leading(form, rank)
    return best


def _leading(form: Any, rank: int) -> list[int]:
    """The columns of the leading ones of an echelon form."""
    columns, j = list[int](), 0
    for k in range(rank):
        while int(form[k, j]) == 0:
            j += 1
        columns.append(j)
    return columns


def independent(A: Sequence[Sequence[int]], deadline: Deadline, enough: int | None = None) -> list[int]:
    """Rows of A that span all of them: each that does not depend on those before it."""
    return pivots(list(zip(*A, strict=True)), deadline, enough)


def dependency(
    A: Sequence[Sequence[int]], deadline: Deadline, free: int | None = None
) -> list[int] | None:
    """Integers with which rows of integers add to zero; None unless unique up to a factor.

    None also if those of all but the first ``free`` rows are seen to be of both signs.
    """
    used = [j for j, column in enumerate(zip(*A, strict=True)) if any(column)]
    A = [[row[j] for j in used] for row in A]
    R = independent(A, deadline, len(A) - 1) if used else []
    if len(R) != len(A) - 1:
        return None
    (q,) = set(range(len(A))) - set(R)
    weights = [0] * len(A)
    weights[q] = 1
    if R:
        C = pivots([A[i] for i in R], deadline)
        M = [[A[i][j] for i in R] for j in C]
        if free is not None and _of_both_signs(M, [-A[q][j] for j in C], [i >= free for i in [*R, q]]):
            return None
        solution, scale = solve(M, [[-A[q][j]] for j in C], deadline)
        for i, v in zip([*R, q], [*[row[0] for row in solution], scale], strict=True):
            weights[i] = v
        if any((fmpz_mat([weights]) * fmpz_mat(A)).entries()):
            return None
    return weights


def _of_both_signs(M: list[list[int]], side: list[int], held: list[bool]) -> bool:
    """Whether numbers of a long solution, and a one, are of both signs: in intervals, without doubt."""
    if max([v.bit_length() for row in M for v in row]) < LONG_BITS:
        return False
    with ctx.workprec(LONG_BITS):
        try:
            x = arb_mat(fmpz_mat(M)).solve(arb_mat([[v] for v in side])).entries()
        except ZeroDivisionError:  # not without doubt
            return False
        signed = [v for v, h in zip([*x, arb(1)], held, strict=True) if h]
        return any(v > 0 for v in signed) and any(v < 0 for v in signed)


def cancel(
    rows: ExactRows, support: Sequence[int], free: Sequence[int], given: dict[int, int] | None = None
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Return λ_i > 0 on (some of) the support and μ_i of any sign on free rows that cancel.

    Σ λ_i a_i + Σ μ_i a_i = 0. Weights that are ``given`` for some rows keep their proportions. None
    unless the rows cancel in exactly one way, and with such signs.
    """
    given = given or {}
    which, rows = [*free, *support], rows.plain
    _, A, scales = rows.compact([*which, *given])
    if given:
        target, scale = _combined(A[len(which) :], scales[len(which) :], list(given.values()))
        A, scales = [*A[: len(which)], target], [*scales[: len(which)], scale]
    weights = dependency(A, rows.deadline, len(free))
    if weights is None:
        return None
    weights = [w << m for w, m in zip(weights, scales, strict=True)]
    held = weights[len(free) :]
    if sum([w < 0 for w in held]) * 2 > len(held):
        weights = [-w for w in weights]
    weights = primitive(weights)
    held = weights[len(free) :]
    if min(held) < 0 or max(held) == 0 or (given and held[-1] == 0):
        return None
    total = {i: w for i, w in zip(support, held, strict=False) if w}
    for i, w in given.items():
        total[i] = total.get(i, 0) + w * held[-1]
    return total, dict(zip(free, weights, strict=False))


def cancel_near(
    rows: ExactRows, support: np.ndarray, alpha: np.ndarray, free: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]] | None:
    """The same with weights near α > 0, for rows that may cancel in several ways.

    Rows of large weight are a basis; all other weights are rounded, and those of the basis follow.
    """
    order = np.argsort(-alpha, kind="stable")
    which, alpha = [*free, *support[order].tolist()], alpha[order] / float(alpha.max())
    chosen = set(independent(rows.plain.compact(which)[1], rows.deadline))
    held = [which[k] for k in sorted(chosen) if k >= len(free)]
    others = [k for k in range(len(free), len(which)) if k not in chosen]
    for bits in WEIGHT_BITS if others else ():
        whole = [round(np.ldexp(alpha[k - len(free)], bits)) for k in others]
        given = {which[k]: w for k, w in zip(others, whole, strict=True) if w}
        found = cancel(rows, held, free, given) if given else None
        if found is not None:
            return found
    return None


def _combined(A: list[list[int]], scales: list[int], weights: list[int]) -> tuple[list[int], int]:
    """Σ c_i a_i as integers and an exponent."""
    scale = max(scales)
    total = [0] * len(A[0])
    for c, ints, m in zip(weights, A, scales, strict=True):
        factor = c << scale - m
        total = [t + factor * v for t, v in zip(total, ints, strict=True)]
    return total, scale


def residues(A: Any, prime: int) -> Any:
    """The numbers of a sparse matrix modulo a prime, as they are: doubles are integers times 2^e."""
    mantissa, exponent = np.frexp(A.data)
    numbers = np.ldexp(mantissa, 53).astype(np.int64) % prime
    levels, where = np.unique(exponent, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, prime) for e in levels], dtype=np.int64)
    found = sparse.csr_array((numbers * powers[where] % prime, A.indices, A.indptr), shape=A.shape)
    found.eliminate_zeros()
    return found


def basis(A: Any, deadline: Deadline) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that span all, the first ones preferred, and columns on which they are regular."""
    R = residues(A, SPARSE_PRIME)
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    while True:
        deadline.check(doing=f"a basis of {R.shape[0]:,} rows")
        used = np.flatnonzero(np.bincount(R.indices, minlength=R.shape[1]))
        if not len(used):
            break
        chosen = _apart(R, used)
        too_few = len(chosen[0]) < MIN_PIVOT_SHARE * len(used)
        if too_few or R.nnz > MAX_SPARSE_DENSITY * R.shape[0] * len(used):
            found = _dense_basis(R[:, used], deadline)
            rows.append(found[0])
            columns.append(used[found[1]])
            break
        rows.append(chosen[0])
        columns.append(chosen[1])
        R = _eliminated(R, *chosen)
    return np.concatenate(rows), np.concatenate(columns)


def _apart(R: Any, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that share no row, those with fewest entries first, and the first row of each."""
    C = sparse.csc_array(R)
    C.sort_indices()
    taken = np.zeros(R.shape[0], dtype=bool)
    rows, columns = [], []
    for j in used[np.argsort(np.diff(C.indptr)[used], kind="stable")].tolist():
        here = C.indices[C.indptr[j] : C.indptr[j + 1]]
        if not taken[here].any():
            taken[here] = True
            rows.append(int(here[0]))
            columns.append(j)
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _eliminated(R: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """What is left of the rows when each of these columns has been eliminated with its row."""
    pivot_rows = R[rows]
    F = sparse.csr_array(sparse.csc_array(R)[:, columns])
    heads = np.zeros(len(columns), dtype=np.int64)
    local = sparse.coo_array(F[rows])
    heads[local.coords[1]] = local.data
    inverse = np.array([pow(int(v), -1, SPARSE_PRIME) for v in heads], dtype=np.int64)
    F.data = F.data * inverse[F.indices] % SPARSE_PRIME
    left = sparse.csr_array(R - F @ pivot_rows)  # a row has one entry in these columns: no sums
    left.data %= SPARSE_PRIME
    left.eliminate_zeros()
    return left


def _dense_basis(R: Any, deadline: Deadline) -> tuple[np.ndarray, np.ndarray]:
    """The same by elimination in batches of dense rows, in doubles that hold whole numbers."""
    E = np.empty((0, R.shape[1]))  # reduced rows, with a one in each of their columns
    rows, columns = list[int](), list[int]()
    start, step = 0, FIRST_BATCH
    order = np.flatnonzero(np.diff(R.indptr))
    while start < len(order) and len(rows) < R.shape[1]:
        deadline.check(doing=f"a basis in {R.shape[1]:,} columns")
        here = order[start : start + step]
        X = R[here].toarray().astype(np.float64)
        X = (X - X[:, columns] @ E) % SPARSE_PRIME
        left = np.flatnonzero(X.any(axis=1))
        while len(left):
            k = int(left[0])
            j = int(np.flatnonzero(X[k])[0])
            row = X[k] * pow(int(X[k, j]), -1, SPARSE_PRIME) % SPARSE_PRIME
            X[left] = (X[left] - X[left, j, None] * row) % SPARSE_PRIME
            E = np.vstack([(E - E[:, j, None] * row) % SPARSE_PRIME, row])
            rows.append(int(here[k]))
            columns.append(j)
            left = left[X[left].any(axis=1)]
        start, step = start + step, min(2 * step, LAST_BATCH)
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
