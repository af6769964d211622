"""Lookups of an EmbeddingVariable, and what else is asked of it."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = 'import tensorflow.compat.v1 as tf\nitem = tf.get_embedding_variable("item", 8)\n'


def _after(functions: str) -> str:
    return (
        f"import tensorflow.compat.v1 as tf\nfrom runtime import create_counted_table, {functions}\n"
        'item = create_counted_table("item", 8)\n'
    )


@register
class EmbeddingVariableLookup(Rule):
    """Dense, sparse and safe lookups; the tiers, frequencies and versions of keys; lists of variables.

    A name that may be an EmbeddingVariable or something else, by the branch that was taken, keeps the file as it is.
    """

    id = "tf-embedding-variable-lookup"
    title = "Lookups of an EmbeddingVariable become those of a counted table"
    examples = (
        Example(
            "pooled",
            HEAD + 'rows = tf.nn.embedding_lookup_sparse(item, ids, None, "mod", "rows", "sum")\n'
            "safe = tf.nn.safe_embedding_lookup_sparse([item], ids, combiner='mean')\n",
            _after("embedding_lookup_sparse, safe_embedding_lookup_sparse")
            + 'rows = embedding_lookup_sparse(item, ids, None, name="rows", combiner="sum")\n'
            "safe = safe_embedding_lookup_sparse(item, ids, combiner='mean')\n",
        ),
        Example(
            "a greatest norm, what is known of keys, and a list of variables",
            HEAD + "rows = tf.nn.embedding_lookup(item, ids, max_norm=1.0)\nseen = item.get_frequency(ids)\n"
            "train = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[item])\n",
            _after("sparse_lookup") + "rows = tf.clip_by_norm(sparse_lookup(item, ids), 1.0, axes=[-1])\n"
            "seen = item.sightings(ids)[0]\n"
            "train = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[item.variable])\n",
        ),
        Example("the variable as a whole", HEAD + "keys, values = item.export()[:2]\n", says="`export` is asked of"),
        Example(
            "one of two",
            "import tensorflow.compat.v1 as tf\nif flag:\n    item = tf.get_embedding_variable('item', 8)\nelse:\n"
            "    item = tf.get_variable('item', [9, 8])\nrows = tf.nn.embedding_lookup(item, ids)\n",
            says="may be an EmbeddingVariable or something else",
        ),
    )
