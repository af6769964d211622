"""`sess.run(W.assign(matrix))`, `tf.assign(W, placeholder)` -> `set_rows(W, matrix)`."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import CONVERTED, HEAD, MADE
from migrate.source.tensorflow.facts.variables.assigned_rows import RULE, assigned, is_only_run

AFTER = HEAD + "from runtime import create_table, set_rows, sparse_lookup\n"
FED = "p = tf.placeholder(tf.float32, [9, 4])\n"


@register
class AssignedRows(UseRule):
    """An assignment of the whole matrix, which a session only runs, sets the rows of the ids 0 to size - 1.

    The state of the optimizer stays, as it does with a variable. `set_rows` gives an op, so the table stays where the
    value of the assignment is used; its op may be run, grouped with others, or be a control dependency.
    """

    id = RULE
    title = "An assignment of all rows becomes `set_rows`"
    applicability = Applicability.EXACT
    examples = (
        Example(
            "pretrained rows that are fed",
            HEAD + MADE + FED + "init = W.assign(p)\nsess.run(init, feed_dict={p: rows})\n",
            AFTER + CONVERTED + FED + "init = set_rows(W, p)\nsess.run(init, feed_dict={p: rows})\n",
        ),
        Example("its value is used", HEAD + MADE + "e += tf.reduce_sum(W.assign(rows))\n"),
    )

    def of_table(self, file: File, reference: cst.BaseExpression, creation: Creation) -> Adaptation | None:
        found = assigned(file, reference)
        if found is None or not creation.rows_text or creation.rank != 2 or "set_rows" not in file.target.functions:
            return None
        call, value = found
        if not is_only_run(file, call):
            return None
        table = file.tree.source(reference)
        shown = file.tree.excerpt(call)
        change = CodeChange(call, lambda fresh, rows: f"{fresh.imports('set_rows')}({table}, {rows[0]})", takes=value)
        return Adaptation(call, RULE, f"`{shown}` sets all rows of `{table}`", changes=(change,))
