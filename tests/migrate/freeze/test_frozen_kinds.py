"""Models of each kind that has tables: Keras, Estimators under the hook, groups of lookups, admission, assets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
import runtime.keras
from migrate.errors import MigrateError
from tests.support.frozen_models import STARTS, answers, frozen, make_table, require_equal, rows, save_graph

v1 = tf.compat.v1
KERAS_2 = tf.__version__.startswith("2.15")


def test_a_model_of_keras(tmp_path: Path) -> None:
    inputs = tf.keras.Input([3], dtype="int64", name="ids")
    hidden = tf.keras.layers.Flatten()(runtime.keras.Embedding(50, 4)(inputs))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(hidden))
    model.compile("adam", "mse", jit_compile=False)
    ids = np.random.RandomState(0).randint(0, 50, [16, 3])
    model.fit(ids[:8], np.ones([8, 2]), verbose=0)
    (model.save if KERAS_2 else model.export)(str(tmp_path / "model"))
    target = frozen(tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))  # the tables live as long as it does
    source = loaded.signatures["serving_default"]
    name = next(iter(source.structured_input_signature[1]))
    given = tf.constant(ids, source.structured_input_signature[1][name].dtype)
    wanted = {key: value.numpy() for key, value in source(**{name: given}).items()}
    require_equal(wanted, answers(target, {name: given.numpy()}))
    served = tf.saved_model.load(str(target)).signatures["serving_default"](**{name: given})
    require_equal(wanted, {key: value.numpy() for key, value in served.items()})


def test_groups_admission_and_several_signatures(graph: tf.Graph, tmp_path: Path) -> None:
    users, items = make_table("users", "normal"), make_table("items", "constant", 3)
    ids = v1.placeholder(tf.int64, [None])
    first, second = runtime.grouped_lookup([(users, ids), (items, ids)], is_train=False)
    sparse = tf.SparseTensor(tf.stack([tf.range(6, dtype=tf.int64) // 2, tf.zeros([6], tf.int64)], 1), ids, [4, 1])
    pairs = [(users, sparse), (items, sparse)]
    pooled = runtime.grouped_embedding_lookup_sparse(pairs, combiner="mean", is_train=False)
    outputs = {"users": first, "items": second, "pooled": pooled[0], "more": pooled[1]}
    save_graph(tmp_path / "model", {"ids": ids}, outputs, users, items)
    given = {"ids": np.array([1, 12, 3, 4, 30, 9], np.int64)}
    require_equal(answers(tmp_path / "model", given), answers(frozen(tmp_path / "model"), given))


def test_keys_that_wait_for_admission_read_zeros(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(start="normal"), v1.placeholder(tf.int64, [None])
    settings = {"access_and_evict_config": {"access_threshold": 2}}
    trained = runtime.sparse_lookup(table, ids, is_train=True, **settings)
    read = runtime.sparse_lookup(table, ids, is_train=False, **settings)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(trained, {ids: [1, 2, 3, 1]})
        session.run(trained, {ids: [1, 2, 5]})
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"ids": ids}, {"rows": read})
    given = {"ids": np.array([1, 2, 3, 5, 9], np.int64)}
    wanted = answers(tmp_path / "model", given)["rows"]
    assert wanted[:2].all() and not wanted[2:].any()
    require_equal(answers(tmp_path / "model", given), answers(frozen(tmp_path / "model"), given))


def test_a_vocabulary_in_a_file_is_kept(graph: tf.Graph, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\nc\n")
    line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    lines = tf.lookup.TextFileInitializer(str(tmp_path / "words.txt"), tf.string, line, tf.int64, number)
    words, table = v1.placeholder(tf.string, [None]), make_table()
    found = runtime.sparse_lookup(table, tf.lookup.StaticHashTable(lines, 7).lookup(words), is_train=False)
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(table.import_rows(*rows(3)))
        v1.saved_model.simple_save(
            session, str(tmp_path / "model"), {"words": words}, {"rows": found}, legacy_init_op=v1.tables_initializer()
        )
    given = {"words": np.array([b"c", b"a", b"x"])}
    wanted = answers(tmp_path / "model", given)
    target = frozen(tmp_path / "model")
    (tmp_path / "words.txt").unlink()
    require_equal(wanted, answers(target, given))


def test_a_graph_that_trains_is_refused(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(), v1.placeholder(tf.int64, [None])
    counted = runtime.sparse_lookup(table, ids, is_train=True, access_and_evict_config={"access_threshold": 2})
    save_graph(tmp_path / "model", {"ids": ids}, {"rows": counted, "read": table.size()}, table)
    with pytest.raises(MigrateError, match=r"needs RecLookupAndAdmit `users.*export a graph that only looks rows up"):
        frozen(tmp_path / "model")


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize(("start", "dtype"), [("constant", "float32"), ("normal", "float32"), ("uniform", "bfloat16")])
@pytest.mark.parametrize("buckets", [8, runtime.Buckets(5, 6, 12)])
def test_ids_that_begin_as_the_rows_of_buckets(
    graph: tf.Graph, tmp_path: Path, start: str, dtype: str, buckets: Any, forgets: bool
) -> None:
    table, counted = (
        runtime.create_table(tf.int64, 5, name, STARTS[start], base_buckets=buckets, value_dtype=dtype)
        for name in ("users", "counted")
    )
    last = (buckets if isinstance(buckets, int) else buckets.rows) - 1
    bucketed, ids = make_table("bucketed", start), v1.placeholder(tf.int64, [None])
    settings = {"access_and_evict_config": {"access_threshold": 2}}
    size = tf.size(ids, tf.int64)
    pairs = tf.SparseTensor(tf.stack([tf.range(size) // 3, tf.range(size) % 3], 1), ids, [size // 3, 3])
    trained = [runtime.sparse_lookup(table, [17, 2**62]), runtime.sparse_lookup(counted, [17, 17, 1], **settings)]
    outputs = {
        "rows": runtime.sparse_lookup(table, ids, is_train=False),
        "admitted": runtime.sparse_lookup(counted, ids, is_train=False, **settings),
        "pooled": runtime.embedding_lookup_sparse(table, pairs, combiner="mean", is_train=False),
        "size": table.size(),
    }
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(bucketed.import_rows([0, 3, last], np.arange(15, dtype=np.float32).reshape(3, 5)))
        session.run([runtime.set_base(one, bucketed) for one in (table, counted)])
        session.run(trained)
        session.run(table.import_rows([17, 2], rows(2)[1]))
        if forgets:
            session.run([runtime.forget_base(one) for one in (table, counted)])
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"ids": ids}, outputs)
    given = {"ids": np.array([*range(30), 2**62, 2**62 + 8, 2**63 - 1])}
    wanted = answers(tmp_path / "model", given)
    require_equal(wanted, answers(frozen(tmp_path / "model"), given))
    assert wanted["size"] == 3
    for name in ("rows", "admitted"):
        assert (wanted[name][0] == np.arange(5)).all() != forgets
    assert not wanted["admitted"].any(1).all() and wanted["admitted"][17].any()


def test_rows_below_a_later_threshold_are_refused(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(), v1.placeholder(tf.int64, [None])
    trained = runtime.sparse_lookup(table, ids, is_train=True, access_and_evict_config={"access_threshold": 1})
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(trained, {ids: [1, 1, 2]})
        v1.train.Saver().save(session, str(tmp_path / "trained"))
    with tf.Graph().as_default(), v1.Session() as session:
        table, ids = make_table(), v1.placeholder(tf.int64, [None])
        read = runtime.sparse_lookup(table, ids, is_train=False, access_and_evict_config={"access_threshold": 2})
        v1.train.Saver().restore(session, str(tmp_path / "trained"))
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"ids": ids}, {"rows": read})
    with pytest.raises(MigrateError, match=r"of the table `users` from 2 occurrences on.* has rows with 1"):
        frozen(tmp_path / "model")
