"""A row of zeros next to a table: what cannot be followed stays, and says why."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons

ZEROS = "tf.concat([tf.zeros([1, 4]), W[1:]], 0)"
CASES = {
    "another branch": (f"if a:\n    W = {ZEROS}\nelse:\n    W = W\n" + LOOKUP, "row of zeros|by position"),
    "in a loop": (f"for i in range(2):\n    W = {ZEROS}\n" + LOOKUP, "bound more than once"),
    "read before and after in a loop": (f"for i in range(2):\n    {LOOKUP}    W = {ZEROS}\n", "bound more than once"),
    "in a function that may run or not": (
        f"def f():\n    global W\n    W = {ZEROS}\n" + LOOKUP,
        "bound more than once",
    ),
    "read in a function": (f"W = {ZEROS}\ndef f(ids):\n    return tf.nn.embedding_lookup(W, ids)\n", "bound more than"),
    "two rows": ("W = tf.concat([tf.zeros([2, 4]), W[2:]], 0)\n" + LOOKUP, "computed from the whole variable `W`"),
    "two names": (f"P = {ZEROS}\nP = tf.nn.relu(P)\ne = tf.gather(P, ids)\n", "computed from the whole variable `W`"),
    "other rows": ("W = tf.concat([tf.zeros([1, 4]), W[2:]], 0)\n" + LOOKUP, "computed from the whole variable `W`"),
    "columns": ("W = tf.concat([tf.zeros([1, 4]), W[1:]], 1)\n" + LOOKUP, "computed from the whole variable `W`"),
    "pooled": (f"P = {ZEROS}\ne = tf.nn.embedding_lookup_sparse(P, sp, None)\n", "once they are combined"),
    "ids without a name": (f"P = {ZEROS}\ne = tf.gather(P, tf.random.uniform([3]))\n", "needed twice"),
    "also whole": (f"P = {ZEROS}\ne = tf.gather(P, ids)\ny = tf.matmul(u, P)\n", "whole [rows, dim] matrix"),
    "L2": (f"W = {ZEROS}\n" + LOOKUP + "l = tf.nn.l2_loss(W)\n", "also used in another way"),
    "a flag that changes": (f"flag = 1\nflag = 0\nif flag:\n    W = {ZEROS}\n" + LOOKUP, "row of zeros|by position"),
}


@pytest.mark.parametrize(("body", "says"), CASES.values(), ids=CASES)
def test_it_stays_and_the_reason_is_named(body: str, says: str) -> None:
    text = HEAD + MADE + body + STEP
    result = converted(text)
    assert result.converted == text
    assert any(words in reasons(result) for words in says.split("|")), reasons(result)


def test_a_last_row_needs_the_number_of_rows_where_it_is_looked_up() -> None:
    text = HEAD + (
        "def make(n):\n"
        '    W = tf.get_variable("w", [n, 4])\n'
        "    P = tf.concat([W, tf.zeros([1, 4])], 0)\n"
        "    def look(ids):\n"
        "        return tf.nn.embedding_lookup(P, ids)\n"
        "    return look\n"
    )
    result = converted(text + STEP)
    assert result.converted == text + STEP
    assert "look up where the table is made" in reasons(result)
    here = (
        text.replace("    def look(ids):\n    ", "").replace("    return look\n", "").replace("make(n)", "make(n, ids)")
    )
    assert "sparse_lookup(P, tf.minimum(ids, n - 1)), tf.expand_dims(" in converted(here + STEP).converted


def test_lines_go_and_comments_stay() -> None:
    body = f"with tf.name_scope('a'):\n    x = 1\n    W = {ZEROS}  # of the padding\n    {LOOKUP}"
    lines = converted(HEAD + MADE + body + STEP).converted.splitlines()
    at = lines.index("    # of the padding")
    assert lines[at - 1] == "    x = 1"
    assert lines[at + 1].startswith("    e = tf.multiply(sparse_lookup(W, ids)")


def test_a_block_is_not_left_empty() -> None:
    body = f"with tf.name_scope('a'):\n    W = {ZEROS}\n" + LOOKUP
    result = converted(HEAD + MADE + body + STEP)
    assert "with tf.name_scope('a'):\n    pass\n" in result.converted
