"""`migrate checkpoint` for tables of feature columns, whose names a checkpoint of the converted program tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.checkpoint import checkpoint
from tests.support.moved_training import convert, train

tf = pytest.importorskip("tensorflow").compat.v1

MODEL = """
import tensorflow.compat.v1 as tf

def build_model():
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    ids = tf.feature_column.categorical_column_with_identity("user", 30)
    tags = tf.feature_column.categorical_column_with_identity("tag", 7)
    columns = [tf.feature_column.embedding_column(ids, 4), tf.feature_column.embedding_column(tags, 3)]
    rows = tf.feature_column.input_layer({"user": user, "tag": user % 7}, columns)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.layers.dense(rows, 2), 1) - label))
    train_op = tf.train.OPTIMIZER.minimize(loss, tf.train.get_or_create_global_step())
    return loss, train_op
"""


def invoke(directory: Path, old: str, new: str, *more: str) -> Any:
    told = ["--report", str(directory / "report.json")]
    return CliRunner().invoke(checkpoint, [str(directory / old), str(directory / new), *told, *more])


@pytest.mark.parametrize("optimizer", ["AdagradOptimizer(0.1)", "AdamOptimizer(0.05)"])
@pytest.mark.one_case
def test_training_goes_on_there_and_back(tmp_path: Path, optimizer: str) -> None:
    original = MODEL.replace("OPTIMIZER", optimizer)
    converted = convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "old"))
    train(converted, 0, None, str(tmp_path / "fresh"))
    asked = invoke(tmp_path, "old", "moved")
    assert "gets its name at run time" in str(asked.exception) and "give --like CHECKPOINT" in str(asked.exception)
    done = invoke(tmp_path, "old", "moved", "--like", str(tmp_path / "fresh"))
    assert done.exit_code == 0, done.exception
    assert len(re.findall(r"-> table input_layer_(?:user|tag)_embedding_embedding_weights, slots \w", done.output)) == 2

    want = train(original, 4, str(tmp_path / "old"), str(tmp_path / "stayed"))
    got = train(converted, 4, str(tmp_path / "moved"), str(tmp_path / "trained"))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    done = invoke(tmp_path, "trained", "back", "--to-variables", "--like", str(tmp_path / "old"))
    assert done.exit_code == 0, done.exception
    want = train(original, 8, str(tmp_path / "stayed"), None)
    np.testing.assert_allclose(train(original, 8, str(tmp_path / "back"), None), want, rtol=2e-5)
