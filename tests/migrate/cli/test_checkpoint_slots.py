"""`migrate checkpoint`: the names of slots tell which optimizer trained a variable, where the program chooses one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.checkpoint import checkpoint
from migrate.errors import MigrateError
from runtime.checkpoint.bundle import Bundle, write_bundle
from tests.support.moved_training import convert, train

tf = pytest.importorskip("tensorflow").compat.v1

MODEL = """
import tensorflow.compat.v1 as tf

NAME = "CHOSEN"

def build_model():
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    with tf.variable_scope("tower"):
        table = tf.get_variable("user", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    logit = tf.reduce_sum(tf.nn.embedding_lookup(table, user), 1)
    loss = tf.reduce_mean(tf.square(logit - label))
    if NAME == "adagrad":
        optimizer = tf.train.AdagradOptimizer(0.5)
    elif NAME == "adam":
        optimizer = tf.train.AdamOptimizer(0.05)
    else:
        optimizer = OTHER
    train_op = optimizer.minimize(loss)
    return loss, train_op
"""
OTHERS = {"sgd": "tf.train.GradientDescentOptimizer(0.1)", "rmsprop": "tf.train.RMSPropOptimizer(0.01, centered=True)"}
SLOTS = {
    "adagrad": "slots accumulator",
    "adam": "slots m, v",
    "sgd": "no optimizer slots found",
    "rmsprop": "slots rms, momentum, mg",
}


def _invoke(folder: Path) -> Any:
    arguments = [str(folder / "old"), str(folder / "new"), "--report", str(folder / "report.json")]
    return CliRunner().invoke(checkpoint, arguments)


@pytest.mark.parametrize("chosen", SLOTS)
def test_the_slots_of_an_optimizer_that_is_chosen_at_run_time_go_along(tmp_path: Path, chosen: str) -> None:
    original = MODEL.replace("OTHER", OTHERS.get(chosen, OTHERS["sgd"])).replace("CHOSEN", chosen)
    converted = convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "old"))
    want = train(original, 4, str(tmp_path / "old"), None)
    done = _invoke(tmp_path)
    assert done.exit_code == 0 and SLOTS[chosen] in done.output, done.output
    np.testing.assert_allclose(train(converted, 4, str(tmp_path / "new"), None), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("slots", "named"),
    [(["Adagrad", "Adam", "Adam_1"], "tower/user/Adagrad, tower/user/Adam"), (["Momentum"], "tower/user/Momentum")],
)
def test_slots_of_nobody_knows_whom_are_not_dropped(tmp_path: Path, slots: list[str], named: str) -> None:
    original = MODEL.replace("OTHER", OTHERS["sgd"]).replace("CHOSEN", "sgd")
    convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "plain"))
    plain = Bundle(tmp_path / "plain")
    tensors = {name: plain.read(name) for name in plain.shapes}
    write_bundle(tmp_path / "old", tensors | {f"tower/user/{slot}": tensors["tower/user"] for slot in slots})
    told = _invoke(tmp_path)
    assert isinstance(told.exception, MigrateError) and told.exit_code != 0
    assert f"which of {named} are the slots of `tower/user`, trained by AdagradOptimizer or " in str(told.exception)
    assert "warm_start(table, path, variable_name, slots={…})" in str(told.exception)
    assert not (tmp_path / "new.index").exists()
