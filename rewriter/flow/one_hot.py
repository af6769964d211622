"""Whether a tensor consists of one-hot rows; their product with a table selects rows of the table."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rewriter.graph.bodies import Body
from rewriter.graph.view import Tensor

#: Ops that only pass on, reshape, scale or sum such rows, which are input 0.
_HANDED_ON = (
    *("Identity", "StopGradient", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Cast", "Sum", "Max", "Mean"),
    *("Tile", "Slice", "StridedSlice", "Switch", "RefSwitch", "Enter", "RefEnter"),
)
_TOGETHER = {"Pack": 0, "AddN": 0, "Add": 0, "AddV2": 0, "ConcatV2": 1}  #: number of trailing inputs that are no rows
_ONES = ("Const", "Fill", "OnesLike")


def is_one_hot(body: Body, tensor: Tensor) -> bool:
    """Whether everything that a tensor is computed from is one-hot rows; false for a dense input that is so in part."""
    pending, known = [tensor], {tensor}
    while pending:
        one = pending.pop()
        before = _before(body, one)
        if before is None:
            return False
        pending += [tensor for tensor in before if tensor not in known]
        known.update(before)
    return True


def _before(body: Body, tensor: Tensor) -> Sequence[Tensor] | None:
    """Return the tensors that must be one-hot for a tensor to be one-hot; None if it cannot be."""
    op, kind = tensor.op, body.type(tensor.op)
    if kind in ("OneHot", "SparseToDense") or (kind == "Equal" and _of_integers(body, op)):
        return ()
    if kind == "ScatterNd":
        return () if body.type(body.inputs(op)[1].op) in _ONES else None
    if kind in _TOGETHER:
        inputs = body.inputs(op)
        return inputs[: len(inputs) - _TOGETHER[kind]]
    if kind == "Mul":  # by weights, one for each row
        wide = [one for one in body.inputs(op) if _width(body, one) != 1]
        return wide if len(wide) == 1 else None
    return body.inputs(op)[:1] if kind in _HANDED_ON else None


def _width(body: Body, tensor: Tensor) -> int | None:
    shape = body.shape(tensor)
    if shape.rank is None:
        return None
    return 1 if shape.rank == 0 else shape[-1]


def _of_integers(body: Body, op: str) -> bool:
    kind = body.nodes[op].attr["T"].type
    return bool(kind) and tf.as_dtype(kind).is_integer
