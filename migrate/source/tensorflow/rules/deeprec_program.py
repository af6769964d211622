"""The rest of a program for DeepRec: its imports, and calls that stock TensorFlow does not have."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

MADE = 'item = tf.get_embedding_variable("item", 8)\nrows = tf.nn.embedding_lookup(item, ids)\n'
AFTER = 'item = create_counted_table("item", 8)\nrows = sparse_lookup(item, ids)\n'

V1, IMPORT = "import tensorflow.compat.v1 as tf\n", "from runtime import create_counted_table, sparse_lookup\n"
OTHER = "else:\n    other = tf.get_multihash_variable('other', [[9, 4], [9, 4]])\n"


@register
class DeepRecProgram(Rule):
    """DeepRec is TensorFlow 1.15: `tensorflow` becomes `tensorflow.compat.v1`, and eager mode is switched off.

    Imports of modules that only DeepRec has are removed where no code uses them any more.
    `enable_distributed_strategy` connects the ranks, which share the tables. Whatever else stock TensorFlow lacks is
    listed, to be changed by hand. A file with tables of other kinds is left unchanged; where they are created under a
    condition, `--assume` states that their branch is never taken.
    """

    id = "tf-deeprec-program"
    title = "A program for DeepRec imports TensorFlow's v1 API, and calls without a counterpart are listed"
    refusals = (
        *OF_CALLS,
        Refusal(
            "unknown-strategy",
            "the argument of `{short}` cannot be read",
            "the argument decides whether the processes share tables",
            'call it by itself, with `"collective"` or `"localized"`',
        ),
        Refusal(
            "lacking-in-branch",
            "`{short}` makes or reads {what}",
            "the runtime has no counterpart",
            "convert with --assume if that branch is never taken",
            "the branch with `{short}` is not taken",
        ),
        Refusal(
            "lacking",
            "`{short}` makes or reads {what}",
            "the runtime has no counterpart",
            "leave it out, or run the program as it is (see docs/deeprec.md)",
        ),
        Refusal(
            "name-of-deeprec",
            "`{shown}` reads a name of DeepRec's TensorFlow",
            "stock TensorFlow does not have it",
        ),
        Refusal(
            "listed-variables",
            "`{text}` lists EmbeddingVariables",
            "after the conversion, this list is empty",
            "list the tables by `runtime.tables()`",
        ),
        Refusal(
            "other-runtime",
            "`{text}` refers to another module named `runtime`",
            "the converted file imports the installed package `runtime`, and Python loads only one module of that name",
            "rename that module",
        ),
        Refusal(
            "runtime-module",
            "`runtime.py` exists",
            "next to the converted file, it would hide the installed package `runtime`",
            "rename that module",
        ),
        Refusal(
            "deeprec-module",
            "`{shown}` needs a module or a name of DeepRec's TensorFlow",
            "stock TensorFlow does not have it",
            "replace it by what TensorFlow 2 has",
        ),
        Refusal(
            "other-name",
            "`{text}` uses DeepRec under a name that cannot be traced",
            "only calls by the public names are converted",
        ),
        Refusal(
            "not-called",
            "`{text}` is used without a call",
            "only calls by the public names are converted",
        ),
    )
    examples = (
        Example(
            "version 1",
            "import tensorflow as tf\n\n" + MADE,
            "import tensorflow.compat.v1 as tf\nfrom runtime import create_counted_table, sparse_lookup\n\n"
            "tf.disable_v2_behavior()\n\n" + AFTER,
        ),
        Example(
            "a table of another kind, in a branch that is never taken",
            V1 + "if grows:\n    " + MADE.replace("\n", "\n    ", 1) + OTHER,
            V1 + IMPORT + "if grows:\n    " + AFTER.replace("\n", "\n    ", 1) + OTHER,
            assume=True,
        ),
        Example(
            "ranks that share the tables",
            V1 + 'tf.config.experimental.enable_distributed_strategy(strategy="collective")\n' + MADE,
            V1 + IMPORT.replace("table, ", "table, ranks, ") + "ranks.start()\n" + AFTER,
        ),
        Example(
            "a name of a DeepRec module that is still read",
            V1
            + "from tensorflow.core.framework.embedding import config_pb2\n"
            + MADE
            + "print(config_pb2.SlotType.VARIABLE)\n",
            says="needs a module",
        ),
    )
