"""Lookups that TensorFlow runs in a graph of its own stay, however the function with the lookup gets there."""

from __future__ import annotations

import pytest

from tests.support.source.converting import moves, stays
from tests.support.source.scripts import HEAD, MADE, TRAIN

LOOK = "def look(i):\n    return tf.nn.embedding_lookup(W, i)\n"
EACH = "e = tf.map_fn({}, ids, dtype=tf.float32)\n"
LOSS = "loss = tf.reduce_sum(tf.square(e + b))\n"
#: What the code does -> the code, and what is said to run the lookup.
APART = {
    "a helper of a loop's body": (
        LOOK + "def body(i, a):\n    return i + 1, a + look(ids[i])\n"
        "_, e = tf.while_loop(lambda i, a: i < 3, body, [0, tf.zeros([4])])\n",
        "tf.while_loop",
    ),
    "partial": ("import functools\n" + LOOK + EACH.format("functools.partial(look)"), "tf.map_fn"),
    "a partial in a variable": (
        "from functools import partial\n" + LOOK + "f = partial(look)\n" + EACH.format("f"),
        "",
    ),
    "a lambda in a variable": ("f = lambda i: tf.nn.embedding_lookup(W, i)\n" + EACH.format("f"), "tf.map_fn"),
    "a variable that a lambda calls": (LOOK + "f = look\n" + EACH.format("lambda i: f(i)"), "tf.map_fn"),
    "a lambda in a dict": (
        'f = {"a": lambda i: tf.nn.embedding_lookup(W, i)}\n' + EACH.format('f["a"]'),
        "tf.map_fn",
    ),
    "a function that makes it": (
        "def make():\n    def look(i):\n        return tf.nn.embedding_lookup(W, i)\n    return look\n"
        + EACH.format("make()"),
        "tf.map_fn",
    ),
    "a helper that passes it on": (
        LOOK + "def each(f, x):\n    return tf.map_fn(f, x, dtype=tf.float32)\ne = each(look, ids)\n",
        "tf.map_fn",
    ),
    "a function that is wrapped": (LOOK + EACH.format("wrap(look)"), "tf.map_fn"),
    "an object that is called": (
        "class M:\n    def __call__(self, i):\n        return tf.nn.embedding_lookup(W, i)\nm = M()\n"
        + EACH.format("m"),
        "tf.map_fn",
    ),
    "a method of a method": (
        "class M:\n    def look(self, i):\n        return tf.nn.embedding_lookup(W, i)\n    def step(self, i):\n"
        "        return self.look(i)\n    def run(self):\n        return tf.map_fn(self.step, ids, dtype=tf.float32)\n"
        "e = M().run()\n",
        "tf.map_fn",
    ),
    "a runner that is an argument": (
        LOOK + "def run(runner, f):\n    return runner(f, ids, dtype=tf.float32)\ne = run(tf.map_fn, look)\n",
        "runner",
    ),
    "a runner in a dict": (LOOK + 'runs = {"m": tf.map_fn}\ne = runs["m"](look, ids, dtype=tf.float32)\n', 'runs["m"]'),
    "a runner by its name": (LOOK + 'e = getattr(tf, "map_fn")(look, ids, dtype=tf.float32)\n', '"map_fn")'),
    "a partial of the runner": (
        "import functools\n" + LOOK + "run = functools.partial(tf.map_fn, dtype=tf.float32)\ne = run(look, ids)\n",
        "run",
    ),
    "a partial of the runner with the function": (
        "import functools\n" + LOOK + "run = functools.partial(tf.map_fn, look, dtype=tf.float32)\ne = run(ids)\n",
        "run",
    ),
    "its `__call__`": (LOOK + EACH.format("look.__call__"), "tf.map_fn"),
    "a keyword": (LOOK + "e = tf.map_fn(elems=ids, fn=look, dtype=tf.float32)\n", "tf.map_fn"),
    "a cell": (
        "class Cell(tf.nn.rnn_cell.RNNCell):\n    def call(self, i, s):\n"
        "        e = tf.nn.embedding_lookup(W, i[:, 0])\n        return e, s + e\n"
        "e, _ = tf.nn.dynamic_rnn(Cell(), x, dtype=tf.float32)\n",
        "tf.nn.rnn_cell.RNNCell",
    ),
    "a function with a gradient of its own": ("@tf.custom_gradient\n" + LOOK + "e = look(ids)\n", "tf.custom_gradient"),
    "a pool or a dataset": (
        "from multiprocessing import Pool\n"
        + LOOK
        + "d = Pool(2) if a else tf.data.Dataset.range(3)\ne = d.map(look)\n",
        "d.map",
    ),
    "what a pool gave": (
        "from multiprocessing.pool import ThreadPool\n" + LOOK + "d = ThreadPool(2).apply(load)\ne = d.map(look)\n",
        "d.map",
    ),
    "a method that a layer's subclass has from another base": (
        "class Each(tf.keras.layers.Layer):\n    def call(self, i):\n"
        "        return tf.map_fn(lambda one: self.look(one), i, dtype=tf.float32)\n"
        "class Look:\n    def look(self, i):\n        return tf.nn.embedding_lookup(W, i)\n"
        "class Both(Each, Look):\n    pass\nimport operator\ne = operator.call(Both)(ids)\n",
        "tf.map_fn",
    ),
    "a decoder's helper": (
        "h = tf.contrib.seq2seq.GreedyEmbeddingHelper(lambda i: tf.nn.embedding_lookup(W, i), a, z)\ne = go(h)\n",
        "GreedyEmbeddingHelper",
    ),
}


@pytest.mark.parametrize(("code", "says"), APART.values(), ids=APART)
@pytest.mark.each_case
def test_a_lookup_in_a_graph_of_its_own_stays(code: str, says: str) -> None:
    text = HEAD + MADE + code + LOSS + TRAIN
    stays(text, f"{says}` runs it in an inner graph", assume=True)


@pytest.mark.parametrize("runs", ["tf.map_fn({}, ids, dtype=tf.float32)", "tf.cond(p, lambda: {0}(ids), lambda: x)"])
def test_a_variable_made_there_stays(runs: str) -> None:
    made = '    W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    look = f"def look(i):\n{made}    return tf.nn.embedding_lookup(W, i)\n"
    text = f"{HEAD}ids = tf.constant([1])\n{look}e = {runs.format('look')}\nloss = tf.norm(e)\n{TRAIN}"
    stays(text, "this variable is created by", assume=True)


def test_a_function_that_is_only_named_is_run_by_nothing() -> None:
    code = LOOK + "with tf.contrib.framework.arg_scope([look], x=1):\n    e = look(ids)\n"
    moves(HEAD + MADE + code + LOSS + TRAIN)
