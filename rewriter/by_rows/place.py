"""What the evaluation by rows needs to know of an op without running it: types, axes, constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.pooled import PRODUCT

#: What the names of ops that compute rows begin with.
SCOPE = "rows_by_ids"
#: Op types that compute each element from the elements of the inputs at the same place, after broadcasting. The number
#: is that of an operand where a zero gives zero, whatever the others are: a gradient stays sparse in it. None: in no
#: operand, or in one of those of `support.py`. All that an op by element needs is its row here.
BY_ELEMENT: dict[str, int | None] = {
    **dict.fromkeys(("Identity", "StopGradient", "PreventGradient", "CheckNumerics", "Cast", "ZerosLike", "Neg"), 0),
    **dict.fromkeys(("Abs", "Sign", "Square", "Sqrt", "Expm1", "Log1p", "Tanh", "Relu", "Relu6", "Elu", "Selu"), 0),
    **dict.fromkeys(("Erf", "Sin", "Softsign", "LeakyRelu", "Floor", "Ceil", "Round", "Rint"), 0),
    **dict.fromkeys(("Tan", "Atan", "Asin", "Sinh", "Asinh", "Atanh", "RealDiv", "Div", "DivNoNan"), 0),
    **dict.fromkeys(("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "LeakyReluGrad"), 0),
    **dict.fromkeys(("SoftplusGrad", "SoftsignGrad"), 0),
    **dict.fromkeys(("TanhGrad", "SigmoidGrad", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad", "InvGrad"), 1),
    **dict.fromkeys(("OnesLike", "Exp", "Log", "Rsqrt", "Reciprocal", "Inv", "Sigmoid", "Softplus", "Cos", "Cosh")),
    **dict.fromkeys(("Erfc", "Mul", "MulNoNan", "Pow", "AddN", "Add", "AddV2", "Sub", "SquaredDifference")),
    **dict.fromkeys(("Maximum", "Minimum", "Select", "SelectV2", "LogicalAnd", "LogicalOr", "LogicalNot")),
    **dict.fromkeys(("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual")),
    **dict.fromkeys(("IsFinite", "IsInf", "IsNan")),
}


class NotByRows(Exception):
    """An op between the variable and the lookup, or of the gradient, does not work row by row."""

    def __init__(self, op: tf.Operation) -> None:
        super().__init__(f"{op.type} `{op.name}` does not work row by row")


@dataclass(frozen=True)
class Place:
    """Where the rows of the ids are in a tensor: row id + `shift`.

    Ids before its first row, or behind its last one, are of other parts of a whole if `low`, or `high`, is true.
    """

    shift: int = 0
    low: bool = False
    high: bool = False

    def within(self, first: int, low: bool, high: bool) -> Place:
        """Return the place in a part that begins at the row `first` of this tensor."""
        return Place(self.shift - first, self.low or low, self.high or high)


def size_of(tensor: tf.Tensor, axis: int) -> int:
    """Return the number of rows of a tensor along an axis.

    Raises:
        NotByRows: it is not known.
    """
    sizes = _sizes(tensor) or []
    size = sizes[axis] if axis < len(sizes) else None
    if size is None:
        raise NotByRows(tensor.op)
    return size


def _sizes(tensor: tf.Tensor) -> list[int | None] | None:
    """Return the dimensions of a tensor, as numbers also where programs have `disable_v2_tensorshape`."""
    if tensor.shape.rank is None:
        return None
    sizes = list[int | None](tensor.shape.as_list())
    return [_rows_of_gradient(tensor.op), *sizes[1:]] if sizes[:1] == [None] else sizes


def _rows_of_gradient(op: tf.Operation) -> int | None:
    """Return how many rows a sparse matrix gives the gradient of what it multiplies, though its shape is fed."""
    while op.type in ("Identity", "StopGradient"):
        op = op.inputs[0].op
    if op.type != PRODUCT or not op.get_attr("adjoint_a"):
        return None
    forward = (
        one for one in op.inputs[2].consumers() if one.type == PRODUCT and one.inputs[2].name == op.inputs[2].name
    )
    plain = (one for one in forward if not one.get_attr("adjoint_a") and not one.get_attr("adjoint_b"))
    rows = (tf.compat.dimension_value(one.inputs[3].shape[0]) for one in plain)
    return next((int(one) for one in rows if one is not None), None)


def operand_axis(operand: tf.Tensor, axis: int, whole: tf.Tensor) -> int | None:
    """Return the axis of the rows in an operand of a result `whole`, which has them along `axis`.

    None if it is the same for all rows.
    """
    sizes = _sizes(operand)
    if sizes is None or whole.shape.rank is None:
        raise NotByRows(whole.op)
    if whole.op.type == "Select" and len(sizes) == 1 < whole.shape.rank:
        return 0 if axis == 0 else None
    own, size = axis - whole.shape.rank + len(sizes), size_of(whole, axis)
    if own < 0 or (sizes[own] == 1 and size != 1):
        return None
    if sizes[own] != size:
        raise NotByRows(whole.op)
    return int(own)


def axis_before_reshape(before: tf.Tensor, after: tf.Tensor, axis: int) -> int:
    """Return the axis of the rows before a reshape that keeps each row together."""
    if not before.shape.is_fully_defined() or not after.shape.is_fully_defined():
        raise NotByRows(after.op)
    old, new = before.shape.as_list(), after.shape.as_list()
    for place, size in enumerate(old):
        if size == new[axis] and math.prod(old[:place]) == math.prod(new[:axis]):
            return place
    raise NotByRows(after.op)


def constant(tensor: tf.Tensor) -> Any:
    """Return the value of a tensor that is known when the graph is built.

    Raises:
        NotByRows: it is not known.
    """
    value = _tf_private.known_value(tensor)
    if value is None:
        raise NotByRows(tensor.op)
    return value


def is_zero(tensor: tf.Tensor) -> bool:
    """Whether all elements of a tensor are zero, as far as the graph shows."""
    if tensor.op.type == "ZerosLike":
        return True
    if tensor.op.type in ("Fill", "BroadcastTo", "Identity"):
        return is_zero(tensor.op.inputs[1 if tensor.op.type == "Fill" else 0])
    value = tf.get_static_value(tensor)
    return value is not None and not np.any(value)


def given_ids(view: GraphView, ids: Tensor) -> Tensor:
    """Return the ids of the graph from which numbers of rows are computed here; other ids as they are."""
    while ids.op.startswith(f"{SCOPE}/") and view.inputs(ids.op):
        ids = view.inputs(ids.op)[0]
    return ids
