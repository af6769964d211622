"""The converted code, run on the runtime, trains to the same losses as the original from the same initial rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import converted
from tests.support.source.trained import SGD, model, same_losses
from tests.support.source.whole_training import tf

STEPS = {
    "sgd": f"train_op = {SGD}.minimize(loss, global_step=step)",
    "adagrad": "train_op = tf.train.AdagradOptimizer(0.3).minimize(loss, step)",
    "adagrad with its own accumulator": "train_op = tf.train.AdagradOptimizer(0.3, 0.7).minimize(loss, step)",
    "schedule": "rate = tf.train.exponential_decay(0.5, step, 2, 0.5)\n"
    "train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)",
    "schedule in place": "o = tf.train.AdagradOptimizer(tf.train.exponential_decay(0.5, step, 2, 0.5))\n"
    "train_op = o.minimize(loss, step)",
    "clip each": f"o = {SGD}\ngv = o.compute_gradients(loss)\n"
    "gv = [(tf.clip_by_value(g, -0.01, 0.01), v) for g, v in gv]\ntrain_op = o.apply_gradients(gv, global_step=step)",
    "pairs without a gradient are dropped": f"tf.get_variable('a', [2])\no = {SGD}\ngv = o.compute_gradients(loss)\n"
    "gv = [(tf.clip_by_norm(g, 0.1), v) for (g, v) in gv if g is not None]\ntrain_op = o.apply_gradients(gv, step)",
    "dropped at once": f"tf.get_variable('a', [2])\no = {SGD}\n"
    "gv = [(g, v) for g, v in o.compute_gradients(loss) if (g is not None)]\ng, v = zip(*gv)\n"
    "g, _ = tf.clip_by_global_norm(g, 0.2)\ntrain_op = o.apply_gradients(zip(g, v), step)",
    "clip all together": f"o = {SGD}\ng, v = zip(*o.compute_gradients(loss))\ng, _ = tf.clip_by_global_norm(g, 0.2)\n"
    "train_op = o.apply_gradients(zip(g, v), global_step=step)",
    "gradients of all variables": f"o = {SGD}\nv = tf.trainable_variables()\n"
    "g, _ = tf.clip_by_global_norm(tf.gradients(loss, v), 0.2)\ntrain_op = o.apply_gradients(zip(g, v), step)",
    "branches": "if len('x') == 1:\n    o = tf.train.AdagradOptimizer(0.2)\nelse:\n"
    "    o = tf.train.GradientDescentOptimizer(0.2)\ntrain_op = o.minimize(loss, step)",
    "one optimizer, two losses": f"o = {SGD}\na = o.minimize(loss, step)\n"
    "with tf.control_dependencies([a]):\n    train_op = tf.group(a, o.minimize(2.0 * loss))",
}


@pytest.mark.parametrize("training", STEPS.values(), ids=STEPS)
@pytest.mark.one_case
def test_same_rows_give_the_same_losses(training: str) -> None:
    text = model(training)
    result = converted(text)
    assert result.changed
    tables = {"user": "user", "item_table": "item/table", "item_bias": "item/bias"}
    same_losses(text, result.converted, tables)


#: Nothing but tables, which stock optimizers take no part in; rows are read in odd places.
FACTORS = """
import tensorflow.compat.v1 as tf

def build_model():
    user = tf.placeholder(tf.int64, [None, 2])
    item = tf.placeholder(tf.int32, [None])
    label = tf.placeholder(tf.float32, [None])
    U = tf.get_variable("U", [50, 4])
    step = tf.Variable(0, trainable=False, name="global_step")
    with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
        V = tf.get_variable("V", [50, 4])
    both = tf.nn.embedding_lookup(U, [user[:, 0], tf.cast(item, tf.int64)])
    score = tf.reduce_sum(both[0] * both[1] * tf.nn.embedding_lookup(V, [[3]])[0], axis=1)
    loss = tf.reduce_mean((score - label) ** 2)
{training}
    tf.train.Saver(tf.global_variables())
    return {{"user": user, "item": item, "label": label, "loss": loss, "train_op": train_op, "step": step}}

def main():
    build_model()
"""
MORE = " + tf.reduce_mean(tf.nn.embedding_lookup(U, user) ** 2)"
TABLES_ONLY = {
    "adagrad": f"train_op = tf.train.AdagradOptimizer(0.3).minimize(loss{MORE}, global_step=step)",
    "schedule": "rate = tf.train.exponential_decay(0.5, step, 2, 0.5)\no = tf.train.GradientDescentOptimizer(rate)\n"
    "train_op = o.minimize(loss, step)",
    "pairs": f"o = {SGD}\ngv = o.compute_gradients(loss)\ngv = [(tf.clip_by_norm(g, 0.1), v) for g, v in gv]\n"
    "train_op = o.apply_gradients(gv, global_step=step)",
    "in one line": f"o = {SGD}\nv = tf.trainable_variables()\n"
    f"train_op = o.apply_gradients(zip(tf.gradients(loss{MORE}, v), v), step)",
}


@pytest.mark.parametrize("training", TABLES_ONLY.values(), ids=TABLES_ONLY)
def test_a_model_of_nothing_but_tables_trains(training: str) -> None:
    text = model(training, FACTORS)
    result = converted(text)
    assert "create_hash_optimizer" in result.converted
    assert "dense_optimizer" not in result.converted
    same_losses(text, result.converted, {"U": "U", "V": "V"})


@pytest.mark.parametrize(
    "loss", [f"loss{MORE}", "tf.add_n([loss,\n        tf.nn.l2_loss(tf.nn.embedding_lookup(U, user))])"]
)
def test_a_lookup_inside_the_call_that_is_split_is_kept(loss: str) -> None:
    kernel = '    loss *= tf.get_variable("kernel", [], initializer=tf.ones_initializer())\n'
    text = model(f"train_op = {SGD}.minimize({loss}, step)", FACTORS.replace("{training}", kernel + "{training}"))
    result = converted(text)
    assert "dense_optimizer" in result.converted
    same_losses(text, result.converted, {"U": "U", "V": "V"})


@pytest.mark.parametrize("made", ["", ", initializer=tf.glorot_normal_initializer()"])
@pytest.mark.parametrize("shape", [[400, 4], [400]])
def test_initial_rows_are_as_large_as_before(shape: list[int], made: str) -> None:
    text = f"""import tensorflow.compat.v1 as tf
def build(ids):
    W = tf.get_variable("w", {shape}{made})
    return tf.nn.embedding_lookup(W, ids)
s = tf.Session()
"""
    size = []
    for source in (text, converted(text).converted):
        space: dict[str, Any] = {}
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            exec(source, space)
            rows = space["build"](tf.range(400))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                values = session.run(rows)
        size.append((np.abs(values).max(), values.std()))
    assert "initializer" in converted(text).converted
    np.testing.assert_allclose(size[1], size[0], rtol=0.1)
