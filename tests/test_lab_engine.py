"""The page's numbers are the library's: the same bits, for every algorithm and option."""

import json
import warnings

import numpy as np
import pytest

import maxmargin as mm
from lab_library import held_out, preset
from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.protocol import in_lab
from maxmargin.laboratory.recipe import BUDGETS
from maxmargin.laboratory.verdicts import _cached_analysis
from maxmargin.stopping import MaxEpochs, MaxUpdates

EVERY = ("perceptron", "batch", "pocket", "hard", "soft")
RUNS = EVERY[:3]


def ask(state, algorithm="perceptron", ask="solve", start=None, watch=0, hand=None, more=(), **options):
    """One answer, which must be plain JSON."""
    whole = {**state, "algorithm": algorithm, "options": options, "start": start, "watch": watch}
    found = answer({"ask": ask, "state": {**whole, "hand": hand}, **dict(more)})
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def data(state):
    """Training points and classes."""
    rows = [p for p in state["points"] if p[3] == 0]
    return np.array([p[:2] for p in rows], dtype=float), np.array([p[2] for p in rows])


def fitted(model, state, **start):
    X, y = data(state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return model.fit(X, y, **start)


OVERLAPPING = preset("overlapping", n=60, noise=1.0)
SEPARABLE = preset("separable", n=50, margin=0.2)
STATES = {
    "separable": SEPARABLE,
    "overlapping": OVERLAPPING,
    "lecture": preset("exam-marks"),
    "xor": preset("xor, four points"),
    "touching": preset("touching"),
    "held out": held_out(OVERLAPPING),
}


def check_run(found, machine, state):
    """The run on the page is the trace of the machine."""
    run, trace = found["run"], machine.trace_
    rows = [i for i, p in enumerate(state["points"]) if p[3] == 0]
    assert run["start"] == trace.start.tolist()
    assert run["updates"]["weights"] == [u.weights.tolist() for u in trace]
    assert run["updates"]["row"] == [rows[u.row] if u.row >= 0 else -1 for u in trace]
    assert run["updates"]["margin"] == [u.margin for u in trace]
    assert run["updates"]["step"] == [u.step for u in trace]
    assert run["final"] == [*machine.coef_.tolist(), machine.intercept_]
    assert run["stop"] == in_lab(machine.stop_reason_.sentence)
    assert (run["mistakes"], run["epochs"]) == (machine.n_mistakes_, machine.n_iter_)
    assert run["finished"] == machine.stop_reason_.solved
    assert len(run["errors"]) == len(run["best"]) == len(run["risk"]) == len(trace) + 1


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("order", ["cyclic", "shuffled", "random"])
def test_perceptron_is_the_library_s(kind, intercept, order):
    state = STATES[kind]
    options = {"order": order, "threshold": 0.1, "rate": 0.5, "averaged": True, "seed": 3}
    found = ask(state, intercept=intercept, **options, updates=120, epochs=20)
    model = mm.Perceptron(
        *(0.1, 0.5, order),
        fit_intercept=intercept,
        average=True,
        stop=MaxUpdates(120),
        max_iter=20,
        random_state=3,
        record=True,
    )
    (machine,) = fitted(model, state).machines_.values()
    check_run(found, machine, state)
    assert found["run"]["cut"] == (machine.stop_reason_.rule == "max_updates")
    assert found["run"]["final_note"] == "the average of all iterates"


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("step", ["exact", 0.125])
@pytest.mark.parametrize("start", [None, [1.0, -2.0, 0.5]])
def test_batch_is_the_library_s(kind, step, start):
    state = STATES[kind]
    found = ask(state, "batch", step=step, updates=40, start=start)
    model = mm.BatchPerceptron(step, stop=MaxUpdates(40), record=True)
    given = {} if start is None else {"coef_init": [start[:2]], "intercept_init": [start[2]]}
    (machine,) = fitted(model, state, **given).machines_.values()
    check_run(found, machine, state)
    steps = len(machine.trace_)
    risk = machine.history_["risk"].tolist()[:steps]
    assert found["run"]["risk"][1:] == risk, "the risk after each step is the history's"
    n = len(data(state)[0])
    errors = (machine.history_["training_error"] * n).round().astype(int).tolist()[:steps]
    assert found["run"]["errors"][1:] == errors
    assert found["run"]["words"] == {"update": "step"}


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("polish", [True, False])
def test_pocket_is_the_library_s(kind, polish):
    state = STATES[kind]
    found = ask(state, "pocket", polish=polish, updates=90, seed=5, order="shuffled", epochs=30)
    model = mm.PocketPerceptron(
        *(90, "shuffled"),
        polish=polish,
        max_witnesses=0,
        stop=MaxEpochs(30),
        random_state=5,
        record=True,
    )
    fitted(model, state)
    (machine,) = model.machines_.values()
    check_run(found, machine, state)
    run, n = found["run"], len(data(state)[0])
    assert min(run["errors"]) == run["best"][-1] == round(model.unpolished_error_ * n)
    assert run["errors"].index(run["best"][-1]) == model.best_update_
    assert found["judged"]["errors"] == round(model.best_error_ * n)


def test_errors_of_the_online_run_are_the_history_s():
    found = ask(OVERLAPPING, updates=5000, epochs=12)
    model = mm.Perceptron(stop=MaxUpdates(5000), max_iter=12, record=True)
    fitted(model, OVERLAPPING)
    n = len(OVERLAPPING["points"])
    steps = np.array(found["run"]["updates"]["step"])
    ends = [int(np.searchsorted(steps, n * (epoch + 1), side="right")) for epoch in range(12)]
    errors = np.array(found["run"]["errors"])[ends]
    assert errors.tolist() == (model.history_["training_error"] * n).round().astype(int).tolist()


def test_validation_errors_are_the_history_s():
    state = held_out(OVERLAPPING)
    found = ask(state, "batch", step=0.5, updates=30)
    val = [p for p in state["points"] if p[3] == 1]
    model = mm.BatchPerceptron(0.5, stop=MaxUpdates(30), record=True)
    fitted(model, state, X_val=[p[:2] for p in val], y_val=[p[2] for p in val])
    expected = (model.history_["validation_error"] * len(val)).round().astype(int).tolist()
    assert found["run"]["validation"][1:] == expected
    assert found["run"]["validation_n"] == len(val) == found["judged"]["validation_n"]
    assert found["run"]["validation"][-1] == found["judged"]["validation_errors"]


@pytest.mark.parametrize("kind", ["separable", "lecture"])
@pytest.mark.parametrize("intercept", [True, False])
def test_hard_margin_is_the_library_s(kind, intercept):
    state = preset("three-points") if not intercept else STATES[kind]
    found = ask(state, "hard", intercept=intercept)
    model = fitted(mm.HardMarginSVC(fit_intercept=intercept), state)
    check_margin_machine(found, next(iter(model.machines_.values())))
    assert found["verdict"]["margin"] == model.margin_
    assert found["verdict"]["plane"] == found["machine"]["weights"]
    assert found["verdict"]["nearest"] == model.support_.tolist()


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_soft_margin_is_the_library_s(kind, C, intercept):
    state = STATES[kind]
    found = ask(state, "soft", C=C, intercept=intercept)
    model = fitted(mm.SoftMarginSVC(C, fit_intercept=intercept), state)
    check_margin_machine(found, next(iter(model.machines_.values())), state)
    slack = [found["machine"]["xi"][i] for i, p in enumerate(state["points"]) if p[3] == 0]
    assert slack == model.slack_.tolist()


def check_margin_machine(found, machine, state=None):
    shown, proof = found["machine"], machine.certificate_
    assert found["run"] is None
    assert shown["weights"] == [*machine.coef_.tolist(), machine.intercept_]
    if np.isinf(machine.margin_):
        assert shown["margin"] is None and shown["slab"] is None and "w = 0" in shown["note"]
    else:
        assert (shown["margin"], shown["slab"]) == (machine.margin_, machine.slab_width_)
    assert (shown["primal"], shown["dual"], shown["gap"]) == (proof.primal, proof.dual, proof.gap)
    assert shown["relative_gap"] == proof.relative_gap and shown["passes"] == machine.n_passes_
    assert sum(a > 0 for a in shown["alpha"]) == len(shown["support"]) == len(machine.support_)
    if state is None:
        assert shown["alpha"] == machine.dual_.tolist()
    rows = {row["name"]: row for row in shown["kkt"]}
    assert all(row["holds"] for row in shown["kkt"]), rows
    assert rows["Stationarity"]["residual"] == proof.stationarity
    assert rows["Primal feasibility"]["residual"] == proof.primal_infeasibility
    names = ("Complementary slackness", "Complementary slack")
    worst = max(rows[name]["residual"] for name in names if name in rows)
    assert worst == pytest.approx(proof.complementarity, abs=1e-12)
    kinds = {"outside", "inside", "on the edge", "wrong side"}
    assert set(shown["kind"]) <= kinds
    for value, kind, alpha in zip(shown["values"], shown["kind"], shown["alpha"], strict=True):
        assert kind == "on the edge" or alpha == 0 or value < 1
        assert (kind == "wrong side") == (value <= 0 and kind != "on the edge")


def test_hard_margin_refuses_with_the_witness():
    found = ask(OVERLAPPING, "hard")
    witness = found["verdict"]["witness"]
    rows = sorted(row for side in ("positive", "negative") for row, _ in witness[side])
    assert found["machine"]["witness"] == rows
    assert "no plane separates +1 from −1" in found["machine"]["refused"]
    assert found["run"] is None and found["judged"] is None and found["planes"] == []
    assert found["machines"][0]["weights"] is None


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_verdict_is_the_library_s(kind, intercept):
    state = STATES[kind]
    X, y = data(state)
    rows = [i for i, p in enumerate(state["points"]) if p[3] == 0]
    shown = ask(state, intercept=intercept)["verdict"]
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert shown["status"] == verdict.kind and shown["proven"] is True
    assert shown["fingerprint"] == verdict.proof.to_dict()["data"]
    assert (shown["witness"] is None) == verdict.separable
    if verdict.witness is not None:
        found = verdict.witness
        assert [row for row, _ in shown["witness"]["positive"]] == [rows[i] for i in found.positive]
        assert shown["witness"]["point"] == found.point.tolist()
    if verdict.kind == "touching":
        assert shown["nearest"] == [rows[i] for i in verdict.on_plane] and shown["margin"] == 0.0
    fewest = mm.min_errors(X, y, fit_intercept=intercept).upper
    assert shown["fewest_errors"] == fewest
    plane = "plane" if intercept else "plane through the origin"
    told = f" No {plane} makes fewer than {fewest} error{'s' if fewest > 1 else ''}."
    assert shown["sentence"].endswith(told) == (not verdict.separable)
    for side, code in (("positive", 1), ("negative", 0)):
        corners = shown["hulls"][side]
        assert len(set(corners)) == len(corners) >= 1
        assert all(state["points"][row][2] == code for row in corners)


def test_the_mistake_bound_is_the_library_s():
    X, y = data(SEPARABLE)
    for intercept in (True, False):
        found = ask(SEPARABLE, intercept=intercept)["bound"]
        bound = mm.mistake_bound(X, y, fit_intercept=intercept)
        if bound.gamma == 0:
            assert found is None
        else:
            assert (found["R"], found["gamma"], found["bound"]) == (bound.R, bound.gamma, bound.bound)
    assert ask(SEPARABLE)["run"]["mistakes"] <= ask(SEPARABLE)["bound"]["bound"]
    assert ask(OVERLAPPING)["bound"] is None
    assert ask(SEPARABLE)["bound"]["holds"] and ask(SEPARABLE, start=[0.0, 0.0, 0.0])["bound"]["holds"]
    assert not ask(SEPARABLE, threshold=1.0)["bound"]["holds"]
    assert not ask(SEPARABLE, start=[1.0, 0.0, 0.0])["bound"]["holds"]


@pytest.mark.parametrize("name", ["three blobs", "five blobs", "three-classes"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("algorithm", EVERY)
def test_several_classes(name, scheme, algorithm):
    state = held_out(preset(name, n=40), 5)
    X, y = data(state)
    count = len(state["labels"])
    machines = count if scheme == "ovr" else count * (count - 1) // 2
    kinds = {
        "perceptron": lambda: mm.Perceptron(
            multi_class=scheme, stop=MaxUpdates(60), random_state=0, record=True, order="shuffled"
        ),
        "batch": lambda: mm.BatchPerceptron(multi_class=scheme, stop=MaxUpdates(60), record=True),
        "pocket": lambda: mm.PocketPerceptron(
            *(60, "shuffled"),
            multi_class=scheme,
            max_witnesses=0,
            stop=MaxEpochs(100),
            random_state=0,
            record=True,
        ),
        "hard": lambda: mm.HardMarginSVC(multi_class=scheme),
        "soft": lambda: mm.SoftMarginSVC(multi_class=scheme),
    }
    watch = machines - 1
    options = {"scheme": scheme, "updates": 60, "order": "shuffled"}
    found = ask(state, algorithm, watch=watch, **options)
    assert found["watch"] == watch and len(found["machines"]) == machines
    if algorithm == "hard" and "refused" in found["machine"]:
        with pytest.raises(mm.NotSeparableError) as refusal:
            fitted(kinds[algorithm](), state)
        bad = [m["stop"] == "Not separable." for m in found["machines"]]
        labels = [*mm.SoftMarginSVC(multi_class=scheme).fit(X, y).machines_]
        known = [label for label, b in zip(labels, bad, strict=True) if b]
        assert known == list(refusal.value.verdicts)
        return
    model = fitted(kinds[algorithm](), state)
    expected = np.column_stack([model.coef_, model.intercept_]).tolist()
    assert found["planes"] == expected == [m["weights"] for m in found["machines"]]
    wrong = model.predict(X) != y
    assert (found["judged"]["errors"], found["judged"]["n"]) == (int(wrong.sum()), len(y))
    machine = list(model.machines_.values())[watch]
    if algorithm in RUNS:
        check_run(found, machine, state)
        assert found["machines"][watch]["errors"] == ask_error(found, algorithm)
    else:
        assert found["machine"]["weights"] == [*machine.coef_.tolist(), machine.intercept_]
        assert len(found["machine"]["support"]) == len(machine.support_)
    pair = [*found["machines"][watch]["positive"], *found["machines"][watch]["negative"]]
    assert sorted(pair) == (list(range(count)) if scheme == "ovr" else [count - 2, count - 1])


def ask_error(found, algorithm):
    """Errors of the watched machine's final weights."""
    return found["run"]["best"][-1] if algorithm == "pocket" else found["run"]["errors"][-1]


def test_two_of_five_classes_are_one_machine():
    points = [[*p[:2], 3 if p[2] else 1, 0] for p in SEPARABLE["points"]]
    state = {"points": points, "labels": list("ABCDE")}
    found = ask(state, "hard")
    assert found["machines"][0]["label"] == "D against B"
    assert found["machines"][0]["positive"] == [3] and found["machines"][0]["negative"] == [1]
    assert found["planes"] == ask(SEPARABLE, "hard")["planes"]
    assert found["judged"]["errors"] == 0


def test_a_point_on_the_plane_is_an_error_of_two_classes():
    state = {"points": [[1.0, 0.0, 1, 0], [-1.0, 0.0, 0, 0], [0.0, 5.0, 0, 0]]}
    found = ask(state, ask="judge", more={"weights": [1.0, 0.0, 0.0]})
    assert found["errors"] == 1 and found["wrong"] == [2] and found["risk"] == 0.0
    assert found["values"] == [1.0, 1.0, 0.0]


def test_weights_by_hand_are_judged_for_the_watched_machine():
    state = held_out(preset("three blobs"))
    for scheme in ("ovr", "ovo"):
        found = ask(state, "soft", scheme=scheme, watch=1)
        weights = found["planes"][1]
        judged = ask(state, ask="judge", watch=1, more={"weights": weights}, scheme=scheme)
        other = ask(state, ask="judge", more={"weights": weights, "watch": 1}, scheme=scheme)
        assert judged == other
        assert judged["errors"] == found["machines"][1]["errors"]
        assert judged["values"] == found["machine"]["values"]


def test_a_budget_keeps_a_drag_fluent_and_can_be_lifted():
    usual = ask(preset("overlapping", n=200, noise=1.0))
    assert usual["run"]["cut"] and len(usual["run"]["errors"]) == 1001
    assert "budget of 1000 updates" in usual["run"]["stop"]
    more = ask(preset("overlapping", n=200, noise=1.0), updates=2000)
    assert len(more["run"]["errors"]) == 2001
    assert more["run"]["updates"]["weights"][:1000] == usual["run"]["updates"]["weights"]
    assert ask(SEPARABLE)["run"]["finished"] and not ask(SEPARABLE)["run"]["cut"]


def test_quick_answers_make_fewer_updates_and_leave_out_the_polish():
    quick = answer({"ask": "solve", "state": {**OVERLAPPING, "algorithm": "pocket"}, "quick": True})
    steps = len(quick["run"]["updates"]["step"])
    assert steps == BUDGETS.pocket // BUDGETS.quick_share
    assert quick["run"]["final_note"] == "the pocket: the best of all iterates"
    assert quick == ask(OVERLAPPING, "pocket", polish=False, updates=steps)


@pytest.mark.parametrize("algorithm", EVERY)
def test_nothing_to_fit_is_said(algorithm):
    for points, status in (
        ([], None),
        ([[1.0, 2.0, 0, 0]], "one class"),
        ([[1.0, 2.0, 0, 0], [1.0, 2.0, 0, 0]], "one class"),
        ([[1.0, 2.0, 0, 0], [2.0, 1.0, 1, 1]], "one class"),
        ([[1.0, 2.0, 0, 1], [2.0, 1.0, 1, 1]], None),
    ):
        found = ask({"points": points}, algorithm)
        assert found["usable"] is False and found["why"].endswith(".")
        assert found["run"] is None and found["machine"] is None and found["machines"] == []
        assert (found["verdict"] or {"status": None})["status"] == status


@pytest.mark.parametrize("algorithm", EVERY)
def test_odd_points(algorithm):
    same = [[1.0, 2.0, k % 2, 0] for k in range(6)]
    assert ask({"points": same}, algorithm)["verdict"]["status"] == "overlapping"
    twice = [p for p in SEPARABLE["points"] for _ in range(2)]
    assert ask({"points": twice}, algorithm)["verdict"]["status"] == "separable"
    for size in (1e9, 1e-9, 1e15, 1e-15):
        points = [[size * x, size * y, c, r] for x, y, c, r in SEPARABLE["points"]]
        found = ask({"points": points}, algorithm)
        assert found["verdict"]["status"] == "separable"
        assert found["verdict"]["margin"] == pytest.approx(size * 0.1953125, rel=1e-6)
    for intercept in (True, False):
        zero = [[0.0, 0.0, 1, 0], [1.0, 0.0, 0, 0]]
        found = ask({"points": zero}, algorithm, intercept=intercept)
        assert (found["verdict"]["status"] == "separable") == intercept


def test_of_many_points_the_fewest_errors_are_not_told(monkeypatch):
    assert "makes fewer than" in ask(OVERLAPPING)["verdict"]["sentence"]
    n = len([p for p in OVERLAPPING["points"] if p[3] == 0])
    monkeypatch.setattr("maxmargin.laboratory.verdicts.MAX_SWEPT_POINTS", n - 1)
    _cached_analysis.cache_clear()
    shown = ask(OVERLAPPING)["verdict"]
    assert shown["fewest_errors"] is None and "makes fewer than" not in shown["sentence"]
    _cached_analysis.cache_clear()
