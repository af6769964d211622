"""Ops that make tensors of numbers, of chance, and copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Size, Tensor, Value, mentions
from migrate.source.paddle.ops.shapes import axes_of, dtype_name, plain_dtype, promoted, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _filled(default: str) -> Callable[[Arguments], Tensor]:
    return lambda bound: Tensor(tuple(sizes_of(bound["shape"])), dtype_name(bound["dtype"], default))


def _list_of_sizes(bound: Arguments) -> bool:
    return isinstance(bound["shape"], (list, tuple)) and not mentions(bound["shape"], Tensor) and plain_dtype(bound)


def _float_fill(bound: Arguments) -> bool:
    return _list_of_sizes(bound) and isinstance(bound["fill_value"], float)


def like(bound: Arguments) -> Tensor:
    """Return the shape of `x`, of its dtype or the one that is given."""
    x = tensor(bound["x"])
    return Tensor(x.shape, dtype_name(bound["dtype"], x.dtype))


def _to_tensor(bound: Arguments) -> Tensor:
    data: Value = bound["data"]
    if isinstance(data, Tensor):
        return Tensor(data.shape, dtype_name(bound["dtype"], data.dtype))
    if mentions(data, Tensor | Size):
        return Tensor(*_listed(data, bound["dtype"]))
    array = np.asarray(data)
    plain = "float32" if array.dtype == np.float64 and not isinstance(data, np.ndarray) else array.dtype.name
    return Tensor(array.shape, dtype_name(bound["dtype"], plain))


def _listed(data: Value, dtype: Value) -> tuple[tuple[int | None, ...], str | None]:
    """Shape and dtype of a list of numbers, sizes and tensors."""
    if not isinstance(data, (list, tuple)):
        return (), dtype_name(dtype, "int64")
    items = [item if isinstance(item, Tensor) else Tensor(*_listed(item, None)) for item in data]
    return (len(data), *(items[0].shape or ())), dtype_name(dtype, promoted(*items))


def _is_data(bound: Arguments) -> bool:
    """Whether the data has no gradient, which `to_tensor` would stop: integers, and what NumPy made of a batch."""
    data = bound["data"]
    return isinstance(data, Tensor) and (data.array or not data.floating) and bound["stop_gradient"] is True


def _kept(bound: Arguments) -> bool:
    return _is_data(bound) and bound["dtype"] is None


def _cast(bound: Arguments) -> bool:
    return _is_data(bound) and bound["dtype"] is not None and plain_dtype(bound)


def _arange(bound: Arguments) -> Tensor:
    numbers = [bound[name] for name in ("start", "end", "step")]
    floats = any(isinstance(item, float) or (isinstance(item, Tensor) and item.floating) for item in numbers)
    start, end = (0, numbers[0]) if numbers[1] is None else (numbers[0], numbers[1])
    plain = all(isinstance(item, (int, float)) for item in (start, end, numbers[2]))
    size = len(np.arange(start, end, numbers[2])) if plain else None
    return Tensor((size,), dtype_name(bound["dtype"], "float32" if floats else "int64"))


def _linspace(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(bound["num"])), dtype_name(bound["dtype"], "float32"))


def _copied(bound: Arguments) -> Tensor:
    if bound.get("output") is not None:
        raise Refuse("`paddle.assign` into `output` changes a tensor, which a graph cannot do; use its result")
    return tensor(_as_tensor(bound["x"]))


def _as_tensor(value: Value) -> Tensor:
    return value if isinstance(value, Tensor) else _to_tensor({"data": value, "dtype": None})


def _only_tensor(bound: Arguments) -> bool:
    return isinstance(bound["x"], Tensor)


def _eye(bound: Arguments) -> Tensor:
    rows = bound["num_rows"]
    columns = rows if bound["num_columns"] is None else bound["num_columns"]
    return Tensor(tuple(sizes_of([rows, columns])), dtype_name(bound["dtype"], "float32"))


def _triangle(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None and len(x.shape) < 2:
        raise Refuse("a triangle needs at least two dimensions")
    return Tensor(x.shape, x.dtype)


def _diag(bound: Arguments) -> Tensor:
    x, offset = tensor(bound["x"]), bound["offset"]
    if x.shape is None:
        return Tensor(None, x.dtype)
    if len(x.shape) == 1:
        size = None if x.shape[0] is None else x.shape[0] + abs(offset)
        return Tensor((size, size), x.dtype)
    return Tensor((_diagonal_size(x.shape[0], x.shape[1], offset),), x.dtype)


def _diagonal(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    first, second = axes_of([bound["axis1"], bound["axis2"]], len(x.shape))
    rest = tuple(size for i, size in enumerate(x.shape) if i not in (first, second))
    return Tensor((*rest, _diagonal_size(x.shape[first], x.shape[second], bound["offset"])), x.dtype)


def _diagonal_size(rows: int | None, columns: int | None, offset: int) -> int | None:
    if rows is None or columns is None:
        return None
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _drawn(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(bound["shape"])), dtype_name(bound["dtype"], "float32"))


def _integers(bound: Arguments) -> Tensor:
    return Tensor(tuple(sizes_of(list(bound["shape"]))), dtype_name(bound["dtype"], "int64"))


def _normal(bound: Arguments) -> Tensor:
    for name in ("mean", "std"):
        if isinstance(bound[name], Tensor):
            return Tensor(bound[name].shape, bound[name].dtype)
    return Tensor(tuple(sizes_of([1] if bound["shape"] is None else bound["shape"])), "float32")


def _order(bound: Arguments) -> Tensor:
    sizes = [None] if isinstance(bound["n"], Tensor) else sizes_of(bound["n"])
    return Tensor(tuple(sizes), dtype_name(bound["dtype"], "int64"))


def _multinomial(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else (*x.shape[:-1], bound["num_samples"]), "int64")


#: Those that draw by chance; a verifier gives both frameworks the same numbers.
DRAWN: tuple[Op, ...] = (
    *(Op(f"paddle.{name}(shape, dtype=None, name=None)", _drawn) for name in ("rand", "randn", "standard_normal")),
    Op("paddle.uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None)", _drawn),
    Op("paddle.normal(mean=0.0, std=1.0, shape=None, name=None)", _normal),
    Op("paddle.randint(low=0, high=None, shape=[1], dtype=None, name=None)", _integers),
    Op("paddle.randint_like(x, low=0, high=None, dtype=None, name=None)", like),
    Op("paddle.randperm(n, dtype='int64', name=None)", _order),
    Op("paddle.multinomial(x, num_samples=1, replacement=False, name=None)", _multinomial, methods=("multinomial",)),
    Op("paddle.bernoulli(x, name=None)", same),
)
OPS: tuple[Op, ...] = (
    *(
        Op(
            f"paddle.{name}(shape, dtype=None, name=None)",
            _filled("float32"),
            (Form(f"tf.{tf}(shape=shape, dtype=dtype)", _list_of_sizes),) if tf else (),
        )
        for name, tf in (("zeros", "zeros"), ("ones", "ones"), ("empty", ""))
    ),
    Op(
        "paddle.full(shape, fill_value, dtype=None, name=None)",
        _filled("float32"),
        (Form("tf.fill(dims=shape, value=fill_value)", _float_fill),),
    ),
    *(
        Op(
            f"paddle.{name}_like(x, dtype=None, name=None)",
            like,
            (Form(f"tf.{name}_like(tensor=x, dtype=dtype)", plain_dtype),) if name != "empty" else (),
        )
        for name in ("zeros", "ones", "empty")
    ),
    Op("paddle.full_like(x, fill_value, dtype=None, name=None)", like),
    Op(
        "paddle.to_tensor(data, dtype=None, place=None, stop_gradient=True)",
        _to_tensor,
        (Form("data", _kept), Form("tf.cast(x=data, dtype=dtype)", _cast)),
    ),
    Op("paddle.arange(start=0, end=None, step=1, dtype=None, name=None)", _arange),
    Op("paddle.linspace(start, stop, num, dtype=None, name=None)", _linspace),
    Op("paddle.assign(x, output=None)", _copied, (Form("tf.identity(input=x)", _only_tensor),)),
    Op("paddle.clone(x, name=None)", same, (Form("tf.identity(input=x)"),), ("clone",)),
    Op("paddle.Tensor.detach(x)", same, (Form("tf.stop_gradient(input=x)"),), ("detach",)),
    Op("paddle.eye(num_rows, num_columns=None, dtype=None, name=None)", _eye),
    *(
        Op(
            f"paddle.{name}(x, diagonal=0, name=None)",
            _triangle,
            (Form(f"tf.linalg.band_part(x, {band})", lambda bound: bool(bound["diagonal"] == 0)),),
            (name,),
        )
        for name, band in (("tril", "-1, 0"), ("triu", "0, -1"))
    ),
    Op("paddle.diag(x, offset=0, padding_value=0, name=None)", _diag),
    Op("paddle.diagonal(x, offset=0, axis1=0, axis2=1, name=None)", _diagonal, methods=("diagonal",)),
    *DRAWN,
)
