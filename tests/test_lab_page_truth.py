"""Truth beside the pictures: verdict, bound, errors, arithmetic and certificate are the library's."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import math

import numpy as np
import pytest

import maxmargin as mm
from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab
from lab_library import fitted, machines, preset, rows_of, signs_of, trained
from lab_words import number, share
from maxmargin.laboratory.engine import answer
from thorough import further

SEPARABLE = preset("separable", n=24, margin=0.25, seed=3)
OVERLAPPING = preset("overlapping", n=40, noise=0.8)


@pytest.mark.parametrize(
    ("name", "words"),
    [("separable", "✓ Separable"), ("touching", "≈ Touching"), ("overlapping", "✕ Overlapping")],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_verdict_is_the_library_s(lab, name, words, intercept):
    lab.open(preset(name, n=24), options={"intercept": intercept})
    state, shown = lab.state(), lab.answer()["verdict"]
    X, y = trained(state)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert shown["status"] == verdict.kind and (lab.text("verdict") == words or not intercept)
    assert shown["fingerprint"] == verdict.proof.to_dict()["data"]
    assert lab.text("fingerprint").endswith(f"{shown['fingerprint'][:12]}…")
    assert lab.text("verdict-sentence") == shown["sentence"]
    if verdict.kind == "separable":
        widest = mm.HardMarginSVC(fit_intercept=intercept).fit(X, y)
        assert shown["margin"] == widest.margin_ and f"{widest.margin_:.6g}" in shown["sentence"]
        assert shown["nearest"] == widest.support_.tolist()
    if verdict.witness is not None:
        found = verdict.witness
        assert shown["witness"]["point"] == found.point.tolist()
        for side in ("positive", "negative"):
            weights = [
                [int(i), float(w)]
                for i, w in zip(getattr(found, side), getattr(found, f"{side}_weights"), strict=True)
            ]
            assert shown["witness"][side] == weights


def test_the_verdict_changes_live_while_a_point_is_dragged(lab):
    points = [[-2, 0, 0, 0], [-1, 2, 0, 0], [-1, -2, 0, 0], [1, 0, 1, 0], [2, 1, 1, 0], [2, -1, 1, 0]]
    lab.open(points=points)
    assert lab.text("verdict") == "✓ Separable"
    lab.page.mouse.move(*lab.spot_of(3))
    lab.page.mouse.down()
    lab.page.mouse.move(*lab.spot(-1.4, 0), steps=15)
    lab.until("() => __lab.answer().verdict.status === 'overlapping' && !__lab.scene().stale", frames=3)
    assert lab.text("verdict") == "✕ Overlapping", "the button is still down"
    overlapping, witness = lab.pixels("x-canvas"), lab.answer()["verdict"]["witness"]
    assert 3 in [row for row, _ in witness["positive"]]
    mean = sum(w * np.array(lab.points()[row][:2]) for row, w in witness["positive"])
    other = sum(w * np.array(lab.points()[row][:2]) for row, w in witness["negative"])
    np.testing.assert_allclose(mean, witness["point"])
    np.testing.assert_allclose(other, witness["point"])
    lab.page.mouse.move(*lab.spot(0.5, 0), steps=15)
    lab.until("() => __lab.answer().verdict.status === 'separable' && !__lab.scene().stale", frames=3)
    assert lab.text("verdict") == "✓ Separable" and lab.pixels("x-canvas") != overlapping
    lab.page.mouse.up()
    lab.rest()


def test_a_touching_point_put_exactly(lab):
    lab.open(points=[[0, 0, 0, 0], [0, 2, 0, 0], [2, 1, 1, 0], [3, 0, 1, 0]])
    lab.press("table")
    lab.write("cell-2-x", 0)
    lab.press("table-close").rest()
    assert lab.text("verdict") == "≈ Touching" and lab.answer()["verdict"]["margin"] == 0


def test_mistakes_against_their_bound_at_every_update(lab):
    lab.open(SEPARABLE)
    X, y = trained(lab.state())
    bound = mm.mistake_bound(X, y)
    trace = machines(fitted(lab.state()))[0].trace_
    padded = signs_of(lab.state())[:, None] * np.column_stack([X, np.ones(len(X))])
    lab.press("first").rest()
    best = len(X)
    for k, z in enumerate(trace.weights):
        margins = padded @ z
        errors, risk = int(np.count_nonzero(margins <= 0)), float(np.maximum(-margins, 0).sum())
        best = min(best, errors)
        names = ("e-in", "best", "risk", "mistakes", "bound")
        assert lab.texts(*names) == [
            share(errors, 24),
            share(best, 24),
            number(risk),
            str(k),
            str(math.floor(bound.bound)),
        ]
        lab.press("step").rest() if k < len(trace) else None
    why = f"Here R = {number(bound.R)} and γ = {number(bound.gamma)}."
    assert lab.part("bound").locator("..").get_attribute("title").endswith(why)
    lab.choose("preset", "overlapping")
    assert lab.text("bound") == "none: not separable"
    assert "Here" not in lab.part("bound").locator("..").get_attribute("title")


def test_pocket_s_best_and_validation_at_every_update(lab):
    points = [[*p[:3], int(i % 4 == 3)] for i, p in enumerate(OVERLAPPING["points"])]
    lab.open(OVERLAPPING, points=points, algorithm="pocket", options={"updates": 12})
    state = lab.state()
    (machine,) = machines(fitted(state))
    (X, _), (V, v) = trained(state), trained(state, 1)
    best = len(X)
    lab.press("first").rest()
    for z in machine.trace_.weights:
        errors = int(np.count_nonzero(signs_of(state) * (X @ z[:2] + z[2]) <= 0))
        held = int(np.count_nonzero(np.where(v == 1, 1, -1) * (V @ z[:2] + z[2]) <= 0))
        best = min(best, errors)
        assert lab.texts("e-in", "best", "validation") == [
            share(errors, len(X)),
            share(best, len(X)),
            share(held, len(V)),
        ]
        lab.press("step").rest()
    assert lab.scene("final") and lab.text("position") == "the model"
    z = [*machine.coef_.tolist(), float(machine.intercept_)]
    assert lab.scene("weights") == z
    final = int(np.count_nonzero(signs_of(state) * (X @ np.array(z[:2]) + z[2]) <= 0))
    held = int(np.count_nonzero(np.where(v == 1, 1, -1) * (V @ np.array(z[:2]) + z[2]) <= 0))
    assert lab.texts("e-in", "validation") == [share(final, len(X)), share(held, len(V))]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("algorithm", ["perceptron", "batch", "pocket"])
def test_the_arithmetic_of_an_update(lab, algorithm, intercept):
    options = {"intercept": intercept, "rate": 0.5, "threshold": 0.5, "step": 0.25}
    lab.open(SEPARABLE, algorithm=algorithm, options=options)
    (machine,) = machines(fitted(lab.state()))
    trace, width = machine.trace_, 3 if intercept else 2
    rows, signs = rows_of(lab.state()), signs_of(lab.state())
    X, _ = trained(lab.state())
    for k in (1, 2, min(5, len(trace))):
        lab.slide("scrub", k)
        update = trace[k - 1]
        before, after = trace.weights[k - 1][:width], trace.weights[k][:width]
        columns = lab.part("formula").locator("mtable").all()
        told = [column.locator("mtd").all_text_contents() for column in columns]
        assert told[0] == [number(v) for v in before] and told[-1] == [number(v) for v in after]
        sentence = lab.text("step-sentence")
        if algorithm == "batch":
            assert sentence.startswith(f"Step {k}: ") and len(told) == 2
            padded = signs[:, None] * np.column_stack([X, np.ones(len(X))])[:, :width]
            wrong = padded @ before <= 0
            np.testing.assert_allclose(before + 0.25 * padded[wrong].sum(axis=0), after, atol=1e-9)
            assert f"{np.count_nonzero(wrong)} misclassified" in sentence
            continue
        x, sign = X[update.row], signs[update.row]
        rate = 0.5 if algorithm == "perceptron" else 1.0
        assert told[1] == [number(v) for v in [*x, 1.0][:width]]
        assert ("+1" if sign > 0 else "−1") in lab.part("formula").text_content()
        np.testing.assert_allclose(before + rate * sign * np.array([*x, 1.0])[:width], after, atol=1e-12)
        assert f"point {rows[update.row] + 1} has y·f(x) = {number(update.margin)}" in sentence
        assert f"Look {update.step}:" in sentence


@pytest.mark.parametrize(("algorithm", "C"), [("hard", 1), ("soft", 0.1), further("soft", 30)])
@pytest.mark.parametrize("held", [False, True])
def test_the_certificate_of_a_margin_machine(lab, algorithm, C, held):
    data = SEPARABLE if algorithm == "hard" else OVERLAPPING
    points = [[*p[:3], int(held and i % 5 == 4)] for i, p in enumerate(data["points"])]
    lab.open(data, points=points, algorithm=algorithm, options={"C": C})
    state, shown = lab.state(), lab.answer()["machine"]
    (machine,) = machines(fitted(state))
    proof, rows = machine.certificate_, rows_of(state)
    wanted = [
        machine.margin_,
        machine.slab_width_,
        proof.primal,
        proof.dual,
        proof.gap,
        proof.relative_gap,
        machine.n_passes_,
    ]
    names = ("margin", "slab", "primal", "dual", "gap", "relative-gap", "passes")
    assert lab.texts(*names) == [number(value, 6) for value in wanted]
    assert [shown["alpha"][i] for i in rows] == machine.dual_.tolist()
    assert [shown["xi"][i] for i in rows] == machine.slack_.tolist()
    assert [shown["alpha"][i] for i in rows_of(state, 1)] == [0] * len(rows_of(state, 1))
    assert shown["support"] == [rows[i] for i in machine.support_]
    table = [
        line.locator("th, td").all_inner_texts()
        for line in lab.part("support").locator("tbody tr").all()
    ]
    heavy = sorted(shown["support"], key=lambda i: -shown["alpha"][i])
    assert table == [
        [str(i + 1), *(number(shown[key][i]) for key in ("alpha", "xi", "values"))] for i in heavy[:50]
    ]
    conditions = lab.part("kkt").locator("tbody tr").all()
    assert len(conditions) == len(shown["kkt"]) == (6 if algorithm == "hard" else 8)
    for line, told in zip(conditions, shown["kkt"], strict=True):
        assert (
            line.locator("td").first.inner_text() == "✓"
            and told["holds"]
            and told["residual"] <= told["tolerance"]
        )
        assert told["name"] in line.inner_text()
    residual = {told["name"]: told["residual"] for told in shown["kkt"]}
    assert residual["Stationarity"] == proof.stationarity
    assert residual["Primal feasibility"] == proof.primal_infeasibility


def test_w_is_the_sum_over_the_support_vectors(lab):
    lab.open(SEPARABLE, algorithm="hard")
    columns = lab.part("formula").locator("mtable").all()
    told = [column.locator("mtd").all_text_contents() for column in columns]
    machine, points = lab.answer()["machine"], lab.points()
    assert told[0] == [number(v) for v in machine["weights"][:2]]
    heavy = sorted(machine["support"], key=lambda i: -machine["alpha"][i])
    assert told[1:] == [[number(v) for v in points[i][:2]] for i in heavy[: len(told) - 1]]
    w = sum(machine["alpha"][i] * (2 * points[i][2] - 1) * np.array(points[i][:2]) for i in heavy)
    np.testing.assert_allclose(w, machine["weights"][:2], rtol=1e-9)


def test_hard_margin_on_overlapping_data_shows_why_not(lab):
    lab.open(OVERLAPPING, algorithm="hard")
    X, y = trained(lab.state())
    with pytest.raises(mm.NotSeparableError):
        mm.HardMarginSVC().fit(X, y)
    assert "no plane separates" in lab.text("refused") and lab.text("margin") is None
    witness = mm.separability(X, y).witness
    assert lab.answer()["machine"]["witness"] == witness.rows.tolist()
    assert not lab.part("kkt").is_visible()


def test_one_class_is_no_question(lab):
    lab.open(points=[[0, 0, 1, 0], [1, 1, 1, 0]])
    assert lab.text("verdict") == "· Not yet a question" and "All are of class +1" in lab.text(
        "verdict-sentence"
    )
    assert lab.scene("weights") is None and lab.text("final") is None
