"""Lines of programs that keep tables in dicts and lists."""

from __future__ import annotations

from tests.support.source.scripts import HEAD

NAMES = 'names, sizes = ["a", "b"], {"a": 9, "b": 7}\nids = {"a": [1, 2, 1], "b": [0, 6, 6]}\n'

START = (
    HEAD + NAMES + 'scale = tf.get_variable("scale", [], initializer=tf.constant_initializer(0.5))\n'
    "look = tf.nn.embedding_lookup\n"
)

MADE = 'tf.get_variable(n + "_emb", [sizes[n], 4], initializer=tf.constant_initializer(0.25))'

A, B = (
    f'tf.get_variable("{n}", [9, 4], initializer=tf.constant_initializer({v}))' for n, v in (("a", 0.5), ("b", 0.2))
)

DICT = f"W = {{n: {MADE} for n in names}}\n"

LIST = f"W = [{MADE} for n in names]\n"

SUM = "e = sum(tf.nn.embedding_lookup(W[n], ids[n]) for n in names)\n"
