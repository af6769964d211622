"""What tables can do, each as a program that trains one: run on servers, and in one process beside it.

A feature is a function of a target, a name that no other table has and an empty folder; it builds in the current graph,
trains, and returns arrays to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import optimizers
from runtime.checkpoint.incremental import IncrementalSaver

v1 = tf.compat.v1
KEYS, STEPS = 60, 6
Feature = Callable[[str, str, Path], Any]
FEATURES: dict[str, Feature] = {}


def feature(label: str) -> Callable[[Feature], Feature]:
    """Put a function into FEATURES."""
    return lambda function: FEATURES.setdefault(label, function)


def table_of(name: str, **more: Any) -> Any:
    """Create a table."""
    return runtime.create_table(tf.int64, 4, name, v1.random_normal_initializer(stddev=0.1, seed=3), **more)


def batches(count: int = STEPS) -> list[np.ndarray]:
    """Return ids [8] of each step."""
    draw = np.random.default_rng(1)
    return [draw.integers(0, KEYS, 8) for _ in range(count)]


class Training:
    """A lookup of a table, or what a caller gives, and a step of Adagrad on it."""

    def __init__(
        self,
        table: Any,
        look: Callable[[Any, tf.Tensor], tf.Tensor] = runtime.sparse_lookup,
        term: Callable[[], Any] = lambda: 0.0,
    ) -> None:
        self.ids = v1.placeholder(tf.int64, [None])
        rows = look(table, self.ids)
        self.step = v1.train.get_or_create_global_step()
        self.loss = tf.reduce_sum(tf.sin(rows * 3.0)) + term()
        optimizer = optimizers.adagrad.create_hash_optimizer(0.1)
        self.train = optimizer.minimize(self.loss, self.step, var_list=table.variables)
        self.read = runtime.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64), is_train=False)
        self.size = table.size()

    def run(self, session: v1.Session, count: int = STEPS, start: int = 0) -> None:
        """Train."""
        for ids in batches(start + count)[start:]:
            session.run(self.train, {self.ids: ids})


def _of_table(target: str, table: Any, look: Any = runtime.sparse_lookup, before: Any = None) -> list[Any]:
    training = Training(table, look)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        if before is not None:
            session.run(before)
        training.run(session)
        values: list[Any] = session.run([training.read, training.size])
        return values


def _created(label: str, **more: Any) -> None:
    FEATURES[label] = lambda target, name, folder: _of_table(target, table_of(name, **more))


_created("`trainable=False`, `init_param`", init_param=0.5)
_created("`padding_keys`", padding_keys=[3])
_created("`max_bytes` with `when_full`", max_bytes=1 << 22, when_full="evict")
_created("`placement`", placement="replicated")
FEATURES["rows on a `device`"] = lambda target, name, folder: table_of(name, device="/gpu:0")


@feature("tiers (`storage`)")
def _storage(target: str, name: str, folder: Path) -> Any:
    storage = runtime.Storage("dram_leveldb", path=folder, sizes=[2_000, 1 << 20])
    return _of_table(target, table_of(name, storage=storage))


@feature("rows of two bytes")
def _bfloat16(target: str, name: str, folder: Path) -> Any:
    return _of_table(target, table_of(name, value_dtype=tf.bfloat16))


@feature("rows given at the start, `import_rows`, `set_rows`")
def _given(target: str, name: str, folder: Path) -> Any:
    matrix = np.arange(KEYS * 4, dtype=np.float32).reshape(KEYS, 4)
    table = runtime.create_table(tf.int64, 4, name, tf.constant_initializer(matrix), KEYS)
    rest = table.import_rows(tf.range(50, 70, dtype=tf.int64), tf.ones([20, 4]))
    return _of_table(target, table, before=rest)


def _restored(target: str, folder: Path, training: Training, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Train, save, train on, restore what was saved and train again; return all rows, their number, and `after`."""
    saver = v1.train.Saver()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(list(before))
        training.run(session, 3)
        path = saver.save(session, str(folder / "model"))
        training.run(session, 3, 3)
        saver.restore(session, path)
        training.run(session, 2, 3)
        return [*session.run([training.read, training.size]), *session.run(list(after)), *session.run([training.size])]


def _admitting(table: Any, config: dict[str, Any]) -> Training:
    step = v1.train.get_or_create_global_step()

    def look(table: Any, ids: tf.Tensor) -> tf.Tensor:
        return runtime.sparse_lookup(table, ids, access_and_evict_config={"timestamp": step, **config})

    return Training(table, look)


@feature("admission (`access_threshold`)")
def _admission(target: str, name: str, folder: Path) -> Any:
    table = table_of(name)
    training = _admitting(table, {"access_threshold": 2})
    counters = tf.size(table.snapshot()[3])
    with tf.control_dependencies([counters]):
        raised = runtime.set_threshold(table, 3)
    with tf.control_dependencies([raised]):
        read = runtime.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64), is_train=False)
    return _restored(target, folder, training, [], [counters, read])


