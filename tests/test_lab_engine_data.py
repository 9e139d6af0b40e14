"""Presets, tables, splits, and what the page says about itself."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin import datasets
from maxmargin.laboratory.engine import ASKS, answer
from maxmargin.laboratory.state import ALGORITHMS, LIMITS, Options

PRESETS = answer({"ask": "presets"})["presets"]


def table(text, **given):
    return answer({"ask": "table", "text": text, **given})


def test_hello_names_everything():
    found = answer({"ask": "hello"})
    assert found["version"] == mm.__version__ and found["limits"] == LIMITS
    assert [a["name"] for a in found["algorithms"]] == list(ALGORITHMS)
    for algorithm in found["algorithms"]:
        assert algorithm["brief"].endswith(".") and algorithm["sentence"].endswith(".")
        assert set(algorithm["options"]) <= set(Options.__dataclass_fields__)
    assert all(sentence.endswith(".") for sentence in found["glossary"].values())
    assert set(ASKS) >= {"solve", "judge", "risk", "wspace", "section", "weights3d", "preset", "film"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_options_that_an_algorithm_names_change_it_and_no_others(algorithm):
    noise = 0.2 if algorithm == "hard" else 1.2  # a hard margin is there only if planes separate
    made = answer({"ask": "preset", "name": "three blobs", "n": 40, "noise": noise})
    state = {"points": made["points"], "labels": made["labels"], "algorithm": algorithm}
    named = {a["name"]: a["options"] for a in answer({"ask": "hello"})["algorithms"]}[algorithm]
    base = {"order": "random", "epochs": 9, "updates": 200}
    other = {"intercept": False, "threshold": 0.7, "rate": 0.3, "order": "cyclic", "averaged": True}
    other |= {
        "step": 0.2,
        "C": 0.1,
        "scheme": "ovo",
        "epochs": 1,
        "seed": 1,
        "polish": False,
        "updates": 3,
    }
    usual = answer({"ask": "solve", "state": {**state, "options": base}})
    assert len(usual["planes"]) == 3
    for key, value in other.items():
        found = answer({"ask": "solve", "state": {**state, "options": {**base, key: value}}})
        assert (found["planes"] != usual["planes"]) == (key in named), key


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p["name"])
def test_every_preset_can_be_made_and_solved(preset):
    found = answer({"ask": "preset", "name": preset["name"]})
    json.dumps(found, allow_nan=False)
    assert found["sliders"] == preset["sliders"] == list(found["ranges"])
    assert preset["title"] and preset["sentence"].endswith((".", "?")) and found["sentence"]
    state = {key: found[key] for key in ("points", "labels", "names")}
    solved = answer({"ask": "solve", "state": state})
    assert solved["usable"] and len(found["labels"]) == len({p[2] for p in found["points"]})
    assert all(p[3] == 0 for p in found["points"])


def test_the_lectures_examples_are_all_there():
    known = {p["name"]: p for p in PRESETS}
    for name in datasets.names():
        example = datasets.load(name)
        if example.X.shape[1] != 2:
            continue
        preset = {"xor": "xor, four points", "touching": "touching, four points"}.get(name, name)
        assert known[preset]["sentence"] == example.description
        found = answer({"ask": "preset", "name": preset})
        assert [p[:2] for p in found["points"]] == example.X.tolist()
        codes = np.searchsorted(np.unique(example.y), example.y).tolist()
        assert [p[2] for p in found["points"]] == codes
        state = {key: found[key] for key in ("points", "labels", "names")}
        if len(found["labels"]) == 2:
            assert answer({"ask": "solve", "state": state})["verdict"]["status"] == example.kind


@pytest.mark.parametrize("preset", [p for p in PRESETS if p["sliders"]], ids=lambda p: p["name"])
def test_every_slider_changes_its_preset(preset):
    usual = answer({"ask": "preset", "name": preset["name"]})["points"]
    for slider, ends in preset["ranges"].items():
        assert ends["min"] <= ends["value"] <= ends["max"] and ends["step"] > 0
        for end in ("min", "max"):
            value = min(ends[end], 300) if slider == "n" else ends[end]
            found = answer({"ask": "preset", "name": preset["name"], slider: value})["points"]
            assert found != usual
            assert len(found) == (value if slider == "n" else len(usual))
    assert answer({"ask": "preset", "name": preset["name"], "seed": 7})["points"] != usual
    assert answer({"ask": "preset", "name": preset["name"], "seed": 0})["points"] == usual


@pytest.mark.parametrize("name", ["separable", "touching", "overlapping", "xor", "spiral"])
@pytest.mark.parametrize("seed", range(4))
def test_made_data_is_what_it_says(name, seed):
    found = answer({"ask": "preset", "name": name, "n": 50, "margin": 0.3, "seed": seed})
    state = {key: found[key] for key in ("points", "labels", "names")}
    verdict = answer({"ask": "solve", "state": state})["verdict"]
    assert verdict["status"] == {"xor": "overlapping", "spiral": "overlapping"}.get(name, name)
    if name == "separable":
        assert repr(0.3125) in found["sentence"]
        X, y = [p[:2] for p in state["points"]], [p[2] for p in state["points"]]
        assert mm.HardMarginSVC().prove(X, y).squared_margin == 0.3125**2


def test_a_table_of_iris():
    iris = load_iris()
    names = iris.target_names[iris.target]
    rows = [",".join([*map(repr, x), name]) for x, name in zip(iris.data.tolist(), names, strict=True)]
    text = "\n".join(["sepal length,sepal width,petal length,petal width,species", *rows])
    found = table(text)
    assert [c["name"] for c in found["columns"]][-1] == "species" and found["label"] == 4
    assert [c["numeric"] for c in found["columns"]] == [True] * 4 + [False]
    assert found["labels"] == ["setosa", "versicolor", "virginica"]
    assert [p[:2] for p in found["points"]] == iris.data[:, :2].tolist()
    assert [p[2] for p in found["points"]] == iris.target.tolist()
    chosen = table(text, features=["petal length", 3])
    assert [p[:2] for p in chosen["points"]] == iris.data[:, 2:].tolist()
    assert chosen["names"] == ["petal length", "petal width"]
    flat = table(text, features="projection")
    state = {key: flat[key] for key in ("points", "labels", "names")}
    solved = answer({"ask": "solve", "state": {**state, "algorithm": "soft", "watch": 0}})
    assert solved["machines"][0]["errors"] == 0 and "soft margin" in flat["note"]
    for separator in ("\t", ";"):
        assert table(text.replace(",", separator))["points"] == found["points"]
    assert table("\ufeff" + text.replace("\n", "\r\n"))["points"] == found["points"]


def test_headers_and_labels_are_found():
    assert table("1,2,a\n3,4,b")["names"] == ["column 1", "column 2"]
    assert table("u,v,w\n1,2,a\n3,4,b")["names"] == ["u", "v"]
    assert table("1,2,0\n3,4,1")["labels"] == ["0", "1"]
    assert table("p,q,r\n1,2,−1\n3,4,+1\n5,6,1.0")["labels"] == ["−1", "1"]
    assert table("b,1,2\na,3,4")["label"] == 0
    assert table("kind,x,y\nb,1,2\na,3,4")["points"] == [[1.0, 2.0, 1, 0], [3.0, 4.0, 0, 0]]
    assert table("x,y,l\n1,2,10\n3,4,9\n", label="l")["labels"] == ["9", "10"]
    one = table("x,l\n1,a\n2,b")
    assert one["points"] == [[1.0, 0.0, 0, 0], [2.0, 0.0, 1, 0]] and "one feature" in one["note"]
    assert table('"a, b",y,l\n1,2,"x ""y"""\n3,4,z')["labels"] == ['x "y"', "z"]


