"""Matrices of initial values that cannot be the first rows of a table: each gave other numbers, or no program."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.run import convert_paths
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, converted, reasons

PARTS = "with tf.variable_scope('s', partitioner=tf.fixed_size_partitioner(2)):\n    "
TABLE = "B = tf.get_variable('b', [3, 4])\n"
KEPT = {
    "a partitioner of the scope": (
        PARTS + "W = tf.get_variable('w', initializer=tf.constant(m, dtype=tf.float32, shape=[3, 4]))\n",
        "a separate row for each id",
    ),
    "a partitioner of its own": (
        "W = tf.get_variable('w', initializer=m, partitioner=tf.fixed_size_partitioner(2))\n",
        "a separate row for each id",
    ),
    "integers": ("W = tf.Variable(tf.constant(m, dtype=tf.int32, shape=[3, 4]))\n", "not float32"),
    "a cast": ("W = tf.Variable(tf.cast(m, tf.float64))\n", "not float32"),
    "float64 of NumPy": ("W = tf.Variable(m.astype(np.float64))\n", "not float32"),
    "rows of a table": (TABLE + "W = tf.Variable(tf.nn.embedding_lookup(B, [2, 1, 0]))\n", "cannot be analysed"),
    "rows of a table by name": (
        TABLE + "x = tf.nn.embedding_lookup(B, [2, 1, 0])\nW = tf.Variable(tf.identity(x))\n",
        "cannot be analysed",
    ),
    "another variable": ("B = tf.Variable(m)\nW = tf.Variable(B)\n", "cannot be analysed"),
}


@pytest.mark.parametrize("case", KEPT)
def test_a_matrix_that_is_no_table_stays(case: str) -> None:
    text, said = KEPT[case]
    result = converted(HEAD + "import numpy as np\n" + text + LOOKUP, assume=True)
    assert "W = table_of_rows" not in result.converted
    assert said in reasons(result)


@pytest.mark.parametrize(
    "value", ["m.astype(np.float32)", "tf.cast(m, tf.float32)", "m.astype(float), dtype=tf.float32"]
)
def test_a_matrix_of_float32_is_taken(value: str) -> None:
    result = converted(HEAD + f"import numpy as np\nW = tf.Variable({value})\n" + LOOKUP, assume=True)
    assert "table_of_rows" in result.converted, reasons(result)


def test_a_partitioner_of_another_file_keeps_a_matrix(tmp_path: Path) -> None:
    """By the default strategy, id 1 reads row 2 there."""
    made = "W = tf.get_variable('w', [3, 4], initializer=tf.constant_initializer(m))"
    look = "tf.nn.embedding_lookup(W, ids)"
    (tmp_path / "made.py").write_text(HEAD + f"def table(m, ids):\n    {made}\n    return {look}\n")
    (tmp_path / "main.py").write_text(HEAD + "from made import table\n" + PARTS + "e = table(m, ids)\n")
    done = convert_paths([str(tmp_path)], Options(assume=True))
    assert not any("table_of_rows" in one.result.converted for one in done)


TRAINED = (
    "import tensorflow.compat.v1 as tf\n{before}\n"
    "def make(ids, tune=True):\n"
    '    W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer(), trainable={trainable})\n'
    "    return tf.nn.embedding_lookup(W, ids)\n"
    "{call}\ntf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
)
TRUE = {
    "the default": ("tune", "", "e = make(x)"),
    "the argument of all calls": ("tune", "", "e = make(x, True) + make(y, tune=True)"),
    "a constant of the module": ("TUNE", "TUNE = True", "e = make(x)"),
}
OTHERS = {
    "not trained by one of the calls": ("tune", "", "e = make(x, False) + make(y)"),
    "an argument of the command line": ("tune", "import sys", "e = make(x, len(sys.argv) > 1)"),
    "nothing that is read calls it": ("tune", "", ""),
    "a flag": ("FLAGS.tune", "FLAGS = tf.flags.FLAGS", "e = make(x)"),
    "a comparison": ("tune != 2", "", "e = make(x, 1)"),
    "no literal True": ("tune", "", "e = make(x, 1)"),
    "a constant that a function binds anew": (
        "TUNE",
        "TUNE = True\ndef off():\n    global TUNE\n    TUNE = False\noff()",
        "e = make(x)",
    ),
}


@pytest.mark.parametrize(("trainable", "before", "call"), TRUE.values(), ids=TRUE)
def test_it_is_trained_at_all_calls(trainable: str, before: str, call: str) -> None:
    result = converted(TRAINED.format(trainable=trainable, before=before, call=call))
    assert "create_table(" in result.converted
    assert "trainable=" not in result.converted


@pytest.mark.parametrize(("trainable", "before", "call"), OTHERS.values(), ids=OTHERS)
def test_whether_it_is_trained_is_decided_at_run_time(trainable: str, before: str, call: str) -> None:
    text = TRAINED.format(trainable=trainable, before=before, call=call)
    result = converted(text)
    assert f"trainable={trainable})" in result.converted, reasons(result)
