"""`sok.lookup_sparse` and `sok.all2all_dense_embedding` -> `grouped_embedding_lookup_sparse` and `sparse_lookup`."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow as tf\nimport sparse_operation_kit as sok\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="1.0")\n'
AFTER = "import tensorflow as tf\nfrom runtime import create_table, "
TABLE = 'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(1.0))\n'


@register
class SokLookup(Rule):
    """Lookups exchange ids and rows among the ranks, as SOK's do, and every rank makes them in the same order.

    Gradients of rows are summed over the ranks by both. What is trained is given the `variable` of a table.
    """

    id = "tf-sok-lookup"
    title = "A lookup of SparseOperationKit becomes one of a table"
    examples = (
        Example(
            "pooled lookups of several tables are one",
            HEAD + MADE + 'first, second = sok.lookup_sparse([item, item], [a, b], combiners=["sum", "mean"])\n',
            AFTER
            + "grouped_embedding_lookup_sparse\n"
            + TABLE
            + "first, second = grouped_embedding_lookup_sparse("
            + '[(item, a), (item, b)], ["sum", "mean"], every_row=True)\n',
        ),
        Example(
            "a lookup of each id",
            HEAD + MADE + "rows = sok.all2all_dense_embedding(item, ids)\n",
            AFTER + "sparse_lookup\n" + TABLE + "rows = sparse_lookup(item, ids)\n",
        ),
        Example(
            "a variable that may be another",
            HEAD + MADE + "if other:\n    item = tf.Variable(matrix)\nrows = sok.all2all_dense_embedding(item, ids)\n",
            says="may be looked up where a variable of SOK is",
        ),
    )
