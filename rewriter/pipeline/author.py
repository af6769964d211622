"""Rec SDK's functions that return the iterator initializer and the batch behind the lookups.

Rec SDK's programs need them because their own iterator is unused after its rewrite. Here the program's initializer and
batch tensors still work; these functions find the same ones for a program that no longer holds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.iterators import GETTERS, MAKERS
from rewriter.pipeline.lookups import readings

#: By the op that reads extended elements: names of the original op and of its iterator.
_moved: WeakKeyDictionary[tf.Graph, dict[str, tuple[str, str]]] = WeakKeyDictionary()


def note_getter(graph: tf.Graph, new: str, getter: str, iterator: str) -> None:
    """Record which op now reads the elements that `getter` read of `iterator`; names do not keep the graph alive."""
    _moved.setdefault(graph, {})[new] = getter, iterator


def get_initializer(is_train: bool, graph: tf.Graph | None = None) -> tf.Operation:
    """Return the op that initializes the iterator behind the lookups for training, or behind those for evaluation.

    It is the program's own `iterator.initializer`, also after `GraphModifierHook`.

    Args:
        is_train: True for lookups that insert new keys, False for read-only lookups.
        graph: the graph with the lookups; default: the current one.

    Raises:
        ValueError: the lookups read no dataset, or several, or the iterator has no initializer, or several.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    getters = [graph.get_operation_by_name(name) for name in _getters(graph, is_train)]
    iterators = {op.inputs[0].op.name: op.inputs[0] for op in getters}
    iterator = iterators[_only(iterators, is_train, "iterators")]
    makers = [op for op in iterator.consumers() if op.type in MAKERS]
    if not makers:
        raise ValueError(
            f"`{iterator.op.name}` is a {iterator.op.type}, which has no initializer: remove the call of "
            "get_initializer"
        )
    return graph.get_operation_by_name(_only((op.name for op in makers), is_train, "datasets by their initializers"))


def get_target_batch(is_train: bool, graph: tf.Graph | None = None) -> Any:
    """Return the batch from which the lookups for training, or those for evaluation, take their ids.

    It has the structure of the program's `iterator.get_next()`; fetched in a step, it is that step's batch, like the
    program's own tensors. The structure is unknown for an iterator that was made before `rewriter.GraphModifierHook`
    was imported, or that was imported with a MetaGraph: then the batch is a flat tuple of its components.

    Args:
        is_train: True for lookups that insert new keys, False for read-only lookups.
        graph: the graph with the lookups; default: the current one.

    Raises:
        ValueError: the lookups read no dataset, or several batches.
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
    """Return the ops that read the dataset elements behind such lookups."""
    if not isinstance(is_train, bool):
        raise ValueError(f"`is_train` must be True (training) or False (evaluation), got {is_train!r}")
    trained = [one.ids for one in readings(graph) if one.trains is is_train and one.ids.input >= 0]
    return _behind(graph.get_operation_by_name(ids.op).inputs[ids.input] for ids in trained)


def _behind(tensors: Iterable[tf.Tensor]) -> list[str]:
    known: set[str] = set()
    getters: dict[str, None] = {}
    pending = [tensor.op for tensor in tensors]
    while pending:
        op = pending.pop()
        if op.name in known:
            continue
        known.add(op.name)
        if op.type in GETTERS:
            getters[op.name] = None
        else:
            pending += [tensor.op for tensor in op.inputs]
    return list(getters)


def _only(names: Iterable[str], is_train: bool, what: str) -> str:
    choices = list(names)
    if len(choices) == 1:
        return choices[0]
    mode = "training" if is_train else "evaluation"
    if not choices:
        raise ValueError(
            f"the ids of the graph's lookups for {mode} come from no dataset: remove this call, and feed the ids"
        )
    listed = ", ".join(f"`{name}`" for name in sorted(choices))
    raise ValueError(
        f"the graph's lookups for {mode} read {len(choices)} {what}, {listed}: take the one that you need by its "
        "name, with graph.get_operation_by_name"
    )
