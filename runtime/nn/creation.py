"""Describes parameters from what layers are given: a `ParamAttr`, an initializer, False, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.parameter import ParamAttr, Parameter


def parameter(
    shape: Sequence[int],
    attr: Any = None,
    dtype: Any = "float32",
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter | None:
    """Describe a parameter.

    Args:
        shape: sizes.
        attr: a `ParamAttr`, an initializer, a name, None; False: there is no such parameter.
        dtype: of its elements.
        is_bias: the default is zeros, instead of Glorot's uniform distribution.
        default_initializer: used where `attr` has none.
    """
    if attr is False:
        return None
    settings = attribute(attr)
    stock = tf.compat.v1.zeros_initializer() if is_bias else tf.compat.v1.glorot_uniform_initializer()
    initializer = settings.initializer or default_initializer or stock
    return Parameter(shape, initializer, dtype, settings)


def attribute(attr: Any) -> ParamAttr:
    """Return what a layer's `weight_attr` or `bias_attr` says."""
    if attr is None or attr is True:
        return ParamAttr()
    if isinstance(attr, ParamAttr):
        return attr
    if isinstance(attr, str):
        return ParamAttr(name=attr)
    return ParamAttr(initializer=attr)
