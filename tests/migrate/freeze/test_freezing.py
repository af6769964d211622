"""A SavedModel with tables becomes one without them, of each kind of table and model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import runtime
import runtime.keras
from migrate.cli.freeze import freeze
from migrate.errors import MigrateError
from tests.support.frozen_models import STARTS, answers, frozen, make_table, require_equal, rows, save_graph

v1 = tf.compat.v1
IDS = np.array([3, 7, 0, 3, 41, -6, 2**62, 9], np.int64)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.one_case
def test_rows_of_known_and_unknown_ids(graph: tf.Graph, tmp_path: Path, start: str) -> None:
    table, ids = make_table(start=start), v1.placeholder(tf.int64, [None])
    small, weight = tf.cast(ids % 50, tf.int32), v1.get_variable("weight", [5, 2])
    found = runtime.sparse_lookup(table, ids, is_train=False)
    outputs = {
        "rows": found,
        "product": tf.matmul(found, weight),
        "matrix": runtime.sparse_lookup(table, tf.reshape(small, [2, -1]), is_train=False),
        "default": runtime.sparse_lookup(table, ids, is_train=False, serving_default_value=tf.fill([5], 9.0)),
        "size": table.size(),
    }
    save_graph(tmp_path / "model", {"ids": ids}, outputs, table)
    require_equal(answers(tmp_path / "model", {"ids": IDS}), answers(frozen(tmp_path / "model"), {"ids": IDS}))


@pytest.mark.parametrize("start", ["constant", "normal"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.one_case
def test_pooled_rows(graph: tf.Graph, tmp_path: Path, combiner: str, weighted: bool, start: str) -> None:
    table, other = make_table(start=start), make_table("items", start, 11)
    lengths = [0, 1, 2, 9, 17, 0, 30, 8, 0]
    values = np.random.RandomState(1).randint(-3, 20, sum(lengths)).astype(np.int64)
    ids = v1.placeholder(tf.int64, [None])
    ragged = tf.RaggedTensor.from_row_lengths(ids, lengths)
    sparse, shares = ragged.to_sparse(), None
    if weighted:
        shares = tf.SparseTensor(sparse.indices, tf.cast(ids, tf.float32) * 0.37, sparse.dense_shape)
    positive = tf.SparseTensor(sparse.indices, tf.abs(sparse.values), sparse.dense_shape)
    settings: dict[str, Any] = {"combiner": combiner, "is_train": False}
    outputs = {
        "sparse": runtime.embedding_lookup_sparse(table, positive, shares, **settings),
        "clipped": runtime.embedding_lookup_sparse(other, positive, shares, max_norm=1.5, **settings),
        "ragged": runtime.embedding_lookup_sparse(table, tf.abs(ragged), None, **settings),
        "safe": runtime.safe_embedding_lookup_sparse(table, sparse, shares, **settings),
        "filled": runtime.safe_embedding_lookup_sparse(other, sparse, shares, default_id=4, **settings),
    }
    save_graph(tmp_path / "model", {"ids": ids}, outputs, table, other)
    require_equal(answers(tmp_path / "model", {"ids": values}), answers(frozen(tmp_path / "model"), {"ids": values}))


@pytest.mark.parametrize(("numbers", "most"), [("int8", 1 / 250), ("bf16", 1 / 250)])
@pytest.mark.one_case
def test_quantized_rows_differ_by_what_is_told(graph: tf.Graph, tmp_path: Path, numbers: str, most: float) -> None:
    table, ids = make_table(start="normal"), v1.placeholder(tf.int64, [None])
    save_graph(tmp_path / "model", {"ids": ids}, {"rows": runtime.sparse_lookup(table, ids, is_train=False)}, table)
    done = CliRunner().invoke(
        freeze,
        [str(tmp_path / "model"), str(tmp_path / "small"), "--quantize", numbers, "--json"],
        catch_exceptions=False,
    )
    told = json.loads(done.stdout)["tables"][0]["largest_error"]
    every = {"ids": np.arange(12)}
    wanted, found = (answers(tmp_path / name, every)["rows"] for name in ("model", "small"))
    assert np.abs(wanted - found)[:10].max() == np.float32(told)
    assert 0 < told < most * np.abs(wanted).max()
    np.testing.assert_array_equal(wanted[10:], found[10:])  # what new rows begin with is not stored


def test_rows_that_are_not_finite(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(start="normal", dim=2), v1.placeholder(tf.int64, [None])
    looked_up = runtime.sparse_lookup(table, ids, is_train=False)
    filled = table.import_rows(np.arange(2), np.float32([[1, np.nan], [2, np.inf]]))
    with v1.Session() as session:
        session.run([v1.global_variables_initializer()])
        session.run(filled)
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"ids": ids}, {"rows": looked_up})
    with pytest.raises(MigrateError, match="the table `users` has a row with a NaN or an infinity, which int8 cannot"):
        frozen(tmp_path / "model", "--quantize", "int8")
    assert not (tmp_path / "model_frozen").exists()
    found = answers(frozen(tmp_path / "model", "--quantize", "bf16"), {"ids": np.arange(2)})
    np.testing.assert_array_equal(found["rows"], [[1, np.nan], [2, np.inf]])


def test_a_model_without_tables_and_a_folder_without_model(graph: tf.Graph, tmp_path: Path) -> None:
    ids = v1.placeholder(tf.float32, [None])
    save_graph(tmp_path / "model", {"ids": ids}, {"rows": ids * v1.get_variable("w", [])})
    with pytest.raises(
        MigrateError, match="model: has no signature that looks up a table: serve it as it is, without freezing"
    ):
        frozen(tmp_path / "model")
    with pytest.raises(MigrateError, match=r"none: has no saved_model.pb; give the directory of a SavedModel"):
        frozen(tmp_path / "none")
    shutil.rmtree(tmp_path / "model" / "variables")
    with pytest.raises(MigrateError, match=r"variables.index: does not exist, it has the rows; export the model again"):
        frozen(tmp_path / "model")


def test_another_folder_is_not_overwritten(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(), v1.placeholder(tf.int64, [None])
    save_graph(tmp_path / "model", {"ids": ids}, {"rows": runtime.sparse_lookup(table, ids, is_train=False)}, table)
    (tmp_path / "model_frozen").mkdir()
    (tmp_path / "model_frozen" / "mine.txt").write_text("mine")
    with pytest.raises(MigrateError, match="was not written by migrate"):
        frozen(tmp_path / "model")
    frozen(tmp_path / "model", "--force")
    own = CliRunner().invoke(freeze, [str(tmp_path / "model"), str(tmp_path / "model_frozen")], catch_exceptions=False)
    assert f"wrote {tmp_path / 'model_frozen'}, in place of what was there\n" in own.output
    new = CliRunner().invoke(freeze, [str(tmp_path / "model"), str(tmp_path / "new")], catch_exceptions=False)
    assert f"wrote {tmp_path / 'new'}\n" in new.output


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


def test_a_graph_that_evicts_is_refused(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(), v1.placeholder(tf.int64, [None])
    outputs = {"rows": runtime.sparse_lookup(table, ids), "removed": runtime.evict_by_norm(table, 0.5)}
    save_graph(tmp_path / "model", {"ids": ids}, outputs, table)
    with pytest.raises(MigrateError, match=r"needs RecEvictLight `.*export a graph that only looks rows up"):
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
