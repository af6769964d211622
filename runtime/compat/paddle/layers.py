"""How layers are called: those of the program with Paddle's tensors, those of `runtime.nn` with TensorFlow's."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from runtime.compat.paddle import files, recording
from runtime.compat.paddle.tensor import plain, wrapped
from runtime.nn.layer import Layer
from runtime.nn.weights.weight import Weight

_STOCK = "runtime.nn."


class _Calling(threading.local):
    depth = 0
    stock = False


_calling = _Calling()


def call(layer: Layer, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call the forward of a layer; the outermost call begins a new segment of what is recorded."""
    if _calling.depth == 0:
        recording.new_segment()
    caller_is_stock, _calling.stock = _calling.stock, type(layer).forward.__module__.startswith(_STOCK)
    _calling.depth += 1
    turned = plain if _calling.stock else wrapped
    try:
        for hook in hooks(layer, "pre"):
            changed = hook(layer, inputs)
            inputs = inputs if changed is None else changed if isinstance(changed, tuple) else (changed,)
        output = layer.forward(*turned(inputs), **turned(named))
        for hook in hooks(layer, "post"):
            changed = hook(layer, inputs, output)
            output = output if changed is None else changed
    finally:
        _calling.depth -= 1
        _calling.stock = caller_is_stock
    return plain(output) if caller_is_stock else wrapped(output)


def hooks(layer: Layer, kind: str) -> list[Any]:
    """Return the hooks of a layer, `pre` or `post` its forward."""
    held = vars(layer).get(f"_{kind}_hooks")
    return list(held.values()) if held else []


class _Hook:
    """What `register_forward_…_hook` returns."""

    def __init__(self, held: dict[int, Any], hook: Any) -> None:
        self._held = held
        held[id(self)] = hook

    def remove(self) -> None:
        """Take the hook away."""
        self._held.pop(id(self), None)


def _register_pre(self: Layer, hook: Any) -> _Hook:
    return _Hook(vars(self).setdefault("_pre_hooks", {}), hook)


def _register_post(self: Layer, hook: Any) -> _Hook:
    return _Hook(vars(self).setdefault("_post_hooks", {}), hook)


def _set_state_dict(
    self: Layer, state_dict: Mapping[str, Any], use_structured_name: bool = True
) -> tuple[list[str], list[str]]:
    """Set the weights of the names that there are; return the names without a value, and those without a weight."""
    weights: dict[str, Weight] = self.state_dict()
    names = {path: path if use_structured_name else weight.name for path, weight in weights.items()}
    for path, weight in weights.items():
        if names[path] in state_dict:
            files.set_weight(weight, names[path], state_dict)
    known = {*names.values(), *(files.beyond(name) for name in names.values()), files.NAMES}
    return [name for name in names.values() if name not in state_dict], [key for key in state_dict if key not in known]


def _clear_gradients(self: Layer) -> None:
    for weight in self.parameters():
        weight.clear_grad()


def _itself(self: Layer, *positional: Any, **named: Any) -> Layer:
    return self


#: What layers have in Paddle's eager programs besides what `runtime.nn.Layer` has.
methods = {
    "set_state_dict": _set_state_dict,
    "set_dict": _set_state_dict,
    "load_dict": _set_state_dict,
    "clear_gradients": _clear_gradients,
    "register_forward_pre_hook": _register_pre,
    "register_forward_post_hook": _register_post,
    "to": _itself,
    "cpu": _itself,
}
