"""Rows that are read ahead, and inputs that a rewrite of iterators could break."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from rewriter import GraphModifierHook, modify_graph_and_start_emb_cache, move_ids
from runtime.compat import deeprec
from runtime.compat.deeprec.config_pb2 import StorageType
from runtime.optimizers import adagrad
from runtime.storage import Storage, TierStatus, tier_status
from tests.support.rewriter.pipelines import (
    BATCHES,
    ROWS,
    SIZE,
    element_of,
    examples,
    loss_of,
    outcome,
    rows_of,
    same,
    session,
    step_of,
)

v1 = tf.compat.v1
_DIM, _KEYS, _SIZE, _BATCHES = 4, 6000, 200, 12


def _batches() -> Any:
    return np.random.default_rng(0).integers(0, _KEYS, (_BATCHES, _SIZE, 1))


def _initializable(dataset: Any) -> Any:
    iterator = v1.data.make_initializable_iterator(dataset)
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def _one_shot(dataset: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next()


def _runtime_table(storage: Path | None) -> tuple[Any, Callable[[Any], Any], Any]:
    tiers = None if storage is None else Storage("dram_ssdhash", storage, [100_000])
    initializer = v1.random_normal_initializer(stddev=0.3, seed=5)
    table = runtime.create_table(tf.int64, _DIM, "user", initializer, storage=tiers)
    return table, lambda ids: runtime.sparse_lookup(table, ids, modify_graph=True), adagrad.create_hash_optimizer(0.1)


def _deeprec_variable(storage: Path | None) -> tuple[Any, Callable[[Any], Any], Any]:
    option = deeprec.EmbeddingVariableOption()
    if storage is not None:
        tiers = deeprec.StorageOption(StorageType.DRAM_SSDHASH, str(storage), [60_000])
        option = deeprec.EmbeddingVariableOption(storage_option=tiers)
    initializer = tf.random_normal_initializer(0, 0.3, seed=5)
    variable = deeprec.get_embedding_variable("user", _DIM, initializer=initializer, ev_option=option)
    return (
        variable.table,
        lambda ids: deeprec.embedding_lookup(variable, ids),
        v1.train.AdagradOptimizer(0.1),
    )


def _trained(
    make: Any, element_of: Any, storage: Path | None, **settings: Any
) -> tuple[list[float], list[TierStatus], GraphModifierHook]:
    """Train in a MonitoredSession with the hook, from a table of which most rows lie below memory."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        dataset = tf.data.Dataset.from_tensor_slices({"user": _batches().astype(str)})
        ids = tf.strings.to_number(element_of(dataset)["user"], tf.int64)
        table, lookup, optimizer = make(storage)
        loss = tf.reduce_sum(tf.sin(lookup(ids)))
        train = optimizer.minimize(loss)
        everything = v1.placeholder(tf.int64, [None])
        fill = optimizer.minimize(tf.reduce_sum(lookup(everything)))
        drain = table.drain() if storage else tf.no_op()
        status = table.tier_status() if storage else tf.no_op()
        hook = GraphModifierHook(**settings)
        losses = []
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            raw = session._tf_sess()
            raw.run(fill, {everything: np.arange(_KEYS)})
            raw.run(drain)
            for _ in range(_BATCHES):
                time.sleep(0.02)  # for the dense part of a model
                losses.append(session.run([loss, train])[0])
            found = tier_status(raw.run(status)) if storage else ()
        return losses, list(found), hook


@pytest.mark.parametrize("element_of", [_initializable, _one_shot])
@pytest.mark.parametrize("make", [_runtime_table, _deeprec_variable])
@pytest.mark.one_case
def test_the_hook_has_rows_read_ahead_and_the_bits_stay(tmp_path: Path, make: Any, element_of: Any) -> None:
    plain, _, _ = _trained(make, element_of, None)
    ahead, (memory, log), hook = _trained(make, element_of, tmp_path)
    (inputs,) = hook.pipeline.extended
    assert len(inputs.prefetched) == 1 and not hook.pipeline.staying[1:]
    assert ahead == plain
    assert log.prefetched > 300 and memory.rows <= (memory.capacity or 0)


def test_without_the_switch_no_row_is_read_ahead(tmp_path: Path) -> None:
    _, (_, log), hook = _trained(_runtime_table, _initializable, tmp_path, prefetch=False)
    assert len(hook.pipeline.moved) == 1 and hook.pipeline.extended[0].prefetched == ()
    assert log.found > 1000 and log.prefetched == 0


