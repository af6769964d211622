"""Which weights of a model train: what Paddle registers, and what it does not."""

from __future__ import annotations

from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.values import LayerValue, Weight


def named_parameters(model: LayerValue) -> dict[str, Weight]:
    """Return path -> weight as `named_parameters` of Paddle lists them: each once, by the first of its paths."""
    found: dict[str, Weight] = {}
    seen: set[int] = set()
    for path, layer in named_layers(model):
        for name, weight in layer.weights.items():
            if id(weight) not in seen:
                seen.add(id(weight))
                found[f"{path}.{name}" if path else name] = weight
    return found


def state_dict(model: LayerValue, prefix: str = "") -> dict[str, Weight]:
    """Return path -> weight as `state_dict` of Paddle does: what has several paths is there under each of them."""
    found = {prefix + name: weight for name, weight in model.weights.items()}
    for name, layer in model.sublayers.items():
        found |= state_dict(layer, f"{prefix}{name}.")
    return found
