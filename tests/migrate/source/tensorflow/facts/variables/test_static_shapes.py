"""Shapes and names of variables that became tables: the program sees what it saw."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf

from tests.support.source.converting import converted, reasons
from tests.support.source.scripts import HEAD, TRAIN, compare

IDS = "ids = tf.constant([1, 2, 1], tf.int64)\nb = tf.get_variable('b', [4], initializer=tf.ones_initializer())\n"
GET = 'tf.get_variable("w", [{}, {}], initializer=tf.constant_initializer(0.5))'
MADE = f"W = {GET.format(9, 4)}\ne = tf.nn.embedding_lookup(W, ids)\n"
LOSS = "loss = tf.reduce_sum(tf.square({} * e - b))\n"
#: What is asked after the lookup, with a term `k` for the loss.
ASKED = {
    "a width": "k = W.shape[1].value\n",
    "all sizes": "n, d = W.get_shape().as_list()\nk = n * d\n",
    "their product": "k = W.shape.num_elements()\n",
    "the rank": "k = W.get_shape().ndims + W.shape.as_list()[-1]\n",
    "in the graph": "k = tf.cast(tf.shape(W)[0], tf.float32)\n",
    "a range of all ids": "k = tf.reduce_sum(tf.nn.embedding_lookup(W, tf.range(tf.shape(W)[0])))\n",
    "noise of its shape": "k = tf.reduce_sum(tf.ones(W.shape))\n",
    "the text": "show(str(W.shape))\nk = 1.0\n",
}
LOOKED = "\ne = tf.nn.embedding_lookup(W, ids)\n"
HELD = f"class M:\n    def __init__(self, n):\n        self.n = n\n        self.W = {GET.format('self.n', 4)}\n"


@pytest.fixture(autouse=True)
def _shapes_of_version_2() -> Iterator[None]:
    """Some programs here want the shapes of version 1, which is said for the whole process."""
    yield
    tf.compat.v1.enable_v2_tensorshape()


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_is_asked_after_the_lookup_is_what_it_was(asked: str) -> None:
    start = "tf.disable_v2_tensorshape()\n" if ".value" in asked else ""
    compare(HEAD + start + IDS + MADE + asked + LOSS.format("k") + TRAIN)


#: Sizes with names, which may mean others where the shape is asked for.
KEPT = {
    "bound again": "n = 9\nW = " + GET.format("n", "4") + LOOKED + "n = 3\nk = W.shape[0] + tf.shape(W)[0]\n",
    "the padding's id": "n = 9\nW = " + GET.format("n", "4") + "\nn += 1\nV = tf.concat([W, tf.zeros([1, 4])], 0)\n"
    + "e = tf.nn.embedding_lookup(V, ids)\nk = 1.0\n",
    "a member of a dict": "n = {'a': 7, 'b': 9}\nM = {k: "
    + GET.replace('"w"', "k + '_w'").format("n[k]", 4) + " for k in n}\n"
    "e = tf.nn.embedding_lookup(M['b'], ids)\nk = tf.shape(M['b'])[0] + M['a'].shape[0]\n",
    "an attribute of another object": HELD + "m = M(9)\ne = tf.nn.embedding_lookup(m.W, ids)\nk = m.W.shape[0]\n",
}  # fmt: skip


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_a_table_has_the_shape_that_it_was_made_with(code: str) -> None:
    compare(HEAD + IDS + code + LOSS.format("tf.cast(k, tf.float32)") + TRAIN)


#: Where the sizes may be others, or are not at hand.
REFUSED = {
    "one of two tables": "class A:\n    def __init__(self):\n        self.W = " + GET.format("9", "4")
    + "\nclass B:\n    def __init__(self):\n        self.W = " + GET.format("7", "4").replace('"w"', '"v"')
    + "\ndef f(m):\n    return tf.nn.embedding_lookup(m.W, ids), tf.shape(m.W)[0]\ne, k = f(A())\ng, _ = f(B())\n",
    "a padded table": "W = " + GET.format("9", "4") + "\nW = tf.concat([tf.zeros([1, 4]), W], 0)\n"
    "e = tf.nn.embedding_lookup(W, ids)\nk = W.shape[0]\n",
    "a name that is fetched": MADE + "k = 1.0\nrows = session.run(W.name)\n",
    "a name that is kept": MADE + "k = 1.0\nname = W.name\n",
    "the type of its numbers": "tf.shape(W, out_type=tf.int64)\n".join([MADE, "k = 1.0\n"]),
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_sizes_that_may_be_others_keep_the_table(code: str) -> None:
    result = converted(HEAD + IDS + code + LOSS.format("k") + TRAIN, assume=True)
    assert not result.changed, result.converted
    assert "unsupported" in reasons(result)


@pytest.mark.parametrize("scope, name", [("", "w:0"), ("with tf.variable_scope('a'):\n    ", "a/w:0")])
def test_a_name_that_is_printed(scope: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = HEAD + IDS + scope + MADE + "print(W.name)\nprint('of', W.op.name)\n" + LOSS.format("1.0") + TRAIN
    compare(code)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [name, f"of {name[:-2]}"] * 2


def test_a_shape_in_a_line_that_reads_all_rows() -> None:
    text = HEAD + IDS + f"W = {GET.format(9, 4)}\ntf.summary.histogram('of %d' % W.shape[0], W)\n"
    text += "e = tf.nn.embedding_lookup(W, ids)\n" + LOSS.format("1.0") + TRAIN
    assert "all_rows(W)" in converted(text).converted
    compare(text)


def test_other_shapes_stay() -> None:
    vector = HELD.replace("[self.n, 4]", "[self.n]")
    use = "def size(m):\n    return {}\ne = tf.nn.embedding_lookup(M(9).W, ids)\nk = 1.0\n"
    assert not converted(HEAD + IDS + vector + use.format("m.W.shape[0]") + LOSS.format("k") + TRAIN).changed
    for target in ("rec_sdk", "deeprec"):
        text = HEAD + IDS + HELD + use.format("m.W.shape[0]") + LOSS.format("k") + TRAIN
        assert "create_table" not in converted(text, target=target).converted
