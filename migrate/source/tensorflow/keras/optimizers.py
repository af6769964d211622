"""Whether one optimizer trains each layer: a table has one set of slots, a variable one for each optimizer."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import argument, number
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.keras_layers import Layer
from migrate.source.tensorflow.keras.layer_uses import blocker_at

_LOOPS = (cst.For, cst.While, cst.CompFor, cst.ListComp, cst.GeneratorExp, cst.DictComp)


def has_state(name: str, call: cst.Call | None) -> bool:
    """True for all optimizers but SGD without momentum."""
    if name.lower() != "sgd":
        return True
    if call is None:
        return False
    momentum = argument(call, "momentum", 1)
    return any(arg.star for arg in call.args) or (momentum is not None and number(momentum.value) != 0)


def several(file: File, made: list[cst.CSTNode], layers: list[Layer]) -> Iterator[Blocker]:
    """Block a second optimizer with slots, or one that may be created again for the same layer."""
    again = [node for node in made if _repeats(file, node, layers)]
    second = [node for i, node in enumerate(made) if any(file.tree.related(node, other) for other in made[:i])]
    for node in second[:1] or again[:1]:
        yield blocker_at(file, node, "other-optimizer")


def _repeats(file: File, node: cst.CSTNode, layers: list[Layer]) -> bool:
    for around in file.tree.ancestors(node):
        repeated = isinstance(around, _LOOPS) or (
            isinstance(around, cst.FunctionDef) and _called_again(file, around.name.value)
        )
        if repeated and any(not file.tree.contains(around, layer.call) for layer in layers):
            return True
    return False


def _called_again(file: File, name: str) -> bool:
    around = ((use, file.tree.parent(use)) for use in file.tree.names.get(name, ()))
    calls = [call for use, call in around if isinstance(call, cst.Call) and call.func is use]
    return len(calls) > 1 or any(isinstance(a, _LOOPS) for call in calls for a in file.tree.ancestors(call))
