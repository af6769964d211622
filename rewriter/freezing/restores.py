"""Which tensor of its checkpoint a graph restores into which variable or table, read from the ops that restore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewriter import _tf_private
from rewriter.graph.bodies import functions_of
from rewriter.graph.view import GraphView, Tensor

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable", "RecTableHandle")
_SAME = ("Identity", "ReadVariableOp", "Reshape", "Cast", "RefIdentity")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf")


@dataclass(frozen=True)
class _Variable:
    op: str


@dataclass(frozen=True)
class _Saved:
    name: str


@dataclass
class Restores:
    """Tensors of a checkpoint by the op of the variable that they are restored to."""

    variables: dict[str, str] = field(default_factory=dict)
    #: For tables: keys, values, slots and metadata, by the op of the handle.
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: The NodeDef that creates a table in eager mode, by the op of the handle.
    creators: dict[str, Any] = field(default_factory=dict)


def find_restores(view: GraphView) -> Restores:
    """Follow all restoring ops of a graph, also into functions."""
    restores = Restores()
    _follow(view, view.functions, {}, restores, 0)
    return restores


def _follow(
    view: GraphView,
    functions: Mapping[str, Any],
    known: Mapping[str, _Variable | _Saved | None],
    restores: Restores,
    depth: int,
) -> None:
    def value(tensor: Tensor) -> _Variable | _Saved | None:
        for _ in range(100):
            if tensor.op in known:
                return known[tensor.op]
            kind = view.type(tensor.op)
            if kind in _VARIABLES:
                return _Variable(tensor.op) if depth == 0 else None
            if kind == "RestoreV2":
                texts = view.texts(view.inputs(tensor.op)[1].op)
                return _Saved(texts[tensor.output]) if texts else None
            if kind not in _SAME:
                return None
            tensor = view.inputs(tensor.op)[0]
        return None

    for op, node in view.nodes.items():
        values = [value(tensor) for tensor in view.inputs(op)] if node.op in (*_ENDS, *_CALLS) else []
        target = next(iter(values), None)
        if node.op in _ENDS and isinstance(target, _Variable):
            _note(view, op, target.op, values, restores)
        elif node.op in _CALLS and depth < 10 and any(isinstance(one, _Variable) for one in values):
            for body, arguments in _bodies(functions, node):
                own = values[len(values) - len(arguments) :]
                _follow(body, functions, dict(zip(arguments, own, strict=True)), restores, depth + 1)


_ENDS = ("AssignVariableOp", "Assign", "RecTableImport")


def _note(view: GraphView, op: str, target: str, values: list[_Variable | _Saved | None], restores: Restores) -> None:
    names = [one.name for one in values[1:] if isinstance(one, _Saved)]
    if view.type(op) == "RecTableImport":
        if len(names) == len(values) - 1:
            restores.tables[target] = tuple(names)
    elif names:
        restores.variables[target] = names[0]
    else:
        creator = view.nodes[view.inputs(op)[1].op]
        if creator.op in ("RecTableCreate", "RecTableHandle"):
            restores.creators[target] = creator


def _bodies(functions: Mapping[str, Any], node: Any) -> Iterator[tuple[GraphView, list[str]]]:
    for name in functions_of(node, ()):
        if name in functions:
            body, _ = _tf_private.body_of(functions[name])
            yield GraphView(body), [one.name for one in functions[name].signature.input_arg]
