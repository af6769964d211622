"""`tf.get_embedding_variable(name, D)` of DeepRec -> `create_counted_table(name, D)`, with DeepRec's semantics."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS, OF_TABLES

HEAD = "import tensorflow.compat.v1 as tf\n"
LOOKUP = "rows = tf.nn.embedding_lookup(item, ids)\n"
AFTER = HEAD + "from runtime import create_counted_table, sparse_lookup\n"


@register
class EmbeddingVariable(Rule):
    """A file of a program for DeepRec's TensorFlow is converted completely, or left unchanged.

    A counted table does what an EmbeddingVariable does: lookups only read it; updates create, count and admit keys;
    saving evicts rows. Its checkpoints hold the same tensors as DeepRec's, and it restores DeepRec's checkpoints. The
    optimizers of `tf.compat.v1.train` train it together with the other variables, so training steps are left
    unchanged. Partitioners are removed: within one process they have no effect. `python -m runtime.compat.deeprec`
    runs a program that was not converted.
    """

    id = "tf-embedding-variable"
    title = "An EmbeddingVariable of DeepRec becomes a counted table"
    refusals = (
        *OF_CALLS,
        *OF_TABLES,
        Refusal(
            "option-handed-on",
            "the option `{shown}` is passed to `{taker}`",
            "after the conversion it is an option of the runtime, and the code that takes it is not in this file",
            "convert with --assume if that code is converted as well",
            "all code to which options are passed is converted as well",
        ),
        Refusal(
            "unused-option",
            "`{text}` is an option of DeepRec",
            "no table of this file takes it, but after the conversion it is an option of the runtime",
            "convert the file that makes the tables together with this one, both with --assume",
            "the files that take the options of this one are converted as well",
        ),
        Refusal(
            "option-of-other-file",
            "the option `{text}` may come from another file",
            (
                "the code that makes it is not in this file, and after the conversion it must be an option of the "
                "runtime"
            ),
            "convert with --assume if that file is converted as well",
            "every option that is made outside a converted file is made in another converted file",
        ),
        Refusal(
            "unseen-base",
            "class `{cls}` inherits from `{text}`, which is not in this file",
            "`{text}` may use {used}",
            "read the base class; if it does not use the table, convert with --assume",
            "`{text}` does not use {used}",
        ),
        Refusal(
            "unseen-uses",
            "the uses of `{label}` are not known",
            "its value cannot be traced",
            "make it where it is read",
        ),
        Refusal(
            "other-type",
            "the values of `{label}` are not float32",
            "a table holds float32",
        ),
        Refusal(
            "steps-to-live",
            "`{label}` has `steps_to_live` beside an option",
            "the option may say otherwise, and wins then",
            "write `GlobalStepEvict` into the option",
        ),
        Refusal(
            "no-counterpart",
            "`{label}` has a {name}",
            "a table has no counterpart",
            "{instead}",
        ),
    )
    examples = (
        Example(
            "the arguments are kept, under the names of the runtime",
            HEAD + 'item = tf.get_embedding_variable("item", embedding_dim=8, key_dtype=tf.int64,\n'
            "                                 initializer=tf.ones_initializer(tf.float32))\n" + LOOKUP,
            AFTER + 'item = create_counted_table("item", dim=8, key_dtype=tf.int64,\n'
            "                                 initializer=tf.ones_initializer(tf.float32))\n"
            "rows = sparse_lookup(item, ids)\n",
        ),
        Example(
            "`steps_to_live`, as in old programs, and a partitioner",
            HEAD + 'item = tf.get_embedding_variable("item", 8, steps_to_live=400,\n'
            "    partitioner=tf.fixed_size_partitioner(4))\n" + LOOKUP,
            HEAD + "from runtime import Eviction, KeyRules, create_counted_table, sparse_lookup\n"
            'item = create_counted_table("item", 8, rules=KeyRules(eviction=Eviction(steps_to_live=400)))\n'
            "rows = sparse_lookup(item, ids)\n",
        ),
        Example(
            "a regularizer reads all rows",
            HEAD + 'item = tf.get_embedding_variable("item", 8, regularizer=mine)\n' + LOOKUP,
            says="has a regularizer",
        ),
        Example(
            "options that come from another file",
            HEAD + 'def build(option):\n    item = tf.get_embedding_variable("item", 8, ev_option=option)\n'
            "    return tf.nn.embedding_lookup(item, ids)\n",
            says="another file",
        ),
    )
