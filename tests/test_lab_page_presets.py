"""Ready-made data on the page: every preset and its sliders, validation, the table, the saved file."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import csv
import io

import numpy as np
import pytest

import maxmargin as mm
from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab
from maxmargin.laboratory.engine import answer

START = {"points": [[0, 0, 0, 0], [1, 1, 1, 0]]}
SLIDERS = {"n": "n", "noise": "noise", "balance": "balance", "margin": "data-margin"}
SHOWN = "(all) => all.filter((n) => document.querySelector(`[data-name=${n}]`).checkVisibility())"


def counts(lab):
    """How many points each class has."""
    return np.bincount([p[2] for p in lab.points()], minlength=len(lab.state()["labels"])).tolist()


def test_every_preset_is_drawn(lab):
    lab.open(START)
    presets = answer({"ask": "presets"})["presets"]
    offered = lab.part("preset").locator("option").evaluate_all("(all) => all.map((o) => o.value)")
    assert offered == ["", *(p["name"] for p in presets)]
    titles = {"blobs", "xor", "touching", "one outlier", "spiral", "iris pair"}
    assert titles | {"three-points", "exam-marks"} <= set(offered)
    for preset in presets:
        lab.choose("preset", preset["name"])
        made = answer({"ask": "preset", "name": preset["name"]})
        state = lab.state()
        assert [state[key] for key in ("points", "labels", "names")] == [
            made[key] for key in ("points", "labels", "names")
        ]
        assert lab.answer()["n"] == len(made["points"])
        assert lab.text("preset-sentence") == " ".join(made["sentence"].split())
        shown = lab.js(SHOWN, list(SLIDERS.values()))
        assert shown == [SLIDERS[name] for name in preset["sliders"]]
        assert lab.colours("x-canvas") > 20
        status = lab.answer()["verdict"]["status"]
        known = {
            "separable": "separable",
            "touching": "touching",
            "xor": "overlapping",
            "spiral": "overlapping",
        }
        assert status == known.get(preset["name"], status)


def test_sliders_make_the_data_anew(lab):
    lab.open(START)
    lab.choose("preset", "separable")
    lab.write("n-value", 40)
    assert len(lab.points()) == 40
    lab.write("balance-value", 0.25)
    assert counts(lab) == [30, 10]
    lab.slide("data-margin", 0.8)
    margin = lab.answer()["verdict"]["margin"]
    assert margin == pytest.approx(0.8, abs=0.02)
    lab.slide("noise", 0.3)
    spread = np.std([p[:2] for p in lab.points()], axis=0).max()
    lab.slide("noise", 2)
    assert np.std([p[:2] for p in lab.points()], axis=0).max() > 2 * spread
    wanted = {"name": "separable", "n": 40, "balance": 0.25, "margin": 0.8, "noise": 2, "seed": 0}
    assert lab.state()["view"]["preset"] == wanted
    assert lab.points() == answer({"ask": "preset", **wanted})["points"]
    lab.slide("n", 2.0)
    assert len(lab.points()) == 100, "the slider of n moves the exponent"
    assert lab.part("n-value").input_value() == "100"


def test_another_draw_and_the_way_back(lab):
    lab.open(START)
    lab.choose("preset", "blobs")
    first = lab.points()
    lab.press("draw").rest()
    second = lab.points()
    assert second != first and len(second) == len(first)
    lab.press("undo").rest()
    assert lab.points() == first
    lab.choose("preset", "")
    assert lab.points() == first and not lab.part("noise").is_visible()


def test_a_slider_in_one_hand_is_one_step_back(lab):
    lab.open(START)
    lab.choose("preset", "blobs")
    before = lab.points()
    box = lab.part("noise").bounding_box()
    middle = box["y"] + box["height"] / 2
    lab.drag((box["x"] + box["width"] * 0.3, middle), (box["x"] + box["width"] * 0.9, middle), steps=12)
    assert lab.points() != before and lab.state()["view"]["preset"]["noise"] > 1.5
    lab.press("undo").rest()
    assert lab.points() == before


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_validation_points_are_judged_and_not_trained_on(lab, share):
    lab.open(START)
    lab.choose("preset", "overlapping")
    lab.slide("split", share)
    state, answered = lab.state(), lab.answer()
    roles = answer(
        {"ask": "split", "state": {"points": state["points"], "labels": state["labels"]}, "share": share}
    )["roles"]
    assert [p[3] for p in state["points"]] == roles
    held = sum(roles)
    assert held == pytest.approx(share * 80, abs=2)
    assert (answered["trained"], answered["judged"]["validation_n"]) == (80 - held, held)
    assert lab.text("count") == f"80 points, {held} held out"
    X, y = (np.array([p[k] for p in state["points"] if p[3]]) for k in (slice(0, 2), 2))
    w = np.array(lab.scene("weights"))
    wrong = int(np.count_nonzero(np.where(y == 1, 1, -1) * (X @ w[:2] + w[2]) <= 0))
    assert lab.text("validation").startswith(f"{wrong} of {held} ")
    lab.slide("split", 0)
    assert not any(p[3] for p in lab.points()) and lab.text("validation") is None


@pytest.mark.parametrize("button", ["save-csv", "share-csv"])
def test_the_saved_file_holds_the_same_doubles(lab, button):
    lab.open(START)
    lab.choose("preset", "overlapping")
    if button == "share-csv":
        lab.slide("split", 0.25)
        lab.press("share")
    data, name = lab.saved(button)
    state = lab.state()
    rows = list(csv.reader(io.StringIO(data.decode())))
    split = button == "share-csv"
    assert name == "points.csv" and rows[0] == ["x₁", "x₂", *(["validation"] if split else []), "label"]
    read = [
        [float(r[0]), float(r[1]), ["-1", "+1"].index(r[-1]), int(r[2]) if split else 0]
        for r in rows[1:]
    ]
    assert read == state["points"]


def test_a_saved_file_opens_again(lab, tmp_path):
    lab.open(START)
    lab.choose("preset", "three blobs")
    data, _ = lab.saved("save-csv")
    before = lab.state()
    (path := tmp_path / "points.csv").write_bytes(data)
    lab.press("clear").rest()
    lab.press("open-csv")
    lab.part("csv-file").set_input_files(path)
    lab.until("() => !document.querySelector('[data-name=csv-use]').disabled")
    lab.press("csv-use").rest()
    after = lab.state()
    assert [after[k] for k in ("points", "labels", "names")] == [
        before[k] for k in ("points", "labels", "names")
    ]


def test_the_table_edits_points(lab):
    lab.open(START)
    lab.choose("preset", "three-points")
    points = lab.points()
    lab.press("table")
    assert lab.part("points").locator("tbody tr").count() == len(points)
    lab.write("cell-0-x", "−1.25")
    lab.write("cell-0-y", "nothing")
    lab.part("cell-1-class").select_option(str(1 - points[1][2]))
    lab.part("cell-2-role").select_option("1")
    lab.rest()
    wanted = [[-1.25, *points[0][1:]], [*points[1][:2], 1 - points[1][2], 0], [*points[2][:3], 1]]
    assert lab.points() == wanted and lab.part("cell-0-y").input_value() == str(points[0][1])
    lab.press("table-add").rest()
    assert lab.points()[3] == [0, 0, lab.scene("brush"), 0]
    lab.press("cell-0-remove").rest()
    assert lab.points() == [*wanted[1:], [0, 0, lab.scene("brush"), 0]]
    lab.press("table-close")
    assert lab.part("table-dialog").count() == 0
    for _ in range(5):
        lab.press("undo").rest()
    assert lab.points() == points


def test_a_long_table_has_pages(lab):
    lab.open(START)
    lab.choose("preset", "blobs")
    lab.write("n-value", 250)
    lab.press("table")
    assert lab.part("table-before").is_disabled()
    lab.press("table-after").press("table-after")
    assert lab.part("table-after").is_disabled() and lab.part("cell-249-x").is_visible()
    lab.press("table-before")
    assert lab.part("cell-100-x").is_visible()
    lab.key("Escape")
    assert lab.part("table-dialog").count() == 0


def test_iris_is_what_scikit_learn_ships(lab):
    from sklearn.datasets import load_iris

    lab.open(START)
    lab.choose("preset", "iris pair")
    data = load_iris()
    pair = data.target > 0
    assert [p[:2] for p in lab.points()] == data.data[pair][:, 2:4].tolist()
    verdict = mm.separability(data.data[pair][:, 2:4], data.target[pair] - 1)
    assert lab.answer()["verdict"]["fingerprint"] == verdict.proof.to_dict()["data"]
