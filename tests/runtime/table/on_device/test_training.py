"""Tables with rows on a device beside tables of the host: training, pooling, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent, lazy_adam, momentum, rmsprop
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: gradient_descent.create_hash_optimizer(0.1),
    "decay": lambda: gradient_descent.create_hash_optimizer(0.1, weight_decay=0.01),
    "adagrad": lambda: adagrad.create_hash_optimizer(0.1),
    "epsilon": lambda: adagrad.create_hash_optimizer(0.1, epsilon=0.01),
    "lazy_adam": lambda: lazy_adam.create_hash_optimizer(0.01),
    "momentum": lambda: momentum.create_hash_optimizer(0.01, 0.9),
    "nesterov": lambda: momentum.create_hash_optimizer(0.01, 0.9, use_nesterov=True),
    "rmsprop": lambda: rmsprop.create_hash_optimizer(0.01),
}


def _session() -> Any:
    opened = v1.Session(config=v1.ConfigProto(device_count={"CPU": 2}))
    opened.run(v1.global_variables_initializer())
    return opened


def _batches(count: int, seed: int = 1) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield random.zipf(1.3, 14) % 150


def _pair(rows: int = 30, **device: Any) -> list[runtime.Table]:
    start = v1.random_normal_initializer(stddev=0.1, seed=3)
    settings: list[dict[str, Any]] = [{"device": runtime.Device(**device)}, {}]
    return [
        make_table(name, initializer=start, device_vocabulary_size=rows, **more)
        for name, more in zip(("device", "host"), settings, strict=True)
    ]


def _by_key(snapshot: Any) -> list[Any]:
    keys, values, slots, meta = snapshot
    order = np.argsort(keys)
    return [keys[order], values[order], slots[order], meta[2:]]  # without the seed


def _same(ones: Any, others: Any) -> None:
    for one, other in zip(ones, others, strict=True):
        np.testing.assert_array_equal(one, other)


def _start(opened: Any, tables: list[runtime.Table]) -> None:
    """Give both tables the same rows, as initial values depend on the name."""
    values = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)
    opened.run([table.import_rows(np.arange(150), values) for table in tables])


@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.parametrize(("name", "policy"), [("/cpu:0", "lru"), ("/cpu:1", "lfu")])
def test_training_gives_the_bits_of_memory_alone(graph: tf.Graph, optimizer: str, name: str, policy: str) -> None:
    ids = v1.placeholder(tf.int64, [None])
    tables = _pair(name=name, policy=policy)
    trained = [runtime.sparse_lookup(table, ids) for table in tables]
    steps = [
        _OPTIMIZERS[optimizer]().minimize(tf.reduce_sum(tf.sin(rows)), var_list=[table.variable])
        for rows, table in zip(trained, tables, strict=True)
    ]
    read = [runtime.sparse_lookup(table, ids, is_train=False) for table in tables]
    assert tf.DeviceSpec.from_string(trained[0].device) == tf.DeviceSpec.from_string(name)
    snapshots = [table.snapshot() for table in tables]
    with _session() as opened:
        _start(opened, tables)
        for number, batch in enumerate(_batches(40)):
            _same(*np.split(np.asarray(opened.run([*trained, *steps], {ids: batch})[:2]), 2))
            if number % 10 == 5:
                _same(*np.split(np.asarray(opened.run(read, {ids: np.arange(150)})), 2))
                _same(*map(_by_key, opened.run(snapshots)))
        fit, there, found, came, left = opened.run(tables[0].device_status())
        assert fit == there == 30 and found > 100 and came > 100 and left > 50
        _same(*map(_by_key, opened.run(snapshots)))


def test_checkpoints_hold_the_rows_of_the_device(graph: tf.Graph, tmp_path: Path) -> None:
    table = _pair(name="/cpu:0")[0]
    ids = v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(table, ids)
    saver = v1.train.Saver()  # before the optimizer, whose slots it saves all the same
    train = lazy_adam.create_hash_optimizer(0.01).minimize(tf.reduce_sum(tf.sin(rows)))
    saved, later = list(_batches(20, 1)), list(_batches(20, 2))
    with _session() as opened:
        for batch in saved:
            opened.run(train, {ids: batch})
        powers = [variable for variable in v1.global_variables() if "power" in variable.name]
        kept = opened.run(powers)
        path = saver.save(opened, str(tmp_path / "model"))
        snapshot = opened.run(table.snapshot())
        wanted = [opened.run([rows, train], {ids: batch})[0] for batch in later]
        saver.restore(opened, path)  # into a session with rows on the device
        _same(_by_key(opened.run(table.snapshot())), _by_key(snapshot))
        opened.run([v1.assign(variable, value) for variable, value in zip(powers, kept, strict=True)])
        for batch, want in zip(later, wanted, strict=True):
            np.testing.assert_array_equal(opened.run([rows, train], {ids: batch})[0], want)
    with _session() as opened:
        saver.restore(opened, path)
        opened.run([v1.assign(variable, value) for variable, value in zip(powers, kept, strict=True)])
        for batch, want in zip(later, wanted, strict=True):
            np.testing.assert_array_equal(opened.run([rows, train], {ids: batch})[0], want)


def test_a_step_with_several_lookups_keeps_the_rows_of_all(graph: tf.Graph) -> None:
    ids = [v1.placeholder(tf.int64, [None]) for _ in range(3)]
    tables = _pair(rows=36, name="/cpu:0")
    losses = []
    for table in tables:
        rows = [runtime.sparse_lookup(table, one) for one in ids]
        losses.append(
            tf.add_n([tf.reduce_sum(tf.sin(one) * factor) for one, factor in zip(rows, (1, 2, 3), strict=True)])
        )
    steps = [
        adagrad.create_hash_optimizer(0.1).minimize(loss, var_list=[table.variable])
        for loss, table in zip(losses, tables, strict=True)
    ]
    # Their data differ, so that nothing else orders them: each finds its places after the one before has read.
    first, *later = [op for op in graph.get_operations() if op.type == "RecLookupPlaces"]
    for op in later:
        assert any(before.type == "ResourceGather" for before in op.control_inputs), op.name
    assert not any(before.type == "ResourceGather" for before in first.control_inputs)
    with _session() as opened:
        _start(opened, tables)
        random = np.random.default_rng(5)
        for _ in range(40):
            got = opened.run([*losses, *steps], {one: random.integers(0, 150, 12) for one in ids})
            np.testing.assert_array_equal(got[0], got[1])
        _same(*map(_by_key, opened.run([table.snapshot() for table in tables])))


def test_admission_and_eviction_are_those_of_memory_alone(graph: tf.Graph) -> None:
    ids, now = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.int64, [])
    tables = _pair(name="/cpu:0", policy="lru")
    config = {"access_threshold": 3, "eviction_threshold": 8, "timestamp": now}
    trained = [runtime.sparse_lookup(table, ids, access_and_evict_config=config) for table in tables]
    read = [runtime.sparse_lookup(table, ids, is_train=False) for table in tables]
    steps = [
        adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows + 1)), var_list=[table.variable])
        for rows, table in zip(trained, tables, strict=True)
    ]
    evicted = [runtime.evict_by_age(table) for table in tables]
    with _session() as opened:
        for number, batch in enumerate(_batches(60)):
            got = opened.run([*trained, *steps], {ids: batch, now: number})
            if number == 0:
                assert (got[1] == 0).any()  # what was seen too seldom
            np.testing.assert_array_equal(got[0] != 0, got[1] != 0)
            if number % 20 == 19:
                one, other = opened.run(evicted)
                assert one == other > 0
        _same(*(keys for keys, *_ in map(_by_key, opened.run([table.snapshot() for table in tables]))))
        got = opened.run(read, {ids: np.arange(150)})
        np.testing.assert_array_equal(got[0] != 0, got[1] != 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"l1_regularization_strength": 0.3, "group_lasso": True},
        {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.1},
        {"l2_shrinkage_regularization_strength": 0.05, "beta": 0.1, "learning_rate_power": -0.6},
    ],
)
def test_ftrl_trains_as_in_memory_but_for_the_last_bits(graph: tf.Graph, settings: dict[str, Any]) -> None:
    pair, ids = _pair(name="/cpu:0"), v1.placeholder(tf.int64, [None])
    losses = [tf.reduce_sum(tf.sin(runtime.sparse_lookup(table, ids)) + 0.1) for table in pair]
    steps = [
        ftrl.create_hash_optimizer(0.1, **settings).minimize(loss, var_list=[table.variable])
        for loss, table in zip(losses, pair, strict=True)
    ]
    snapshots = [table.snapshot() for table in pair]
    with _session() as opened:
        _start(opened, pair)
        for batch in _batches(20):
            opened.run(steps, {ids: batch})
        device, host = (_by_key(one) for one in opened.run(snapshots))
    np.testing.assert_array_equal(device[0], host[0])
    for one, other in zip(device[1:3], host[1:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def _tables(device: str | None) -> list[runtime.Table]:
    names = ("user", "item")
    return [
        make_table(name, initializer=v1.ones_initializer(), device_vocabulary_size=40, device=device) for name in names
    ]


def _losses(device: str | None, combiner: str, settings: dict[str, Any]) -> list[np.ndarray]:
    """Train for some steps; return the pooled rows of each, and the sorted rows at the end."""
    with tf.Graph().as_default():
        tables = _tables(device)
        ids = v1.sparse_placeholder(tf.int64, [None, None])
        weights = v1.placeholder(tf.float32, [None])
        given = {**settings}
        if given.pop("weighted", False):
            given["sp_weights"] = tf.SparseTensor(ids.indices, weights, ids.dense_shape)
        if given.pop("grouped", False):
            pooled = runtime.grouped_embedding_lookup_sparse([(one, ids) for one in tables], combiner=combiner)
        else:
            pooled = [runtime.embedding_lookup_sparse(tables[0], ids, combiner=combiner, **given)]
        train = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.square(tf.add_n(pooled) - 0.25)))
        ends = [table.snapshot()[:2] for table in tables]
        random, found = np.random.default_rng(2), []
        with session() as opened:
            for _ in range(15):
                counts = np.append(random.integers(0, 5, 7), 2)
                places = [(row, column) for row, count in enumerate(counts) for column in range(count)]
                feeds = {
                    ids: (places, random.zipf(1.3, len(places)) % 100, (8, 5)),
                    weights: random.uniform(0.1, 2, len(places)),
                }
                found += opened.run([*pooled, train], feeds)[:-1]
            found += [values[np.argsort(keys)] for keys, values in opened.run(ends)]
    return found


@pytest.mark.parametrize("settings", [{}, {"weighted": True}, {"grouped": True}], ids=["plain", "weighted", "grouped"])
def test_sums_have_the_bits_of_the_host(settings: dict[str, Any]) -> None:
    for one, other in zip(_losses("/cpu:0", "sum", settings), _losses(None, "sum", settings), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn"])
@pytest.mark.parametrize("settings", [{}, {"max_norm": 1.5}, {"grouped": True}], ids=["plain", "max_norm", "grouped"])
def test_other_combinations_agree_to_rounding(combiner: str, settings: dict[str, Any]) -> None:
    for one, other in zip(_losses("/cpu:0", combiner, settings), _losses(None, combiner, settings), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def _table(rows: int = 4, **settings: Any) -> runtime.Table:
    return make_table("user", device_vocabulary_size=rows, **{"device": "/cpu:0", **settings})


def test_a_batch_with_more_ids_than_rows_fails(graph: tf.Graph) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(_table(), ids)
    with session() as opened:
        opened.run(rows, {ids: [1, 2, 3, 4, 4]})
        before = opened.run(rows, {ids: [3, 4]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="room for 4 rows on its device, but the batches of a "
        ):
            opened.run(rows, {ids: [1, 2, 3, 4, 5]})
        np.testing.assert_array_equal(opened.run(rows, {ids: [3, 4]}), before)


def test_a_step_that_fails_leaves_all_rows_as_they_were(graph: tf.Graph) -> None:
    ids, factor = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [])
    tables = [_table(), make_table("other")]
    rows = [runtime.sparse_lookup(table, ids) for table in tables]
    steps = [
        gradient_descent.create_hash_optimizer(0.1).minimize(factor * tf.reduce_sum(one), var_list=[table.variable])
        for one, table in zip(rows, tables, strict=True)
    ]
    snapshots = [table.snapshot() for table in tables]
    with session() as opened:
        start = np.arange(40, dtype=np.float32).reshape(10, 4)
        opened.run([table.import_rows(np.arange(10), start) for table in tables])
        for batch in ([1, 2, 3], [3, 4, 5], [6, 7], [1, 2]):
            opened.run(steps, {ids: batch, factor: 1})
            for step in steps:
                with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
                    opened.run(step, {ids: [batch[0], 8], factor: np.nan})
        (keys, values, *_), (others, expected, *_) = opened.run(snapshots)
        np.testing.assert_array_equal(values[np.argsort(keys)], expected[np.argsort(others)])


def test_what_is_refused(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="`device` and `max_bytes` exclude each other"):
        _table(max_bytes=1000)
    with pytest.raises(ValueError, match="'gpu' is no device of TensorFlow: give one such as"):
        _table(device="gpu")
    with pytest.raises(ValueError, match="policy"):
        _table(device=runtime.Device("/cpu:0", "fifo"))
    table = _table()
    ids = v1.placeholder(tf.int64, [None])
    with pytest.raises(ValueError, match="give a bool, and build a lookup for each mode"):
        runtime.sparse_lookup(table, ids, is_train=v1.placeholder(tf.bool, []))
    with pytest.raises(ValueError, match="outside of functions, branches and loops"):
        tf.cond(v1.placeholder(tf.bool, []), lambda: runtime.sparse_lookup(table, ids), lambda: tf.zeros([1, 4]))
    loss = tf.reduce_sum(runtime.sparse_lookup(table, ids))
    with pytest.raises(ValueError, match="the rule 'adam' has no form"):
        adam.create_hash_optimizer(0.1).minimize(loss)
    adagrad.create_hash_optimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="two optimizers: train it by one"):
        gradient_descent.create_hash_optimizer(0.1).minimize(loss)


def test_eager_tables_have_no_device() -> None:
    with pytest.raises(ValueError, match="cannot have rows on a device in eager mode"):
        _table()