REFUSED = {
    "": "must hold rows",
    " \n\n": "must hold rows",
    "x,y,l": "must hold rows below its header",
    "1\n2": "at least two columns",
    "x,y,l\n1,2,a\n3,b": "line 3: must have 3 fields",
    "x,y,l\n1,2,a\n3,,b": "line 3: y must be 0, or a number",
    "x,y,l\n1,2,a\n\n3,nan,b": "a column of numbers|line 4: y must be 0, or a number",
    "x,y,l\n1,2,a\n3,4,": "must have 2 to 5 different values|line 3: the label l must not be empty",
    "x,y,l\n1,2,a\n3,4,b\n5,6,": "line 4: the label l must not be empty",
    "x,y,l\n1,1e40,a\n3,4,b": "line 2: y must be 0, or a number from 1e-30 to 1e\\+30",
    "x,y,l\n" + "".join(f"{k},{k},{k}\n" for k in range(6)): "must have 2 to 5 different values",
    'x,y,l\n1,2,"a\n3,4,b': "line 3: unexpected end of data",
    ",".join("abc" * 100) + "\n" + ",".join("123" * 100): "at most 200 columns",
    "x,l\n" + "1,a\n2,b\n" * 10_001: "at most 20,000 rows",
    "a,b,c\nx,y,u\nz,w,v": "a column of numbers",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:12].replace("\n", "/"))
