"""A whole model as plain values, and back: the complete state, from which learning can go on."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.errors import InputError
from maxmargin.core.proportion import GRANTED_BYTES
from maxmargin.estimators.base import LinearClassifier
from maxmargin.estimators.batch import BatchPerceptron
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.estimators.hardmargin import HardMarginSVC
from maxmargin.estimators.machines import machine_count, machine_labels
from maxmargin.estimators.marginmachine import MarginAttributes
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket import PocketPerceptron
from maxmargin.estimators.softmargin import SoftMarginSVC, read_Cs
from maxmargin.estimators.softmargincv import SoftMarginSVCCV
from maxmargin.saving.arrays import Parts, plain
from maxmargin.saving.imported import decode_linear, encode_linear
from maxmargin.saving.linear import LinearModel
from maxmargin.saving.machines import decode_margins, encode_margins
from maxmargin.saving.parameters import decode_parameters, encode_parameters
from maxmargin.saving.perceptrons import decode_perceptron, encode_perceptron
from maxmargin.saving.reading import Reader, bad
from maxmargin.saving.values import decode_labels, encode_labels

__all__ = ["FORMAT", "VERSION", "describe", "from_dict", "restore", "to_dict"]

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
    state = encode_margins(model) if isinstance(model, MarginAttributes) else encode_perceptron(model)
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
    if isinstance(model, MarginAttributes):
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
