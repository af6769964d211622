"""`migrate checkpoint` finds the slots: of Adam with its step counters, of feature columns, of a chosen optimizer."""

from __future__ import annotations

import re
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


def invoke(directory: Path, old: str = "old", new: str = "new", *more: str) -> Any:
    told = ["--report", str(directory / "report.json")]
    return CliRunner().invoke(checkpoint, [str(directory / old), str(directory / new), *told, *more])


CHOSEN_MODEL = """
import tensorflow.compat.v1 as tf

def build_model(name="CHOSEN"):
    if name == "adagrad":
        optimizer = tf.train.AdagradOptimizer(0.5)
    elif name == "adam":
        optimizer = tf.train.AdamOptimizer(0.05)
    else:
        optimizer = OTHER
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    with tf.variable_scope("tower"):
        table = tf.get_variable("user", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    logit = tf.reduce_sum(tf.nn.embedding_lookup(table, user), 1)
    loss = tf.reduce_mean(tf.square(logit - label))
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


@pytest.mark.parametrize("chosen", SLOTS)
def test_the_slots_of_an_optimizer_that_is_chosen_at_run_time_go_along(tmp_path: Path, chosen: str) -> None:
    original = CHOSEN_MODEL.replace("OTHER", OTHERS.get(chosen, OTHERS["sgd"])).replace("CHOSEN", chosen)
    converted = convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "old"))
    want = train(original, 4, str(tmp_path / "old"), None)
    done = invoke(tmp_path)
    assert done.exit_code == 0 and SLOTS[chosen] in done.output, done.output
    np.testing.assert_allclose(train(converted, 4, str(tmp_path / "new"), None), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("slots", "named"),
    [(["Adagrad", "Adam", "Adam_1"], "tower/user/Adagrad, tower/user/Adam"), (["Momentum"], "tower/user/Momentum")],
)
def test_slots_of_nobody_knows_whom_are_not_dropped(tmp_path: Path, slots: list[str], named: str) -> None:
    original = CHOSEN_MODEL.replace("OTHER", OTHERS["sgd"]).replace("CHOSEN", "sgd")
    convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "plain"))
    plain = Bundle(tmp_path / "plain")
    tensors = {name: plain.read(name) for name in plain.shapes}
    write_bundle(tmp_path / "old", tensors | {f"tower/user/{slot}": tensors["tower/user"] for slot in slots})
    told = invoke(tmp_path)
    assert isinstance(told.exception, MigrateError) and told.exit_code != 0
    assert f"which of {named} are the slots of `tower/user`, trained by AdagradOptimizer or " in str(told.exception)
    assert "warm_start(table, path, variable_name, slots={…})" in str(told.exception)
    assert not (tmp_path / "new.index").exists()


ADAM = """
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


@pytest.mark.parametrize(("step", "kernel"), [(ONE, False), (ONE, True), (TWO, True)], ids=["alone", "one", "two"])
@pytest.mark.parametrize("scope", ["tf.name_scope('')", "tf.name_scope('train')", "tf.variable_scope('train')"])
@pytest.mark.one_case
def test_training_with_adam_goes_on_there_and_back(tmp_path: Path, scope: str, step: str, kernel: bool) -> None:
    original = ADAM.replace("SCOPE", scope).replace("STEP", step).replace("loss = ", KERNEL if kernel else "loss = ", 1)
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
    convert(tmp_path, ADAM.replace("SCOPE", "tf.name_scope('')").replace("STEP", ONE))
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


COLUMNS = """
import tensorflow.compat.v1 as tf

def build_model():
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    ids = tf.feature_column.categorical_column_with_identity("user", 30)
    tags = tf.feature_column.categorical_column_with_identity("tag", 7)
    items, more, seen = (tf.feature_column.categorical_column_with_identity(key, 7) for key in ("item", "more", "seen"))
    share = tf.feature_column.shared_embedding_columns
    columns = [
        tf.feature_column.embedding_column(ids, 4),
        tf.feature_column.embedding_column(tags, 3),
        *share([items, tags], 4, shared_embedding_collection_name="goods"),
        *share([seen, more], 4),
    ]
    features = {"user": user, "tag": user % 7, "item": user % 7, "more": user // 5, "seen": user % 5}
    rows = tf.feature_column.input_layer(features, columns)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.layers.dense(rows, 2), 1) - label))
    train_op = tf.train.OPTIMIZER.minimize(loss, tf.train.get_or_create_global_step())
    return loss, train_op
"""


