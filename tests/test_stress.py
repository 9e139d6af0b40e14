"""A part of the stress bank of the soft margin; ``python -m benchmarks.stress`` fits all of it."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # the benchmarks are no part of the package

from benchmarks.stress import FAMILIES, Cell, cells, fit

from thorough import THOROUGH

SMALL = [cell for cell in cells() if cell.n * cell.d <= 1 << 14]
ALL = list(cells())


def words(cell):
    return f"{cell.family}, {cell.n} × {cell.d}, C = {cell.C:g}"


@pytest.mark.parametrize("cell", SMALL if THOROUGH else SMALL[::7], ids=words)
def test_a_cell_reaches_its_tolerance(cell):
    out = fit(cell)
    assert not out.error
    assert 0.0 <= out.gap <= 1e-6


@pytest.mark.parametrize("C", [10.0, 30.0, 100.0, 200.0])
def test_thirteen_rows_against_twenty_thousand(C):
    assert fit(Cell("rare class", 20_000, 5, C, 0)).gap <= 1e-6


def test_the_bank_is_as_large_as_it_says():
    assert len(ALL) > 2_000
    assert len(set(ALL)) == len(ALL)
    assert {cell.family for cell in ALL} == set(FAMILIES)
    assert min(cell.n for cell in ALL) == 20 and max(cell.n for cell in ALL) == 20_000
    assert min(cell.d for cell in ALL) == 1 and max(cell.d for cell in ALL) == 3_000
    assert {1e-8, 1e8} <= {cell.C for cell in ALL}


def test_a_cell_that_falls_short_is_counted(monkeypatch, capsys):
    from benchmarks import stress

    monkeypatch.setattr(
        sys, "argv", ["stress", "--only", "gaussian", "--every", "10000", "--tol", "1e-300"]
    )
    assert stress.main() == 1
    assert "gap" in capsys.readouterr().out


def test_an_error_is_counted(monkeypatch):
    from benchmarks import stress

    def raises(self, X, y):
        raise ArithmeticError("no")

    monkeypatch.setattr(stress.mm.SoftMarginSVC, "fit", raises)
    out = fit(Cell("gaussian", 20, 1, 1.0, 0))
    assert out.error == "ArithmeticError: no" and out.gap != out.gap


def test_a_separable_text_whose_hard_margin_is_the_optimum():
    """Descent stalls on the slack; the hard margin has no multiplier beyond C, and answers."""
    assert fit(Cell("words", 600, 800, 1e4, 0)).gap <= 1e-6
