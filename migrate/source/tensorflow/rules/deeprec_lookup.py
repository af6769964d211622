"""Lookups in an EmbeddingVariable, and its other methods and attributes."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

HEAD = 'import tensorflow.compat.v1 as tf\nitem = tf.get_embedding_variable("item", 8)\n'


def _after(functions: str) -> str:
    return (
        f"import tensorflow.compat.v1 as tf\nfrom runtime import create_counted_table, {functions}\n"
        'item = create_counted_table("item", 8)\n'
    )


@register
class EmbeddingVariableLookup(Rule):
    """Dense, sparse and safe lookups; the tiers, frequencies and versions of keys; lists of variables.

    The file is left unchanged where a name holds an EmbeddingVariable in one branch and another value in another.
    """

    id = "tf-embedding-variable-lookup"
    title = "Lookups in an EmbeddingVariable become lookups in a counted table"
    refusals = (
        *OF_CALLS,
        Refusal(
            "sequence-group",
            "`is_sequence` is given to a group lookup",
            "",
            "look each sequence up with tf.nn.embedding_lookup",
        ),
        Refusal(
            "nested-group",
            "a group lookup has another lookup or a table in it",
            "what stands in a group lookup is converted as well",
            "bind it to a name before the group",
        ),
        Refusal(
            "unknown-weights",
            "the weights of a group lookup are not seen",
            "they may be None",
            "write the list of weights into the call, or leave them out",
        ),
        Refusal(
            "combiner-text",
            "the combiners of a group lookup are a text",
            "DeepRec wants a list",
            "write a list with the combiner of each table",
        ),
        Refusal(
            "unknown-tables",
            "the tables of a group lookup, `{text}`, are not seen",
            "only those that stand in its call are",
            "write the list of EmbeddingVariables into the call",
        ),
        Refusal(
            "other-member",
            "`{text}` is looked up by a group",
            "it is not an EmbeddingVariable of this file",
            "look it up by itself",
        ),
        Refusal(
            "block-number",
            "`{argument}` is given to a lookup",
            "the runtime's has none",
            "leave it out",
        ),
        Refusal(
            "lookup-argument",
            "`{argument}` is given to a lookup",
            "the runtime's has none",
            "look up with tf.nn.embedding_lookup_sparse",
        ),
        Refusal(
            "trained-list",
            "`{label}` is in a list that a step trains",
            "a step is given the variable of a table, and what else reads the list the table itself",
            "list what is trained in another",
        ),
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "what this does with the EmbeddingVariable `{label}` is not understood",
            "look rows up by tf.nn.embedding_lookup",
        ),
        Refusal(
            "recorded-by-rules",
            "`{name}` is asked of `{label}`",
            "the table notes it by its rules, not by `{switch}`, which this file sets or reads",
            "write `KeyRules(counts=True, notes_step=True)` into the rules of its table, and convert by hand",
        ),
        Refusal(
            "other-value",
            "`{text}` may be an EmbeddingVariable or something else",
            "it may be `{other}` of line {line} as well",
            "give the other value a name and lookups of its own",
        ),
        Refusal(
            "unknown-value",
            "`{text}` may be an EmbeddingVariable or something else",
            "which value it has here depends on the order of execution",
            "give the other value a name and lookups of its own",
        ),
        Refusal(
            "asked-otherwise",
            "`{name}` is asked of `{label}`",
            "a table has it in another form, or not at all",
            "{instead}",
        ),
    )
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
            "a maximum norm, the frequencies of keys, and a list of variables",
            HEAD + "rows = tf.nn.embedding_lookup(item, ids, max_norm=1.0)\nseen = item.get_frequency(ids)\n"
            "train = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[item])\n",
            _after("sparse_lookup") + "rows = tf.clip_by_norm(sparse_lookup(item, ids), 1.0, axes=[-1])\n"
            "seen = item.sightings(ids)[0]\n"
            "train = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[item.variable])\n",
        ),
        Example("the variable as a whole", HEAD + "keys, values = item.export()[:2]\n", says="`export` is asked of"),
        Example(
            "one of two values, chosen at run time",
            "import tensorflow.compat.v1 as tf\nif flag:\n    item = tf.get_embedding_variable('item', 8)\nelse:\n"
            "    item = tf.get_variable('item', [9, 8])\nrows = tf.nn.embedding_lookup(item, ids)\n",
            says="may be an EmbeddingVariable or something else",
        ),
    )