@pytest.mark.parametrize("optimizer", ["AdagradOptimizer(0.1)", "AdamOptimizer(0.05)"])
@pytest.mark.one_case
def test_training_of_columns_goes_on_there_and_back(tmp_path: Path, optimizer: str) -> None:
    original = COLUMNS.replace("OPTIMIZER", optimizer)
    converted = convert(tmp_path, original)
    train(original, 0, None, str(tmp_path / "old"))
    train(converted, 0, None, str(tmp_path / "fresh"))
    done = invoke(tmp_path, "old", "moved")
    assert done.exit_code == 0, done.exception
    names = r"input_layer_(?:user|tag)_embedding|goods|more_seen_shared_embedding"
    assert len(re.findall(rf"-> table (?:{names})_embedding_weights, slots \w", done.output)) == 4
    like = invoke(tmp_path, "old", "as_fresh", "--like", str(tmp_path / "fresh"))
    assert sorted(like.output.replace("as_fresh", "moved").splitlines()) == sorted(done.output.splitlines())
    by_name, by_like = Bundle(tmp_path / "moved"), Bundle(tmp_path / "as_fresh")
    assert all(np.array_equal(by_name.read(name), by_like.read(name)) for name in by_like.shapes)

    want = train(original, 4, str(tmp_path / "old"), str(tmp_path / "stayed"))
    got = train(converted, 4, str(tmp_path / "moved"), str(tmp_path / "trained"))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    done = invoke(tmp_path, "trained", "back", "--to-variables", "--like", str(tmp_path / "old"))
    assert done.exit_code == 0, done.exception
    want = train(original, 8, str(tmp_path / "stayed"), None)
    np.testing.assert_allclose(train(original, 8, str(tmp_path / "back"), None), want, rtol=2e-5)


SCOPED = """
import tensorflow.compat.v1 as tf

def rows_of(scope, ids):
    with tf.variable_scope(scope):
        table = tf.get_variable("w", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    return tf.nn.embedding_lookup(table, ids)

def build_model():
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    rows = sum(rows_of(scope, user) for scope in SCOPES)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, 1) - label))
    return loss, tf.train.AdagradOptimizer(0.1).minimize(loss)
"""


def test_tables_of_scopes_that_the_run_gives(tmp_path: Path) -> None:
    """One variable that ends with the name is the table's; of two, one might stay a variable."""
    original = SCOPED.replace("SCOPES", '["user"]')
    converted = convert(tmp_path, original)
    assert "scoped_name(" in converted
    train(original, 0, None, str(tmp_path / "old"))
    done = invoke(tmp_path)
    assert done.exit_code == 0, done.exception
    want = train(original, 4, str(tmp_path / "old"), None)
    np.testing.assert_allclose(train(converted, 4, str(tmp_path / "new"), None), want, rtol=1e-5)
    both = SCOPED.replace("SCOPES", '["user", "item"]')
    train(both, 0, None, str(tmp_path / "both"))
    asked = str(invoke(tmp_path, "both", "moved").exception)
    command = f"migrate checkpoint {tmp_path}/both {tmp_path}/moved --report {tmp_path}/report.json --like FOLDER"
    assert "does not say which variables are `w` (item/w or user/w), as" in asked and f"`{command}`" in asked
    train(convert(tmp_path, both), 0, None, str(tmp_path / "fresh"))
    done = invoke(tmp_path, "both", "moved", "--like", str(tmp_path / "fresh"))
    assert done.exit_code == 0 and "item/w [30, 4] -> table item_w" in done.output, done.exception
