"""Python's operators on tensors: kept where dtypes agree, else the helper that promotes them as Paddle does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.source.paddle.abstract.values import Refuse, Shape, Tensor, Value
from migrate.source.paddle.ops.conditions import both, same_dtype
from migrate.source.paddle.ops.matrix import product
from migrate.source.paddle.ops.shapes import broadcast, compared, same, tensor
from migrate.source.paddle.ops.spec import AS_IT_IS, Arguments, Form, Op

_KEPT = Form("", same_dtype)


def _dtype(left: Value, right: Value, widening: bool = False) -> str | None:
    """Return the dtype in which Paddle's operators compute: that of the left tensor, or of the only one.

    A float beside an int tensor makes both float32; `+`, `-` and `*` make float64 of float32 and float64.
    """
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        kinds = {left.dtype, right.dtype}
        return "float64" if widening and kinds == {"float32", "float64"} else left.dtype
    known, other = (left, right) if isinstance(left, Tensor) else (right, left)
    if isinstance(other, float) and known.dtype is not None and not known.floating:
        return "float32"
    return str(known.dtype) if known.dtype is not None else None


def _shape(bound: Arguments) -> Shape | None:
    left, right = list(bound.values())[:2]
    return broadcast(tensor(left).shape, tensor(right).shape)


def _result(widening: bool) -> Callable[[Arguments], Tensor]:
    return lambda bound: Tensor(_shape(bound), _dtype(bound["x"], bound["y"], widening))


def _divided(bound: Arguments) -> Tensor:
    kind = _dtype(bound["x"], bound["y"])
    return Tensor(_shape(bound), kind if kind is None or kind.startswith("float") else "float32")


def _left_floating(bound: Arguments) -> bool:
    return any(isinstance(value, Tensor) and value.floating for value in bound.values())


def _boolean(bound: Arguments) -> Tensor:
    result = Tensor(_shape(bound), _dtype(bound["x"], bound["y"]))
    if result.floating:
        raise Refuse("bitwise operators take integers or truth values")
    return result


def _arithmetic(name: str, symbol: str) -> Op:
    examples = (f"f_2_3 {symbol} f_3", f"i_2 {symbol} 0.5", f"f_2 {symbol} 2", f"i_2 {symbol} f_2", f"1 {symbol} f_2_3")
    return Op(f"operator.{name}(x, y)", _result(True), (_KEPT,), helper=f"operators.{name}", examples=examples)


def _comparison(name: str, symbol: str, tf: str) -> Op:
    forms = (Form(f"tf.{tf}(x, y)", same_dtype),)
    examples = (f"f_2_3 {symbol} f_3", f"i_2 {symbol} 1", f"i_2 {symbol} 0.5")
    return Op(f"operator.{name}(x, y)", compared, forms, helper=f"operators.{name}", examples=examples)


OPERATORS: Mapping[str, Op] = {
    "Add": _arithmetic("add", "+"),
    "Sub": _arithmetic("sub", "-"),
    "Mult": _arithmetic("mul", "*"),
    "Div": Op(
        "operator.truediv(x, y)",
        _divided,
        (Form("", both(same_dtype, _left_floating)),),
        helper="operators.truediv",
        examples=("f_2_3 / f_3", "i_2 / 2", "1 / f_2", "i_2 / i_2"),
    ),
    "FloorDiv": Op("operator.floordiv(x, y)", _result(False), helper="operators.floordiv", examples=("i_2 // 2",)),
    "Mod": Op("operator.mod(x, y)", _result(False), helper="operators.mod", examples=("i_2 % 2",)),
    "Pow": Op(
        "operator.pow(x, y)",
        _result(False),
        (Form("", both(same_dtype, _left_floating)),),
        helper="operators.pow",
        examples=("f_2_3 ** 2", "i_2 ** 2"),
    ),
    "MatMult": Op("operator.matmul(x, y)", product, helper="operators.matmul", examples=("f_2_3 @ f_3_2",)),
    "BitAnd": Op("operator.and_(x, y)", _boolean, helper="bitwise_and", examples=("b_2 & b_2",)),
    "BitOr": Op("operator.or_(x, y)", _boolean, helper="bitwise_or", examples=("b_2 | b_2",)),
    "BitXor": Op("operator.xor(x, y)", _boolean, helper="bitwise_xor", examples=("b_2 ^ b_2",)),
    "Eq": _comparison("eq", "==", "equal"),
    "NotEq": _comparison("ne", "!=", "not_equal"),
    "Lt": _comparison("lt", "<", "less"),
    "LtE": _comparison("le", "<=", "less_equal"),
    "Gt": _comparison("gt", ">", "greater"),
    "GtE": _comparison("ge", ">=", "greater_equal"),
    "USub": Op("operator.neg(x)", same, (AS_IT_IS,), helper="operators.neg", examples=("-f_2_3",)),
    "UAdd": Op("operator.pos(x)", same, (AS_IT_IS,), helper="assign"),
    "Invert": Op("operator.invert(x)", same, helper="bitwise_not", examples=("~b_2",)),
}
