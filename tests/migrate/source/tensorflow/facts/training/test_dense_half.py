"""Steps whose loss depends on tables alone, while another step, or none, trains the other variables."""

from __future__ import annotations

import pytest

from tests.support.source.converting import converted
from tests.support.source.scripts import HEAD, compare, shown

MADE = """ids = tf.constant([1, 2, 1], tf.int64)
W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
b = tf.get_variable("b", [], initializer=tf.constant_initializer(0.25))
def error(rows, label):
    return tf.reduce_mean((tf.reduce_sum(rows, 1) - label) ** 2)
loss = error(tf.nn.embedding_lookup(W, ids), 1.0)
other = tf.square(b - 3.0)
count = tf.train.get_or_create_global_step()
"""
TRAIN = """
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(3):
        show(s.run(loss))
        show(s.run(b))
        show(s.run(count))
        s.run(train)
    show(s.run(count))
"""
ADAGRAD, SGD, ADAM = (f"tf.train.{name}Optimizer(0.1)" for name in ("Adagrad", "GradientDescent", "Adam"))
PAIRS = "[(tf.clip_by_value(g, -0.5, 0.5), v) for g, v in pairs if g is not None]"
STEPS = {
    "another loss trains it": f"first = {ADAGRAD}.minimize(loss, count)\n"
    f"second = {ADAGRAD}.minimize(other, var_list=[b])\ntrain = [first, second]\n",
    "one optimizer for two losses": f"opt = {SGD}\nfirst = opt.minimize(loss, count)\nsecond = opt.minimize(other)\n"
    "train = [first, second]\n",
    "ids of a dict": "fed = {n: tf.constant([1, 2, 1]) for n in ['a']}\nx = tf.nn.embedding_lookup(W, fed['a'])\n"
    f"loss, opt = error(x, 1.0), {SGD}\nfirst, second = opt.minimize(loss, count), opt.minimize(other)\n"
    "train = [first, second]\n",
    "two in one statement": f"train = tf.group({SGD}.minimize(loss, count), "
    "tf.train.GradientDescentOptimizer(0.3).minimize(other))\n",
    "nothing trains it": f"train = {ADAM}.minimize(loss, global_step=count)\n",
    "compute and apply": f"opt = {ADAM}\npairs = opt.compute_gradients(loss)\n"
    f"train = opt.apply_gradients({PAIRS}, count)\n",
    "clipped gradients": "v = tf.trainable_variables()\ng, _ = tf.clip_by_global_norm(tf.gradients(loss, v), 1.0)\n"
    f"train = {ADAGRAD}.apply_gradients(zip(g, v), count)\n",
    "behind a gradient that is cut": f"train = {ADAGRAD}.minimize(loss + tf.stop_gradient(b), count)\n",
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_step_that_trains_tables_alone_leaves_the_dense_half_out(steps: str) -> None:
    text = HEAD + MADE + steps + TRAIN
    assert "if dense_grads or not sparse_grads else []" in converted(text).converted
    compare(text)


@pytest.mark.parametrize(
    "step",
    [
        f"train = {ADAGRAD}.minimize(cut, count)\n",
        f"opt = {ADAM}\npairs = opt.compute_gradients(cut)\ntrain = opt.apply_gradients(pairs)\n",
    ],
    ids=["minimize", "apply_gradients"],
)
@pytest.mark.each_case
def test_a_loss_without_a_gradient_is_an_error_as_before(step: str) -> None:
    text = f"{HEAD}{MADE}cut = tf.stop_gradient(loss + b)\n{step}"
    result = converted(text).converted
    assert "sparse_lookup" in result
    for code in (text, result):
        with pytest.raises(ValueError, match=r"No gradients provided for any variable(?=.*'w:0')(?=.*'b:0')"):
            shown(code)


@pytest.mark.parametrize("trainable", ["False", "trainable=False"])
def test_a_variable_that_is_not_trained_is_no_dense_half(trainable: str) -> None:
    made = 'ids = tf.constant([1, 2, 1])\nW = tf.get_variable("w", [9, 4])\nb = tf.Variable([0.5], ' + trainable + ")\n"
    text = (
        f"{HEAD}{made}loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids)) + b[0]\ntrain = {ADAGRAD}.minimize(loss)\n"
    )
    found = converted(text).converted
    assert "adagrad.create_hash_optimizer" in found
    assert "dense_vars" not in found


def test_a_name_that_a_pattern_binds_is_no_missing_part_of_the_model() -> None:
    """TensorFlow refuses an optimizer without variables, so that a dense one would end the program."""
    made = 'ids = tf.constant([1, 2, 1])\nW = tf.get_variable("w", [9, 4])\n'
    matched = "match {'rate': 0.1, 'by': 2.0}:\n    case {'rate': rate, **rest}:\n        scale = rest['by']\n"
    loss = "loss = scale * tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
    found = converted(f"{HEAD}{made}{matched}{loss}train = tf.train.AdagradOptimizer(rate).minimize(loss)\n").converted
    assert "adagrad.create_hash_optimizer" in found
    assert "dense_vars" not in found
