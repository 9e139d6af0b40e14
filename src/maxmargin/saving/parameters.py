"""Parameters of an estimator as JSON: values, stopping rules by name, random states, splitters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn import model_selection

from maxmargin import stopping
from maxmargin.core.errors import InputError
from maxmargin.core.stopping_rules import AllOf, AnyOf, StoppingRule
from maxmargin.saving.codec import Reader, bad, decode, encode

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
    return {name: _encode(value, f"the parameter {name}") for name, value in given.items()}


def decode_parameters(value: Any, kind: Any, name: str) -> Any:
    """Return an estimator of this kind with the parameters written; absent ones have their default."""
    if type(value) is not dict:
        raise bad(name, "an object", value)
    known = kind._get_param_names()
    for key in value:
        if key not in known:
            raise InputError(f"{name} must be among {', '.join(known)}. Got {key!r} instead.")
    return kind(**{key: _decode(v, f"{name}.{key}") for key, v in value.items()})


def _encode(value: Any, name: str) -> Any:
    if isinstance(value, StoppingRule):
        return {"stop": _encode_rule(value)}
    if isinstance(value, np.random.RandomState):
        return {"random_state": _encode_state(value, name)}
    splitter = type(value).__name__
    if splitter in SPLITTERS and type(value) is getattr(model_selection, splitter):
        inside = {key: _encode(getattr(value, key), name) for key in SPLITTERS[splitter]}
        return {"splitter": splitter, "parameters": inside}
    try:
        return encode(value, name)
    except InputError as error:
        last = name.rsplit(" ", 1)[-1]
        raise InputError(f"{error} Set it to None before saving: set_params({last}=None).") from None


def _decode(value: Any, name: str) -> Any:
    if type(value) is not dict:
        return decode(value, name)
    if value.keys() == {"stop"}:
        return _decode_rule(value["stop"], name, 0)
    if value.keys() == {"random_state"}:
        return _decode_state(Reader(value["random_state"], name))
    if value.keys() == {"splitter", "parameters"}:
        reader = Reader(value, name)
        splitter, inside = reader.text("splitter"), reader.reader("parameters").rest()
        if splitter not in SPLITTERS or inside.keys() != set(SPLITTERS[splitter]):
            raise bad(name, f"one of the splitters {', '.join(SPLITTERS)}", value)
        try:
            return getattr(model_selection, splitter)(**{k: _decode(v, name) for k, v in inside.items()})
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
    kind = RULES.get(reader.text("rule"))
    inside = {key: decode(v, f"{name}.{key}") for key, v in reader.rest().items()}
    if kind is None or not inside.keys() <= {f.name for f in fields(kind)}:
        raise bad(name, "rules of maxmargin.stopping", value)
    try:
        rule: StoppingRule = kind(**inside)
    except TypeError:  # a budget is missing
        raise bad(name, "rules of maxmargin.stopping", value) from None
    return rule


def _encode_state(state: np.random.RandomState, name: str) -> dict[str, Any]:
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


def _decode_state(reader: Reader) -> np.random.RandomState:
    key = reader.array("key", int, (624,))
    pos, has_gauss, gauss = reader.count("pos"), reader.count("has_gauss"), reader.number("gauss")
    reader.done()
    if pos > 624 or has_gauss > 1 or key.min() < 0 or key.max() >= 2**32:
        raise InputError(f"{reader.name} must be the state of a random generator. Got another instead.")
    state = np.random.RandomState(0)
    state.set_state(("MT19937", key.astype(np.uint32), pos, has_gauss, gauss))
    return state


def encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator of random numbers."""
    found: Any = rng.bit_generator.state
    return {
        "generator": found["bit_generator"],
        "state": int(found["state"]["state"]),
        "inc": int(found["state"]["inc"]),
        "has_uint32": int(found["has_uint32"]),
        "uinteger": int(found["uinteger"]),
    }


def decode_generator(reader: Reader) -> np.random.Generator:
    """Return a generator that goes on where the one written was."""
    given = dict(reader.rest())
    limits = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32}
    numbers = {key: given.get(key) for key in limits}
    whole = all(type(v) is int and 0 <= v < limits[k] for k, v in numbers.items())
    if given.keys() != {"generator", *limits} or given["generator"] != "PCG64" or not whole:
        raise bad(reader.name, "the state of the generator PCG64", given)
    if not numbers["inc"] or not int(numbers["inc"]) % 2:
        raise bad(f"{reader.name}.inc", "odd", numbers["inc"])
    rng = np.random.default_rng(0)
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": numbers["state"], "inc": numbers["inc"]},
        "has_uint32": numbers["has_uint32"],
        "uinteger": numbers["uinteger"],
    }
    return rng
