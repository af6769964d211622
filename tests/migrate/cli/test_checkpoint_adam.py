"""`migrate checkpoint` with Adam: slots and step counters, wherever the original's optimizer has put them."""

from __future__ import annotations

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
    table = tf.get_variable("user", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    other = tf.get_variable("tower/user", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    logit = tf.reduce_sum(tf.nn.embedding_lookup(table, user) * tf.nn.embedding_lookup(other, user), 1)
    loss = tf.reduce_mean(tf.square(logit - label))
    with SCOPE:
        train_op = STEP
    return loss, train_op
"""
KERNEL = "kernel = tf.get_variable('kernel', [], initializer=tf.ones_initializer())\n    logit *= kernel\n    loss = "
ONE = "tf.train.AdamOptimizer(0.05).minimize(loss)"
TWO = (
    "tf.group(tf.train.AdamOptimizer(0.05).minimize(loss, var_list=[table, other]),"
    " tf.train.AdamOptimizer(0.01).minimize(loss, var_list=[kernel]))"
)


def invoke(directory: Path, old: str, new: str, *more: str) -> Any:
    told = ["--report", str(directory / "report.json")]
    return CliRunner().invoke(checkpoint, [str(directory / old), str(directory / new), *told, *more])


@pytest.mark.parametrize(("step", "kernel"), [(ONE, False), (ONE, True), (TWO, True)], ids=["alone", "one", "two"])
@pytest.mark.parametrize("scope", ["tf.name_scope('')", "tf.name_scope('train')", "tf.variable_scope('train')"])
@pytest.mark.one_case
def test_training_goes_on_there_and_back(tmp_path: Path, scope: str, step: str, kernel: bool) -> None:
    original = (
        MODEL.replace("SCOPE", scope).replace("STEP", step).replace("loss = ", KERNEL if kernel else "loss = ", 1)
    )
    converted = convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "old"))
    train(converted, 0, None, str(tmp_path / "fresh"))
    want = train(original, 4, str(tmp_path / "old"), str(tmp_path / "stayed"))
    for like in ([], ["--like", str(tmp_path / "fresh")]):
        done = invoke(tmp_path, "old", "moved", "--force", *like)
        assert done.output.count("slots m, v") == 2, done.exception
        got = train(converted, 4, str(tmp_path / "moved"), str(tmp_path / "trained"))
        np.testing.assert_allclose(got, want, rtol=1e-5)
    done = invoke(tmp_path, "trained", "back", "--to-variables", "--like", str(tmp_path / "old"))
    assert done.exit_code == 0, done.exception
    want = train(original, 8, str(tmp_path / "stayed"), None)
    np.testing.assert_allclose(train(original, 8, str(tmp_path / "back"), None), want, rtol=2e-5)


def test_counters_that_differ_are_refused(tmp_path: Path) -> None:
    convert(tmp_path, MODEL.replace("SCOPE", "tf.name_scope('')").replace("STEP", ONE))
    with tf.Graph().as_default(), tf.Session() as session:
        for name in ("user", "tower/user"):
            for slot in ("", "/Adam", "/Adam_1"):
                tf.get_variable(name + slot, [30, 4])
        for scope, steps in (("", 1), ("generator/", 2)):
            for name, beta in (("beta1_power", 0.9), ("beta2_power", 0.999)):
                tf.get_variable(scope + name, initializer=beta**steps)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "old"))
    asked = str(invoke(tmp_path, "old", "new").exception)
    assert "different step counts in beta1_power, beta2_power, generator/beta1_power" in asked
    assert not (tmp_path / "new.index").exists()
