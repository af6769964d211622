"""Variables that are not trained: what moves trains as before, and what would train otherwise stays."""

from __future__ import annotations

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import converted, reasons

HEAD = "import tensorflow.compat.v1 as tf\nids = tf.placeholder(tf.int64, [None])\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.ones_initializer(), trainable={})\n'
LOSS = 'e = tf.nn.embedding_lookup(W, ids)\nb = tf.get_variable("b", [4])\nloss = tf.reduce_sum(e * b)\n'
STEP = "step = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
OTHER = 'V = tf.get_variable("v", [9, 4])\nloss += tf.reduce_sum(tf.nn.embedding_lookup(V, ids))\n'
#: What is said of a program whose variable stays; each is `trainable=False`.
STAYS = {
    "a list": (LOSS + STEP.replace("loss)", "loss, var_list=[W, b])"), "by a list"),
    "gradients": (
        LOSS + "o = tf.train.AdamOptimizer(0.1)\nstep = o.apply_gradients(zip(tf.gradients(loss, [W]), [W]))\n",
        "by a list",
    ),
    "L2": (LOSS + "loss += tf.nn.l2_loss(W)\n" + STEP, "a table that is trained"),
    "L2 over all": (
        LOSS + "loss += tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n" + STEP,
        "a table that is trained",
    ),
    "a regularizer": (
        LOSS.replace("[4])", "[4], regularizer=None)").replace("e =", "e =") + STEP,
        "a table that is trained",
    ),
    "added": (LOSS + "u = W.assign_add(tf.ones([9, 4]))\n" + STEP, "by `import_rows`"),
}


@pytest.mark.parametrize(("rest", "says"), STAYS.values(), ids=STAYS)
def test_what_would_train_or_read_it_otherwise_keeps_it(rest: str, says: str) -> None:
    made = MADE.format("False")
    if "regularizer=None" in rest:
        made = made.replace("trainable", "regularizer=tf.keras.regularizers.l2(0.1), trainable")
        rest += "loss += tf.losses.get_regularization_loss()\n"
    result = converted(HEAD + made + rest, assume=True)
    assert "create_table" not in result.converted
    assert says in reasons(result)


def test_a_step_is_split_for_the_tables_that_are_trained() -> None:
    alone = converted(HEAD + MADE.format("False") + LOSS + STEP).converted
    assert "trainable=False)" in alone
    assert STEP in alone
    beside = converted(HEAD + MADE.format("False") + LOSS + OTHER + STEP).converted
    assert "get_dense_and_sparse_variable()" in beside
    by_flag = converted(HEAD + MADE.format("flag") + LOSS + STEP).converted
    assert "trainable=flag)" in by_flag
    assert "*([sparse_optimizer.apply_gradients(sparse_grads)] if sparse_grads else [])" in by_flag


def test_a_variable_of_the_same_name_that_a_list_trains_keeps_both() -> None:
    again = 'with tf.variable_scope("", reuse=True):\n    U = tf.get_variable("w", [9, 4])\n'
    lookup = "e += tf.nn.embedding_lookup(U, ids)\n"
    text = HEAD + MADE.format("False") + LOSS + again + lookup + STEP.replace("loss)", "loss, var_list=[U, b])")
    assert "create_table" not in converted(text, assume=True).converted


def test_a_default_that_is_replaced_says_no_longer_whether_it_is_trained() -> None:
    text = HEAD + "class M:\n    def __init__(self, train=True):\n        " + MADE.format("train")
    text += "".join(f"        {line}\n" for line in (LOSS + STEP).splitlines())
    assert "trainable=train)" not in converted(text + "M()\n").converted
    assert "trainable=train)" in converted(text + "M.__init__.__defaults__ = (False,)\nM()\n").converted


@pytest.mark.parametrize("target", ["rec_sdk", "deeprec", "sok"])
def test_other_sdks_have_no_such_table(target: str) -> None:
    result = convert_text(
        "model.py", HEAD + MADE.format("False") + LOSS + STEP, Options(assume=True, target=target), {}
    )
    assert "no table that is not trained" in reasons(result)


def test_a_variable_of_the_same_name_elsewhere_is_another_one() -> None:
    other = 'V = tf.Variable(tf.ones([9, 4]), name="w", trainable=False)\nf = tf.nn.embedding_lookup(V, ids)\n'
    made = 'W = tf.Variable(tf.ones([9, 4]), name="w")\n'
    result = converted(HEAD + other + made + LOSS + "loss += tf.nn.l2_loss(W) + tf.reduce_sum(f)\n" + STEP)
    assert [table.verdict.value for table in result.tables] == ["applied", "applied"], reasons(result)
