"""`install` makes `paddle` importable: Paddle's eager programs on TensorFlow, with tables that grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.compat.changes import Changes
from runtime.compat.paddle import layers, modules, optimizing
from runtime.compat.paddle.tensor import METHODS, OPERATORS, Tensor, applied
from runtime.compat.settings import heeding
from runtime.nn import layer
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.weights.weight import Weight

__all__ = ["CONTENTS", "install", "uninstall"]

CONTENTS = modules.CONTENTS
_FACADE = "runtime.compat.paddle"
#: What tensors have that weights have not, or have otherwise.
_OF_TENSORS = ("item", "tolist", "astype", "detach", "backward", "cpu", "T", "size", "place", "dim")
_changes: Changes | None = None


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Weight, *given: Any, **named: Any) -> Any:
        return applied(function)(self, *given, **named)

    return method


def _of_weight(name: str) -> Any:
    own = getattr(Tensor, name)
    if isinstance(own, property):
        return property(lambda self: own.fget(_tensor(self)))
    return lambda self, *given, **named: own(_tensor(self), *given, **named)


def _tensor(weight: Weight) -> Tensor:
    from runtime.compat.paddle.tensor import wrapped

    tensor: Tensor = wrapped(weight.tensor())
    return tensor


@heeding("RECMIGRATE_PADDLE")
def install() -> None:
    """Let Paddle's eager programs run: `import paddle` gives the names of this façade."""
    global _changes
    uninstall()
    _changes = changes = Changes(_FACADE)
    try:
        changes.add_modules(CONTENTS)
        layer.callers.append(layers.call)
        for owner, methods in ((layer.Layer, layers.methods), (Optimizer, optimizing.methods)):
            for name, method in methods.items():
                changes.set(owner, name, method)
        for name, function in METHODS.items():
            if not hasattr(Weight, name):
                changes.set(Weight, name, _method(function))
        for name in _OF_TENSORS:
            changes.set(Weight, name, _of_weight(name))
        for name, operator in OPERATORS.items():
            if name not in ("__eq__", "__ne__"):
                changes.set(Weight, name, operator)
        changes.set(Weight, "__getitem__", lambda self, index: _tensor(self)[index])
    except BaseException:
        uninstall()
        raise


def uninstall() -> None:
    """Undo `install`."""
    global _changes
    if _changes is not None:
        _changes.undo()
        _changes = None
        if layers.call in layer.callers:
            layer.callers.remove(layers.call)
