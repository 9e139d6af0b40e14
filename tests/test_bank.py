"""The bank itself: each flag is confirmed by a linear program or a common point of the hulls."""

import numpy as np
import pytest
from scipy.optimize import linprog

from bank import BANK, as_form


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_flag_agrees_with_a_linear_program(p):
    reach = np.abs(p.A).max(axis=0)
    columns = p.A / np.where(reach > 0, reach, 1)  # separability does not depend on the scale
    n, d = columns.shape
    plane = linprog(np.zeros(d), A_ub=-columns, b_ub=-np.ones(n), bounds=[(None, None)] * d)
    common = linprog(
        np.zeros(n), A_eq=np.vstack([columns.T, np.ones(n)]), b_eq=np.append(np.zeros(d), 1.0)
    )
    assert plane.success == p.separable
    assert common.success != p.separable


def test_forms_hold_the_same_numbers():
    p = next(p for p in BANK if p.name == "holes")
    for form in ("csr int32", "csr int64"):
        matrix = as_form(p.X, form)
        assert matrix.indices.dtype == matrix.indptr.dtype == np.dtype(form.split()[1])
        assert np.array_equal(matrix.toarray(), p.X)
