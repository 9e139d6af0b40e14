"""A whole model as plain values, and back: the complete state, from which learning can go on.

Linear models from elsewhere in maxmargin's own file format.

Margin machines as JSON: multipliers, slacks, progress and the certificate of each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.certificates.certificate import Certificate
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import check_choice, check_number
from maxmargin.core.size_limits import GRANTED_BYTES
from maxmargin.estimators.base import LinearClassifier
from maxmargin.estimators.batch_perceptron import BatchPerceptron
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.margin_classifier import MarginClassifier, MarginMachine
from maxmargin.estimators.multiclass import machine_count, machine_labels
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin import SoftMarginSVC, read_Cs
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV
from maxmargin.saving.arrays import Parts, plain
from maxmargin.saving.codec import (
    Reader,
    bad,
    decode,
    decode_labels,
    encode,
    encode_labels,
    from_extended,
    to_extended,
)
from maxmargin.saving.linear_model import LinearModel
from maxmargin.saving.parameters import decode_parameters, encode_parameters
from maxmargin.saving.perceptrons import decode_perceptron, encode_perceptron
from maxmargin.solvers.margin.solve import SOLVERS
from maxmargin.solvers.margin.tasks import Pass


def encode_linear(model: LinearModel) -> dict[str, Any]:
    """Return an imported model as plain values and arrays."""
    written: dict[str, Any] = {
        "multi_class": model.multi_class,
        "loss": model.loss,
        "C": None if model.C is None else float(model.C),
        "class_weight": encode(model.class_weight, "class_weight"),
        "fit_intercept": bool(model.fit_intercept),
        "intercept_scaling": None if model.intercept_scaling is None else float(model.intercept_scaling),
        "grows": bool(model.grows),
        "source": model.source,
        "weights": np.column_stack([model.coef_, model.intercept_]),
    }
    if model.classes_ is not None:
        written["classes"] = encode_labels(model.classes_, free=GRANTED_BYTES)
    if model.feature_names_in_ is not None:
        written["names"] = [str(name) for name in model.feature_names_in_]
    return written


def decode_linear(reader: Reader) -> LinearModel:
    """Return the model that was written."""
    numbers: dict[str, float | None] = {}
    for key in ("C", "intercept_scaling"):
        value = reader.take(key)
        numbers[key] = None if value is None else check_number(key, value, above=0)
    class_weight = decode(reader.take("class_weight"), "class_weight")
    if class_weight not in (None, "balanced") and not isinstance(class_weight, dict):
        raise bad("class_weight", "None, 'balanced' or a dict", class_weight)
    Z = reader.array("weights", float, (None, None))
    model = LinearModel(
        coef_=Z[:, :-1],
        intercept_=Z[:, -1],
        classes_=decode_labels(reader.take("classes"), free=GRANTED_BYTES)
        if "classes" in reader
        else None,
        feature_names_in_=np.array(reader.texts("names"), dtype=object) if "names" in reader else None,
        multi_class=check_choice("multi_class", reader.text("multi_class"), ("ovr", "ovo")),
        loss=reader.text("loss"),
        C=numbers["C"],
        class_weight=class_weight,
        fit_intercept=reader.flag("fit_intercept"),
        intercept_scaling=numbers["intercept_scaling"],
        grows=reader.flag("grows"),
        source=reader.text("source"),
    )
    reader.done()
    return model


NUMBERS = (
    "primal",
    "dual",
    "stationarity",
    "primal_infeasibility",
    "dual_infeasibility",
    "complementarity",
)


def encode_margins(model: Any) -> dict[str, Any]:
    """Return what fitted margin machines hold beside classes and weights."""
    written: dict[str, Any] = {"machines": [_encode(m) for m in model.machines_.values()]}
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        written["fitted_C"] = float(model._fitted_C)
    if isinstance(model, SoftMarginSVCCV):
        written["chosen_C"] = float(model.C_)
        written["Cs"] = np.asarray(model.Cs_, dtype=np.float64)
        written["scores"] = [[to_extended(v) for v in row] for row in model.scores_.tolist()]
    return written


def decode_margins(
    model: MarginClassifier, reader: Reader, Z: np.ndarray, labels: list[Hashable]
) -> None:
    """Put the machines written into a model that has its classes; Z holds their weights."""
    parts = zip(labels, Z, reader.readers("machines", len(labels)), strict=True)
    model.machines_ = {label: _decode(part, label, z) for label, z, part in parts}
    model._Z = Z
    model.n_passes_ = max(m.n_passes_ for m in model.machines_.values())
    model.n_iter_ = model.n_passes_
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        model._fitted_C = reader.number("fitted_C")
    if isinstance(model, SoftMarginSVCCV):
        model.C_ = reader.number("chosen_C")
        model.Cs_ = reader.array("Cs", float, (None,))
        rows = reader.items("scores")
        if any(type(row) is not list or len(row) != len(model.Cs_) for row in rows):
            raise bad(reader.called("scores"), f"lists of {len(model.Cs_)} numbers", rows)
        table = [[from_extended(v, reader.called("scores")) for v in row] for row in rows]
        model.scores_ = np.array(table, dtype=np.float64).reshape(len(rows), len(model.Cs_))


def _encode(machine: MarginMachine) -> dict[str, Any]:
    return {
        "rows": int(machine.n_rows),
        "support": machine.support_.astype(np.int64),
        "dual": np.asarray(machine.support_dual_, dtype=np.float64),
        "bound": np.asarray(machine.support_bound_, dtype=np.bool_),
        "late": machine.late_.astype(np.int64),
        "slack": np.asarray(machine.late_slack_, dtype=np.float64),
        "certificate": _encode_certificate(machine.certificate_),
        "progress": [[int(p.n_passes), *map(to_extended, p[1:])] for p in machine.progress_],
        "solver": machine.solver_,
    }


def _decode(reader: Reader, label: Hashable, z: np.ndarray) -> MarginMachine:
    n = reader.count("rows", least=1)
    support = _places(reader, "support", n)
    late = _places(reader, "late", n)
    certificate = _decode_certificate(reader.reader("certificate"))
    machine = MarginMachine(
        label=label,
        coef_=z[:-1].copy(),
        intercept_=float(z[-1]),
        support_=support,
        support_dual_=_positive(reader, "dual", len(support)),
        support_bound_=reader.array("bound", bool, (len(support),)),
        late_=late,
        late_slack_=_positive(reader, "slack", len(late)),
        certificate_=certificate,
        n_passes_=certificate.n_passes,
        n_rows=n,
        progress_=tuple(_pass(value, reader.called("progress")) for value in reader.items("progress")),
        solver_=_solver(reader),
    )
    reader.done()
    return machine


def _solver(reader: Reader) -> str:
    """How it was found; files of earlier versions do not say, and there was one way then."""
    if "solver" not in reader:
        return "newton"
    word = reader.text("solver")
    if word not in SOLVERS[1:]:
        raise bad(reader.called("solver"), "one of " + ", ".join(SOLVERS[1:]), word)
    return word


def _places(reader: Reader, key: str, n: int) -> np.ndarray:
    """Training rows, ascending."""
    rows = reader.array(key, int, (None,))
    if len(rows) and (rows[0] < 0 or rows[-1] >= n or np.any(np.diff(rows) <= 0)):
        raise InputError(f"{reader.called(key)} must hold rows from 0 to {n - 1}, ascending.")
    return rows


def _positive(reader: Reader, key: str, length: int) -> np.ndarray:
    values = reader.array(key, float, (length,))
    if np.any(values <= 0.0):
        raise InputError(f"{reader.called(key)} must hold numbers > 0. Got others instead.")
    return values


def _pass(value: Any, name: str) -> Pass:
    if type(value) is not list or len(value) != 3 or type(value[0]) is not int or value[0] < 0:
        raise bad(name, "a list of passes, primal and dual values", value)
    return Pass(value[0], from_extended(value[1], name), from_extended(value[2], name))


def _encode_certificate(certificate: Certificate) -> dict[str, Any]:
    margin = certificate.margin
    return {
        "problem": certificate.problem,
        **{name: to_extended(getattr(certificate, name)) for name in NUMBERS},
        "n_passes": int(certificate.n_passes),
        "margin": None if margin is None else [to_extended(v) for v in margin],
        "findings": list(certificate.findings),
    }


def _decode_certificate(reader: Reader) -> Certificate:
    problem = reader.text("problem")
    numbers = {name: reader.extended(name) for name in NUMBERS}
    passes = reader.count("n_passes")
    margin, name = reader.take("margin"), reader.called("margin")
    pair: tuple[float, float] | None = None
    if margin is not None:
        if type(margin) is not list or len(margin) != 2:
            raise bad(name, "two numbers or null", margin)
        pair = from_extended(margin[0], name), from_extended(margin[1], name)
    findings = tuple(reader.texts("findings"))
    reader.done()
    if math.isnan(numbers["primal"]) or math.isnan(numbers["dual"]):
        raise bad(reader.name, "a certificate with primal and dual value", None)
    return Certificate(problem, **numbers, n_passes=passes, margin=pair, findings=findings)


FORMAT, VERSION = "maxmargin-model", 1
KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Perceptron,
        BatchPerceptron,
        PocketPerceptron,
        HardMarginSVC,
        SoftMarginSVC,
        SoftMarginSVCCV,
    )
}


def to_dict(model: Any) -> dict[str, Any]:
    """Return the complete state of a model as plain JSON values.

    Parameters
    ----------
    model : estimator of maxmargin or LinearModel
        Fitted or not.

    Returns
    -------
    dict
        What :func:`from_dict` makes the same model of: it predicts the same, and a perceptron goes on
        learning as the model itself would.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.saving import from_dict, to_dict
    >>> model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> from_dict(to_dict(model)).coef_
    array([[1., 1.]])
    """
    return dict(plain(describe(model)))


def from_dict(content: dict[str, Any]) -> Any:
    """Return the model that :func:`to_dict` described; :class:`InputError` if it is none.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.saving import from_dict, to_dict
    >>> model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> from_dict(to_dict(model)).predict([[2.0, 0.0]])
    array([1])
    """
    return restore(content)


def describe(model: Any) -> dict[str, Any]:
    """Return the state of a model as plain values and arrays."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "library": __version__}
    if type(model) is LinearModel:
        return {**head, "model": "LinearModel", **encode_linear(model)}
    name = type(model).__name__
    if type(model) is not KINDS.get(name):
        raise InputError(
            f"model must be an estimator of maxmargin ({', '.join(KINDS)}) to be saved. Got {name} "
            "instead. Of a pipeline save the last step, or use joblib."
        )
    _check(model)
    head |= {"model": name, "parameters": encode_parameters(model)}
    if "encoding_" in vars(model):
        head["encoding"] = model.encoding_
    if "classes_" not in vars(model):
        return head
    Z = np.array(model._fitted_weights(), dtype=np.float64)
    if not np.all(np.isfinite(Z)):
        raise InputError(
            "the weights of a model must be finite to be saved. Got nan or infinity instead."
        )
    fitted: dict[str, Any] = {
        "classes": encode_labels(model.classes_, free=GRANTED_BYTES),
        "features": {"count": int(model.n_features_in_)},
        "scheme": {name: _plain(value) for name, value in model._fitted_scheme.items()},
        "weights": Z,
    }
    if hasattr(model, "feature_names_in_"):
        fitted["features"]["names"] = encode_labels(np.asarray(model.feature_names_in_, dtype=object))
    state = encode_margins(model) if isinstance(model, MarginClassifier) else encode_perceptron(model)
    return {**head, **fitted, "state": state}


