"""`ParamAttr`: what a layer is told about one of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class ParamAttr:
    """How a parameter starts and trains: the arguments of Paddle's `ParamAttr`.

    Args:
        name: kept, but a parameter is called by its place in the model.
        initializer: an initializer of `runtime.nn.initializer` or of TensorFlow; None: the layer's own.
        learning_rate: factor for the learning rate of the optimizer.
        regularizer: an object of `runtime.nn.regularizer`; it comes before the optimizer's weight decay.
        trainable: False keeps the values.
        do_model_average: has no effect.
        need_clip: False keeps the gradient out of the clipping.

    Raises:
        ValueError: the name is empty.
    """

    name: str | None = None
    initializer: Any = None
    learning_rate: float = 1.0
    regularizer: Any = None
    trainable: bool = True
    do_model_average: bool = True
    need_clip: bool = True

    def __post_init__(self) -> None:
        """Check the name."""
        if self.name == "":
            raise ValueError("the name of a ParamAttr is empty: give one, or leave it out")


def attribute(attr: Any) -> ParamAttr:
    """Return what a layer's `weight_attr` or `bias_attr` says: a `ParamAttr`, or what stands for one.

    Raises:
        ValueError: it is neither a `ParamAttr` nor a name, an initializer, a regularizer, None or True.
    """
    if attr is None or attr is True:
        return ParamAttr()
    if isinstance(attr, ParamAttr):
        return attr
    if isinstance(attr, str):
        return ParamAttr(name=attr or None)
    if callable(attr):
        return ParamAttr(initializer=attr)
    if hasattr(attr, "coeff"):
        return ParamAttr(regularizer=attr)
    raise ValueError(
        f"{attr!r} says nothing about a parameter: give a ParamAttr, an initializer, a name, None or False"
    )
