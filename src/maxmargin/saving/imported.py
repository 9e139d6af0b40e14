"""Linear models from elsewhere in maxmargin's own file format."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.params import check_choice, check_number
from maxmargin.core.proportion import GRANTED_BYTES
from maxmargin.saving.linear import LinearModel
from maxmargin.saving.reading import Reader, bad
from maxmargin.saving.values import decode, decode_labels, encode, encode_labels

__all__ = ["decode_linear", "encode_linear"]


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
