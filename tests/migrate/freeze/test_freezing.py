"""`migrate freeze`: what the frozen model answers has the bits of what the tables answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import runtime
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


def test_branches_and_loops_of_tensorflow_2_are_served_without_our_library(tmp_path: Path) -> None:
    """Also by the C API in a process without TensorFlow's Python, which is how servers load a model."""
    module = tf.Module()
    module.users, module.items = make_table(), make_table("items", "constant")
    module.weight = tf.Variable(tf.random.stateless_normal([5, 3], [1, 2]), name="weight")
    module.users.import_rows(*rows(10))
    module.items.import_rows(*rows(20))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="ids")])
    def serve(ids: tf.Tensor) -> dict[str, tf.Tensor]:
        either = tf.cond(
            tf.size(ids) > 3,
            lambda: runtime.sparse_lookup(module.users, ids, is_train=False),
            lambda: runtime.sparse_lookup(module.items, ids, is_train=False),
        )
        total = tf.zeros([5])
        for number in tf.range(3):
            total += tf.reduce_sum(
                runtime.sparse_lookup(module.items, ids + tf.cast(number, tf.int64), is_train=False), 0
            )
        return {"rows": tf.matmul(either, module.weight) + total[:3]}

    tf.saved_model.save(module, str(tmp_path / "model"), signatures=serve)
    target = frozen(tmp_path / "model")
    for ids in (IDS, IDS[:2]):
        wanted = {name: value.numpy() for name, value in serve(tf.constant(ids)).items()}
        require_equal(wanted, answers(target, {"ids": ids}))
    program = Path(__file__).parents[2] / "support" / "runtime" / "c_api.py"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, str(program), str(target), "serving_default_ids", "StatefulPartitionedCall"]
    served = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    wanted = serve(tf.constant([1, 2, 77], tf.int64))
    require_equal({"rows": np.float32(json.loads(served.stdout)).reshape(3, 3)}, {"rows": wanted["rows"].numpy()})


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
    with pytest.raises(MigrateError, match="model: has no table that its signatures look up: serve it as it is"):
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
    frozen(tmp_path / "model")  # its own result
