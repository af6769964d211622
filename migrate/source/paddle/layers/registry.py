"""Finds the spec of a layer by Paddle's name."""

from __future__ import annotations

from migrate.source.paddle.layers import attention, convolution, dense, loss, normalization, recurrent
from migrate.source.paddle.layers.spec import LayerSpec

_GROUPS = (dense, normalization, convolution, recurrent, attention, loss)
SPECS: dict[str, LayerSpec] = {spec.name: spec for group in _GROUPS for spec in group.SPECS}


def find(name: str) -> LayerSpec | None:
    """Return the spec of a layer class by Paddle's dotted name, or None."""
    return SPECS.get(name)
