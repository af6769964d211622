"""Describes parameters from what layers are given: a `ParamAttr`, an initializer, False, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.nn.initializer import Constant, XavierUniform
from runtime.nn.weights.numbers import numbered
from runtime.nn.weights.param_attr import ParamAttr, attribute
from runtime.nn.weights.weight import Parameter


def parameter(
    shape: Sequence[int],
    attr: Any = None,
    dtype: Any = "float32",
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter | None:
    """Describe a parameter of a layer.

    Args:
        shape: sizes.
        attr: a `ParamAttr`, an initializer, a regularizer, a name, None; False: there is no such parameter.
        dtype: of its elements.
        is_bias: the default is zeros, instead of Glorot's uniform distribution.
        default_initializer: used where `attr` has none.
    """
    if attr is False:
        return None
    settings = attribute(attr)
    return Parameter(shape, initializer_of(settings, is_bias, default_initializer), dtype or "float32", settings)


def initializer_of(settings: ParamAttr, is_bias: bool = False, default: Any = None) -> Any:
    """Return the initializer of a parameter: that of its attribute, else the layer's, else Paddle's default."""
    if settings.initializer is not None:
        return settings.initializer
    if default is not None:
        return default
    return Constant(0.0) if is_bias else XavierUniform()


def create_parameter(
    shape: Sequence[int],
    dtype: Any = "float32",
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter | None:
    """Describe a parameter outside of a layer; a layer that it is assigned to has it under that name.

    Args:
        shape: sizes.
        dtype: of its elements.
        name: used where there is no `attr`.
        attr: as in `Layer.create_parameter`.
        is_bias: the default is zeros, instead of Glorot's uniform distribution.
        default_initializer: used where `attr` has none.
    """
    created = parameter(shape, ParamAttr(name=name) if attr is None else attr, dtype, is_bias, default_initializer)
    owner = name or numbered("create_parameter")
    if created is not None and not created.attr.name:
        created.generated = numbered(f"{owner}.{'b' if is_bias else 'w'}")
    return created
