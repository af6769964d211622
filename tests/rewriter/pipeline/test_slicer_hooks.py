"""Rec SDK's slicer hooks in any order with GraphModifierHook: the losses of the graph without any hook."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from rewriter import GraphModifierHook, LookupSubgraphSlicerHook, OrphanLookupKeySlicerHook
from runtime.optimizers import adagrad

v1 = tf.compat.v1
SIZE, DIM, BATCHES = 6, 4, 8


def _loss(orphan: bool) -> Any:
    random = np.random.default_rng(0)
    ids = random.integers(0, 30, (SIZE * BATCHES, 2))
    data = tf.data.Dataset.from_tensor_slices({"ids": ids, "text": ids.astype(str)}).batch(SIZE)
    batch = v1.data.make_one_shot_iterator(data).get_next()
    table = runtime.create_table(tf.int64, DIM, "user", v1.random_normal_initializer(stddev=0.3, seed=5))
    keys = [batch["ids"] * 7 % 30, tf.strings.to_number(batch["text"], tf.int64)]
    keys += [tf.constant([[1, 2]] * SIZE, tf.int64)] if orphan else []
    rows = [runtime.sparse_lookup(table, one, modify_graph=True) for one in keys]
    return tf.reduce_mean(tf.square(tf.add_n(rows) - 1))


def _trained(hooks: Sequence[Any], orphan: bool = False) -> NDArray[np.float32]:
    with tf.Graph().as_default():
        loss = _loss(orphan)
        step = adagrad.create_hash_optimizer(0.1).minimize(loss)
        with v1.train.MonitoredSession(hooks=list(hooks)) as session:
            found = []
            while not session.should_stop():
                found.append(session.run([loss, step])[0])
    return np.array(found)


def _slicer() -> LookupSubgraphSlicerHook:
    return LookupSubgraphSlicerHook(["StringToNumber"])


@pytest.mark.parametrize("order", [*itertools.permutations([_slicer, OrphanLookupKeySlicerHook, GraphModifierHook])])
@pytest.mark.parametrize("orphan", [False, True])
def test_hooks_go_together_in_any_order(order: Any, orphan: bool) -> None:
    hooks = [make() for make in order]
    np.testing.assert_allclose(_trained(hooks, orphan), _trained([], orphan), rtol=1e-5)
    slicer = next(hook for hook in hooks if isinstance(hook, LookupSubgraphSlicerHook))
    modifier = next(hook for hook in hooks if isinstance(hook, GraphModifierHook))
    assert len(slicer.pipeline.moved) + len(modifier.pipeline.moved) == 2
    assert len(modifier.pipeline.staying) == orphan


def test_only_lookups_with_such_an_op_upstream_are_sliced() -> None:
    hook = _slicer()
    _trained([hook], orphan=True)
    assert len(hook.pipeline.moved) == 1
    assert {one.reason for one in hook.pipeline.staying} == {"they depend on no op of the types StringToNumber"}


@pytest.mark.parametrize("wrong", [[], "StringToNumber", ("StringToNumber",), None, [1], [""]])
def test_op_types_are_a_list_of_names(wrong: Any) -> None:
    with pytest.raises(ValueError, match="`op_types` of LookupSubgraphSlicerHook must be a list"):
        LookupSubgraphSlicerHook(wrong)


def test_feeding_what_a_slicer_moved_is_refused(graph: tf.Graph) -> None:
    loss = _loss(orphan=False)
    batch = next(op for op in graph.get_operations() if op.type == "IteratorGetNext").outputs
    with (
        v1.train.MonitoredSession(hooks=[_slicer()]) as session,
        pytest.raises(ValueError, match="is fed, but ids are computed from it"),
    ):
        session.run(loss, {batch[1]: [["1", "2"]] * SIZE})
