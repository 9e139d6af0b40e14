"""The state of an estimator as JSON: its parameters, and all that a fit found.

A perceptron is kept with all it needs to go on learning as if it had never been saved: running weights,
averages, counters, generator, and the reason, history and trace of each machine. Arrays with one row
(w, b) per machine are written for the features known so far; ``room`` says how many a stream of named
features had room for (the columns in between are zero). Of a margin machine there are multipliers,
slacks, progress and certificate. Where a verdict ended a run, it comes with its proof, and so do bounds
on the fewest errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn import model_selection

from maxmargin import checker, stopping
from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.proof import Proof
from maxmargin.certificates.verdict import OnDemand, Precision, Verdict, Work
from maxmargin.core.codec import (
    COUNT,
    FINITE,
    FRACTION_TEXT,
    NUMBER,
    VALUE,
    Form,
    bad,
    counts,
    decode,
    encode,
    entries,
    form_of,
    listed,
    maybe,
    object_vector,
    one_of,
    record,
    row,
)
from maxmargin.core.errors import InputError, Witness
from maxmargin.core.history import Epoch, History, Trace, Update
from maxmargin.estimators.batch_perceptron import BatchPerceptron
from maxmargin.estimators.error_bounds import ErrorBounds
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.min_error_classifier import ErrorMachine, MinErrorClassifier
from maxmargin.estimators.online import MIN_ROOM
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.perceptron_machine import Log
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin import SoftMarginSVC, read_Cs
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV
from maxmargin.kernels.perceptron import MADE, SEEN
from maxmargin.saving.sealed import arrays
from maxmargin.solvers.margin.solve import SOLVERS
from maxmargin.solvers.perceptron.epochs import State
from maxmargin.stopping import AllOf, AnyOf, StoppingRule, StopReason

RULES: dict[str, Any] = {
    name: getattr(stopping, name)
    for name in stopping.__all__
    if name not in ("Progress", "StopReason", "StoppingRule")
}
COMBINED: dict[str, Any] = {"any": AnyOf, "all": AllOf}
MAX_RULE_DEPTH = 100
# Splitters that are nothing but their parameters.
SPLITTERS: dict[str, tuple[str, ...]] = {
    "KFold": ("n_splits", "shuffle", "random_state"),
    "StratifiedKFold": ("n_splits", "shuffle", "random_state"),
    "ShuffleSplit": ("n_splits", "test_size", "train_size", "random_state"),
    "StratifiedShuffleSplit": ("n_splits", "test_size", "train_size", "random_state"),
    "TimeSeriesSplit": ("n_splits", "max_train_size", "test_size", "gap"),
    "LeaveOneOut": (),
}


def encode_parameters(model: Any) -> dict[str, Any]:
    """Return all parameters of an estimator."""
    given = model.get_params(deep=False)
    return {name: _encode_parameter(value, f"the parameter {name}") for name, value in given.items()}


def decode_parameters(value: Any, kind: Any, name: str) -> Any:
    """Return an estimator of this kind with the parameters written; absent ones have their default."""
    if type(value) is not dict:
        raise bad(name, "an object", value)
    known = kind._get_param_names()
    for key in value:
        if key not in known:
            raise InputError(f"{name} must be among {', '.join(known)}. Got {key!r} instead.")
    return kind(**{key: _decode_parameter(v, f"{name}.{key}") for key, v in value.items()})


def _encode_parameter(value: Any, name: str) -> Any:
    try:
        if isinstance(value, StoppingRule):
            return {"stop": _encode_rule(value)}
        if isinstance(value, np.random.RandomState):
            return {"random_state": RANDOM_STATE.write(value)}
        splitter = type(value).__name__
        if splitter in SPLITTERS and type(value) is getattr(model_selection, splitter):
            inside = {key: _encode_parameter(getattr(value, key), name) for key in SPLITTERS[splitter]}
            return {"splitter": splitter, "parameters": inside}
        return encode(value, name)
    except InputError as error:
        last = name.rsplit(" ", 1)[-1]
        raise InputError(f"{error} Set it to None before saving: set_params({last}=None).") from None


def _decode_parameter(value: Any, name: str) -> Any:
    if type(value) is not dict:
        return decode(value, name)
    if value.keys() == {"stop"}:
        return _decode_rule(value["stop"], name, 0)
    if value.keys() == {"random_state"}:
        return RANDOM_STATE.read(value["random_state"], name)
    if value.keys() != {"splitter", "parameters"}:
        return decode(value, name)
    splitter, inside = value["splitter"], value["parameters"]
    if type(splitter) is not str or type(inside) is not dict or splitter not in SPLITTERS:
        raise bad(name, f"one of the splitters {', '.join(SPLITTERS)}", value)
    if inside.keys() != set(SPLITTERS[splitter]):
        raise bad(f"{name}.parameters", f"those of {splitter}", inside)
    try:
        given = {k: _decode_parameter(v, name) for k, v in inside.items()}
        return getattr(model_selection, splitter)(**given)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from None


def _encode_rule(rule: Any) -> dict[str, Any]:
    for word, kind in COMBINED.items():
        if isinstance(rule, kind):
            return {word: [_encode_rule(part) for part in rule.rules]}
    name = type(rule).__name__
    if type(rule) is not RULES.get(name):
        raise InputError(
            f"the parameter stop must be made of rules of maxmargin.stopping to be saved. Got {name} "
            "instead."
        )
    return {"rule": name, **{f.name: encode(getattr(rule, f.name), f.name) for f in fields(rule)}}


def _decode_rule(value: Any, name: str, depth: int) -> StoppingRule:
    given = {**value} if type(value) is dict and depth < MAX_RULE_DEPTH else {}
    word = next(iter(given), None)
    try:
        if len(given) == 1 and word in COMBINED and type(given[word]) is list and given[word]:
            parts = tuple(_decode_rule(part, name, depth + 1) for part in given[word])
            combined: StoppingRule = COMBINED[word](parts)
            return combined
        kind = RULES[given.pop("rule")]
        rule: StoppingRule = kind(**{key: decode(v, f"{name}.{key}") for key, v in given.items()})
    except (LookupError, TypeError):  # no such rule, a field that it has not, or a budget is missing
        raise bad(name, "rules of maxmargin.stopping", value) from None
    return rule


# Generators of random numbers.


def _of_random_state(state: np.random.RandomState) -> dict[str, Any]:
    found: Any = state.get_state(legacy=False)
    if found["bit_generator"] != "MT19937":
        raise InputError(
            "a RandomState must use the generator MT19937 to be saved. Got another instead."
        )
    return {**found, **found["state"]}


def _random_state(found: dict[str, Any]) -> np.random.RandomState:
    state = np.random.RandomState(0)
    key = found["key"].astype(np.uint32)
    state.set_state(("MT19937", key, found["pos"], found["has_gauss"], found["gauss"]))
    return state


def _of_generator(rng: np.random.Generator) -> dict[str, Any]:
    found: Any = rng.bit_generator.state
    return {**found, **found["state"], "generator": found["bit_generator"]}


def _generator(found: dict[str, Any]) -> np.random.Generator:
    rng = np.random.default_rng(0)
    inner = {"state": found.pop("state"), "inc": found.pop("inc")}
    rng.bit_generator.state = {**found, "bit_generator": found.pop("generator"), "state": inner}
    return rng


WORD_LIMIT = 2**32
KEY = arrays(int, 624).checked(
    lambda key: key.min() >= 0 and key.max() < WORD_LIMIT, "624 words of 32 bits"
)
RANDOM_STATE = entries(
    {"key": KEY, "pos": counts(0, 624), "has_gauss": counts(0, 1), "gauss": FINITE}
).mapped(_of_random_state, _random_state)
GENERATOR = entries(
    {
        "generator": one_of("PCG64"),
        "state": counts(0, 2**128 - 1),
        "inc": counts(0, 2**128 - 1).checked(lambda n: n % 2, "odd"),
        "has_uint32": counts(0, 1),
        "uinteger": counts(0, WORD_LIMIT - 1),
    }
).mapped(_of_generator, _generator)

# Why a run ended, with the verdict and its proof where these were the reason.


def _read_proof(value: Any, name: str) -> Proof:
    try:
        return Proof(checker.parse(json.dumps(value)))
    except checker.Rejected as error:
        raise InputError(f"the proof must be unchanged, but {error}.") from error


LABEL = VALUE.checked(lambda value: hash(value) is not None, "a label")
NUMBERS = listed(NUMBER).mapped(list, lambda values: np.array(values, dtype=np.float64))
FRACTIONS = listed(FRACTION_TEXT).mapped(list, object_vector)
ROWS = arrays(int, None)
WITNESS = record(
    Witness,
    positive=ROWS,
    positive_weights=FRACTIONS,
    negative=ROWS,
    negative_weights=FRACTIONS,
    point=NUMBERS,
).checked(
    lambda v: len(v.positive) == len(v.positive_weights) and len(v.negative) == len(v.negative_weights),
    "a witness with a weight for every row",
)


PROOF = Form(Proof.to_dict, _read_proof)


def _verdict(precision: Precision | None = None, **found: Any) -> Verdict:
    """A verdict that knows what was measured of it."""
    return Verdict(**found, on_demand=None if precision is None else OnDemand(lambda: precision))


VERDICT = record(
    Verdict,
    omit=("on_demand",),  # which holds the data
    optional=("precision", "likely_separable"),
    make=_verdict,
    precision=form_of(Precision),
    work=listed(COUNT).mapped(list, lambda values: Work(*[*values, *[0] * 5][:5])),  # bits came later
    kind=one_of("separable", "touching", "overlapping"),
    w=maybe(NUMBERS),
    witness=maybe(WITNESS),
    on_plane=ROWS,
    negative=LABEL,
    positive=LABEL,
    proof=PROOF,
).checked(
    lambda v: v.w is None or len(v.w) == len(v.features), "a verdict with a weight for every feature"
)
REASON = record(StopReason, optional=("verdict",), verdict=VERDICT)

# The runs of a perceptron.

COLUMNS = {
    name: listed(COUNT if name in ("epoch", "mistakes") else NUMBER) for name in History.columns()
}
HISTORY = (
    entries(COLUMNS)
    .checked(
        lambda found: len(set(map(len, found.values()))) == 1,
        "a history with columns of the same length",
    )
    .mapped(
        lambda history: {name: [getattr(epoch, name) for epoch in history] for name in COLUMNS},
        lambda found: History([Epoch(*line) for line in zip(*(found[n] for n in COLUMNS), strict=True)]),
    )
)


def _of_trace(trace: Trace) -> dict[str, Any]:
    return {
        "start": trace.start,
        "steps": [u.step for u in trace],
        "rows": [u.row for u in trace],
        "margins": [u.margin for u in trace],
        "weights": trace.weights[1:],
    }


def _trace(found: dict[str, Any]) -> Trace:
    columns = [found[name].tolist() for name in ("steps", "rows", "margins")]
    updates = zip(*columns, found["weights"], strict=True)
    return Trace(found["start"], [Update(*update) for update in updates])


def trace_form(d: int) -> Form:
    """Return the form of traces on d features: their start and their updates, as arrays."""
    forms = {
        "start": arrays(float, d + 1),
        "steps": ROWS,
        "rows": ROWS,
        "margins": arrays(float, None),
        "weights": arrays(float, None, d + 1),
    }
    fits = entries(forms).checked(
        lambda found: len({len(found[name]) for name in forms if name != "start"}) == 1,
        "a trace with arrays of the same length",
    )
    return fits.mapped(_of_trace, _trace)


# Margin machines.

KNOWN = NUMBER.checked(lambda v: not math.isnan(v), "a number")
ASCENDING = ROWS.checked(
    lambda rows: not len(rows) or (rows[0] >= 0 and np.all(np.diff(rows) > 0)),
    "numbers of rows, ascending",
)
POSITIVE = arrays(float, None).checked(lambda values: np.all(values > 0.0), "a list of numbers > 0")


def _fits(machine: dict[str, Any]) -> bool:
    """Whether there is a number for every support row and for every late row, all of them below n."""
    support, late = machine["support_"], machine["late_"]
    rows = all(not len(each) or each[-1] < machine["n_rows"] for each in (support, late))
    dual = len(support) == len(machine["support_dual_"]) == len(machine["support_bound_"])
    return rows and dual and len(late) == len(machine["late_slack_"])


MACHINE = record(
    MarginMachine,
    called={
        "n_rows": "rows",
        "support_dual_": "dual",
        "support_bound_": "bound",
        "late_slack_": "slack",
    },
    omit=("label", "coef_", "intercept_", "n_passes_"),
    optional=("solver_",),  # files of earlier versions do not say, and there was one way then
    make=dict,
    n_rows=counts(1),
    support_=ASCENDING,
    support_dual_=POSITIVE,
    support_bound_=arrays(bool, None),
    late_=ASCENDING,
    late_slack_=POSITIVE,
    certificate_=record(Certificate, primal=KNOWN, dual=KNOWN),
    solver_=one_of(*SOLVERS[1:]),
).checked(
    _fits,
    "a machine with a multiplier for each support row and a slack for each late row, below its rows",
)
# Machines of the fewest errors.

ERRORS = VALUE.checked(
    lambda v: type(v) in (int, float) and 0 <= v < math.inf, "a number of errors, or their weight"
)
BOUNDS = record(
    ErrorBounds,
    lower=ERRORS,
    upper=ERRORS,
    w=NUMBERS,
    witnesses=listed(WITNESS).mapped(list, tuple),
    given_up=ASCENDING,
    n_overlap=row([ERRORS, ERRORS]).mapped(list, tuple),
    proof=PROOF,
)
ERROR_MACHINE = record(
    ErrorMachine,
    omit=("label", "coef_", "intercept_"),
    make=dict,
    bounds_=BOUNDS,
    weight_=FINITE.checked(lambda v: v > 0, "a number > 0"),
)
# What a fitted estimator holds beside classes and weights.

C_OF_FIT = {"fitted_C": ("_fitted_C", FINITE)}
SCORES = listed(listed(NUMBER)).mapped(
    np.ndarray.tolist, lambda table: np.array(table, dtype=np.float64)
)
CHOICE_OF_C = {
    "chosen_C": ("C_", FINITE),
    "Cs": ("Cs_", arrays(float, None)),
    "scores": ("scores_", SCORES.checked(lambda scores: scores.ndim == 2, "a table of scores")),
}
MARGIN_ATTRIBUTES: dict[type, dict[str, tuple[str, Form]]] = {
    HardMarginSVC: {},
    SoftMarginSVC: C_OF_FIT,
    SoftMarginSVCCV: C_OF_FIT | CHOICE_OF_C,
}
PERCEPTRONS = (Perceptron, BatchPerceptron, PocketPerceptron)
KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (*PERCEPTRONS, *MARGIN_ATTRIBUTES, MinErrorClassifier)
}


def check_parameters(model: Any) -> None:
    """Refuse parameters that ``fit`` would refuse."""
    if isinstance(model, SoftMarginSVCCV):
        model._machine()._check_params()
        read_Cs(model.Cs)
    else:
        model._check_params()


def attributes(kind: type, labels: list[Hashable], Z: np.ndarray) -> dict[str, tuple[str, Form]]:
    """By entry of the state of an estimator with weights Z: its attribute, and its form."""
    k, d = len(labels), Z.shape[1] - 1
    if kind in MARGIN_ATTRIBUTES:
        machines = row([MACHINE] * k).mapped(
            lambda machines: list(machines.values()),
            lambda found: {one[0]: _margin_machine(*one) for one in zip(labels, Z, found, strict=True)},
        )
        return {"machines": ("machines_", machines), **MARGIN_ATTRIBUTES[kind]}
    if kind is MinErrorClassifier:
        of_width = ERROR_MACHINE.checked(
            lambda one: len(one["bounds_"].w) == d, "bounds with a weight for every feature"
        )
        machines = row([of_width] * k).mapped(
            lambda machines: list(machines.values()),
            lambda found: {one[0]: _error_machine(*one) for one in zip(labels, Z, found, strict=True)},
        )
        return {"machines": ("machines_", machines)}
    log = record(
        Log,
        omit=["label"],
        optional=["trace"],
        make=dict,
        mistakes=COUNT,
        best_error=NUMBER,
        reason=REASON,
        history=HISTORY,
        trace=trace_form(d),
    )
    logs = row([log] * k).mapped(
        list, lambda found: [Log(label, **one) for label, one in zip(labels, found, strict=True)]
    )
    names = row([LABEL] * d).checked(lambda names: len(set(names)) == d, "a list of distinct names")
    index = names.mapped(
        lambda i: sorted(i, key=i.get), lambda names: {name: j for j, name in enumerate(names)}
    )
    known = {
        "n_iter": ("n_iter_", COUNT),
        "n_mistakes": ("n_mistakes_", COUNT),
        "machines": ("_logs", logs),
        "index": ("feature_index_", index),
        "rng": ("_rng", GENERATOR),
    }
    if k > 1:
        known["reason"] = ("stop_reason_", REASON)
    if kind is PocketPerceptron:
        known["error_lower_bound"] = ("_lower_bounds", row([NUMBER] * k).mapped(list, list))
        for name in ("best_error_", "best_update_", "unpolished_error_"):
            known[name.rstrip("_")] = (name, _by_label(int if name == "best_update_" else float, labels))
    return known


def _margin_machine(label: Hashable, z: np.ndarray, found: dict[str, Any]) -> MarginMachine:
    passes = found["certificate_"].n_passes
    return MarginMachine(label, z[:-1].copy(), float(z[-1]), n_passes_=passes, **found)


def _error_machine(label: Hashable, z: np.ndarray, found: dict[str, Any]) -> ErrorMachine:
    return ErrorMachine(label, z[:-1].copy(), float(z[-1]), **found)


def _by_label(kind: type, labels: list[Hashable]) -> Form:
    """The form of a number for each machine: the only one, or a dict from label to number."""
    several = len(labels) > 1

    def after(found: list[float]) -> Any:
        values = list(map(kind, found))
        return dict(zip(labels, values, strict=True)) if several else values[0]

    numbers = row([NUMBER] * len(labels))
    return numbers.mapped(lambda value: list(value.values()) if several else [value], after)


def state_form(kind: type, labels: list[Hashable], Z: np.ndarray) -> Form:
    """Return the form of what a fitted estimator holds beside classes and weights."""
    forms = {entry: form for entry, (_, form) in attributes(kind, labels, Z).items()}
    if kind is SoftMarginSVCCV:
        return entries(forms).checked(
            lambda found: found["scores"].shape[1] == len(found["Cs"]), "a state with scores for every C"
        )
    if kind in MARGIN_ATTRIBUTES or kind is MinErrorClassifier:
        return entries(forms)
    k, width = Z.shape
    widest = max(MIN_ROOM, 2 * (width - 1))
    forms["room"] = counts(width).checked(lambda room: room <= widest, f"at most {widest}")
    if kind is not BatchPerceptron:
        forms["running"] = forms["average"] = arrays(float, k, width)
        forms["counts"] = arrays(int, k, 4).checked(
            lambda found: found.min() >= 0 and np.all(found[:, MADE] <= found[:, SEEN]),
            "numbers ≥ 0, with no more updates than rows",
        )
    if kind is PocketPerceptron:
        forms["runs"] = arrays(int, k, 2)
    return entries(forms, ["index", "rng", "room", "average", "error_lower_bound"])


def state_of(model: Any, labels: list[Hashable], Z: np.ndarray) -> dict[str, Any]:
    """Return what a fitted estimator holds beside classes and weights, by entry."""
    known, held, d = attributes(type(model), labels, Z), vars(model), Z.shape[1] - 1
    found = {entry: held[name] for entry, (name, _) in known.items() if name in held}
    if not isinstance(model, PERCEPTRONS):
        return found
    room, state = model._state.Z.shape[1] - 1, model._state.widened(d)
    if room != d:
        found["room"] = room
    if not isinstance(model, BatchPerceptron):
        found |= {"running": state.Z, "counts": state.counts}
    if state.U.shape[1]:
        found["average"] = state.U
    if isinstance(model, PocketPerceptron):
        found["runs"] = state.runs
        if any(map(callable, found.get("error_lower_bound", ()))):  # nobody has asked for it
            del found["error_lower_bound"]
    return found


def restore_state(model: Any, found: dict[str, Any], labels: list[Hashable], Z: np.ndarray) -> None:
    """Put the state into an estimator that has its classes; Z are the weights it predicts with."""
    for entry, (name, _) in attributes(type(model), labels, Z).items():
        if entry in found:
            setattr(model, name, found[entry])
    if type(model) in MARGIN_ATTRIBUTES:
        model._Z = Z
        model.n_iter_ = model.n_passes_ = max(m.n_passes_ for m in model.machines_.values())
        return
    if isinstance(model, MinErrorClassifier):
        return
    model.stop_reason_ = found.get("reason", model._logs[0].reason)
    state = State.begin(Z)
    if "running" in found:
        state = State(found["running"], found.get("average", state.U), found["counts"])
    if isinstance(model, Perceptron):
        _check_predictors(model, state, Z)
    elif isinstance(model, PocketPerceptron):
        state.pocket, state.runs = Z, found["runs"]
    model._state = state.widened(found.get("room", Z.shape[1] - 1))
    model._publish()


def _check_predictors(model: Perceptron, state: State, Z: np.ndarray) -> None:
    """The weights to predict with must be those that follow from the state."""
    if bool(state.U.shape[1]) != bool(model._fitted_scheme.get("average")):
        raise InputError("average must be there if the scheme says so, and only then.")
    if state.predictors().tobytes() != Z.tobytes():
        raise InputError("weights must follow from the running weights. Got others instead.")
