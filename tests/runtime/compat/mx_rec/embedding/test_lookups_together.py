"""What lookups of one table, and of several, have in common: rows and addresses, and counts of ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec

v1 = tf.compat.v1
BATCHES = [{"ids": [1, 2], "more": [[2, -1, 3]]}, {"ids": [2, 2], "more": [[1, 3, 4]]}]


@pytest.fixture
def sdk() -> Iterator[Any]:
    """Rec SDK, installed, in a fresh graph; `init` is the test's to call."""
    mx_rec.install()
    try:
        from mx_rec.core import embedding  # type: ignore[import-not-found]
        from mx_rec.graph import modifier  # type: ignore[import-not-found]
        from mx_rec.optimizers import adagrad_by_addr, gradient_descent  # type: ignore[import-not-found]
        from mx_rec.util import initialize, ops  # type: ignore[import-not-found]

        names: dict[str, Any] = {"by_address": adagrad_by_addr.create_hash_optimizer_by_address}
        for module in (embedding, modifier, gradient_descent, initialize, ops):
            names |= {key: value for key, value in vars(module).items() if not key.startswith("__")}
        with tf.Graph().as_default():
            yield SimpleNamespace(**names)
    finally:
        mx_rec.uninstall()


def batch_of(rows: list[dict[str, Any]]) -> Any:
    shapes = {key: np.shape(value) for key, value in rows[0].items()}
    dataset = tf.data.Dataset.from_generator(lambda: iter(rows), dict.fromkeys(shapes, tf.int64), shapes)
    return v1.data.make_initializable_iterator(dataset.prefetch(10)).get_next()


