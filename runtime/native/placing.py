"""Puts an op that takes the handle of a table on the device where the table is: only there is the number a table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["Placed"]

_HANDLES = ("handle", "handles")


class Placed(ModuleType):
    """The functions of a module of ops; those of tables place their op in a graph of several tasks."""

    def __init__(self, module: ModuleType) -> None:
        """Take the module that TensorFlow makes of the library."""
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """Return the function of an op, which is asked for once."""
        import tensorflow as tf

        op = getattr(self._module, name)
        placed = _at_the_table(op) if callable(op) and _takes_handle(op) else op
        if inspect.isfunction(placed):  # it has no source, of which AutoGraph would warn where a model is saved
            placed = tf.autograph.experimental.do_not_convert(placed)
        setattr(self, name, placed)
        return placed


def _takes_handle(op: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(op).parameters), "") in _HANDLES


def _at_the_table(op: Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow as tf

    first = next(iter(inspect.signature(op).parameters))

    @functools.wraps(op)
    def placed(*args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            return op(*args, **kwargs)
        held = args[0] if args else kwargs[first]
        devices = {getattr(value, "device", "") for value in (held if isinstance(held, (list, tuple)) else [held])}
        if not any("/job:" in device for device in devices):
            return op(*args, **kwargs)
        if len(devices) > 1:
            raise ValueError(
                f"one lookup or update cannot take tables of several tasks, {', '.join(sorted(devices))}: make one for "
                "each"
            )
        with tf.device(devices.pop()):
            return op(*args, **kwargs)

    return placed
