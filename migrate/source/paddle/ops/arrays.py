"""NumPy on tensors: what trainers do with a batch before they make tensors of it."""

from __future__ import annotations

from dataclasses import replace

from migrate.source.paddle.abstract.values import Fetched, Tensor, Value
from migrate.source.paddle.ops.shapes import dtype_name, plain_dtype, reshaped, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _sizes(bound: Arguments) -> list[Value]:
    shape = bound["shape"]
    return list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)


def _itself(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, x.dtype, array=True)


METHODS: tuple[Op, ...] = (
    Op(
        "numpy.ndarray.reshape(x, *shape)",
        lambda bound: replace(reshaped(tensor(bound["x"]), _sizes(bound)), array=True),
        (Form("tf.reshape(x, shape)", lambda bound: 0 not in _sizes(bound)),),
        ("reshape",),
        helper="reshape",
    ),
    Op(
        "numpy.ndarray.astype(x, dtype)",
        lambda bound: Tensor(tensor(bound["x"]).shape, dtype_name(bound["dtype"]), array=True),
        (Form("tf.cast(x=x, dtype=dtype)", plain_dtype),),
        ("astype",),
        helper="cast",
    ),
    Op("numpy.ndarray.copy(x)", _itself, (Form("x"),), ("copy", "numpy"), helper="assign"),
    Op("numpy.ndarray.tolist(x)", _itself, (Form("x"),), ("tolist",), helper="assign"),
)
FUNCTIONS: tuple[Op, ...] = (Op("numpy.array(x, dtype=None)", _itself, (Form("x"),), helper="assign"),)


def _has_no_gradient(bound: Arguments) -> bool:
    x = tensor(bound["x"])
    return x.fed or x.array or (x.dtype is not None and not x.floating)


#: `x.numpy()` is the tensor itself in a graph; no gradient goes through it.
NUMPY = Op(
    "paddle.Tensor.numpy(x)",
    _itself,
    (Form("x", _has_no_gradient), Form("tf.stop_gradient(x)")),
    ("numpy",),
    helper="assign",
)


def _number(bound: Arguments) -> Fetched:
    tensor(bound["x"])
    return Fetched()


#: Where a tensor has a value, in a metric of the program's own: method -> op.
NUMBERS: dict[str, Op] = {
    "item": Op("paddle.Tensor.item(x)", _number, (Form("x.numpy().item()"),)),
    "tolist": Op("paddle.Tensor.tolist(x)", _number, (Form("x.numpy().tolist()"),)),
}
