"""Variables that stay keep their names beside tables, so that an old checkpoint gives each its own values."""

from __future__ import annotations

from typing import Any

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import converted

tensorflow: Any = pytest.importorskip("tensorflow")

HEAD = "import tensorflow.compat.v1 as tf\nids = tf.placeholder(tf.int64, [None])\n"
STEP = "step = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
V, LOOKUP = "tf.Variable(tf.random_normal([9, 4]))", "tf.nn.embedding_lookup"
#: Programs whose tables and other variables count names together, and what the converted one says of it.
COUNTED = {
    "none has a name": (
        f"W = {V}\nb = {V}\nU = {V}\nc = {V}\n"
        f"loss = tf.reduce_sum({LOOKUP}(W, ids) + {LOOKUP}(U, ids) + b[0] * c[0])\n",
        'in_place_of="Variable"',
    ),
    "one name": (
        "def make():\n    return tf.Variable(tf.ones([9, 4]), name='w')\n"
        "with tf.name_scope('s'):\n    W = tf.Variable(tf.ones([9, 4]), name='w')\n    b = make()\n"
        f"loss = tf.reduce_sum({LOOKUP}(W, ids) * b[0])\n",
        'in_place_of="w"',
    ),
    "computed names": (
        "def make(name=None):\n    return tf.Variable(tf.ones([4]), name=name)\n"
        f"W = tf.Variable(tf.ones([9, 4]), name='b')\nb = make('b')\nloss = tf.reduce_sum({LOOKUP}(W, ids) * b)\n",
        'in_place_of="b"',
    ),
    "a table's computed name, or none": (
        "given = None\n"
        f"W = tf.Variable(tf.ones([9, 4]), name=given)\nb = {V}\nloss = tf.reduce_sum({LOOKUP}(W, ids) * b[0])\n",
        'in_place_of=given or "Variable"',
    ),
    "a loop": (
        f"Ws = [tf.Variable(tf.ones([9, 4])) for _ in range(2)]\nb = {V}\n"
        f"loss = tf.reduce_sum({LOOKUP}(Ws[0], ids) * {LOOKUP}(Ws[1], ids) * b[0])\n",
        'in_place_of="Variable"',
    ),
    "names that differ in case and number": (
        "W = tf.Variable(tf.ones([9, 4]), name='w')\nb = tf.Variable(tf.ones([4]), name='W_1')\n"
        f"c = tf.Variable(tf.ones([4]), name='W')\nloss = tf.reduce_sum({LOOKUP}(W, ids) * b * c)\n",
        'in_place_of="w"',
    ),
    "untrained": (
        f"W = {V}\nturn = tf.Variable(0, trainable=False)\nloss = tf.reduce_sum({LOOKUP}(W, ids))\n"
        "loss += tf.reduce_sum(tf.Variable(tf.ones([4])))\n",
        'in_place_of="Variable"',
    ),
}


@pytest.mark.parametrize(("model", "says"), COUNTED.values(), ids=COUNTED)
def test_variables_that_stay_keep_their_names(model: str, says: str) -> None:
    original = HEAD + model + STEP
    result = converted(original, assume=True)
    assert all(table.verdict is State.APPLIED for table in result.tables)
    assert says in result.converted
    before, after = _shapes(original), _shapes(result.converted)
    assert after
    own = {name for name in after if name.startswith("Adam_1/")}
    assert {name: before.get(name) for name in after.keys() - own} == {n: after[n] for n in after.keys() - own}


def _shapes(program: str) -> dict[str, Any]:
    """Return the shapes of all variables but tables, by name."""
    from runtime.table.anchor import Anchor

    with tensorflow.Graph().as_default():
        exec(compile(program, "program", "exec"), {})
        found = tensorflow.compat.v1.global_variables()
        return {v.op.name: v.shape.as_list() for v in found if not isinstance(v, Anchor)}


@pytest.mark.parametrize(
    "other",
    ["tf.get_variable('b', [4])", "tf.Variable(tf.ones([4]), name='b')", "tf.layers.dense(tf.ones([1, 4]), 4)"],
)
def test_nothing_is_added_where_no_name_is_counted(other: str) -> None:
    model = f"W = {V}\nb = {other}\nloss = tf.reduce_sum({LOOKUP}(W, ids) * b)\n"
    text = converted(HEAD + model + STEP).converted
    assert "create_table" in text
    assert "in_place_of" not in text


def test_a_name_that_is_made_by_a_call_is_not_made_twice() -> None:
    model = (
        "names = iter('ab')\nWs = [tf.Variable(tf.ones([9, 4]), name=next(names)) for _ in range(2)]\n"
        f"b = {V}\nloss = tf.reduce_sum({LOOKUP}(Ws[0], ids) * {LOOKUP}(Ws[1], ids) * b[0])\n"
    )
    assert converted(HEAD + model + STEP, assume=True).converted.count("next(names)") == 1


def test_other_sdks_are_said_to_number_anew() -> None:
    result = convert_text(
        "model.py", HEAD + COUNTED["none has a name"][0] + STEP, Options(target="deeprec", assume=True), {}
    )
    assert "in_place_of" not in result.converted
    assert any("may get other numbers" in finding.reason for finding in result.findings)


#: A table that cannot take the name of its variable, and one that stays, and whether that one gets another name.
UNTOLD = {
    "its name": ("tf.Variable(tf.ones([9, 4]), name='w')", True),
    "another name": ("tf.Variable(tf.ones([9, 4]), name='x')", False),
    "two get_variable": ("tf.get_variable('w_1', [9, 4])", False),
}


@pytest.mark.parametrize(("stays", "told"), UNTOLD.values(), ids=UNTOLD)
def test_a_name_that_is_counted_anew_is_told(stays: str, told: bool) -> None:
    made = f"W = tf.get_variable('w', [9, 4])\nb = {stays}\n"
    original = f"{HEAD}{made}loss = tf.reduce_sum({LOOKUP}(W, ids) * b[0])\n{STEP}"
    result = converted(original, assume=True)
    assert "create_table" in result.converted
    assert any("may get other numbers" in finding.reason for finding in result.findings) is told
    before, after = ([n for n in _shapes(p) if "Adam" not in n] for p in (original, result.converted))
    last = max(name for name in before if "power" not in name)  # that of `b`
    assert (last not in after) is told
