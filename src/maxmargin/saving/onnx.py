"""Export to ONNX: a graph of doubles, X → X Wᵀ + b → decision values → labels.

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
from maxmargin.saving.linear_model import Planes, planes

OPSET, IR = 17, 8  # of 2022: what runtimes of today and of some years ago read


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
    except ImportError as error:
        raise InputError(
            "the export to ONNX needs onnx, which is not installed. Install it with "
            "pip install 'maxmargin[onnx]'."
        ) from error
    p = planes(model)
    graph = _Graph(onnx)
    graph.constant("W", np.ascontiguousarray(p.W.T))
    graph.constant("b", p.b)
    graph.node("MatMul", ["X", "W"], "products")
    if len(p.classes) == 2:
        _two(graph)
    elif p.pairs:
        _pairs(graph, p)
    else:
        graph.node("Add", ["products", "b"], "decision")
        graph.node("ArgMax", ["decision"], "place", axis=1, keepdims=0)
    graph.constant("classes", _labels(p.classes))
    graph.node("Gather", ["classes", "place"], "label", axis=0)
    write_atomically(path, graph.finish(p))


def _two(graph: _Graph) -> None:
    graph.constant("column", np.array([1]))
    graph.constant("zero", np.array(0.0))
    graph.node("Add", ["products", "b"], "values")
    graph.node("Squeeze", ["values", "column"], "decision")
    graph.node("Greater", ["decision", "zero"], "positive")
    graph.node("Cast", ["positive"], "place", to=graph.onnx.TensorProto.INT64)


def _pairs(graph: _Graph, p: Planes) -> None:
    """Votes, and the sum of decision values in proportion to the largest of the row, to break ties."""
    k = len(p.classes)
    ours, theirs = np.zeros((len(p.W), k)), np.zeros((len(p.W), k))
    for row, (a, b) in enumerate(combinations(range(k), 2)):
        ours[row, b] = theirs[row, a] = 1.0
    for name, value in {"ours": ours, "theirs": theirs, "signs": ours - theirs}.items():
        graph.constant(name, value)
    for name, number in {"zero": 0.0, "one": 1.0, "three": 3.0}.items():
        graph.constant(name, np.array(number))
    double = graph.onnx.TensorProto.DOUBLE
    graph.node("Add", ["products", "b"], "values")
    graph.node("Greater", ["values", "zero"], "positive")
    graph.node("Cast", ["positive"], "for", to=double)
    graph.node("Sub", ["one", "for"], "against")
    graph.node("MatMul", ["for", "ours"], "votes for")
    graph.node("MatMul", ["against", "theirs"], "votes against")
    graph.node("Add", ["votes for", "votes against"], "votes")
    graph.node("MatMul", ["values", "signs"], "total")
    graph.node("Abs", ["total"], "sizes")
    graph.node("ReduceMax", ["sizes"], "largest", axes=[1], keepdims=1)
    graph.node("Greater", ["largest", "zero"], "some")
    graph.node("Where", ["some", "largest", "one"], "unit")
    graph.node("Mul", ["unit", "three"], "scale")
    graph.node("Div", ["total", "scale"], "share")
    graph.node("Add", ["votes", "share"], "decision")
    graph.node("ArgMax", ["decision"], "place", axis=1, keepdims=0)


def _labels(classes: np.ndarray) -> np.ndarray:
    """Labels as ONNX has them: 64-bit integers, doubles, booleans or texts."""
    values = classes.tolist()
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64), (str, object)):
        if all(type(v) is kind for v in values):
            return np.array(values, dtype=dtype)
    raise InputError(
        "labels must be all whole numbers, all floats, all booleans or all texts for ONNX. "
        f"Got {values!r} instead."
    )


class _Graph:
    """Nodes and constants, one after the other."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.label_type = 0

    def constant(self, name: str, value: np.ndarray) -> None:
        """Add a named array."""
        tensor = self.onnx.numpy_helper.from_array(value, name)
        self.constants.append(tensor)
        if name == "classes":
            self.label_type = tensor.data_type

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        """Add an operation."""
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))

    def finish(self, p: Planes) -> bytes:
        """Return the whole model, checked."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        shape = ["rows"] if len(p.classes) == 2 else ["rows", len(p.classes)]
        graph = helper.make_graph(
            self.nodes,
            "maxmargin",
            [helper.make_tensor_value_info("X", double, ["rows", p.W.shape[1]])],
            [
                helper.make_tensor_value_info("label", self.label_type, ["rows"]),
                helper.make_tensor_value_info("decision", double, shape),
            ],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR,
            producer_name="maxmargin",
            producer_version=__version__,
        )
        try:
            self.onnx.checker.check_model(model)
            return bytes(model.SerializeToString())
        except ValueError as error:  # more than two gigabytes
            raise InputError(f"the model does not fit into an ONNX file: {error}.") from error
