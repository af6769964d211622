"""Finds the tensors with data that a replay must feed (runs in a TensorFlow process)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

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