def restore(content: Any, parts: Parts | None = None) -> Any:
    """Return the model that :func:`describe` described; every entry is checked, and nothing is run."""
    try:
        return _restore(Reader(content, "", parts))
    except InputError:
        raise
    except RecursionError:
        raise InputError("a model must not be nested so deeply.") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise InputError(f"this is not the description of a model: {error!r}.") from error


def _restore(reader: Reader) -> Any:
    if reader.text("format") != FORMAT:
        raise InputError(f"format must be {FORMAT!r}. Got another instead.")
    version = reader.count("version", least=1)
    if version > VERSION:
        raise InputError(
            f"this model has format version {version}, and maxmargin {__version__} reads up to "
            f"{VERSION}. Update maxmargin."
        )
    reader.text("library")
    kind = reader.text("model")
    if kind == "LinearModel":
        return decode_linear(reader)
    if kind not in KINDS:
        raise bad("model", f"one of {', '.join(KINDS)}, LinearModel", kind)
    model = decode_parameters(reader.take("parameters"), KINDS[kind], "parameters")
    _check(model)
    if "encoding" in reader:
        model.encoding_ = _encoding(reader.reader("encoding"))
    if "classes" in reader:
        _restore_fitted(model, reader)
    reader.done()
    return model


def _restore_fitted(model: LinearClassifier, reader: Reader) -> None:
    classes = decode_labels(reader.take("classes"), free=GRANTED_BYTES)
    least = 1 if isinstance(model, PerceptronBase) else 2
    values = classes.tolist()
    if len(values) < least or not all(a < b for a, b in pairwise(values)):
        raise bad("classes", "distinct labels in ascending order", values)
    features = reader.reader("features")
    d = features.count("count")
    model.classes_, model.n_features_in_ = classes, d
    if "names" in features:
        names = decode_labels(features.take("names"), "features.names")
        if len(names) != d or any(type(name) is not str for name in names.tolist()):
            raise bad("features.names", f"a list of {d} texts", names.tolist())
        model.feature_names_in_ = names.astype(object)
    features.done()
    model._fitted_scheme = _scheme(model, reader.take("scheme"))
    multi_class = model._fitted_scheme["multi_class"]
    Z = reader.array("weights", float, (machine_count(len(classes), multi_class), d + 1))
    labels = machine_labels(classes, multi_class)  # after the weights: of pairs there may be many
    state = reader.reader("state")
    if isinstance(model, MarginClassifier):
        decode_margins(model, state, Z, labels)
    elif isinstance(model, PerceptronBase):
        decode_perceptron(model, state, Z, labels)
    state.done()


