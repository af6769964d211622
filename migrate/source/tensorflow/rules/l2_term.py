"""`tf.nn.l2_loss(W)` on a whole table -> `tf.nn.l2_loss(looked_up_rows(W))`, under an assumption."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.base.model import Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.facts.references.l2_terms import sum_over

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = HEAD + 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
AFTER = (
    HEAD + "from runtime import create_table, looked_up_rows, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)


@register
class TableNorm(UseRule):
    """A regularization term over a whole table becomes the same term over the rows that were looked up."""

    id = "tf-table-norm"
    title = "L1 and L2 terms over a whole table are computed over the rows of the batch"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "Only the steps that look a row up decay it, once per step however many lookups read it; before, every step "
        "decayed every row. For the rows of a batch the gradient of a squared L2 or an L1 term is unchanged; that of "
        "`tf.norm` with its default order also depends on the other rows. The term is smaller, so losses cannot be "
        "compared with those of the original program. At its first step with a gradient for all rows, stock FTRL sets "
        "all of them to about zero; the rows of a table keep their initial values until they are looked up."
    )
    refusals = (
        *OF_TERMS,
        Refusal(
            "whole-table",
            "`{text}` is an L2 term over the whole table",
            "it decays every row at every step, but a training step of a table only touches the rows of the batch",
            "convert with --assume, which takes the term over the rows of the batch, or keep this table dense",
            (
                "the term covers the rows that the batch looks up, each once; other rows are no longer decayed, and "
                "the loss is smaller"
            ),
            applicability=Applicability.CHANGES_VALUES,
        ),
    )
    examples = (
        Example(
            "L2 of the matrix",
            MADE + LOOKUP + "loss += 0.1 * tf.nn.l2_loss(W)\n",
            AFTER + "loss += 0.1 * tf.nn.l2_loss(looked_up_rows(W))\n",
            says="no longer decayed",
            assume=True,
        ),
        Example(
            "written out",
            MADE + LOOKUP + "loss += tf.reduce_sum(tf.square(W))\nloss += tf.reduce_sum(W * W)\n",
            AFTER + "loss += tf.reduce_sum(tf.square(looked_up_rows(W)))\n"
            "loss += tf.reduce_sum(looked_up_rows(W) * looked_up_rows(W))\n",
            assume=True,
        ),
        Example(
            "a regularizer object, and a norm",
            MADE + LOOKUP + "r = tf.keras.regularizers.l2(0.1)\nloss += r(W) + tf.norm(W, ord=1)\n",
            AFTER
            + "r = tf.keras.regularizers.l2(0.1)\nloss += r(looked_up_rows(W)) + tf.norm(looked_up_rows(W), ord=1)\n",
            assume=True,
        ),
        Example("not without --assume", MADE + LOOKUP + "loss += tf.nn.l2_loss(W)\n", says="suggested"),
        Example(
            "a term before the lookup: the ids are not known yet",
            MADE + "loss += tf.nn.l2_loss(W)\n" + LOOKUP,
            says="before",
            assume=True,
        ),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        call = sum_over(file, reference)
        if call is None:
            return None
        source = file.tree.source(reference)
        change = CodeChange(reference, lambda fresh, _: f"{fresh.imports('looked_up_rows')}({source})")
        text = " ".join(file.tree.source(call).split())
        return blocker(call, self.id, "whole-table", changes=(change,), takes_rows=True, text=text)
