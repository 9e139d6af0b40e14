"""The state of an estimator as JSON: its parameters, and all that a fit found.

A perceptron is kept with all it needs to go on learning as if it had never been saved: running weights,
averages, counters, generator, and the reason, history and trace of each machine. Arrays with one row
(w, b) per machine are written for the features known so far; ``room`` says how many a stream of named
features had room for (the columns in between are zero). Of a margin machine there are multipliers,
slacks, progress and certificate. Where a verdict ended a run, it comes with its proof.
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
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.core.history import Epoch, History, Trace, Update
from maxmargin.core.witness import Witness
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.multiclass import Log
from maxmargin.estimators.online import MIN_ROOM, OnlineClassifier
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV
from maxmargin.kernels.perceptron import MADE, SEEN
from maxmargin.saving.codec import (
    ANYTHING,
    COUNT,
    FINITE,
    FRACTION_TEXT,
    NUMBER,
    TEXT,
    VALUE,
    Form,
    Parts,
    Reader,
    arrays,
    bad,
    checked,
    counts,
    decode,
    encode,
    listed,
    maybe,
    one_of,
    record,
    row,
)
from maxmargin.solvers.margin.solve import SOLVERS
from maxmargin.solvers.perceptron.online import State
from maxmargin.stopping import AllOf, AnyOf, StoppingRule, StopReason

RULES: dict[str, Any] = {
    name: getattr(stopping, name)
    for name in stopping.__all__
    if name not in ("Progress", "StopReason", "StoppingRule")
}
COMBINED: dict[str, Any] = {"any": AnyOf, "all": AllOf}
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
    if isinstance(value, StoppingRule):
        return {"stop": _encode_rule(value)}
    if isinstance(value, np.random.RandomState):
        return {"random_state": _encode_random_state(value, name)}
    splitter = type(value).__name__
    if splitter in SPLITTERS and type(value) is getattr(model_selection, splitter):
        inside = {key: _encode_parameter(getattr(value, key), name) for key in SPLITTERS[splitter]}
        return {"splitter": splitter, "parameters": inside}
    try:
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
        return _decode_random_state(Reader(value["random_state"], name))
    if value.keys() == {"splitter", "parameters"}:
        reader = Reader(value, name)
        splitter, inside = reader.take("splitter", TEXT), reader.reader("parameters").rest()
        if splitter not in SPLITTERS or inside.keys() != set(SPLITTERS[splitter]):
            raise bad(name, f"one of the splitters {', '.join(SPLITTERS)}", value)
        try:
            return getattr(model_selection, splitter)(
                **{k: _decode_parameter(v, name) for k, v in inside.items()}
            )
        except (ValueError, TypeError) as error:
            raise InputError(f"{name}: {error}") from None
    return decode(value, name)


def _encode_rule(rule: StoppingRule) -> dict[str, Any]:
    if isinstance(rule, AnyOf | AllOf):
        word = "any" if isinstance(rule, AnyOf) else "all"
        return {word: [_encode_rule(part) for part in rule.rules]}
    name = type(rule).__name__
    if type(rule) is not RULES.get(name):
        raise InputError(
            f"the parameter stop must be made of rules of maxmargin.stopping to be saved. Got {name} "
            "instead. Set it to None before saving: set_params(stop=None)."
        )
    return {"rule": name, **{f.name: encode(getattr(rule, f.name), f.name) for f in fields(rule)}}  # type: ignore[arg-type]


def _decode_rule(value: Any, name: str, depth: int) -> StoppingRule:
    if type(value) is dict and len(value) == 1 and depth < 100:
        ((word, parts),) = value.items()
        if word in COMBINED and type(parts) is list and parts:
            combined: StoppingRule = COMBINED[word](
                tuple(_decode_rule(part, name, depth + 1) for part in parts)
            )
            return combined
    reader = Reader(value, name)
    kind = RULES.get(reader.take("rule", TEXT))
    inside = {key: decode(v, f"{name}.{key}") for key, v in reader.rest().items()}
    if kind is None or not inside.keys() <= {f.name for f in fields(kind)}:
        raise bad(name, "rules of maxmargin.stopping", value)
    try:
        rule: StoppingRule = kind(**inside)
    except TypeError:  # a budget is missing
        raise bad(name, "rules of maxmargin.stopping", value) from None
    return rule


def _encode_random_state(state: np.random.RandomState, name: str) -> dict[str, Any]:
    found: Any = state.get_state(legacy=False)
    if found["bit_generator"] != "MT19937":
        raise InputError(f"{name} must use the generator MT19937 to be saved. Got another instead.")
    inner = found["state"]
    return {
        "key": inner["key"].tolist(),
        "pos": int(inner["pos"]),
        "has_gauss": int(found["has_gauss"]),
        "gauss": float(found["gauss"]),
    }


def _decode_random_state(reader: Reader) -> np.random.RandomState:
    key = reader.take("key", arrays(int, 624))
    pos, has_gauss = reader.take("pos", counts(0, 624)), reader.take("has_gauss", counts(0, 1))
    gauss = reader.take("gauss", FINITE)
    reader.done()
    if key.min() < 0 or key.max() >= 2**32:
        raise InputError(f"{reader.name} must be the state of a random generator. Got another instead.")
    state = np.random.RandomState(0)
    state.set_state(("MT19937", key.astype(np.uint32), pos, has_gauss, gauss))
    return state


GENERATOR_LIMITS = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32}


def _encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    found: Any = rng.bit_generator.state
    numbers = {**found, **found["state"]}
    return {
        "generator": found["bit_generator"],
        **{key: int(numbers[key]) for key in GENERATOR_LIMITS},
    }


def _decode_generator(reader: Reader) -> np.random.Generator:
    reader.take("generator", one_of("PCG64"))
    n = {key: reader.take(key, counts(0, most - 1)) for key, most in GENERATOR_LIMITS.items()}
    reader.done()
    if not n["inc"] % 2:
        raise bad(f"{reader.name}.inc", "odd", n["inc"])
    rng = np.random.default_rng(0)
    inner = {"state": n.pop("state"), "inc": n.pop("inc")}
    rng.bit_generator.state = {"bit_generator": "PCG64", "state": inner, **n}
    return rng


# Why a run ended, with the verdict and its proof where these were the reason.


def _read_proof(value: Any, name: str, _: Parts) -> Proof:
    try:
        return Proof(checker.parse(json.dumps(value)))
    except checker.Rejected as error:
        raise InputError(f"the proof of the verdict must be unchanged, but {error}.") from error


def _is_label(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _fractions(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


LABEL = checked(VALUE, _is_label, "a label")
NUMBERS = listed(NUMBER, lambda values: np.array(values, dtype=np.float64))
ROWS = arrays(int, None)
WITNESS = checked(
    record(
        Witness,
        positive=ROWS,
        positive_weights=listed(FRACTION_TEXT, _fractions),
        negative=ROWS,
        negative_weights=listed(FRACTION_TEXT, _fractions),
        point=NUMBERS,
    ),
    lambda v: len(v.positive) == len(v.positive_weights) and len(v.negative) == len(v.negative_weights),
    "a witness with a weight for every row",
)
VERDICT = checked(
    record(
        Verdict,
        kind=one_of("separable", "touching", "overlapping"),
        w=maybe(NUMBERS),
        witness=maybe(WITNESS),
        on_plane=ROWS,
        negative=LABEL,
        positive=LABEL,
        proof=Form(Proof.to_dict, _read_proof),
    ),
    lambda v: v.w is None or len(v.w) == len(v.features),
    "a verdict with a weight for every feature",
)
REASON = record(StopReason, optional=("verdict",), verdict=VERDICT)

# The runs of a perceptron.

WHOLE = ("epoch", "mistakes")


def _write_log(log: Log) -> dict[str, Any]:
    written = {
        "mistakes": int(log.mistakes),
        "best_error": NUMBER.write(log.best_error),
        "reason": REASON.write(log.reason),
        "history": write_history(log.history),
    }
    if log.trace is not None:
        written["trace"] = write_trace(log.trace)
    return written


def _read_log(reader: Reader, label: Hashable, d: int) -> Log:
    """Return the log of the machine with this label, on d features."""
    log = Log(
        label,
        reason=reader.take("reason", REASON),
        history=read_history(reader.reader("history")),
        mistakes=reader.take("mistakes", COUNT),
        trace=read_trace(reader.reader("trace"), d) if "trace" in reader else None,
        best_error=reader.take("best_error", NUMBER),
    )
    reader.done()
    return log


def write_history(history: History) -> dict[str, Any]:
    """Return the columns of a history."""
    written = dict.fromkeys(History.columns(), NUMBER.write) | dict.fromkeys(WHOLE, int)
    return {name: [write(getattr(e, name)) for e in history] for name, write in written.items()}


def read_history(reader: Reader) -> History:
    """Return the history that :func:`write_history` wrote."""
    columns = {name: reader.take(name, arrays(int, None)).tolist() for name in WHOLE}
    length = len(columns["epoch"])
    for name in History.columns():
        if name not in columns:
            columns[name] = reader.take(name, row([NUMBER] * length))
    reader.done()
    if len(columns["mistakes"]) != length:
        raise bad(reader.called("mistakes"), f"a list of {length}", columns["mistakes"])
    return History([Epoch(*line) for line in zip(*(columns[n] for n in History.columns()), strict=True)])


def write_trace(trace: Trace) -> dict[str, Any]:
    """Return the start of a trace and its updates, as arrays."""
    return {
        "start": np.asarray(trace.start, dtype=np.float64),
        "steps": np.array([u.step for u in trace], dtype=np.int64),
        "rows": np.array([u.row for u in trace], dtype=np.int64),
        "margins": np.array([u.margin for u in trace], dtype=np.float64),
        "weights": trace.weights[1:],
    }


def read_trace(reader: Reader, d: int) -> Trace:
    """Return the trace on d features that :func:`write_trace` wrote."""
    start = reader.take("start", arrays(float, d + 1))
    steps = reader.take("steps", arrays(int, None)).tolist()
    rows = reader.take("rows", arrays(int, len(steps))).tolist()
    margins = reader.take("margins", arrays(float, len(steps))).tolist()
    weights = reader.take("weights", arrays(float, len(steps), d + 1))
    reader.done()
    return Trace(start, [Update(*update) for update in zip(steps, rows, margins, weights, strict=True)])


BY_LABEL = ("best_error_", "best_update_", "unpolished_error_")


def encode_perceptron(model: Any) -> dict[str, Any]:
    """Return what a fitted perceptron holds beside classes and weights."""
    d, room = model.n_features_in_, model._state.Z.shape[1] - 1
    written: dict[str, Any] = {
        "n_iter": int(model.n_iter_),
        "n_mistakes": int(model.n_mistakes_),
        "machines": [_write_log(log) for log in model._logs],
    }
    if len(model._logs) > 1:
        written["reason"] = REASON.write(model.stop_reason_)
    if room != d:
        written["room"] = room
    if "feature_index_" in vars(model):
        index = model.feature_index_
        written["index"] = [encode(name, "a feature name") for name in sorted(index, key=index.get)]
    if "_rng" in vars(model):
        written["rng"] = _encode_generator(model._rng)
    if isinstance(model, (Perceptron, PocketPerceptron)):
        state = model._state
        written["running"] = _narrow(state.Z, d)
        written["counts"] = state.counts.copy()
        if state.U.shape[1]:
            written["average"] = _narrow(state.U, d)
    if isinstance(model, PocketPerceptron):
        written["runs"] = np.array(model._state.runs)
        for name in BY_LABEL:
            value = getattr(model, name)
            values = list(value.values()) if isinstance(value, dict) else [value]
            written[name.rstrip("_")] = [NUMBER.write(v) for v in values]
        bounds = vars(model).get("_lower_bounds")
        if bounds is not None and not any(map(callable, bounds)):  # they have been asked for
            written["error_lower_bound"] = [NUMBER.write(v) for v in bounds]
    return written


def decode_perceptron(
    model: OnlineClassifier, reader: Reader, Z: np.ndarray, labels: list[Hashable]
) -> None:
    """Put the state written into a model that has its classes; Z are the weights it predicts with."""
    d, k = Z.shape[1] - 1, len(labels)
    model.n_iter_ = reader.take("n_iter", COUNT)
    model.n_mistakes_ = reader.take("n_mistakes", COUNT)
    machines = zip(labels, reader.readers("machines", k), strict=True)
    model._logs = [_read_log(one, label, d) for label, one in machines]
    model.stop_reason_ = model._logs[0].reason
    if k > 1:
        model.stop_reason_ = reader.take("reason", REASON)
    room = reader.take("room", counts(d + 1)) if "room" in reader else d
    if room > max(MIN_ROOM, 2 * d):
        raise bad(reader.called("room"), f"at most {max(MIN_ROOM, 2 * d)}", room)
    if "index" in reader:
        _decode_index(model, reader, d)
    if "rng" in reader:
        model._rng = _decode_generator(reader.reader("rng"))
    if isinstance(model, (Perceptron, PocketPerceptron)):
        model._state = _decode_state(reader, Z.shape, room)
    if isinstance(model, Perceptron):
        _check_predictors(model, Z)
    elif isinstance(model, PocketPerceptron):
        model._state.pocket = _widened(Z, room)
        model._state.runs = reader.take("runs", arrays(int, k, 2))
        if "error_lower_bound" in reader:
            model._lower_bounds = list(reader.take("error_lower_bound", row([NUMBER] * k)))
        for name in BY_LABEL:
            values = reader.take(name.rstrip("_"), row([NUMBER] * k))
            whole = [int(v) for v in values] if name == "best_update_" else values
            setattr(model, name, model._by_label(whole))
    else:
        model._state = State.begin(_widened(Z, room))
    model._publish()


def _decode_index(model: Any, reader: Reader, d: int) -> None:
    names = reader.take("index", row([VALUE] * d))
    try:
        model.feature_index_ = {name: j for j, name in enumerate(names)}
    except TypeError:
        raise InputError("index must hold names of features. Got others instead.") from None
    if len(model.feature_index_) != d:
        raise InputError("index must name every feature once. Got a repeated name instead.")


def _decode_state(reader: Reader, shape: tuple[int, ...], room: int) -> State:
    running = reader.take("running", arrays(float, *shape))
    counts = reader.take("counts", arrays(int, shape[0], 4))
    if counts.min() < 0 or np.any(counts[:, MADE] > counts[:, SEEN]):
        raise InputError("counts must hold numbers ≥ 0, no more updates than rows. Got others instead.")
    average = np.zeros((shape[0], 0))
    if "average" in reader:
        average = _widened(reader.take("average", arrays(float, *shape)), room)
    return State(_widened(running, room), average, counts)


def _check_predictors(model: Perceptron, Z: np.ndarray) -> None:
    """The weights to predict with must be those that follow from the state."""
    average = bool(model._state.U.shape[1])
    if average != bool(model._fitted_scheme.get("average")):
        raise InputError("average must be there if the scheme says so, and only then.")
    found = _narrow(model._state.predictors(), Z.shape[1] - 1)
    if found.tobytes() != Z.tobytes():
        raise InputError("weights must follow from the running weights. Got others instead.")


def _narrow(Z: np.ndarray, d: int) -> np.ndarray:
    """The columns of features that are known, and the bias."""
    return np.column_stack([Z[:, :d], Z[:, -1]]) if Z.shape[1] > d + 1 else Z.copy()


def _widened(Z: np.ndarray, room: int) -> np.ndarray:
    wide = np.zeros((len(Z), room + 1))
    wide[:, : Z.shape[1] - 1], wide[:, -1] = Z[:, :-1], Z[:, -1]
    return wide


# Margin machines.

KNOWN = checked(NUMBER, lambda v: not math.isnan(v), "a number")
MACHINE = record(
    MarginMachine,
    {
        "n_rows": "rows",
        "support_": "support",
        "support_dual_": "dual",
        "support_bound_": "bound",
        "late_": "late",
        "late_slack_": "slack",
        "certificate_": "certificate",
        "progress_": "progress",
        "solver_": "solver",
    },
    optional=("solver_",),  # files of earlier versions do not say, and there was one way then
    make=dict,
    n_rows=counts(1),
    support_=ROWS,
    support_dual_=arrays(float, None),
    support_bound_=arrays(bool, None),
    late_=ROWS,
    late_slack_=arrays(float, None),
    certificate_=record(Certificate, primal=KNOWN, dual=KNOWN),
    solver_=one_of(*SOLVERS[1:]),
)
SCORES = listed(listed(NUMBER))


def encode_margins(model: Any) -> dict[str, Any]:
    """Return what fitted margin machines hold beside classes and weights."""
    written: dict[str, Any] = {"machines": [MACHINE.write(m) for m in model.machines_.values()]}
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        written["fitted_C"] = float(model._fitted_C)
    if isinstance(model, SoftMarginSVCCV):
        written["chosen_C"] = float(model.C_)
        written["Cs"] = np.asarray(model.Cs_, dtype=np.float64)
        written["scores"] = SCORES.write(model.scores_.tolist())
    return written


def decode_margins(
    model: MarginClassifier, reader: Reader, Z: np.ndarray, labels: list[Hashable]
) -> None:
    """Put the machines written into a model that has its classes; Z holds their weights."""
    values, name = reader.take("machines", row([ANYTHING] * len(labels))), reader.called("machines")
    model.machines_ = {}
    for k, (label, z) in enumerate(zip(labels, Z, strict=True)):
        found = MACHINE.read(values[k], f"{name}[{k}]", reader.parts)
        _check_machine(found, f"{name}[{k}]")
        passes, plane = found["certificate_"].n_passes, (z[:-1].copy(), float(z[-1]))
        model.machines_[label] = MarginMachine(label, *plane, n_passes_=passes, **found)
    model._Z = Z
    model.n_passes_ = max(m.n_passes_ for m in model.machines_.values())
    model.n_iter_ = model.n_passes_
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        model._fitted_C = reader.take("fitted_C", FINITE)
    if isinstance(model, SoftMarginSVCCV):
        model.C_ = reader.take("chosen_C", FINITE)
        model.Cs_ = reader.take("Cs", arrays(float, None))
        table = reader.take("scores", listed(row([NUMBER] * len(model.Cs_))))
        model.scores_ = np.array(table, dtype=np.float64).reshape(len(table), len(model.Cs_))


def _check_machine(found: dict[str, Any], name: str) -> None:
    """Support and late rows must ascend among the training rows, each with a number > 0."""
    n, support, late = found["n_rows"], found["support_"], found["late_"]
    for key, rows in (("support", support), ("late", late)):
        if len(rows) and (rows[0] < 0 or rows[-1] >= n or np.any(np.diff(rows) <= 0)):
            raise InputError(f"{name}.{key} must hold rows from 0 to {n - 1}, ascending.")
    dual, slack = found["support_dual_"], found["late_slack_"]
    for key, values, rows in (("dual", dual, support), ("slack", slack, late)):
        if len(values) != len(rows) or np.any(values <= 0.0):
            raise InputError(f"{name}.{key} must hold {len(rows)} numbers > 0. Got others instead.")
    if len(found["support_bound_"]) != len(support):
        raise InputError(f"{name}.bound must hold {len(support)} true or false. Got others instead.")
