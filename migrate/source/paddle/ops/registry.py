"""Finds ops by Paddle's names, tensor methods and Python's operators, and knows the names that are kept as they are."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Described, Dtype, Refuse, Tensor, Value
from migrate.source.paddle.ops import (
    activation,
    arrays,
    comparison,
    creation,
    elementwise,
    indexing,
    joining,
    loss,
    matrix,
    operators,
    reduction,
    shaping,
    windows,
)
from migrate.source.paddle.ops.described import ENVIRONMENT
from migrate.source.paddle.ops.shapes import dtype_name
from migrate.source.paddle.ops.spec import Op
from migrate.source.paddle.static import ops as static

LAYER = "paddle.nn.Layer"
CONTAINERS = {f"paddle.nn.{kind}": kind for kind in ("Sequential", "LayerList", "LayerDict", "ParameterList")}
_MODULES = (elementwise, comparison, reduction, shaping, joining, indexing, creation, matrix, activation, loss, windows)
_OPS = [op for module in _MODULES for op in module.OPS] + [*ENVIRONMENT, *static.OPS]
#: Paddle's dotted name -> op.
OPS: dict[str, Op] = {name: op for op in _OPS for name in (op.name, *op.aliases)}
_METHODS: dict[str, Op] = {method: op for op in _OPS for method in op.methods}
_METHODS |= {"numpy": arrays.NUMPY}
_ARRAY_METHODS: dict[str, Op] = {method: op for op in arrays.METHODS for method in op.methods}
_ARRAY_FUNCTIONS: dict[str, Op] = {"tensor." + op.name: op for op in arrays.FUNCTIONS}
_OPERATORS: Mapping[str, Op] = operators.OPERATORS
#: Modules whose names are also those of another: `paddle.nn.layer.Sigmoid` is `paddle.nn.Sigmoid`.
_PREFIXES = {
    "paddle.nn.layer.": "paddle.nn.",
    "paddle.nn.functional.common.": "paddle.nn.functional.",
    "paddle.framework.ParamAttr": "paddle.ParamAttr",
    "paddle.nn.ParamAttr": "paddle.ParamAttr",
    "paddle.fluid.dygraph.": "paddle.nn.",
    "paddle.tensor.": "paddle.",
    "paddle.paddle.": "paddle.",
}
_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


def canonical(name: str) -> str:
    """Return the dotted name under which an API is known."""
    for prefix, target in _PREFIXES.items():
        if name.startswith(prefix) and name != "paddle.nn.layer.":
            return target + name[len(prefix) :]
    return "paddle.nn.Layer" if name == "paddle.nn.layer.layers.Layer" else name


def find(name: str) -> Op | None:
    """Return the op of a dotted name, or None."""
    return OPS.get(name) or _ARRAY_FUNCTIONS.get(name)


def all_ops() -> list[Op]:
    """Return every op of Paddle, of NumPy's views, and every operator, once."""
    ops = [
        *OPS.values(),
        *_METHODS.values(),
        *_ARRAY_METHODS.values(),
        *_ARRAY_FUNCTIONS.values(),
        *_OPERATORS.values(),
    ]
    return list({id(op): op for op in ops}.values())


def method_of(receiver: Tensor, name: str) -> Op:
    """Return the op of a method of a tensor, or of NumPy's view of one; raises `Refuse` if it is not supported."""
    method = (_ARRAY_METHODS if receiver.array else _METHODS).get(name)
    if method is None and name.endswith("_") and name[:-1] in _METHODS:
        raise Refuse(
            f"`{name}` changes the tensor in place, which a graph cannot do; write `x = x.{name[:-1]}(...)` instead"
        )
    if method is None:
        raise Refuse(f"the method `{name}` of a tensor is not supported")
    return method


def is_method(receiver: Tensor, name: str) -> bool:
    """Return whether a tensor, or NumPy's view of one, has a method of this name that is supported."""
    return name in (_ARRAY_METHODS if receiver.array else _METHODS)


def names_of(op: Op) -> list[str]:
    """Return the names by which tensors have an op as a method; a variant of an op is called as the op is."""
    methods = (_METHODS, _ARRAY_METHODS, arrays.NUMBERS)
    return [name for known in methods for name, method in known.items() if method.name == op.name]


def methods() -> frozenset[str]:
    """Return the names of all methods that tensors may have."""
    return frozenset(_METHODS) | frozenset(_ARRAY_METHODS)


def operator_of(name: str) -> Op:
    """Return the op of an operator by its node in a syntax tree, such as `Add`; raises `Refuse`."""
    if name not in _OPERATORS:
        raise Refuse(f"operator `{name}` on tensors is not supported")
    return _OPERATORS[name]


def dtype(name: str) -> Dtype | None:
    """Return the dtype that a dotted name stands for, or None."""
    module, _, kind = name.rpartition(".")
    return Dtype(kind) if module == "paddle" and kind in _DTYPES else None


def same_dtype(left: Value, right: Value) -> bool:
    """Return whether two dtypes, of which one may be a name, are the same; raises `Refuse` if one is unknown."""
    names = [item.name if isinstance(item, Dtype) else dtype_name(item) for item in (left, right)]
    if None in names:
        raise Refuse("the dtype of this tensor is not known")
    return names[0] == names[1]


def described_method(receiver: Described, name: str, positional: list[Value]) -> Value:
    """Call a method of an object that is kept as it is; metrics are updated, optimizers and schedulers step."""
    kinds = {"paddle.metric": {"update", "compute", "accumulate", "reset", "name"}, "paddle.optimizer": {"get_lr"}}
    for prefix, names in kinds.items():
        if receiver.name.startswith(prefix) and name in names:
            return Tensor(None, None) if name in {"compute", "accumulate"} else None
    if name == "step" and receiver.name.startswith("paddle.optimizer.lr."):
        raise Refuse(
            "`step()` of a schedule is not a part of the graph; leave the call out, and train with "
            '`run(session, schedule="step")` of `nn.Training`, or `"epoch"`'
        )
    raise Refuse(f"method `{name}` of `{receiver.name}` is not supported")
