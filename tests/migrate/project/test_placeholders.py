"""Models that make placeholders get their features from the pipeline; placeholders of anything else are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.project.tensorflow import ConvertedModel, converted
from migrate.schema import parse_schema

SCHEMA = """\
version: 1
input: {size: 17, dense: [[0, 2]], sparse: [{name: user, start: 2, size: 8}, {name: item, start: 10, size: 7}]}
labels: [click]
tasks: [{label: click}]
"""
ROWS = """\
    table = tf.get_variable("rows", [8, 4], initializer=tf.zeros_initializer())
    x = tf.concat([tf.nn.embedding_lookup(table, u), tf.nn.embedding_lookup(table, i), d], 1)
    return tf.sigmoid(tf.reduce_sum(x, 1))
"""
INSIDE = (
    '''\
def model(is_training, scale=1.0):
    """One table."""
    with tf.name_scope("inputs"):
        u = tf.placeholder(tf.int32, [None], name="user")
        i = tf.placeholder(dtype=tf.int64, shape=(None,), name="item")
    inputs = {"dense_feature": tf.placeholder("float", [None, 2])}
    d = inputs["dense_feature"]
'''
    + ROWS
)
AT_TOP = (
    """\
u = tf.placeholder(tf.int64, name="user")
item = tf.placeholder(tf.int64, [None], "ids_of_items")
d = tf.placeholder(tf.float32, [None, 2], name="dense_feature")
weights = tf.placeholder(tf.float32, [None])


def model():
    i = item
"""
    + ROWS
)


def _converted(text: str) -> ConvertedModel:
    schema = parse_schema(SCHEMA, "schema.yaml")
    return converted(Path("model.py"), "import tensorflow.compat.v1 as tf\n\n" + text, schema, "model")


def test_placeholders_in_the_function_are_items_of_a_parameter() -> None:
    found = _converted(INSIDE)
    assert found.call == "model(features, is_training=is_train)"
    assert "def model(features, is_training, scale=1.0):" in found.module
    assert '        u = features["user"]\n        i = features["item"]\n' in found.module
    assert 'inputs = {"dense_feature": features["dense_feature"]}' in found.module
    method = "class Model:\n" + "".join(f"    {line}\n" for line in INSIDE.splitlines())
    found = _converted(method.replace("Model:", "model:").replace("def model(is_training, ", "def build(self, "))
    assert "def build(self, features, scale=1.0):" in found.module and found.call == "model().build(features)"


def test_placeholders_of_the_file_are_read_where_the_function_begins() -> None:
    found = _converted(AT_TOP)
    assert found.call == "model(features)" and "placeholder" not in found.module
    lines = found.module[found.module.index("def model(features):") :].splitlines()
    assert [line.strip() for line in lines[1:5]] == [
        'u = features["user"]',
        'item = features["item"]',
        'd = features["dense_feature"]',
        "i = item",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'name="user"',
            'name="keep"',
            "line 6: the placeholder `keep` is no feature of the schema .user, item, dense_",
        ),
        ('name="user"', 'name="click"', "`click` is a label; remove the loss, which main.py computes"),
        ("tf.placeholder(tf.int32", "tf.sparse_placeholder(tf.int32", "uses `tf.sparse_placeholder`; take dense ids"),
    ],
)
def test_other_placeholders_are_refused(old: str, new: str, message: str) -> None:
    assert old in INSIDE
    with pytest.raises(MigrateError, match=message):
        _converted(INSIDE.replace(old, new))


def test_a_placeholder_that_a_second_function_reads_is_refused() -> None:
    helper = "def other():\n    return u\n\n\n"
    with pytest.raises(MigrateError, match="`u` of line 3 is used here and in `model`; pass it as an argument"):
        _converted(AT_TOP.replace("def model", helper + "def model"))
