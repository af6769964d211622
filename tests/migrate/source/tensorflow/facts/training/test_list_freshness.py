"""Lists of all trainable variables that are taken before the step: what is made in between is not in them."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, converted, stays

FED = "ids = tf.placeholder(tf.int64, [None])\n"
TABLE = '{0} = tf.get_variable("{0}", [9, 4], initializer=tf.zeros_initializer())\n'
ALL = "P = tf.trainable_variables()\n"
DENSE = 'b = tf.get_variable("b", [4])\n'
LOSS = "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) + b)\n"
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=P)\n"
TAKEN = "g = tf.gradients(loss, P)\nop = tf.train.AdagradOptimizer(0.1).apply_gradients(zip(g, P))\n"
LAYER = 'E = tf.keras.layers.Embedding(9, 4, name="u")\n'
COLLECTED = "P = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)\n"
EARLY = {
    "a table behind it": DENSE + ALL + TABLE.format("W") + LOSS + STEP,
    "a dense variable behind it": TABLE.format("W") + ALL + DENSE + LOSS + STEP,
    "a collection": DENSE + COLLECTED + TABLE.format("W") + LOSS + STEP,
    "beside its gradients": DENSE + ALL + TABLE.format("W") + LOSS + TAKEN,
    "a function that makes one": (
        DENSE + "def net():\n    " + TABLE.format("W") + "    return tf.nn.embedding_lookup(W, ids)\n"
        + ALL + "loss = tf.reduce_sum(net() + b)\n" + STEP
    ),
    "an object that may make one": (
        TABLE.format("W") + DENSE + "layer = tf.layers.Dense(1)\n" + ALL
        + LOSS.replace("+ b", "+ layer(b)") + STEP
    ),
}  # fmt: skip
LATE = {
    "directly before": TABLE.format("W") + DENSE + LOSS + ALL + STEP,
    "beside its gradients": TABLE.format("W") + DENSE + LOSS + ALL + TAKEN,
}  # fmt: skip


@pytest.mark.parametrize("text", EARLY.values(), ids=EARLY)
def test_a_list_that_lacks_what_is_made_behind_it_keeps_the_tables(text: str) -> None:
    stays(HEAD + FED + text, "lists the trained variables before all of them are created")


@pytest.mark.parametrize("text", LATE.values(), ids=LATE)
def test_a_list_of_all_that_is_made_is_split(text: str) -> None:
    assert converted(HEAD + FED + text).changed


def test_steps_that_overlap_have_lists_of_their_own() -> None:
    sgd = "{0} = tf.train.GradientDescentOptimizer(0.1)\n{0}_pairs = {0}.compute_gradients(loss)\n"
    text = TABLE.format("W") + DENSE + LOSS + sgd.format("x") + 'c = tf.get_variable("c", [4])\nloss += c\n'
    text += sgd.format("y")
    text += "one = x.apply_gradients(x_pairs)\ntwo = y.apply_gradients(y_pairs)\n"
    new = converted(HEAD + FED + text).converted
    assert "for pair in x_pairs[: len(dense_vars)] if" in new
    assert "for pair in y_pairs[: len(dense_vars_2)] if" in new


def test_a_list_at_its_gradients_is_replaced_once() -> None:
    step = "o = tf.train.AdagradOptimizer(0.1)\nop = o.apply_gradients(o.compute_gradients(loss, {}))\n"
    text = HEAD + FED + TABLE.format("W") + DENSE + LOSS + step
    new = converted(text.format("tf.trainable_variables()")).converted
    assert "grads = o.compute_gradients(loss, dense_vars + sparse_vars)" in new


@pytest.mark.parametrize("given", ["P", "tf.trainable_variables()"])
def test_all_variables_of_a_model_of_tables_are_its_tables(given: str) -> None:
    text = TABLE.format("W") + LOSS.replace(" + b", "") + ALL + STEP.replace("=P", f"={given}")
    assert "minimize(loss, var_list=None)" in converted(HEAD + FED + text).converted


NOT_SEEN = {
    "a list or nothing": (
        TABLE.format("W") + DENSE + LOSS + "P = None\nif one:\n    P = [W]\n" + STEP, "value of `P` in its `var_list`"),
    "a default of nothing": (
        TABLE.format("W") + DENSE + LOSS + "def f(P=None):\n    " + STEP + "f([W])\nf()\n", "the value of `P` in its"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), NOT_SEEN.values(), ids=NOT_SEEN)
def test_a_list_that_may_be_another_keeps_the_tables(text: str, why: str) -> None:
    stays(HEAD + FED + text, why)


@pytest.mark.parametrize("call", ["keras.backend.set_floatx('float64')", "keras.mixed_precision.set_policy('float64')"])
def test_a_layer_whose_type_keras_decides_stays(call: str) -> None:
    text = f"tf.{call}\n" + LAYER + "loss = tf.reduce_sum(E(ids))\n" + STEP.replace("P)", "None)")
    assert not converted(HEAD + FED + text).changed


PAIRS = (
    "o = tf.train.AdagradOptimizer(0.1)\npairs = o.compute_gradients(loss)\n"
    "for i, (g, v) in enumerate(pairs):\n    pairs[i] = (tf.clip_by_norm(g, 0.1), v)\nop = o.apply_gradients(pairs)\n"
)


def test_pairs_that_a_loop_exchanges_keep_the_tables() -> None:
    assert not converted(HEAD + FED + TABLE.format("W") + DENSE + LOSS + PAIRS).changed


@pytest.mark.parametrize(("bound", "moves"), [("float(rate)", True), ("next(bounds)", False), ("bounds.pop(0)", False)])
def test_bounds_that_are_taken_by_turns_keep_the_tables(bound: str, moves: bool) -> None:
    text = (
        "o = tf.train.AdagradOptimizer(0.1)\n"
        f"op = o.apply_gradients([(tf.clip_by_norm(g, {bound}), v) for g, v in o.compute_gradients(loss)])\n"
    )
    assert converted(HEAD + FED + TABLE.format("W") + DENSE + LOSS + text).changed is moves
