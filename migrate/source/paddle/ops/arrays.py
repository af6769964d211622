"""NumPy on tensors: what trainers do with a batch before they make tensors of it."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.shapes import dtype_name, reshaped, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _reshape(bound: Arguments) -> Tensor:
    x, shape = tensor(bound["x"]), bound["shape"]
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
    return Tensor(reshaped(x, sizes_of(list(sizes))), x.dtype, array=True)


def _astype(bound: Arguments) -> Tensor:
    return Tensor(tensor(bound["x"]).shape, dtype_name(bound["dtype"]), array=True)


def _itself(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, x.dtype, array=True)


METHODS: tuple[Op, ...] = (
    Op("numpy.ndarray.reshape(x, *shape)", _reshape, (Form("tf.reshape(x, shape)"),), ("reshape",)),
    Op("numpy.ndarray.astype(x, dtype)", _astype, (Form("tf.cast(x=x, dtype=dtype)"),), ("astype",)),
    Op("numpy.ndarray.copy(x)", _itself, (Form("x"),), ("copy", "numpy")),
)
FUNCTIONS: tuple[Op, ...] = (Op("numpy.array(x, dtype=None)", _itself, (Form("x"),)),)
#: `x.numpy()` of a tensor of the batch is the tensor itself in a graph.
NUMPY = Op("paddle.Tensor.numpy(x)", _itself, (Form("x"),), ("numpy",))
