"""Other spellings of the ordinary forms: found all the same, or named."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from tests.support.source.converting import HEAD, LOOKUP, MADE, converted


@pytest.mark.parametrize(
    "source",
    [
        'U, V = tf.get_variable("u", [9, 4]), tf.get_variable("v", [9, 4])\n'
        "e = tf.nn.embedding_lookup(U, i) * tf.nn.embedding_lookup(V, i)\n",
        'v1 = tf.compat.v1\nU = v1.get_variable("u", [9, 4])\nV = v1.get_variable("v", [9, 4])\n'
        "look = tf.nn.embedding_lookup\ne = look(U, i) * look(V, i)\n",
        "import tensorflow.compat.v1 as t1\n"
        'U, V = t1.compat.v1.get_variable("u", [9, 4]), t1.compat.v1.get_variable("v", [9, 4])\n'
        "e = t1.compat.v1.nn.embedding_lookup(U, i) * tf.nn.embedding_lookup(V, i)\n",
    ],
    ids=["in one assignment", "through a name of its own", "compat.v1 of compat.v1"],
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
    text = HEAD + "@wrap\ndef make(n):\n    return tf.get_variable(n, [9, 4])\nW = make(n)\n" + LOOKUP
    finding = converted(text).findings[0]
    assert (finding.state, finding.location.line) == (State.UNSUPPORTED, 4)
    assert "what the caller does with it is not analysed" in finding.reason
    text = text + "c = tf.constant([1.0])\ne = tf.nn.embedding_lookup(c, ids)\n"
    assert {f.state for f in converted(text).findings} == {State.UNSUPPORTED, State.NOTED}


@pytest.mark.parametrize(
    "source",
    [
        MADE + LOOKUP + "f = tf.stop_gradient(tf.nn.embedding_lookup(W, ids))\n",
        'with tf.variable_scope("a"):\n    with tf.variable_scope("b"):\n        ' + MADE + LOOKUP,
    ],
    ids=["one lookup is cut off", "nested scopes"],
)
def test_it_moves(source: str) -> None:
    result = converted(HEAD + source)
    assert [table.verdict for table in result.tables] == [State.APPLIED]
    assert result.tables[0].name == ("a_b_w" if "scope" in source else "w")


@pytest.mark.parametrize(
    "pairs",
    [
        "[(g, v) for g, v in o.compute_gradients(loss) if g is None]",
        "[(f(g), v) for g, v in o.compute_gradients(loss) if g is not None]",
        "[p for x in xs for p in o.compute_gradients(loss)]",
    ],
)
def test_pairs_that_change_in_another_way_are_refused(pairs: str) -> None:
    text = HEAD + MADE + LOOKUP + f"o = tf.train.AdagradOptimizer(0.1)\ngv = {pairs}\nop = o.apply_gradients(gv)\n"
    assert converted(text).converted == text


def test_an_assignment_that_does_not_fit_binds_nothing_known() -> None:
    text = HEAD + 'U, V = tf.get_variable("u", [9, 4]), *rest\ne = tf.nn.embedding_lookup(U, ids)\n'
    assert converted(text).converted == text


def test_comments_beside_an_argument_that_goes_stay() -> None:
    text = (
        "e = tf.nn.embedding_lookup(\n    W,\n    ids,  # the ids\n    # how they are spread\n    'mod',\n"
        '    validate_indices=False,  # no check\n    name="x",\n)\n'
    )
    wanted = (
        'e = sparse_lookup(\n    W,\n    ids,  # the ids\n    # how they are spread\n    # no check\n    name="x",\n)\n'
    )
    assert wanted in converted(HEAD + MADE + text).converted
    text = "e = tf.nn.embedding_lookup(W, ids,  # c\n  validate_indices=False)\n"
    assert "e = sparse_lookup(W, ids,  # c\n  )\n" in converted(HEAD + MADE + text).converted


def test_an_import_of_the_v1_api_needs_no_further_prefix() -> None:
    text = HEAD + "W = tf.Variable(tf.random.uniform([9, 4]))\n" + LOOKUP
    assert "emb_initializer=tf.random_uniform_initializer(" in converted(text).converted
