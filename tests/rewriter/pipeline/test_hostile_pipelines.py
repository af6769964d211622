"""Inputs that a rewrite of iterators could break: each gives what the same graph gives without `move_ids`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import modify_graph_and_start_emb_cache, move_ids
from tests.support.rewriter.pipelines import (
    BATCHES,
    ROWS,
    SIZE,
    element_of,
    examples,
    ids_of,
    loss_of,
    outcome,
    rows_of,
    same,
    session,
    step_of,
    steps,
)

v1 = tf.compat.v1


def _generator() -> Any:
    def examples() -> Iterator[Any]:
        for row in ids_of():
            yield {"ids": row}

    signature = {"ids": tf.TensorSpec([2], tf.int64)}
    return tf.data.Dataset.from_generator(examples, output_signature=signature).batch(SIZE)


def _by_python(one: dict[str, Any]) -> dict[str, Any]:
    ids = tf.py_function(lambda ids: ids + 1, [one["ids"]], tf.int64)
    ids.set_shape(one["ids"].shape)
    return {"ids": ids}


def _interleaved() -> Any:
    parts = tf.data.Dataset.range(3)
    return parts.interleave(lambda part: examples(3).shard(3, part), 3, 2, num_parallel_calls=2).batch(SIZE)


def _padded() -> Any:
    lists = tf.data.Dataset.range(SIZE * BATCHES).map(lambda n: {"ids": tf.range(n % 5, dtype=tf.int64)})
    return lists.padded_batch(SIZE)


def _with_options() -> Any:
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 2
    options.autotune.enabled = False
    options.experimental_optimization.map_fusion = True
    return examples().map(lambda one: one, num_parallel_calls=1).batch(SIZE).with_options(options)


def _wide() -> Any:
    def widened(one: dict[str, Any]) -> dict[str, Any]:
        return {"ids": one["ids"], **{f"more_{n}": one["ids"][:, 0] + n for n in range(299)}}

    return examples().batch(SIZE).map(widened)


def _with_empty_batches() -> Any:
    return examples().batch(SIZE).map(lambda one: {"ids": one["ids"][: tf.reduce_sum(one["ids"]) % 2 * 3]})


DATASETS: dict[str, Callable[[], Any]] = {
    "from_generator": _generator,
    "py_function": lambda: examples().batch(SIZE).map(_by_python),
    "interleave": _interleaved,
    "padded_batch": _padded,
    "repeated without end": lambda: examples(2).repeat().batch(SIZE),
    "options": _with_options,
    "300 components": _wide,
    "empty batches": _with_empty_batches,
    "cached and prefetched": lambda: examples(3).cache().repeat(2).batch(SIZE).prefetch(3).prefetch(1),
    "one component": lambda: examples().batch(SIZE).map(lambda one: one["ids"]),
    "with nothing inside": lambda: examples().batch(SIZE).map(lambda one: (one["ids"], {"a": ()})),
}


def _ids_in(batch: Any) -> Any:
    return batch["ids"] if isinstance(batch, dict) else batch[0] if isinstance(batch, tuple) else batch


@pytest.mark.parametrize("name", DATASETS)
def test_datasets_of_all_kinds(name: str) -> None:
    def case() -> Callable[[], list[Any]]:
        batch = element_of(DATASETS[name]())
        ids = _ids_in(batch)
        return steps(loss_of(ids * 3 % ROWS), [ids])

    assert len(same(case).moved) == 1


def test_an_element_of_nothing_is_refused_by_tensorflow(graph: tf.Graph) -> None:
    with pytest.raises((ValueError, tf.errors.OpError)):
        element_of(examples().map(lambda one: {}))


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
    assert "uses the iterator in an unknown way" in left.reason


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


def test_a_failed_assertion_raises_what_it_raised() -> None:
    def case() -> Callable[[], list[Any]]:
        batch = element_of(examples().batch(SIZE))
        with tf.control_dependencies([v1.assert_less(batch["ids"][0, 0], np.int64(ROWS // 2), message="too big")]):
            ids = batch["ids"] + 1
        return steps(loss_of(ids), batch["ids"])

    assert len(same(case).moved) == 1


def test_a_batch_fetched_alone_takes_a_batch() -> None:
    def case() -> Callable[[], list[Any]]:
        batch = element_of(examples().batch(SIZE))
        ids = batch["ids"] * 3 % ROWS
        loss = loss_of(ids)
        step = step_of(loss)

        def run() -> list[Any]:
            order = [loss, batch, [loss, batch], ids, [ids, batch], loss, [batch, ids, loss], batch, batch]
            with session() as opened:
                opened.run(step)
                return [outcome(opened, fetched) for fetched in order]

        return run

    assert len(same(case).moved) == 1


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