@feature("admission by a `CountingBloom`")
def _filtered(target: str, name: str, folder: Path) -> Any:
    bloom = runtime.CountingBloom(1000, 0.01, 8)
    training = _admitting(table_of(name), {"access_threshold": 2, "bloom_filter": bloom})
    return _restored(target, folder, training, [], [])


@feature("eviction (`evict_by_norm`, `evict_by_age`)")
def _eviction(target: str, name: str, folder: Path) -> Any:
    table = table_of(name)
    training = _admitting(table, {"access_threshold": 2, "eviction_threshold": 2})
    light = runtime.evict_by_norm(table, 0.02)
    with tf.control_dependencies([light]):
        old = runtime.evict_by_age(table)
    return _restored(target, folder, training, [], [light, old])


@feature("`EvictHook`")
def _evict_hook(target: str, name: str, folder: Path) -> Any:
    training = _admitting(table_of(name), {"access_threshold": 0, "eviction_threshold": 2})
    hooks = [runtime.EvictHook(True, evict_step_interval=2)]
    with v1.train.MonitoredTrainingSession(target, hooks=hooks, stop_grace_period_secs=1) as session:
        for ids in batches():
            session.run(training.train, {training.ids: ids})
        return session._tf_sess().run([training.read, training.size])


@feature("`base_buckets`")
def _base(target: str, name: str, folder: Path) -> Any:
    table = table_of(name, base_buckets=8)
    matrix = np.arange(32, dtype=np.float32).reshape(8, 4) / 100
    begun = runtime.set_base(table, matrix)
    with tf.control_dependencies([runtime.forget_base(table)]):
        read = runtime.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64), is_train=False)
    return _restored(target, folder, Training(table), [begun], [read])


@feature("increments of checkpoints")
def _increments(target: str, name: str, folder: Path) -> Any:
    def model() -> tuple[Training, IncrementalSaver, list[Any]]:
        table = table_of(name, base_buckets=8)
        begun = runtime.set_base(table, np.arange(32, dtype=np.float32).reshape(8, 4) / 100)
        training = _admitting(table, {"access_threshold": 2, "eviction_threshold": 2})
        evicted = runtime.evict_by_age(table)
        return training, IncrementalSaver(), [begun, evicted, training.read, tf.size(table.snapshot()[3])]

    training, saver, (begun, evicted, *read) = model()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(begun)
        training.run(session, 2)
        saver.save(session, str(folder / "m"), 2)
        training.run(session, 2, 2)
        gone = session.run(evicted)
        path = saver.save(session, str(folder / "m"), 4)
        training.run(session, 2, 4)
        saver.restore(session, path)
        training.run(session, 2, 4)
        values = [gone, *session.run([*read, training.size])]
    with tf.Graph().as_default(), v1.device(None), v1.Session() as session:
        training, saver, (_, _, *read) = model()
        saver.restore(session, path)
        training.run(session, 2, 4)
        return [*values, *session.run([*read, training.size])]


@feature("`checkpoint.warm_start`")
def _warm_start(target: str, name: str, folder: Path) -> Any:
    with tf.Graph().as_default(), v1.Session() as session, v1.device(None):
        matrix = np.arange(KEYS * 4, dtype=np.float32).reshape(KEYS, 4)
        variable = v1.get_variable("old", initializer=matrix, use_resource=True)
        session.run(variable.initializer)
        path = v1.train.Saver().save(session, str(folder / "old"))
    table = table_of(name)
    return _of_table(target, table, before=runtime.checkpoint.warm_start(table, path, "old"))


def _old(folder: Path) -> str:
    """Return a checkpoint that one process has written of a table `old`."""
    with tf.Graph().as_default(), v1.Session() as session, v1.device(None):
        rows = Training(table_of("old"))
        session.run(v1.global_variables_initializer())
        rows.run(session)
        return str(v1.train.Saver().save(session, str(folder / "old")))


@feature("`init_from_checkpoint`, `WarmStartSettings`")
def _stock_warm_starts(target: str, name: str, folder: Path) -> Any:
    path, words = _old(folder), [folder / "old.txt", folder / "new.txt"]
    for file, order in zip(words, (range(40), range(30, 50)), strict=True):
        file.write_text("".join(f"w{number}\n" for number in order))
    by_name, by_list, by_settings, by_words = tables = [table_of(f"{name}_{i}") for i in range(4)]
    v1.train.init_from_checkpoint(path, {"old": by_name.table_name})
    v1.train.init_from_checkpoint(path, [("old", by_list.variables)])
    vocabulary = v1.train.VocabInfo(str(words[1]), 20, 3, str(words[0]), backup_initializer=v1.ones_initializer())
    v1.train.warm_start(
        path,
        [f"{by_settings.table_name}:0", f"{by_words.table_name}:0"],
        {by_words.table_name: vocabulary},
        {by_settings.table_name: "old", by_words.table_name: "old"},
    )
    return [value for table in tables for value in _of_table(target, table)]


@feature("`checkpoint.restore_table`")
def _restore_table(target: str, name: str, folder: Path) -> Any:
    path, table = _old(folder), table_of(name)
    training = Training(table)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(runtime.checkpoint.restore_table(table, path, name="old"))
        training.run(session)
        return session.run([training.read, training.size])


