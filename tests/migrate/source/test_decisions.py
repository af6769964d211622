"""A table of which it is said that `--assume` converts it is converted with `--assume`: all else is said before.

The examples of the rules are asked the same in test_source_rules.
"""

from __future__ import annotations

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options, jointly
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons

TRAIN = "op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e))\n"
#: A doubt: there may be several processes.
DOUBT = "import hybridbackend\n"
SECOND = "op2 = tf.train.FtrlOptimizer(0.1).minimize(tf.reduce_sum(e), {0})\n"
LAYER = (
    "import tensorflow as tf\ninputs = tf.keras.Input([2])\nown = tf.keras.regularizers.OrthogonalRegularizer()\n"
    "e = tf.keras.layers.Embedding(9, 4, embeddings_regularizer=own)(inputs)\n"
    "model = tf.keras.Model(inputs, e)\nmodel.compile({0!r})\n"
)
#: Name -> a program of which a table needs a decision, and is kept all the same; and why.
KEPT = {
    "two optimizers": (DOUBT + MADE + LOOKUP + f"def a():\n    {STEP}def b():\n    {SECOND.format('')}a()\nb()\n",
                       "depends on their order"),
    "one name twice": (DOUBT + "with tf.variable_scope('s', reuse=tf.AUTO_REUSE):\n    " + MADE + "    " + LOOKUP
                       + "    V = tf.get_variable('w', [9, 4])\n    f = tf.matmul(V, V, transpose_b=True)\n" + TRAIN,
                       "created twice"),
    "a function of tables and others": (
        "matrix = tf.zeros([9, 4])\ndef g(x):\n    return tf.nn.embedding_lookup(x, ids)\ne = g(matrix)\n" + MADE
        + "f = g(W)\n", "not a converted table"),
    "a layer": (LAYER.format("rmsprop"), "no table optimizer computes the same"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "why"), KEPT.values(), ids=KEPT)
def test_what_keeps_a_table_is_said_beside_the_doubts(code: str, why: str) -> None:
    code = code if code.startswith("import tensorflow") else HEAD + code
    result = converted(code)
    kept = [table for table in result.tables if table.verdict is State.UNSUPPORTED]
    assert kept, reasons(result)
    assert any(why in reason for table in kept for reason in table.reasons), kept
    assert why in reasons(result)
    assert all(table.verdict is State.UNSUPPORTED for table in converted(code, assume=True).tables)


#: Names that are bound to a table in one branch, and in the other to what needs a decision, or can be no table.
ARMS = "if rows is None:\n    W = {0}\nelse:\n    W = {1}\n" + LOOKUP + TRAIN
OWN = MADE.removeprefix("W = ").strip()


def test_a_table_that_waits_for_another_converts_with_it() -> None:
    code = HEAD + ARMS.format(OWN, "tf.Variable(rows)")
    assert not converted(code).changed
    assert {table.verdict for table in converted(code, assume=True).tables} == {State.APPLIED}


def test_a_table_that_stays_with_another_needs_none() -> None:
    code = HEAD + ARMS.format(OWN, "tf.Variable(rows, dtype=tf.float64)")
    assert {table.verdict for table in converted(code).tables} == {State.UNSUPPORTED}, reasons(converted(code))
    assert not converted(code, assume=True).changed


#: Three tables, of which one is saved apart; a doubt about the whole program, and one about that table.
SEVERAL = (
    HEAD + DOUBT + "".join(
        f"{one} = tf.get_variable('{one}', [9, 4], initializer=tf.zeros_initializer())\n"
        f"e_{one} = tf.nn.embedding_lookup({one}, ids)\n" for one in ("a", "b")
    ) + "op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e_a) + tf.reduce_sum(e_b))\n"
)  # fmt: skip
LAYERS = (
    "import tensorflow as tf\ninputs = tf.keras.Input([2])\n"
    "e = tf.keras.layers.Embedding(9, 4, name='a')(inputs) + tf.keras.layers.Embedding(9, 4, name='b')(inputs)\n"
    "model = tf.keras.Model(inputs, e)\nmodel.compile('adam')\nmodel.save('m.h5')\n"
)


@pytest.mark.parametrize("text", [SEVERAL, LAYERS], ids=["variables", "layers"])
def test_an_assumption_is_made_for_one_table_or_for_one_reason(text: str) -> None:
    def moved(assume: bool | tuple[str, ...]) -> dict[str, State]:
        return {table.name: table.verdict for table in convert_text("m.py", text, Options(assume=assume), {}).tables}

    rule = next(one.rule for one in converted(text).findings if one.state is State.SUGGESTED)
    assert moved(False) == moved(("other",)) == {"a": State.SUGGESTED, "b": State.SUGGESTED}
    assert moved(("a",)) == {"a": State.APPLIED, "b": State.SUGGESTED}
    assert moved((rule,)) == moved(("a", "b")) == moved(True) == {"a": State.APPLIED, "b": State.APPLIED}


def test_files_that_are_judged_together_accept_what_all_of_them_accept() -> None:
    assert jointly([True, True]) is True
    assert jointly([True, ("a", "b"), ("b", "c")]) == ("b",)
    assert not jointly([True, ("a",), False])
