"""Losses as layers: they compute what the function does."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Value
from migrate.source.paddle.layers.spec import Call, LayerSpec
from migrate.source.paddle.ops.loss import OPS

_FUNCTIONS = {op.name.rpartition(".")[2]: op for op in OPS}


def _call(function: str) -> Call:
    op = _FUNCTIONS[function]

    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
        given = {name: value for name, value in layer.arguments.items() if name in op.parameters and name != "name"}
        return op.result(op.bind(positional, {**given, **keywords}))

    return call


SPECS: tuple[LayerSpec, ...] = (
    LayerSpec("paddle.nn.MSELoss(reduction='mean')", _call("mse_loss")),
    LayerSpec("paddle.nn.L1Loss(reduction='mean', name=None)", _call("l1_loss")),
    LayerSpec("paddle.nn.BCELoss(weight=None, reduction='mean', name=None)", _call("binary_cross_entropy")),
    LayerSpec(
        "paddle.nn.BCEWithLogitsLoss(weight=None, reduction='mean', pos_weight=None, name=None)",
        _call("binary_cross_entropy_with_logits"),
    ),
    LayerSpec(
        "paddle.nn.CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', soft_label=False, axis=-1, "
        "use_softmax=True, name=None)",
        _call("cross_entropy"),
    ),
)