def stock_losses() -> list[float]:
    """The losses of the same model over a variable of TensorFlow."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("user", [5, 2], initializer=v1.constant_initializer(0.5))
        first, more = v1.placeholder(tf.int64, [2]), v1.placeholder(tf.int64, [1, 3])
        is_id = tf.cast(more >= 0, tf.float32)[:, :, None]
        rows = tf.nn.embedding_lookup(table, tf.maximum(more, 0)) * is_id
        frozen = tf.stop_gradient(tf.nn.embedding_lookup(table, first))
        found = tf.nn.embedding_lookup(table, first)
        loss = tf.reduce_sum((found - 1.0) ** 2) + tf.reduce_sum(rows**3) + tf.reduce_sum(found * frozen)
        optimizer = v1.train.AdagradOptimizer(0.1, 0.1)
        (gradient, variable), *_ = optimizer.compute_gradients(loss)
        train = optimizer.apply_gradients([(tf.convert_to_tensor(gradient), variable)])
        session.run(v1.global_variables_initializer())
        feeds = [{first: one["ids"], more: one["more"]} for one in BATCHES]
        return [float(session.run([loss, train], feed)[0]) for feed in feeds]


def test_a_table_that_expands_has_one_tensor_of_rows(sdk: Any) -> None:
    sdk.init(use_dynamic=True, use_dynamic_expansion=True)
    batch = batch_of(BATCHES)
    table = sdk.create_table(tf.int64, 2, "user", v1.constant_initializer(0.5))
    first = sdk.sparse_lookup(table, batch["ids"], modify_graph=True)
    rows = v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    more = sdk.sparse_lookup(table, batch["more"], modify_graph=True)
    frozen = sdk.sparse_lookup(table, batch["ids"], modify_graph=True, is_grad=False)
    default = tf.constant([7.0, 8.0])
    given = sdk.sparse_lookup(table, batch["more"], modify_graph=True, is_grad=False, serving_default_value=default)
    assert (more.shape.as_list(), first.shape.as_list()) == ([1, 3, 2], [2, 2])
    loss = tf.reduce_sum((first - 1.0) ** 2) + tf.reduce_sum(more**3) + tf.reduce_sum(first * frozen)
    weight = v1.get_variable("weight", [], initializer=v1.ones_initializer())
    assert rows == v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")[:1]
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss * weight, [weight, rows[0]])
    (address,) = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    sparse = sdk.by_address(0.1, initial_accumulator_value=0.1)
    train = sparse.apply_gradients([(pairs[-1][0], address)])
    sdk.modify_graph_and_start_emb_cache()
    initializer = sdk.get_initializer(True)
    with tf.Graph().as_default():  # a program that holds its graph itself asks outside of it
        assert sdk.get_initializer(True) is initializer
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), initializer])
        found = [session.run([loss, given, train])[:2] for _ in BATCHES]
    np.testing.assert_allclose([one for one, _ in found], stock_losses(), rtol=1e-5)
    assert found[0][1].tolist() == [[[0.5, 0.5], [7.0, 8.0], [0.5, 0.5]]]


def test_lookups_after_the_gradients_or_of_rows_are_their_own(sdk: Any) -> None:
    sdk.init(use_dynamic=True, use_dynamic_expansion=True)
    ids = v1.placeholder(tf.int64, [2])
    table = sdk.create_table(tf.int64, 1, "user", v1.constant_initializer(4.0))
    first = sdk.sparse_lookup(table, ids, modify_graph=True)
    of_rows = sdk.sparse_lookup(table, tf.cast(first[:, 0], tf.int64), modify_graph=True)
    inside = tf.cond(ids[0] > 0, lambda: sdk.sparse_lookup(table, ids, modify_graph=True), lambda: first)
    v1.train.GradientDescentOptimizer(0.1).compute_gradients(tf.reduce_sum(first), [first])
    later = sdk.sparse_lookup(table, ids + 1, modify_graph=True)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run([of_rows, inside, later], {ids: [1, 2]})[1].tolist() == [[4.0], [4.0]]
        assert table.size() == 4


@pytest.mark.parametrize("added", [0, 2])
def test_tables_count_ids_together(sdk: Any, monkeypatch: pytest.MonkeyPatch, added: int) -> None:
    monkeypatch.setenv("USE_COMBINE_FAAE", "1")
    sdk.init()
    time = tf.constant(5, tf.int64)
    for _ in range(added):  # as the model and its `model_fn` both do
        v1.add_to_collection("ASCEND_TIMESTAMP", time)
    ids = v1.placeholder(tf.int64, [None])
    tables = [sdk.create_table(tf.int64, 1, name, v1.constant_initializer(4.0), 9) for name in ("user", "item")]
    settings = {"modify_graph": True, "access_and_evict_config": {"access_threshold": 2}}
    read = sdk.sparse_lookup(tables[0], ids, is_train=False, **settings)
    rows = [sdk.sparse_lookup(table, ids, **settings) for table in tables]
    train = sdk.create_hash_optimizer(1.0).minimize(tf.add_n([tf.reduce_sum(one) for one in rows]))
    assert sdk.get_initializer and len(v1.get_collection("ASCEND_GLOBAL_HASHTABLE_COLLECTION")) == 2
    with pytest.raises(ValueError, match="USE_COMBINE_FAAE"):
        sdk.import_host_pipeline_ops().set_threshold(tf.constant(5), emb_name="user")
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        found = session.run([*rows, train], {ids: [1, 2]})[:2]
        assert sorted(found, key=np.sum)[0].tolist() == [[0.0], [0.0]]  # the one that was second counts two
        assert sum(table.size() for table in tables) == 2
        session.run(train, {ids: [1, 3]})
        assert sum(table.size() for table in tables) == 4
        assert set(session.run(read, {ids: [3, 9]}).reshape(-1)) <= {0.0, 3.0, 4.0}


def test_switches_in_the_environment_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, wrong in {
        "HD_CHANNEL_SIZE": "1",
        "USE_COMBINE_FAAE": "yes",
        "TF_DEVICE": "TPU",
        "FAST_UNIQUE": "",
    }.items():
        monkeypatch.setenv(name, wrong)
        with pytest.raises(ValueError, match=name):
            mx_rec.install()
        monkeypatch.delenv(name)
    mx_rec.install()
    mx_rec.uninstall()


def test_counters_in_the_files_of_rec_sdk(sdk: Any, tmp_path: Path) -> None:
    from runtime.checkpoint.live_tables import snapshot_rows

    sdk.init()
    found = []
    for start in ("fresh", "as saved", "as Rec SDK writes it"):
        with tf.Graph().as_default(), v1.Session() as session:
            ids, now = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.int64, [])
            v1.add_to_collection("ASCEND_TIMESTAMP", now)
            table = sdk.create_table(tf.int64, 1, "user", v1.constant_initializer(4.0), 9)
            config = {"access_threshold": 3, "eviction_threshold": 50}
            rows = sdk.sparse_lookup(table, ids, modify_graph=True, access_and_evict_config=config)
            train = sdk.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows))
            saver = v1.train.Saver()
            if start == "fresh":
                session.run(v1.global_variables_initializer())
                for time, batch in ((100, [1, 2, 1]), (110, [1, 3])):
                    session.run(train, {ids: batch, now: time})
                path = saver.save(session, str(tmp_path / "model"))
            else:
                saver.restore(session, path)
            found.append([session.run([rows, train], {ids: [1, 2, 3], now: 120})[0].tolist() for _ in range(3)])
            found[-1].append(sorted(snapshot_rows(table, session).keys.tolist()))
        folder = tmp_path / "sparse-model" / "user"
        if start == "fresh":
            limits = np.fromfile(folder / "table_2_threshold" / "slice.data", np.int32)
            history = np.fromfile(folder / "history_record" / "slice.data", np.int64)
            assert limits.tolist() == [3, 50, 1]
            assert np.fromfile(folder / "history_record" / "slice.attribute", np.int64).tolist() == [3, 8]
            assert history[0] == 110
            assert sorted(history[1:].reshape(-1, 3).tolist()) == [[1, 3, 110], [2, 1, 100], [3, 1, 110]]
        else:
            for part in folder.glob("recmigrate_*"):
                for file in part.iterdir():
                    file.unlink()
                part.rmdir()
    assert found[0] == found[1] == found[2]
    assert found[0][0] == [[3.0], [0.0], [0.0]]
