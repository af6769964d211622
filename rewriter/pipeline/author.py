"""What the author of a script asks for by Rec SDK's names: the initializer and the batch behind the lookups.

Rec SDK's scripts need both, since its old iterators are dead after the rewrite. Here the author's own initializer and
batch tensors go on working, and these functions find the same ones for a script that no longer holds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter import _tf_private
from rewriter.pipeline.cones import GETTERS
from rewriter.pipeline.iterators import MAKERS
from rewriter.pipeline.lookups import readings

__all__ = ["get_initializer", "get_target_batch", "note_getter"]

#: By the name of the op that reads extended elements: what the author's op and its iterator are called.
_moved: WeakKeyDictionary[tf.Graph, dict[str, tuple[str, str]]] = WeakKeyDictionary()


def note_getter(graph: tf.Graph, new: str, getter: str, iterator: str) -> None:
    """Note which op now reads the elements that `getter` read of `iterator`; names, which keep no graph alive."""
    _moved.setdefault(graph, {})[new] = getter, iterator


def get_initializer(is_train: bool, graph: tf.Graph | None = None) -> tf.Operation:
    """Return the op that initializes the iterator of the lookups for training, or of those for evaluation.

    It is the author's `iterator.initializer`, also after `GraphModifierHook`.

    Args:
        is_train: True for the lookups that insert, False for those that only read.
        graph: with the lookups; default: the current one.

    Raises:
        ValueError: no dataset is behind such lookups, several are, or its iterator has no initializer or several.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    getters = [graph.get_operation_by_name(name) for name in _getters(graph, is_train)]
    iterators = {op.inputs[0].op.name: op.inputs[0] for op in getters}
    iterator = iterators[_only(iterators, is_train, "iterators")]
    makers = [op for op in iterator.consumers() if op.type in MAKERS]
    if not makers:
        raise ValueError(f"`{iterator.op.name}` is a {iterator.op.type} without an initializer: run none for it")
    return graph.get_operation_by_name(_only((op.name for op in makers), is_train, "datasets by their initializers"))


def get_target_batch(is_train: bool, graph: tf.Graph | None = None) -> Any:
    """Return the batch that the lookups for training, or those for evaluation, read their ids of.

    It has the structure of the author's `iterator.get_next()`, and fetched in a step it is the batch of that step, as
    the author's own tensors are. An iterator made before the import of `rewriter.GraphModifierHook`, or imported with a
    MetaGraph, has left no structure: its batch is a tuple of its components.

    Args:
        is_train: True for the lookups that insert, False for those that only read.
        graph: with the lookups; default: the current one.

    Raises:
        ValueError: no dataset is behind such lookups, or several batches are.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    name = _only(_getters(graph, is_train), is_train, "batches")
    op = graph.get_operation_by_name(name)
    getter, iterator = name, op.inputs[0].op.name
    moved = _moved.get(graph, {})
    while getter in moved:
        getter, iterator = moved[getter]
    flat = op.outputs[: len(graph.get_operation_by_name(getter).outputs)]
    spec = _tf_private.element_spec(graph, iterator)
    return tuple(flat) if spec is None else _tf_private.element_of_tensors(spec, flat)


def _getters(graph: tf.Graph, is_train: bool) -> list[str]:
    """Return the ops that read the elements behind such lookups."""
    if not isinstance(is_train, bool):
        raise ValueError(f"`is_train` must be True (training) or False (evaluation), got {is_train!r}")
    found = [one.ids for one in readings(graph) if one.trains is is_train and one.ids.input >= 0]
    return _behind(graph.get_operation_by_name(ids.op).inputs[ids.input] for ids in found)


def _behind(tensors: Iterable[tf.Tensor]) -> list[str]:
    known: set[str] = set()
    found: dict[str, None] = {}
    pending = [tensor.op for tensor in tensors]
    while pending:
        op = pending.pop()
        if op.name in known:
            continue
        known.add(op.name)
        if op.type in GETTERS:
            found[op.name] = None
        else:
            pending += [tensor.op for tensor in op.inputs]
    return list(found)


def _only(names: Iterable[str], is_train: bool, what: str) -> str:
    found = list(names)
    if len(found) == 1:
        return found[0]
    mode = "training" if is_train else "evaluation"
    if not found:
        raise ValueError(f"no dataset is behind the graph's lookups for {mode}: feed their ids as before")
    listed = ", ".join(f"`{name}`" for name in sorted(found))
    raise ValueError(f"the graph's lookups for {mode} read {len(found)} {what}, {listed}: take the one you mean")
