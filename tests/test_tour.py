"""The notebook tour runs from top to bottom, without a warning, and is kept without its outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).parent.parent / "docs" / "tour.ipynb"


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def tour():
    return nbformat.read(TOUR, as_version=4)


@pytest.fixture(scope="module")
def outputs(tour, tmp_path_factory):
    """What each cell of code gives; an error in one of them is an error here."""
    ran = nbformat.from_dict(tour)
    here = {"metadata": {"path": str(tmp_path_factory.mktemp("tour"))}}
    NotebookClient(ran, timeout=240, kernel_name="python3", resources=here).execute()
    return [cell.outputs for cell in code(ran)]


def test_it_is_a_valid_notebook_without_outputs(tour):
    nbformat.validate(tour)
    assert all(not cell.outputs and cell.execution_count is None for cell in code(tour))


def test_it_runs_without_a_warning(outputs):
    assert not [o.text for cell in outputs for o in cell if o.get("name") == "stderr"]


def test_it_prints_and_draws_what_its_words_promise(outputs):
    every = [o for cell in outputs for o in cell]
    printed = "".join(o.text for o in every if o.output_type == "stream")
    for promise in (
        "1 separable, 2 overlapping",
        "no plane makes fewer",
        "classes are separated",
        "its square 7225/164",
        "its solver regularised the bias",
    ):
        assert promise in printed
    shown = [o.data for o in every if o.output_type in ("display_data", "execute_result")]
    assert sum("image/png" in data for data in shown) >= 8
    values = [data["text/plain"] for data in shown if "image/png" not in data]
    assert "(True, False)" in values  # a proof holds for its data, and for no other
    assert values.count("True") == 1  # the same weights wherever the origin is
