"""A person's own data on the page: pasted, dropped or chosen; two columns, or all of them projected."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import numpy as np
import pytest

import maxmargin as mm
from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab
from maxmargin.laboratory.engine import answer

START = {"points": [[0, 0, 0, 0], [1, 1, 1, 0]]}
TWO = "height,weight,kind\n1.5,2.25,cat\n−0.5,1e1,dog\n3,0.125,cat\n0.75,7,dog\n"
FOUR = "a;b;c;d;who\n" + "".join(
    f"{k};{k * k % 7};{-k};{k % 3 + 0.5};{'yes' if k % 2 else 'no'}\n" for k in range(12)
)


def ready(lab):
    """Wait for the offer."""
    lab.until(
        "() => !document.querySelector('[data-name=csv-use]').disabled && !__lab.pending()", frames=3
    )
    return lab


def paste(lab, text):
    lab.press("open-csv")
    lab.part("csv-text").fill(text)
    return ready(lab)


def taken(lab):
    """Points, labels and names after the data is used."""
    lab.press("csv-use").rest()
    assert lab.part("csv-dialog").count() == 0
    state = lab.state()
    return state["points"], state["labels"], state["names"]


def test_two_columns_and_a_label(lab):
    lab.open(START)
    before = lab.points()
    paste(lab, TWO)
    assert lab.text("csv-note") == "4 points, 2 classes (cat, dog)."
    points, labels, names = taken(lab)
    assert points == [[1.5, 2.25, 0, 0], [-0.5, 10, 1, 0], [3, 0.125, 0, 0], [0.75, 7, 1, 0]]
    assert (labels, names) == (["cat", "dog"], ["height", "weight"])
    assert lab.part("brush-0").inner_text().split()[-1] == "cat"
    assert lab.text("verdict") == "✓ Separable" and "dog strictly on one side" in lab.text(
        "verdict-sentence"
    )
    assert (
        lab.answer()["verdict"]["margin"]
        == mm.HardMarginSVC().fit([p[:2] for p in points], [0, 1, 0, 1]).margin_
    )
    lab.press("undo").rest()
    assert lab.points() == before and lab.state()["labels"] == ["−1", "+1"]


def test_other_columns_can_be_chosen(lab):
    lab.open(START)
    paste(lab, FOUR)
    lab.part("csv-x1").select_option(label="d")
    ready(lab).part("csv-x2").select_option(label="c")
    points, labels, names = taken(ready(lab))
    assert names == ["d", "c"] and labels == ["no", "yes"]
    assert points == [[k % 3 + 0.5, -k, k % 2, 0] for k in range(12)]


def test_another_label_can_be_chosen(lab):
    lab.open(START)
    paste(lab, FOUR)
    lab.part("csv-label").select_option(label="d")
    points, labels, names = taken(ready(lab))
    assert labels == ["0.5", "1.5", "2.5"] and names == ["a", "b"]
    assert points == [[k, k * k % 7, k % 3, 0] for k in range(12)]
    assert len(lab.answer()["machines"]) == 3


def test_all_columns_projected_on_w(lab):
    lab.open(START)
    paste(lab, FOUR)
    lab.part("csv-how").select_option("projection")
    ready(lab)
    assert "normal w of a soft margin" in lab.text("csv-note") and not lab.part("csv-x1").is_visible()
    points, _, names = taken(lab)
    made = answer({"ask": "table", "text": FOUR, "features": "projection"})
    assert (points, names) == (made["points"], made["names"])
    X = np.array([[k, k * k % 7, -k, k % 3 + 0.5] for k in range(12)])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    w = mm.SoftMarginSVC(1.0).fit(scaled, np.arange(12) % 2).coef_[0]
    along = scaled @ w / np.linalg.norm(w)
    shown = np.array([p[0] for p in points])
    np.testing.assert_allclose(np.diff(shown), np.diff(along), atol=1e-8)


def test_the_first_line_may_be_data(lab):
    lab.open(START)
    paste(lab, "1\t2\t0\n3\t4\t1\n5\t7\t0\n")
    assert not lab.part("csv-header").is_checked() and lab.text("csv-note").startswith("3 points")
    lab.part("csv-header").check()
    assert ready(lab).text("csv-note").startswith("2 points")
    lab.part("csv-header").uncheck()
    points, labels, names = taken(ready(lab))
    assert points == [[1, 2, 0, 0], [3, 4, 1, 0], [5, 7, 0, 0]] and labels == ["0", "1"]
    assert names == ["column 1", "column 2"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b,c\n1,2,x\n1,,y\n", "line 3"),
        ("a,b,c\n1,2,x\n1,y\n", "line 3: must have 3 fields"),
        ("a,b,c\n1,2,x\n1,2,x\n", "2 to 5 different values"),
        ("nothing", "at least two columns"),
    ],
)
def test_what_cannot_be_read_is_told_and_nothing_is_taken(lab, text, sentence):
    lab.open(START)
    before = lab.points()
    lab.press("open-csv")
    lab.part("csv-text").fill(text)
    lab.until("() => document.querySelector('[data-name=csv-note]')?.textContent")
    assert sentence in lab.text("csv-note") and lab.part("csv-use").is_disabled()
    lab.key("Escape").rest()
    assert lab.part("csv-dialog").count() == 0 and lab.points() == before


def test_a_file_dropped_on_the_page(lab):
    lab.open(START)
    drop = """(text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "animals.csv", { type: "text/csv" }));
      const on = document.querySelector("[data-name=x-canvas]");
      const how = { dataTransfer: data, bubbles: true, cancelable: true };
      for (const kind of ["dragover", "drop"]) on.dispatchEvent(new DragEvent(kind, how));
    }"""
    lab.js(drop, TWO)
    lab.part("csv-dialog").wait_for()
    assert taken(ready(lab))[1] == ["cat", "dog"]
    assert "mm-drop" not in lab.page.locator(".mm-lab").get_attribute("class")


def test_a_table_pasted_anywhere(lab):
    lab.open(START)
    lab.js("(text) => navigator.clipboard.writeText(text)", TWO)
    lab.key("Control+v")
    lab.part("csv-dialog").wait_for()
    assert taken(ready(lab))[2] == ["height", "weight"]


def test_more_rows_than_the_page_takes_are_drawn_from(lab, tmp_path):
    lab.open(START)
    text = "a,b,c\n" + "".join(f"{k},{k % 17},{'u' if k % 2 else 'v'}\n" for k in range(2500))
    (path := tmp_path / "many.csv").write_text(text)
    lab.press("open-csv").part("csv-file").set_input_files(path)
    ready(lab)
    assert "Of 2,500 rows, 2,000 were drawn" in lab.text("csv-note")
    points, _, _ = taken(lab)
    assert len(points) == 2000 == lab.answer()["n"]
    assert lab.text("count") == "2000 points (the most)"
    lab.click(-50, 2)
    assert len(lab.points()) == 2000, "there is no room for one more"


def test_names_of_a_stranger_are_text_and_nothing_else(lab):
    lab.open(START)
    evil = "<img src=x onerror='document.title=1'>"
    paste(lab, f"{evil},b,c\n1,2,{evil}\n2,1,b&amp;\n")
    _, labels, names = taken(lab)
    assert labels == [evil, "b&amp;"] and names == [evil, "b"]
    lab.press("table")
    assert lab.page.locator(".mm-lab img").count() == 0 and lab.page.title() == "maxmargin lab"
    assert [evil in lab.text(name) for name in ("brush-0", "table-dialog")] == [True, True]
    assert lab.text("brush-1").endswith("b&amp;"), "as it was written, not as HTML reads it"
