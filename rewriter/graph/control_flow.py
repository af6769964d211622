"""Contexts of v1 control flow in a MetaGraph: which ops are in which branch or loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorflow.core.protobuf import control_flow_pb2

#: The messages in the collections of branches and loops.
CONTEXTS = {"cond_context": control_flow_pb2.CondContextDef, "while_context": control_flow_pb2.WhileContextDef}


def _values_of(context: Any) -> Iterator[Any]:
    """Yield the contents of a branch or loop, and of those nested in it."""
    yield context.values_def
    for nested in context.nested_contexts:
        kind = nested.WhichOneof("ctxt")
        if kind:
            yield from _values_of(getattr(nested, kind))


def forget_gone(meta: Any) -> None:
    """Remove ops that the graph no longer has from the contexts of branches and loops."""
    there = {node.name for node in meta.graph_def.node}
    for key in CONTEXTS:
        if key not in meta.collection_def:
            continue
        contexts = [CONTEXTS[key].FromString(value) for value in meta.collection_def[key].bytes_list.value]
        for context in contexts:
            for values in _values_of(context):
                _keep(values, there)
        meta.collection_def[key].bytes_list.value[:] = [context.SerializeToString() for context in contexts]


def _keep(values: Any, there: set[str]) -> None:
    """Keep existing ops; an outer value that is renamed inside is kept or removed under both names."""
    outer = values.external_values
    lost = {one for one, other in outer.items() if not {one.partition(":")[0], other.partition(":")[0]} <= there}
    for name in lost:
        del outer[name]
    values.values[:] = [name for name in values.values if name not in lost and name.partition(":")[0] in there]
