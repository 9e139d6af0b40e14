"""Every page of the gallery runs in a folder of its own, without a warning, and draws."""

import io
import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

from thorough import further

EXAMPLES = Path(__file__).parent.parent / "examples"
PAGES = sorted(EXAMPLES.glob("*/*.py"))
SOME = [further(page) if k < 16 and k % 2 else page for k, page in enumerate(PAGES)]  # lectures: half


@pytest.mark.parametrize("page", SOME, ids=lambda path: path.stem)
def test_page_runs_and_draws(page, tmp_path, monkeypatch, capsys):
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)  # a backend without a window would warn
    try:
        with mpl.rc_context():
            mpl.rcdefaults()
            runpy.run_path(str(page), run_name="__main__")
            figures = [plt.figure(number) for number in plt.get_fignums()]
            assert figures
            for figure in figures:
                figure.savefig(io.BytesIO(), dpi=20)  # laying it out may warn
    finally:
        plt.close("all")
    assert capsys.readouterr().out.count("\n") >= 2, "a page ends with numbers that were computed"
    assert not list(tmp_path.iterdir()), "files belong into a temporary folder"


def test_each_folder_has_a_heading_and_each_page_a_title_and_a_story():
    folders = {page.parent for page in PAGES}
    assert all((folder / "README.rst").exists() for folder in {EXAMPLES, *folders})
    assert len(PAGES) >= 18 and all(page.stem.startswith("plot_") for page in PAGES)
    for page in PAGES:
        title, line, _, *story = page.read_text(encoding="utf-8").split('"""')[1].strip().splitlines()
        assert set(line) == {"="} and len(line) == len(title), page.stem
        sentences = " ".join(story).count(". ") + 1
        assert 2 <= sentences <= 5, page.stem
        assert page.read_text(encoding="utf-8").count("\n# %%\n") >= 2, page.stem
