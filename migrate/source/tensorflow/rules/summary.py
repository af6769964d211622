"""`tf.summary.histogram("w", W)` -> the histogram of the looked-up rows, under an assumption."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.base.model import Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.facts.references.metadata_loops import alone

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
CREATED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)
LOG = 'tf.summary.histogram("w", {})\n'


@register
class TableSummary(UseRule):
    """A histogram of a whole table becomes that of the looked-up rows; one that precedes the lookups is removed."""

    id = "tf-table-summary"
    title = "A histogram of a table shows the rows of the batch"
    applicability = Applicability.ASSUMPTION
    fix_safety = "Only the log changes: it shows the rows of each batch instead of all rows."
    refusals = (
        *OF_TERMS,
        Refusal(
            "histogram-removed",
            "`{text}` logs the whole table",
            "a histogram needs every row",
            "log the looked-up rows, or convert with --assume",
            "nobody needs the histogram of the whole table",
        ),
        Refusal(
            "histogram-of-rows",
            "`{text}` logs the whole table",
            "a histogram needs every row",
            "log the looked-up rows, or convert with --assume",
            "a histogram of the rows of each batch serves instead of one of all rows",
        ),
    )
    examples = (
        Example(
            "after the lookups",
            HEAD + MADE + LOOKUP + LOG.format("W"),
            HEAD + "from runtime import create_table, looked_up_rows, sparse_lookup\n" + CREATED
            + "e = sparse_lookup(W, ids)\n" + LOG.format("looked_up_rows(W)"),
            assume=True,
        ),
        Example(
            "before the lookups: the ids are not known yet",
            HEAD + MADE + LOG.format("W") + LOOKUP,
            HEAD + "from runtime import create_table, sparse_lookup\n" + CREATED + "e = sparse_lookup(W, ids)\n",
            assume=True,
        ),
        Example("not without --assume", HEAD + MADE + LOOKUP + LOG.format("W"), says="every row"),
    )  # fmt: skip

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        arg = file.tree.parent(reference)
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or file.names.of(call.func) != "summary.histogram":
            return None
        bound = bind(call, ("name", "values", "collections", "family"))
        if bound is None or bound.get("values") is not arg:
            return None
        source, text = file.tree.source(reference), " ".join(file.tree.source(call).split())
        rows = CodeChange(reference, lambda fresh, _: f"{fresh.imports('looked_up_rows')}({source})")
        away = None
        if (line := alone(file, call)) is not None:
            removed = CodeChange(line, lambda *_: "")
            away = blocker(call, self.id, "histogram-removed", changes=(removed,), text=text)
        changes = (rows,)
        return blocker(call, self.id, "histogram-of-rows", changes=changes, takes_rows=True, otherwise=away, text=text)
