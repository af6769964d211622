"""Tables of sessions: padding keys, status and scalars for TensorBoard."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1


def test_sessions_of_one_graph_have_tables_of_their_own(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1, 2, 3])
    with session() as one, session() as other:
        one.run(look)
        assert (one.run(table.size()), other.run(table.size())) == (3, 0)


def test_a_table_is_used_after_the_init_op_as_any_variable_is(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1])
    with v1.Session() as opened:
        for fetch in (look, table.size(), table.import_rows([1], np.ones((1, 4)))):
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"user.*uninitialized"):
                opened.run(fetch)


def test_imported_rows(graph: tf.Graph) -> None:
    table = make_table(dim=2)
    with session() as opened:
        opened.run(table.import_rows(tf.constant([3, 4], tf.int32), [[1.0, 2.0], [3.0, 4.0]]))
        opened.run(table.import_rows([4], [[5.0, 6.0]]))
        keys, values, slots, meta = opened.run(table.snapshot())
    assert (keys.tolist(), values.tolist()) == ([3, 4], [[1.0, 2.0], [5.0, 6.0]])
    assert slots.shape == (2, 0)
    assert meta[1] == table.seed


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ([1.5], [[1.0, 2.0]], "`keys` of rows for the table `user` are float32: they must be int32 or int64"),
        (["a"], [[1.0, 2.0]], "`keys` of rows for the table `user` are string"),
        ([[1]], [[1.0, 2.0]], r"`keys` of rows for the table `user` have shape \(1, 1\): they must be \[n\]"),
        ([1], [[1.0, 2.0, 3.0]], r"`values` of rows for the table `user` have shape \(1, 3\): they must be \[1, 2\]"),
        ([1, 2], [[1.0, 2.0]], r"`values` .* have shape \(1, 2\): they must be \[2, 2\]"),
    ],
)
@pytest.mark.usefixtures("graph")
def test_rows_that_do_not_fit_are_refused_by_name(keys: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_table(dim=2).import_rows(keys, values)


KEYS = [-(2**63), -1, 0, 1, 2, 2**63 - 1]
PADDING = [-(2**63), 0, 2**63 - 1]


def padded(name: str, keys: Any) -> runtime.Table:
    return make_table(name, padding_keys=keys)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("module", [adagrad, gradient_descent, lazy_adam], ids=lambda module: module.__name__)
@pytest.mark.parametrize("kind", ["single", "pooled", "grouped"])
def test_only_the_other_rows_are_trained(module: Any, kind: str) -> None:
    ids = [*KEYS, *KEYS[:2], 5]
    losses, tables = [], [padded("padded", PADDING), make_table("plain")]
    for table in tables:
        if kind == "pooled":
            rows = runtime.embedding_lookup_sparse(table, tf.ragged.constant([ids], tf.int64), negative_keys=True)
        elif kind == "grouped":
            (rows,) = runtime.grouped_lookup([(table, tf.constant(ids, tf.int64))])
        else:
            rows = runtime.sparse_lookup(table, tf.constant(ids, tf.int64))
        losses.append(tf.reduce_sum(rows) + 1.0)
    step = module.create_hash_optimizer(0.1).minimize(tf.add_n(losses))
    with session() as opened:
        opened.run(tables[1].import_rows([*KEYS, 5], runtime.sparse_lookup(tables[0], [*KEYS, 5], is_train=False)))
        before = rows_of(opened, tables[0], KEYS)
        for _ in range(3):
            opened.run(step)
        assert opened.run(tables[0].size()) == 7
        trained, wanted = (rows_of(opened, table, KEYS) for table in tables)
        keys, _, slots, _ = opened.run(tables[0].snapshot())
    padding = np.isin(KEYS, PADDING)
    np.testing.assert_array_equal(trained[padding], before[padding])
    np.testing.assert_array_equal(trained[~padding], wanted[~padding])
    assert (trained[~padding] != before[~padding]).all()
    start = 0.9 if module is adagrad else 0.0
    assert (slots[np.isin(keys, PADDING)] == np.float32(start)).all()
    assert slots.shape[1] == 0 or (slots[~np.isin(keys, PADDING)] != np.float32(start)).any(1).all()


@pytest.mark.usefixtures("graph")
def test_a_table_says_its_padding_keys_and_one_may_be_given_alone() -> None:
    table = padded("user", 3)
    assert table.padding_keys == (3,)
    plain = make_table("plain")
    assert plain.padding_keys == ()


@pytest.mark.usefixtures("graph")
def test_padding_survives_growth_reset_and_restored_rows() -> None:
    table = padded("user", [0])
    rows = runtime.sparse_lookup(table, tf.range(3000) % 2000)
    step = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(rows))
    imported = table.import_rows([0], np.full([1, 4], 5.0))
    with session() as opened:
        for _ in range(2):
            opened.run(step)
            opened.run(imported)
            opened.run(step)
            np.testing.assert_array_equal(rows_of(opened, table, [0]), np.full([1, 4], 5.0))
            opened.run(tf.compat.v1.global_variables_initializer())


def test_text_and_plain_data() -> None:
    table = make_table("status_text")
    found = runtime.status()
    assert found.threads >= 1
    assert (
        str(found).splitlines()[0]
        == f"{len(found.tables)} table{'s'[: len(found.tables) != 1]}, {found.threads} threads"
    )
    assert any(line.startswith("status_text") and "0 rows" in line for line in str(found).splitlines())
    line = next(line for line in str(found).splitlines() if line.startswith("status_text"))
    assert line.endswith(" KiB")  # an empty table is not "0.0 MiB"
    assert " 0.0 " not in line
    listed = dataclasses.asdict(found)["tables"]
    assert {"name", "dim", "rows", "bytes", "evicted"} == set(listed[0])
    assert table.table_name in [each["name"] for each in listed]


def _written(folder: Path) -> dict[str, dict[int, float]]:
    """Return the values of each tag by step."""
    found: dict[str, dict[int, float]] = {}
    for file in folder.glob("events.*"):
        for event in v1.train.summary_iterator(str(file)):
            for one in event.summary.value:
                found.setdefault(one.tag, {})[event.step] = one.simple_value
    return found


def _trained(hooks: list[Any], step: Any, steps: int) -> None:
    with v1.train.MonitoredSession(hooks=hooks) as session:
        for _ in range(steps):
            session.run(step)


def test_rows_admission_and_evictions_of_a_training(graph: tf.Graph, tmp_path: Path) -> None:
    """Step s looks up id s twice, which admits it, and id 1000 + s once, which waits."""
    now = v1.train.get_or_create_global_step()
    table = make_table()
    rules = {"access_threshold": 2, "eviction_threshold": 3}
    v1.add_to_collection("ASCEND_TIMESTAMP", now)
    ids = tf.concat([tf.fill([2], now), [now + 1000]], 0)
    rows = runtime.sparse_lookup(table, ids, access_and_evict_config=rules)
    sparse = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(rows))
    with tf.control_dependencies([sparse]):
        step = now.assign_add(1)
    evict = runtime.EvictHook(evict_enable=True, evict_step_interval=5)
    _trained([evict, runtime.TableSummaryHook(tmp_path, every_steps=2)], step, 6)
    written = _written(tmp_path)
    assert written.keys() == {f"user/{what}" for what in ("rows", "waiting", "evicted", "bytes")}
    # The eviction after step 5 takes the keys last seen three steps ago or earlier: those of times 0 and 1.
    assert written["user/rows"] == {1: 1, 3: 3, 5: 3, 6: 4}
    assert written["user/waiting"] == {1: 1, 3: 3, 5: 3, 6: 4}
    assert written["user/evicted"] == {1: 0, 3: 0, 5: 2, 6: 2}
    assert all(value > 0 for value in written["user/bytes"].values())


def test_a_session_without_a_global_step_is_refused(graph: tf.Graph, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="needs a global step"):
        runtime.TableSummaryHook(tmp_path).begin()


def test_tables_of_eager_mode(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")  # which tf.summary needs, and not every TensorFlow brings
    table = make_table("eager_written")
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        runtime.sparse_lookup(table, tf.range(3, dtype=tf.int64))
        runtime.table_summaries(step=1)
    (file,) = tmp_path.iterdir()
    found = {one.tag: one for event in v1.train.summary_iterator(str(file)) for one in event.summary.value}
    assert float(tf.make_ndarray(found["eager_written/rows"].tensor)) == 3
    assert {f"eager_written/{what}" for what in ("waiting", "evicted", "bytes")} <= found.keys()
