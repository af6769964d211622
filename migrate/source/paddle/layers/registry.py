"""Finds the spec of a layer by Paddle's name."""

from __future__ import annotations

from migrate.source.paddle.layers import attention, basic, functions, normalization, recurrent
from migrate.source.paddle.layers.spec import LayerSpec

_GROUPS = (basic, functions, normalization, recurrent, attention)
SPECS: dict[str, LayerSpec] = {spec.name: spec for group in _GROUPS for spec in group.SPECS}
#: The base class of cells that a program defines; such a class is a layer.
CELL_BASE = "paddle.nn.RNNCellBase"
