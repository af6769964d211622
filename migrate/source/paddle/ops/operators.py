"""Python's operators on tensors: kept where dtypes agree, else the helper that promotes them as Paddle does."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.conditions import both, same_dtype
from migrate.source.paddle.ops.matrix import product
from migrate.source.paddle.ops.shapes import binary, broadcast, compared, promoted, same, tensor
from migrate.source.paddle.ops.spec import AS_IT_IS, Arguments, Form, Op

_KEPT = Form("", same_dtype)


def _left_floating(bound: Arguments) -> bool:
    return any(isinstance(value, Tensor) and value.floating for value in bound.values())


def divided(bound: Arguments) -> Tensor:
    """The quotient: of integers it is float32."""
    left, right = list(bound.values())[:2]
    kind = promoted(left, right)
    floats = kind if kind is None or kind.startswith("float") else "float32"
    return Tensor(broadcast(tensor(left).shape, tensor(right).shape), floats)


def _boolean(bound: Arguments) -> Tensor:
    result = binary(bound)
    if result.floating:
        raise Refuse("bitwise operators take integers or truth values")
    return result


def _arithmetic(name: str, symbol: str) -> Op:
    return Op(
        f"operator.{name}(x, y)", binary, (_KEPT,), helper=name, examples=(f"f_2_3 {symbol} f_3", f"i_2 {symbol} 0.5")
    )


def _comparison(name: str, helper: str, symbol: str, tf: str) -> Op:
    forms = (Form(f"tf.{tf}(x, y)", same_dtype),)
    return Op(
        f"operator.{name}(x, y)", compared, forms, helper=helper, examples=(f"f_2_3 {symbol} f_3", f"i_2 {symbol} 1")
    )


OPERATORS: Mapping[str, Op] = {
    "Add": _arithmetic("add", "+"),
    "Sub": _arithmetic("subtract", "-"),
    "Mult": _arithmetic("multiply", "*"),
    "Div": Op("operator.truediv(x, y)", divided, (Form("", both(same_dtype, _left_floating)),), helper="divide"),
    "FloorDiv": Op("operator.floordiv(x, y)", binary, helper="floor_divide"),
    "Mod": Op("operator.mod(x, y)", binary, helper="mod"),
    "Pow": Op("operator.pow(x, y)", binary, (Form("", both(same_dtype, _left_floating)),), helper="pow"),
    "MatMult": Op("operator.matmul(x, y)", product, helper="matmul"),
    "BitAnd": Op("operator.and_(x, y)", _boolean, helper="bitwise_and"),
    "BitOr": Op("operator.or_(x, y)", _boolean, helper="bitwise_or"),
    "BitXor": Op("operator.xor(x, y)", _boolean, helper="bitwise_xor"),
    "Eq": _comparison("eq", "equal", "==", "equal"),
    "NotEq": _comparison("ne", "not_equal", "!=", "not_equal"),
    "Lt": _comparison("lt", "less_than", "<", "less"),
    "LtE": _comparison("le", "less_equal", "<=", "less_equal"),
    "Gt": _comparison("gt", "greater_than", ">", "greater"),
    "GtE": _comparison("ge", "greater_equal", ">=", "greater_equal"),
    "USub": Op("operator.neg(x)", same, (AS_IT_IS,), helper="neg"),
    "UAdd": Op("operator.pos(x)", same, (AS_IT_IS,), helper="assign"),
    "Invert": Op("operator.invert(x)", same, helper="bitwise_not"),
}