def _encoding(reader: Reader) -> dict[str, Any]:
    """How the command line read the file that the model was fitted to."""
    found: dict[str, Any] = {}
    for key in ("label", "columns", "header", "first_index", "categories"):
        if key not in reader:
            continue
        if key == "columns":
            found[key] = reader.texts(key)
        elif key == "categories":
            words = reader.reader(key)
            found[key] = {name: words.texts(name) for name in list(words)}
        else:
            kinds = {"label": reader.text, "header": reader.flag, "first_index": reader.count}
            found[key] = kinds[key](key)
    reader.done()
    return found


def _scheme(model: Any, value: Any) -> dict[str, Any]:
    """What the weights mean: the same keys and types as the model itself writes."""
    wanted = model._scheme()
    if type(value) is not dict or value.keys() != wanted.keys():
        raise bad("scheme", f"an object with {', '.join(wanted)}", value)
    for key, v in value.items():
        if v not in ("ovr", "ovo") if key == "multi_class" else type(v) is not bool:
            raise bad(f"scheme.{key}", "as it was fitted", v)
    return dict(value)


def _check(model: Any) -> None:
    """Parameters that ``fit`` would refuse are refused here too."""
    if isinstance(model, SoftMarginSVCCV):
        model._machine()._check_params()
        read_Cs(model.Cs)
    else:
        model._check_params()


def _plain(value: Any) -> Any:
    return bool(value) if isinstance(value, np.bool_) else value
