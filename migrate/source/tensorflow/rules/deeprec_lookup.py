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
            "the calls inside a group lookup are converted as well",
            "bind it to a name before the group",
        ),
        Refusal(
            "unknown-weights",
            "the weights of a group lookup cannot be read",
            "they may be None",
            "write the list of weights into the call, or leave them out",
        ),
        Refusal(
            "combiner-text",
            "the combiners of a group lookup are a string",
            "DeepRec wants a list",
            "write a list with the combiner of each table",
        ),
        Refusal(
            "unknown-tables",
            "the tables of a group lookup, `{text}`, cannot be read",
            "only tables that are listed in its call can be read",
            "write the list of EmbeddingVariables into the call",
        ),
        Refusal(
            "other-member",
            "`{text}` is an operand of a group lookup",
            "it is not an EmbeddingVariable of this file",
            "look it up in a separate call",
        ),
        Refusal(
            "block-number",
            "`{argument}` is given to a lookup",
            "the lookup of the runtime has no such argument",
            "leave it out",
        ),
        Refusal(
            "lookup-argument",
            "`{argument}` is given to a lookup",
            "the lookup of the runtime has no such argument",
            "look up with tf.nn.embedding_lookup_sparse",
        ),
        Refusal(
            "trained-list",
            "`{label}` is in a list that a step trains",
            (
                "a training step takes the variable of a table, but other code that reads the list takes the table "
                "itself"
            ),
            "use a separate list for what is trained",
        ),
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "what it does with the EmbeddingVariable `{label}` is not analysed",
            "look rows up by tf.nn.embedding_lookup",
        ),
        Refusal(
            "recorded-by-rules",
            "`{name}` of `{label}` is read",
            "the table records it by its key rules, not by `{switch}`, which this file sets or reads",
            "write `KeyRules(counts=True, notes_step=True)` into the rules of its table, and convert by hand",
        ),
        Refusal(
            "other-value",
            "`{text}` may be an EmbeddingVariable or something else",
            "it may also be `{other}` of line {line}",
            "bind the other value to another name, with lookups of its own",
        ),
        Refusal(
            "unknown-value",
            "`{text}` may be an EmbeddingVariable or something else",
            "which value it has here depends on the order of execution",
            "bind the other value to another name, with lookups of its own",
        ),
        Refusal(
            "asked-otherwise",
            "`{name}` of `{label}` is read",
            "a table has it in another form or not at all",
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
        Example("the variable as a whole", HEAD + "keys, values = item.export()[:2]\n", says="`export` of"),
        Example(
            "one of two values, chosen at run time",
            "import tensorflow.compat.v1 as tf\nif flag:\n    item = tf.get_embedding_variable('item', 8)\nelse:\n"
            "    item = tf.get_variable('item', [9, 8])\nrows = tf.nn.embedding_lookup(item, ids)\n",
            says="may be an EmbeddingVariable or something else",
        ),
    )
