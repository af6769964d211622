"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.nn.functional.tensors import tensor

Unary = Callable[..., tf.Tensor]


def _unary(name: str, compute: Callable[[tf.Tensor], tf.Tensor], makes_floats: bool = False) -> Unary:
    def function(x: Any, name: str | None = None) -> tf.Tensor:
        value = tensor(x)
        if makes_floats and not value.dtype.is_floating:
            value = tf.cast(value, tf.float32)
        return compute(value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {name} of each element of `x`" + ("; ints become float32." if makes_floats else ".")
    return function


def _half_away_from_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.stop_gradient(tf.sign(x) * tf.floor(tf.abs(x) + 0.5))


def _truncated(x: tf.Tensor) -> tf.Tensor:
    return tf.stop_gradient(tf.where(x < 0, tf.math.ceil(x), tf.floor(x))) if x.dtype.is_floating else x


def _never(x: tf.Tensor) -> tf.Tensor:
    return tf.zeros_like(x, tf.bool)


abs = _unary("abs", tf.abs)
acos = _unary("acos", tf.acos)
acosh = _unary("acosh", tf.acosh)
asin = _unary("asin", tf.asin)
asinh = _unary("asinh", tf.asinh)
atan = _unary("atan", tf.atan)
atanh = _unary("atanh", tf.atanh)
ceil = _unary("ceil", tf.math.ceil)
cos = _unary("cos", tf.cos)
cosh = _unary("cosh", tf.cosh)
digamma = _unary("digamma", tf.math.digamma)
erf = _unary("erf", tf.math.erf)
erfinv = _unary("erfinv", tf.math.erfinv)
exp = _unary("exp", tf.exp, makes_floats=True)
expm1 = _unary("expm1", tf.math.expm1, makes_floats=True)
floor = _unary("floor", tf.floor)
frac = _unary("frac", lambda x: x - _truncated(x))
isfinite = _unary("isfinite", lambda x: tf.math.is_finite(x) if x.dtype.is_floating else ~_never(x))
isinf = _unary("isinf", lambda x: tf.math.is_inf(x) if x.dtype.is_floating else _never(x))
isnan = _unary("isnan", lambda x: tf.math.is_nan(x) if x.dtype.is_floating else _never(x))
lgamma = _unary("lgamma", tf.math.lgamma)
log = _unary("log", tf.math.log, makes_floats=True)
log10 = _unary("log10", lambda x: tf.math.log(x) / tf.math.log(tf.constant(10, x.dtype)), makes_floats=True)
log1p = _unary("log1p", tf.math.log1p, makes_floats=True)
log2 = _unary("log2", lambda x: tf.math.log(x) / tf.math.log(tf.constant(2, x.dtype)), makes_floats=True)
neg = _unary("neg", tf.negative)
reciprocal = _unary("reciprocal", tf.math.reciprocal)
round = _unary("round", _half_away_from_zero)
rsqrt = _unary("rsqrt", tf.math.rsqrt)
sigmoid = _unary("sigmoid", tf.sigmoid)
sign = _unary("sign", tf.sign)
sin = _unary("sin", tf.sin)
sinh = _unary("sinh", tf.sinh)
sqrt = _unary("sqrt", tf.sqrt)
square = _unary("square", tf.square)
tan = _unary("tan", tf.tan)
tanh = _unary("tanh", tf.tanh)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "frac",
    "isfinite",
    "isinf",
    "isnan",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]
