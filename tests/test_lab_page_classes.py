"""Three to five classes on the page: machines, regions and numbers are those of the library."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import numpy as np
import pytest

from lab_driver import READ, browser, kept, lab_url
from lab_driver import shared as lab
from lab_library import fitted, machines, preset, trained
from lab_words import number, share
from maxmargin.laboratory.engine import answer


def four():
    state = preset("five blobs", n=60)
    return {**state, "labels": state["labels"][:4], "points": [p for p in state["points"] if p[2] < 4]}


STATES = {
    "three": preset("three blobs", n=45, noise=0.9),
    "four": four(),
    "five": preset("five blobs", n=60),
}
CASES = [(n, s, a) for n in STATES for s in ("ovr", "ovo") for a in ("perceptron", "soft")]
CASES += [("three", s, a) for s in ("ovr", "ovo") for a in ("batch", "pocket")] + [
    ("five", "ovo", "hard")
]
GRID = (
    f"(canvas) => {{ const words = {READ};"
    """
  const view = __lab.view("x");
  const [left, right, bottom, top] = view.window();
  const ratio = canvas.width / canvas.clientWidth;
  const found = [];
  for (let i = 1; i < 30; i++) for (let j = 1; j < 30; j++) {
    const [x, y] = [left + (i / 30) * (right - left), bottom + (j / 30) * (top - bottom)];
    const [px, py] = view.pixel(x, y).map((v) => Math.round(v * ratio));
    found.push([x, y, words[py * canvas.width + px]]);
  }
  return found;
}"""
)


@pytest.mark.parametrize(("name", "scheme", "algorithm"), CASES, ids=[" ".join(case) for case in CASES])
def test_machines_and_regions_are_the_library_s(lab, name, scheme, algorithm):
    lab.open(STATES[name])
    lab.choose("algorithm", algorithm)
    lab.choose("scheme", scheme)
    state, found = lab.state(), lab.answer()
    classes = len(state["labels"])
    many = classes if scheme == "ovr" else classes * (classes - 1) // 2
    assert len(found["machines"]) == many and found["scheme"] == scheme
    model = fitted(state)
    planes = np.column_stack([model.coef_, model.intercept_]).tolist()
    assert found["planes"] == planes
    X, y = trained(state)
    assert lab.text("final") == share(int(np.count_nonzero(model.predict(X) != y)), len(y))
    lines = lab.part("machines").locator("tbody tr").all()
    assert len(lines) == many
    for line, told in zip(lines, found["machines"], strict=True):
        cells = [" ".join(text.split()) for text in line.locator("th, td").all_inner_texts()]
        last = told["margin"] if told["margin"] is not None else told["mistakes"]
        assert cells == [told["label"], number(told["errors"]), number(last)]
    check_regions(lab, model)


def check_regions(lab, model):
    """Colours of the picture against predictions, at many places that are not beside a boundary."""
    lab.tick("layer-verdict", False)
    grid = lab.part("x-canvas").evaluate(GRID)
    places = np.array([p[:2] for p in grid])
    told = lab.js(
        """async (places) => {
          const { predictor } = await import("/regions.js");
          const predict = predictor(__lab.scene());
          return places.map(([x, y]) => predict(x, y));
        }""",
        places.tolist(),
    )
    predicted = model.predict(places)
    assert told == predicted.tolist()
    reach = 0.01 * np.ptp(places[:, 0])
    around = [places + reach * np.array(d) for d in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    inner = np.all([model.predict(p) == predicted for p in around], axis=0)
    colours = np.array([p[2] for p in grid])
    kinds = {}
    for kind in np.unique(predicted[inner]):
        values, counts = np.unique(colours[inner & (predicted == kind)], return_counts=True)
        kinds[int(kind)] = int(values[counts.argmax()])
        assert counts.max() > 0.25 * counts.sum(), "a region has a colour, marks and slab aside"
    assert len(set(kinds.values())) == len(kinds), "and each its own"
    for kind, colour in kinds.items():
        assert np.all(predicted[inner & (colours == colour)] == kind)


def test_another_machine_is_watched(lab):
    lab.open(STATES["three"])
    labels = lab.part("watch").locator("option").all_inner_texts()
    assert labels == ["A against the rest", "B against the rest", "C against the rest"]
    model = fitted(lab.state())
    for watch in (2, 1):
        if watch == 2:
            lab.choose("watch", "2")
        else:
            lab.part("machines").locator("button").nth(1).click()
            lab.rest()
        trace = machines(model)[watch].trace_
        assert lab.state()["watch"] == lab.answer()["watch"] == watch
        assert lab.answer()["run"]["updates"]["weights"] == [u.weights.tolist() for u in trace]
        assert lab.part("watch").input_value() == str(watch)
        z = machines(model)[watch]
        assert lab.scene("weights") == [*z.coef_.tolist(), float(z.intercept_)]
    lab.choose("scheme", "ovo")
    assert lab.state()["watch"] == 0
    assert lab.part("watch").locator("option").all_inner_texts() == [
        "B against A",
        "C against A",
        "C against B",
    ]


def test_the_verdict_is_about_the_watched_machine(lab):
    lab.open(STATES["three"])
    for watch in range(3):
        lab.choose("watch", str(watch))
        assert f"points of {'ABC'[watch]}" in lab.text(
            "verdict-sentence"
        ) or f"separates {'ABC'[watch]}" in lab.text("verdict-sentence")


def test_a_machine_that_is_refused_says_which(lab):
    lab.open(STATES["five"])
    lab.choose("algorithm", "hard")
    refused = lab.answer()["machine"].get("refused")
    if refused is None:
        assert all(m["weights"] for m in lab.answer()["machines"])
        return
    assert lab.text("refused") == refused and lab.scene("weights") is None
