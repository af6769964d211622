"""Other spellings of the ordinary forms: found all the same, or named."""

from __future__ import annotations

import pytest
from source_helpers import HEAD, LOOKUP, converted

from migrate.report.model import State


@pytest.mark.parametrize(
    "source",
    [
        'U, V = tf.get_variable("u", [9, 4]), tf.get_variable("v", [9, 4])\n'
        "e = tf.nn.embedding_lookup(U, i) * tf.nn.embedding_lookup(V, i)\n",
        'v1 = tf.compat.v1\nU = v1.get_variable("u", [9, 4])\nV = v1.get_variable("v", [9, 4])\n'
        "look = tf.nn.embedding_lookup\ne = look(U, i) * look(V, i)\n",
    ],
    ids=["in one assignment", "through a name of its own"],
)
def test_other_spellings_of_the_same(source: str) -> None:
    result = converted("import tensorflow as tf\ntf.compat.v1.disable_eager_execution()\n" + source)
    assert [table.name for table in result.tables] == ["u", "v"]
    assert result.converted.count("create_table(key_dtype") == 2
    assert "e = sparse_lookup(U, i) * sparse_lookup(V, i)\n" in result.converted


def test_a_table_takes_no_name_that_tensorflow_gives() -> None:
    text = HEAD + 'w = tf.get_variable("w", [3])\nW = tf.Variable(tf.zeros([9, 4]))\n' + LOOKUP
    assert [table.name for table in converted(text).tables] == ["W_table"]


def test_a_variable_that_gets_out_of_sight_is_named() -> None:
    text = HEAD + "def make(n):\n    return tf.get_variable(n, [9, 4])\nW = make(n)\n" + LOOKUP
    finding = converted(text).findings[0]
    assert (finding.state, finding.location.line) == (State.OPAQUE, 5)
    assert "line 3" in finding.reason
    text = text + "c = tf.constant([1.0])\ne = tf.nn.embedding_lookup(c, ids)\n"
    assert [f.state for f in converted(text).findings] == [State.OPAQUE, State.NOTED]