def test_tables_that_are_refused_name_the_line(text):
    with pytest.raises(mm.InputError, match=REFUSED[text]):
        table(text)


def test_choices_that_are_refused():
    text = "x,y,z,l\n1,2,3,a\n3,4,5,b"
    for choice, said in (
        ({"label": "w"}, "label must name a column: x, y, z, l"),
        ({"label": 4}, "from 0 to 3"),
        ({"features": ["x", "x"]}, "two different columns"),
        ({"features": ["x", "l"]}, "neither of them the label"),
        ({"features": ["x"]}, "two columns or 'projection'"),
        ({"features": "both"}, "two columns or 'projection'"),
        ({"header": "yes"}, "header must be true or false"),
    ):
        with pytest.raises(mm.InputError, match=said):
            table(text, **choice)


def test_of_many_rows_a_sample_is_taken():
    rows = [f"{k},{k * k},{'rare' if k == 7777 else 'often' if k % 2 else 'usual'}" for k in range(9000)]
    found = table("\n".join(["x,y,kind", *rows]))
    assert len(found["points"]) == 2000 and found["rows"] == 9000 and "drawn at random" in found["note"]
    assert found["labels"] == ["often", "rare", "usual"] and len({p[2] for p in found["points"]}) == 3
    assert found == table("\n".join(["x,y,kind", *rows]))


@given(st.text(alphabet="1.2,a;\t\n\"e-− \r'", max_size=60))
def test_any_text_is_a_table_or_refused(text):
    try:
        found = table(text)
    except mm.InputError:
        return
    state = {key: json.loads(json.dumps(found))[key] for key in ("points", "labels", "names")}
    answer({"ask": "solve", "state": {**state, "algorithm": "soft"}})


def test_a_split_holds_a_share_of_each_class_out():
    made = answer({"ask": "preset", "name": "three blobs", "n": 60})
    state = {key: made[key] for key in ("points", "labels", "names")}
    roles = answer({"ask": "split", "state": state, "share": 0.25, "seed": 1})["roles"]
    for code in range(3):
        mine = [role for role, point in zip(roles, state["points"], strict=True) if point[2] == code]
        assert sum(mine) == 5
    assert roles == answer({"ask": "split", "state": state, "share": 0.25, "seed": 1})["roles"]
    assert roles != answer({"ask": "split", "state": state, "share": 0.25, "seed": 2})["roles"]
    assert not any(answer({"ask": "split", "state": state, "share": 0})["roles"])
    few = {"points": [[0, 0, 0, 0], [1, 1, 1, 0]]}
    assert answer({"ask": "split", "state": few, "share": 0.9})["roles"] == [0, 0]


def test_a_table_can_be_looked_at_before_its_columns_are_chosen():
    text = "a,b,c\n1,2,3\n4,,6\n7,8,9\n1,1,1\n2,2,2\n3,3,5\n"
    with pytest.raises(mm.InputError, match=r"line 3: b must be .* Got an empty field"):
        answer({"ask": "table", "text": text})
    seen = answer({"ask": "table", "text": text, "look": True})
    assert [column["name"] for column in seen["columns"]] == ["a", "b", "c"]


def test_a_column_of_words_is_the_label_even_if_it_has_one_value():
    with pytest.raises(mm.InputError, match="2 to 5 different values"):
        answer({"ask": "table", "text": "1,2,a\n3,4,a\n"})
