"""Savers that list their variables."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.checks.savers import listed_by_name

HEAD = "import tensorflow.compat.v1 as tf\n"
ROWS = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
TABLE = (
    "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
LISTED = 'b = tf.get_variable("b", [4])\ns = tf.train.Saver({"bias": b})\n'
BOTH = 'b = tf.get_variable("b", [4])\ns = tf.train.Saver([W, b], max_to_keep=3)\n'
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
STEP = "s = tf.train.Saver()\nt = tf.train.AdagradOptimizer(0.1).minimize(e)\n"


@register
class Saver(UseRule):
    """`Saver()` saves tables as it saves variables; of a list, `[W, b]`, each table gives its variable.

    A saver of listed variables then also keeps, and restores, the state that the optimizer has of the table, which the
    original did not list: an assumption. Another list, which is not written where the saver is made, has no place for a
    table: with `--assume` the tables move under the assumption that no checkpoint of this saver needs them.

    A saver of all variables that is made before the training step lists no slots of the optimizer either: the same
    assumption. A literal list or dict of other variables stays as it is: the original saved no row by it.
    """

    id = "tf-saver"
    title = "A `Saver` with a list of variables keeps the tables"
    applicability = None
    refusals = (
        Refusal(
            "listed",
            "`{text}` lists the table for a saver",
            "a checkpoint of it holds the rows and the state of its optimizer, which the list did not have",
            "use Saver() without a list, or convert with --assume",
            "what a saver keeps of a table, its rows and the state of its optimizer, is what is wanted",
        ),
    )
    examples = (
        Example("a list", MADE + "s = tf.train.Saver(tf.trainable_variables())\n", says="lists its variables"),
        Example("of other variables", HEAD + ROWS + LISTED, HEAD + TABLE + LISTED),
        Example("with a table", HEAD + ROWS + BOTH, HEAD + TABLE + BOTH.replace("[W", "[W.variable"), assume=True),
        Example("made before the optimizer's slots are", HEAD + ROWS + STEP, says="is made before the training step"),
        Example("not without --assume", HEAD + ROWS + BOTH, says="the state of its optimizer"),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        element = file.tree.parent(reference)
        listed = file.tree.parent(element) if isinstance(element, cst.Element | cst.DictElement) else None
        arg = file.tree.parent(listed) if listed is not None else None
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        given = listed_by_name(file, call) if isinstance(call, cst.Call) else None
        if given is None or given is not listed or file.target.name != "runtime":
            return None
        text = file.tree.source(reference)
        change = CodeChange(reference, lambda fresh, items: f"{text}.variable")
        shown = " ".join(file.tree.source(given).split())[:60]
        return blocker(reference, self.id, "listed", changes=(change,), text=shown)
