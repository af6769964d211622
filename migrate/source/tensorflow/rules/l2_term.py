"""`tf.nn.l2_loss(W)` -> `l2_loss(W)` over all rows of a table, or over those of the batch, under an assumption."""

from __future__ import annotations

from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, blocker
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, LOOKUP, TABLE
from migrate.source.tensorflow.facts.references.whole_terms import (
    EXACTLY,
    IN_BRANCH,
    SETTLED,
    exact_change,
    sum_over,
)

MADE = HEAD + TABLE
BRANCH = "loss += tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0)\n"
IMPORT = "from runtime import create_table, {}sparse_lookup\n"
AFTER = HEAD + IMPORT.format("l2_loss, ") + CREATED + "e = sparse_lookup(W, ids)\n"
BATCH = AFTER.replace("l2_loss, ", "looked_up_rows, ")


@register
class TableNorm(UseRule):
    """A regularization term over a whole table stays exact; where that is impossible, it can be that of some rows.

    Each row takes its part of each step when it is next read, updated or saved. Where the gradients are clipped, the
    term can be taken over the rows that were looked up, under an assumption.
    """

    id = "tf-table-norm"
    title = "L1 and L2 terms over a whole table stay exact, or are computed over the rows of the batch"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "Exact without `--assume`. With it, a term that cannot be exact covers only rows of the batch: other rows do "
        "not decay, `tf.norm` has another gradient, losses are smaller, and FTRL's first step does not set all rows to "
        "zero."
    )
    refusals = (
        *OF_TERMS,
        Refusal(
            "whole-table",
            "`{text}` is a term over the whole table",
            "it decays every row at every step, and {why}",
            "convert with --assume, which takes the term over the rows of the batch, or leave the variable unchanged",
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
            AFTER + "loss += 0.1 * l2_loss(W)\n",
            says="the steps of this term",
        ),
        Example(
            "written out",
            MADE + LOOKUP + "loss += tf.reduce_sum(tf.square(W))\nloss += 0.5 * tf.reduce_sum(W * W)\n",
            AFTER + "loss += 2.0 * l2_loss(W)\nloss += 0.5 * (2.0 * l2_loss(W))\n",
        ),
        Example(
            "a regularizer object, and a norm",
            MADE + LOOKUP + "r = tf.keras.regularizers.l2(0.1)\nloss += r(W) + tf.norm(W, ord=1)\n",
            AFTER.replace("l2_loss, ", "l1_norm, penalty, ")
            + "r = tf.keras.regularizers.l2(0.1)\nloss += penalty(r, W) + l1_norm(W)\n",
        ),
        Example(
            "in a branch of the graph",
            MADE + LOOKUP + BRANCH,
            BATCH + BRANCH.replace("(W)", "(looked_up_rows(W))"),
            says="no longer decayed",
            assume=True,
        ),
        Example("not without --assume", MADE + LOOKUP + BRANCH, says="a branch or loop of the graph"),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | Adaptation | None:
        call = sum_over(file, reference)
        if call is None:
            return None
        text = file.tree.one_line(call)
        otherwise = partial(self._of_batch, file, reference, call, text)
        change = exact_change(file, reference)
        if change is None:
            return otherwise(IN_BRANCH)
        return Adaptation(call, self.id, f"`{text}` {EXACTLY}", SETTLED, (change,), otherwise=otherwise)

    def _of_batch(self, file: File, reference: cst.BaseExpression, call: cst.Call, text: str, why: str) -> Blocker:
        """Return the term over the rows of the batch as a blocker."""
        source = file.tree.source(reference)
        change = CodeChange(reference, lambda fresh, _: f"{fresh.imports('looked_up_rows')}({source})")
        return blocker(call, self.id, "whole-table", changes=(change,), takes_rows=True, text=text, why=why)