def _counted(target: str, name: str, folder: Path, rules: runtime.KeyRules | None = None) -> Any:
    normal = v1.random_normal_initializer(stddev=0.1, seed=3)
    own = f"{name}_{folder.name}"  # the init op keeps the rows that a server has already
    table = runtime.create_counted_table(own, 4, initializer=normal, rules=rules)
    step, ids = v1.train.get_or_create_global_step(), v1.placeholder(tf.int64, [None])
    bags = runtime.embedding_lookup_sparse(table, tf.RaggedTensor.from_row_lengths(ids, [3, 5]).to_sparse(), None)
    loss = tf.reduce_sum(tf.sin(runtime.sparse_lookup(table, ids) * 3.0)) + tf.reduce_sum(bags)
    train = v1.train.AdagradOptimizer(0.1).minimize(loss, step)
    keys = tf.range(KEYS, dtype=tf.int64)
    read = [runtime.sparse_lookup(table, keys), *table.sightings(keys), table.known_keys()]
    saver = v1.train.Saver()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        for number, batch in enumerate(batches()):
            if number == 3:
                path = saver.save(session, str(folder / "model"))
            session.run(train, {ids: batch})
        saver.restore(session, path)
        for batch in batches()[3:]:
            session.run(train, {ids: batch})
        values: list[Any] = session.run(read)
        return values


@feature("counted tables")
def _plain_counted(target: str, name: str, folder: Path) -> Any:
    return _counted(target, name, folder)


@feature("their filters, and eviction by steps")
def _filtered_counted(target: str, name: str, folder: Path) -> Any:
    rules = runtime.KeyRules(admission=runtime.Admission(2), eviction=runtime.Eviction(steps_to_live=1))
    return _counted(target, name, folder, rules)


@feature("tables cut by columns")
def _columns(target: str, name: str, folder: Path) -> Any:
    table = runtime.create_column_table(tf.int64, 4, name, v1.zeros_initializer(), 2)
    with v1.Session(target) as session:
        rows = runtime.column_lookup(table, tf.range(KEYS, dtype=tf.int64))
        session.run(v1.global_variables_initializer())
        return [session.run(rows)]


@feature("`padded_lookup`")
def _padded(target: str, name: str, folder: Path) -> Any:
    return _of_table(target, table_of(name), lambda table, ids: runtime.padded_lookup(table, ids))


@feature("`one_hot_lookup`")
def _one_hot(target: str, name: str, folder: Path) -> Any:
    return _of_table(target, table_of(name), lambda table, ids: runtime.one_hot_lookup(table, ids, 40))


@feature("`serving_default_value`")
def _serving(target: str, name: str, folder: Path) -> Any:
    table = table_of(name)
    values = _of_table(target, table)
    missing = runtime.sparse_lookup(table, [1, 999], is_train=False, serving_default_value=[0.5] * 4)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        return [*values, session.run(missing)]


@feature("`looked_up_rows`")
def _looked_up(target: str, name: str, folder: Path) -> Any:
    def look(table: Any, ids: tf.Tensor) -> tf.Tensor:
        rows = runtime.sparse_lookup(table, ids)
        return tf.concat([rows, runtime.looked_up_rows(table)], 0)

    return _of_table(target, table_of(name), look)


@feature("`all_rows`")
def _all_rows(target: str, name: str, folder: Path) -> Any:
    table = table_of(name, device_vocabulary_size=KEYS)
    return [*_of_table(target, table), _value(target, lambda: runtime.all_rows(table))]


@feature("`dense_gradient`")
def _dense_gradient(target: str, name: str, folder: Path) -> Any:
    table = table_of(name)
    return _of_table(target, table, lambda table, ids: runtime.sparse_lookup(table, ids, dense_gradient=True))


@feature("`whole_table_l2`")
def _terms(target: str, name: str, folder: Path) -> Any:
    table = table_of(name)
    training = Training(table, term=lambda: 0.1 * runtime.whole_table_l2(table, size=KEYS))
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        training.run(session)
        loss = session.run(training.loss, {training.ids: [3]})
        return [*session.run([training.read, training.size]), np.round(loss, 4)]


@feature("`local_lookup`")
def _local(target: str, name: str, folder: Path) -> Any:
    return _of_table(target, table_of(name), lambda table, ids: runtime.local_lookup(table, ids))


@feature("`TableSummaryHook`")
def _summaries(target: str, name: str, folder: Path) -> Any:
    training = Training(table_of(name))
    hooks = [runtime.TableSummaryHook(str(folder), every_steps=2)]
    with v1.train.MonitoredTrainingSession(target, hooks=hooks, stop_grace_period_secs=1) as session:
        for ids in batches():
            session.run(training.train, {training.ids: ids})
        return session._tf_sess().run([training.read, training.size])


def _value(target: str, build: Callable[[], tf.Tensor]) -> Any:
    tensor = build()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        return session.run(tensor)