def test_a_table_in_memory_has_nothing_to_read_ahead() -> None:
    with tf.Graph().as_default() as graph:
        ids = _initializable(tf.data.Dataset.from_tensor_slices(_batches()))
        _, lookup, _ = _runtime_table(None)
        lookup(ids)
        (inputs,) = move_ids().extended
        assert inputs.prefetched == ()
        functions = [function.definition for function in graph._functions.values()]
        assert not any(node.op == "RecPrefetchKeys" for function in functions for node in function.node_def)


def test_one_getter_beside_an_optional_stays() -> None:
    def case() -> Callable[[], list[Any]]:
        iterator = v1.data.make_initializable_iterator(examples().batch(SIZE))
        found, batch = iterator.get_next_as_optional(), iterator.get_next()
        loss = loss_of(batch["ids"] % 7)

        def run() -> list[Any]:
            with session() as opened:
                opened.run(iterator.initializer)
                return [outcome(opened, one) for one in (loss, found.has_value(), batch, loss)]

        return run

    (left,) = same(case).staying
    assert "uses the iterator, and what it does with it is not known" in left.reason


def test_a_saved_iterator_goes_on_where_it_was(tmp_path: Path) -> None:
    def case() -> Callable[[], list[Any]]:
        iterator = v1.data.make_initializable_iterator(examples().batch(SIZE))
        batch = iterator.get_next()
        loss = loss_of(batch["ids"] * 3 % ROWS)
        step = step_of(loss)
        saver = v1.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        path = str(tmp_path / str(len(list(tmp_path.iterdir()))) / "input")

        def run() -> list[Any]:
            Path(path).parent.mkdir()
            with session() as opened:
                opened.run(iterator.initializer)
                found = [opened.run([batch, loss, step])[:2] for _ in range(3)]
                saver.save(opened, path)
                found += [opened.run([batch, loss, step])[:2] for _ in range(2)]
                saver.restore(opened, path)
                found += [opened.run([batch, step])[0] for _ in range(2)]
            with session() as opened:
                opened.run(iterator.initializer)
                saver.restore(opened, path)
                return [*found, *(opened.run(batch) for _ in range(2))]

        return run

    assert len(same(case).moved) == 1


def test_ids_through_a_table_of_words_stay_where_the_iterator_is_saved(graph: tf.Graph) -> None:
    """TensorFlow does not write the state of a dataset that reads a hash table, or asserts."""
    iterator = v1.data.make_initializable_iterator(examples().batch(SIZE))
    batch = iterator.get_next()
    known = tf.lookup.KeyValueTensorInitializer(tf.range(ROWS, dtype=tf.int64), tf.range(ROWS, dtype=tf.int64))
    rows_of(tf.lookup.StaticHashTable(known, 0).lookup(batch["ids"]))
    assert len(move_ids(dry_run=True).moved) == 1
    tf.data.experimental.make_saveable_from_iterator(iterator)
    (left,) = move_ids().staying
    assert left.reason.endswith("is stateful, and the iterator's Saver does not save its state")


def test_a_handle_fetched_in_another_run() -> None:
    def case() -> Callable[[], list[Any]]:
        datasets = [examples(n).batch(SIZE) for n in (BATCHES, 2)]
        iterators = [v1.data.make_initializable_iterator(dataset) for dataset in datasets]
        handles = [iterator.string_handle() for iterator in iterators]
        handle = v1.placeholder(tf.string, [])
        kinds = (v1.data.get_output_types, v1.data.get_output_shapes)
        batch = v1.data.Iterator.from_string_handle(handle, *(kind(datasets[0]) for kind in kinds)).get_next()
        loss = loss_of(batch["ids"] * 3 % ROWS)
        step = step_of(loss)

        def run() -> list[Any]:
            with session() as opened:
                opened.run([iterator.initializer for iterator in iterators])
                known = opened.run(handles)
                found = [opened.run([loss, step], {handle: known[n % 2]})[0] for n in range(4)]
                again = opened.run(handles[0])
                return [*found, opened.run(loss, {handle: again}), opened.run(batch, {handle: again})]

        return run

    assert len(same(case).moved) == 1


def test_ids_cannot_move_once_the_session_has_started(graph: tf.Graph) -> None:
    batch = element_of(examples().batch(SIZE))
    loss = loss_of(batch["ids"] * 3 % ROWS)
    with v1.train.MonitoredSession() as session:
        session.run(loss)
        with pytest.raises(RuntimeError, match="the graph is finalized"):
            modify_graph_and_start_emb_cache()
