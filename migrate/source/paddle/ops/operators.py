"""Python's operators on tensors: kept where dtypes agree, else the helper that promotes them as Paddle does."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.comparison import bits
from migrate.source.paddle.ops.matrix import product
from migrate.source.paddle.ops.shapes import (
    binary,
    booleans,
    both,
    broadcast,
    compared,
    like_left,
    promoted,
    same,
    same_dtype,
    tensor,
)
from migrate.source.paddle.ops.spec import AS_IT_IS, Arguments, Form, Op

_KEPT = Form("", same_dtype)


def _float_operand(bound: Arguments) -> bool:
    return any(isinstance(value, Tensor) and value.floating for value in bound.values())


def _whole(bound: Arguments) -> bool:
    return same_dtype(bound) and not _float_operand(bound)


def divided(bound: Arguments) -> Tensor:
    """The quotient: of integers it is float32."""
    left, right = list(bound.values())[:2]
    kinds = [Tensor((), _floats(item.dtype)) if isinstance(item, Tensor) else item for item in (left, right)]
    return Tensor(broadcast(tensor(left).shape, tensor(right).shape), promoted(*kinds, widen=False))


def _floats(dtype: str | None) -> str | None:
    return dtype if dtype is None or dtype.startswith("float") else "float32"


def _arithmetic(name: str) -> Op:
    return Op(f"operator.{name}(x, y)", binary, (_KEPT,), helper=f"operators.{name}")


def _ordered(name: str) -> Op:
    return Op(f"operator.{name}(x, y)", compared, (_KEPT,), helper=f"operators.{name}")


def _equality(name: str, tf: str) -> Op:
    """A comparison that a graph of TensorFlow 1 does not compute by its operator."""
    return Op(f"operator.{name}(x, y)", compared, (Form(f"tf.{tf}(x, y)", same_dtype),), helper=f"operators.{name}")


def _bitwise(name: str, helper: str) -> Op:
    return Op(f"operator.{name}(x, y)", bits, (Form("", booleans),), helper=helper)


OPERATORS: Mapping[str, Op] = {
    "Add": _arithmetic("add"),
    "Sub": _arithmetic("sub"),
    "Mult": _arithmetic("mul"),
    "Div": Op(
        "operator.truediv(x, y)", divided, (Form("", both(same_dtype, _float_operand)),), helper="operators.truediv"
    ),
    "FloorDiv": Op("operator.floordiv(x, y)", like_left, (Form("", _whole),), helper="operators.floordiv"),
    "Mod": Op("operator.mod(x, y)", like_left, (Form("", _whole),), helper="operators.mod"),
    "Pow": Op("operator.pow(x, y)", like_left, (Form("", both(same_dtype, _float_operand)),), helper="operators.pow"),
    "MatMult": Op("operator.matmul(x, y)", product, helper="matmul"),
    "BitAnd": _bitwise("and_", "bitwise_and"),
    "BitOr": _bitwise("or_", "bitwise_or"),
    "BitXor": _bitwise("xor", "bitwise_xor"),
    "Eq": _equality("eq", "equal"),
    "NotEq": _equality("ne", "not_equal"),
    "Lt": _ordered("lt"),
    "LtE": _ordered("le"),
    "Gt": _ordered("gt"),
    "GtE": _ordered("ge"),
    "USub": Op("operator.neg(x)", same, (AS_IT_IS,), helper="neg"),
    "UAdd": Op("operator.pos(x)", same, (Form("x"),), helper="assign"),
    "Invert": Op(
        "operator.invert(x)", same, (Form("", lambda bound: tensor(bound["x"]).dtype == "bool"),), helper="bitwise_not"
    ),
}
