"""`sok.DynamicVariable(dimension=D)`, `sok.Variable` and the layers of SOK 1.x -> `create_table(dim=D)`."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow as tf\nimport sparse_operation_kit as sok\n"
AFTER = "import tensorflow as tf\nfrom runtime import create_table"


@register
class SokVariable(Rule):
    """Programs written for SparseOperationKit are read as a whole: a file is converted with all of it, or stays.

    A table has one row for each key that is looked up, on the rank that SOK puts it on. Constant initial values and
    matrices stay as they are; others are drawn otherwise, from the same distribution. `python -m runtime.compat.sok`
    runs a program that stays.
    """

    id = "tf-sok-variable"
    title = "A variable or a layer of SparseOperationKit becomes a table"
    examples = (
        Example(
            "a variable that grows",
            HEAD + 'item = sok.DynamicVariable(dimension=8, initializer="0.5", var_type="hbm")\n',
            AFTER
            + '\nitem = create_table(key_dtype=tf.int64, dim=8, name="item",'
            + " emb_initializer=tf.constant_initializer(0.5))\n",
        ),
        Example(
            "rows that are given, in eager code",
            HEAD + "item = sok.Variable(values)\n",
            AFTER
            + "\nitem_rows = tf.cast(values, tf.float32)\n"
            + 'item = create_table(key_dtype=tf.int64, dim=item_rows.shape[1], name="item",'
            + " emb_initializer=tf.zeros_initializer(),\n"
            + "                    device_vocabulary_size=item_rows.shape[0])\n"
            + "item.import_rows(tf.range(item_rows.shape[0]), item_rows)\n",
        ),
        Example(
            "an initializer that is not seen",
            HEAD + "item = sok.DynamicVariable(dimension=8, initializer=how)\n",
            says="the initializer `how` is not seen",
        ),
    )
