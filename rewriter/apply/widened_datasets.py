"""Lets functions of datasets give wide ids: ops of the graph call copies of them, in which ops divide no more."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.view import GraphView
from rewriter.plan.buckets import Bucketing
from rewriter.plan.datasets import Place

_Inside = tuple[Sequence[tuple[str, str]], str, Bucketing]  # calls, op, bucketing


def widen_functions(
    graph: tf.Graph, view: GraphView, bucketings: Iterable[tuple[Place, Bucketing]], undo: contextlib.ExitStack
) -> None:
    """Let the ops at these places give wide ids: hashes and numbers modulo a multiple of the buckets."""
    copies = _Copies(view.functions)
    changed = [
        (call, copies.widened(view.attribute(*call).func.name, inside))
        for call, inside in _by_call((place.calls, place.op, bucketing) for place, bucketing in bucketings).items()
    ]
    library = tf.compat.v1.GraphDef(versions=view.definition.versions)
    library.library.function.extend(copies.added)
    with graph.as_default():
        tf.graph_util.import_graph_def(library, name="")
    for (op, attribute), name in changed:
        node = graph.get_operation_by_name(op)
        old = _tf_private.call(node, attribute, name)
        undo.callback(_tf_private.call, node, attribute, old)


class _Copies:
    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions, self.added = functions, list[Any]()

    def widened(self, name: str, inside: Iterable[_Inside]) -> str:
        """Copy a function, and those that it calls, with wide ids; return the name of the copy."""
        copied = type(self._functions[name])()
        copied.CopyFrom(self._functions[name])
        new = _free(f"{name}_wide", {*self._functions, *(one.signature.name for one in self.added)})
        copied.signature.name = new
        self.added.append(copied)
        nodes, inside = {node.name: node for node in copied.node_def}, [*inside]
        for calls, op, bucketing in inside:
            if not calls:
                _widen(copied, nodes[op], bucketing)
        for (op, attribute), deeper in _by_call(one for one in inside if one[0]).items():
            called = nodes[op].attr[attribute].func
            called.name = self.widened(called.name, deeper)
        return new


def _widen(function: Any, node: Any, bucketing: Bucketing) -> None:
    if node.op != "FloorMod":
        node.attr["num_buckets"].i = bucketing.layout.widest
        return
    names = {other.name for other in function.node_def} | {argument.name for argument in function.signature.input_arg}
    divisor = function.node_def.add(name=_free(f"{node.name}_wide", names), op="Const")
    divisor.attr["dtype"].type = node.attr["T"].type
    divisor.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(bucketing.layout.widest, node.attr["T"].type))
    node.input[1] = f"{divisor.name}:output:0"


def _by_call(inside: Iterable[_Inside]) -> dict[tuple[str, str], list[_Inside]]:
    by_call: dict[tuple[str, str], list[_Inside]] = {}
    for (first, *calls), op, bucketing in inside:
        by_call.setdefault(first, []).append((calls, op, bucketing))
    return by_call


def _free(name: str, known: Collection[str]) -> str:
    return next(free for number in itertools.count() if (free := f"{name}_{number}") not in known)
