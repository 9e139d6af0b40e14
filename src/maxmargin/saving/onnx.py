"""Export to ONNX: a graph of doubles, X → X Wᵀ + b → decision values → labels, in ONNX's own notation.

Outputs are ``decision``, as ``decision_function`` returns it (to rounding), and ``label``, as
``predict`` does. The operator LinearClassifier of ONNX is of single precision, and is not used.
"""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.errors import InputError
from maxmargin.saving.linear_model import exported

OPSET, IR = 17, 8  # of 2022: what runtimes of today and of some years ago read
MODEL = """
<ir_version: {ir}, opset_import: ["": {opset}],
 producer_name: "maxmargin", producer_version: "{version}">
maxmargin (double[rows, {d}] X) => ({kind}[rows] label, double[{shape}] decision) {{
    products = MatMul (X, W)
    {decide}
    label = Gather <axis = 0> (classes, place)
}}
"""
TWO_CLASSES = """
    column = Constant <value = int64[1] {1}> ()
    zero = Constant <value = double {0.0}> ()
    values = Add (products, b)
    decision = Squeeze (values, column)
    positive = Greater (decision, zero)
    place = Cast <to = 7> (positive)
"""
ONE_PER_CLASS = """
    decision = Add (products, b)
    place = ArgMax <axis = 1, keepdims = 0> (decision)
"""
# Votes, and the sum of decision values in proportion to the largest of the row, to break ties.
ONE_PER_PAIR = """
    zero = Constant <value = double {0.0}> ()
    one = Constant <value = double {1.0}> ()
    three = Constant <value = double {3.0}> ()
    values = Add (products, b)
    positive = Greater (values, zero)
    wins = Cast <to = 11> (positive)
    losses = Sub (one, wins)
    votes_won = MatMul (wins, ours)
    votes_lost = MatMul (losses, theirs)
    votes = Add (votes_won, votes_lost)
    total = MatMul (values, signs)
    sizes = Abs (total)
    largest = ReduceMax <axes = [1], keepdims = 1> (sizes)
    nonzero = Greater (largest, zero)
    unit = Where (nonzero, largest, one)
    scale = Mul (unit, three)
    share = Div (total, scale)
    decision = Add (votes, share)
    place = ArgMax <axis = 1, keepdims = 0> (decision)
"""


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX file; needs the package onnx (``pip install 'maxmargin[onnx]'``).

    Parameters
    ----------
    model : fitted estimator or LinearModel
        Labels must be whole numbers, floats, booleans or texts.
    path : path
        The file. Its input ``X`` is a matrix of doubles, its outputs are ``label`` and ``decision``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.saving import to_onnx
    >>> path = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> to_onnx(mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1]), path)
    >>> import onnx
    >>> [output.name for output in onnx.load(path).graph.output]
    ['label', 'decision']
    """
    try:
        import onnx
        import onnx.parser
    except ImportError as error:
        raise InputError(
            "the export to ONNX needs onnx, which is not installed. Install it with "
            "pip install 'maxmargin[onnx]'."
        ) from error
    planes, classes = exported(model)
    labels, kind = _labels(classes)
    arrays = {"W": np.ascontiguousarray(planes.coef_.T), "b": planes.intercept_, "classes": labels}
    k = len(labels)
    decide = TWO_CLASSES if k == 2 else ONE_PER_CLASS
    if planes.multi_class == "ovo":
        decide = ONE_PER_PAIR
        arrays |= _votes(k)
    graph = {"d": planes.n_features_in_, "kind": kind, "shape": "rows" if k == 2 else f"rows, {k}"}
    text = MODEL.format(ir=IR, opset=OPSET, version=__version__, decide=decide, **graph)
    made = onnx.parser.parse_model(text)
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    made.graph.initializer.extend(tensors)
    try:
        onnx.checker.check_model(made)
        content = bytes(made.SerializeToString())
    except ValueError as error:  # more than two gigabytes
        raise InputError(f"the model does not fit into an ONNX file: {error}.") from error
    write_atomically(path, content)


def _votes(k: int) -> dict[str, np.ndarray]:
    """For each pair (a, b) of k classes: b is ours, a is theirs."""
    pairs = list(combinations(range(k), 2))
    ours, theirs = np.zeros((len(pairs), k)), np.zeros((len(pairs), k))
    for row, (a, b) in enumerate(pairs):
        ours[row, b] = theirs[row, a] = 1.0
    return {"ours": ours, "theirs": theirs, "signs": ours - theirs}


def _labels(classes: np.ndarray) -> tuple[np.ndarray, str]:
    """Labels as ONNX has them, and their type: 64-bit integers, doubles, booleans or texts."""
    values = classes.tolist()
    kinds = {bool: ("bool", np.bool_), int: ("int64", np.int64), float: ("double", np.float64)}
    for kind, (name, dtype) in (kinds | {str: ("string", object)}).items():
        if all(type(v) is kind for v in values):
            return np.array(values, dtype=dtype), name
    raise InputError(
        "labels must be all whole numbers, all floats, all booleans or all texts for ONNX. "
        f"Got {values!r} instead."
    )
