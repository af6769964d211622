"""Finds the tensors with data that a replay must feed (runs in a TensorFlow process)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import tensorflow as tf

#: Ops that yield data or random values; feeding them gives both programs the same inputs.
_SOURCES = frozenset(
    {
        *("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"),
        *("IteratorGetNext", "IteratorGetNextSync", "OneShotIterator"),
        # A dataset gives sparse and ragged tensors as variants, which are no arrays; these ops make tensors of them.
        *("DeserializeSparse", "RaggedTensorFromVariant"),
        *("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2", "ReaderReadV2", "ReaderReadUpToV2"),
        *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "RandomShuffle"),
        *("RandomGamma", "RandomPoissonV2", "Multinomial", "LogUniformCandidateSampler", "UniformCandidateSampler"),
    }
)


def ancestors(ops: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Return the ops and all ops that they depend on."""
    found = set(ops)
    pending = list(found)
    while pending:
        current = pending.pop()
        for before in [tensor.op for tensor in current.inputs] + list(current.control_inputs):
            if before not in found:
                found.add(before)
                pending.append(before)
    return found


def source_tensors(ops: Iterable[tf.Operation], fed: Collection[str] = ()) -> list[tf.Tensor]:
    """Return the nearest source tensors that the ops depend on, sorted by name.

    What a branch or a loop of a v1 graph draws can be neither fetched nor fed, and is left out. A tensor that the
    program feeds, one of the names `fed`, is a source as well: what would compute it does not run.
    """
    found: dict[str, tf.Tensor] = {}
    seen = set(ops)
    pending = list(seen)
    while pending:
        current = pending.pop()
        sources = [t for t in current.inputs if t.name in fed or t.op.type in _SOURCES]
        found |= {t.name: t for t in sources if t.graph.is_fetchable(t.op)}
        for before in [t.op for t in current.inputs if t.name not in fed] + list(current.control_inputs):
            if before not in seen and before.type not in _SOURCES:
                seen.add(before)
                pending.append(before)
    return [found[name] for name in sorted(found)]


def fetched_ops(graph: tf.Graph, fetches: Any) -> list[tf.Operation]:
    """Return the ops of everything in a `session.run` argument that is a tensor, variable, op or name."""
    ops = []
    for item in _flattened(fetches):
        try:
            element = graph.as_graph_element(item)
        except (TypeError, ValueError, KeyError):
            continue
        ops.append(element.op if isinstance(element, tf.Tensor) else element)
    return ops


def _flattened(fetches: Any) -> list[Any]:
    """Flatten fetches; unlike tf.nest, this accepts dictionaries whose keys cannot be sorted, which hooks use."""
    if isinstance(fetches, Mapping):
        return [item for value in fetches.values() for item in _flattened(value)]
    if isinstance(fetches, list | tuple):
        return [item for value in fetches for item in _flattened(value)]
    return [fetches]


def flat_feed(graph: tf.Graph, feed: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a feed as tensor name -> value; a SparseTensor becomes three tensors."""
    flat: dict[str, Any] = {}
    for key, value in feed.items():
        if isinstance(key, tf.SparseTensor):
            parts = zip((key.indices, key.values, key.dense_shape), tuple(value), strict=True)
            flat |= {tensor.name: part for tensor, part in parts}
        else:
            flat[graph.as_graph_element(key).name] = value
    return flat
