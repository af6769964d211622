"""`tf.concat([tf.zeros([1, D]), W[1:]], 0)` and then a lookup -> a lookup that reads zeros for the padding."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.common_refusals import OF_LOOKUPS
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER, TABLE
from migrate.source.tensorflow.facts.references.padded_tables import RULE, padding_of

AFTER = HEAD_AFTER + CREATED
PADDED = AFTER.replace("sparse_lookup", "padded_lookup, zero_padded")
LOOKUP = "e = tf.nn.embedding_lookup(W, x)\n"


@register
class ZeroPadding(UseRule):
    """`tf.concat` of zeros and a table, which gives padding ids a row of zeros.

    The padded table may be returned, stored, or made under a condition: lookups see when they run which of the two they
    read. An SDK without padded tables leaves the variable unchanged.
    """

    id = RULE
    title = "A row of zeros next to a table becomes a padded table"
    applicability = Applicability.EXACT
    refusals = (
        *OF_LOOKUPS,
        Refusal(
            "unseen-use",
            "a row of zeros is put next to this table",
            "its use is not analysed",
            "look up rows in the result of the concatenation, or leave the variable unchanged",
        ),
        Refusal(
            "bound-again",
            "`{name}` is bound more than once",
            "whether it is padded once or several times depends on the order of execution",
            "bind the padded table to another name",
        ),
        Refusal(
            "other-use",
            "the padded table is also used in another way",
            "only what is looked up can be padded",
            "leave the variable unchanged",
        ),
        Refusal(
            "combined-rows",
            "this lookup reads a padded table",
            "rows of zeros cannot be recognized once they are combined",
            "leave the variable unchanged",
        ),
        Refusal(
            "ordered",
            "this lookup reads a padded table where `control_dependencies` or `gradient_override_map` may apply",
            "the original reads the rows where the table is padded, and the converted code where they are looked up",
            "apply the padding, and look rows up, outside of such scopes",
        ),
    )
    examples = (
        Example(
            "row 0 is zero, under the same name",
            HEAD + TABLE + "W = tf.concat((tf.zeros([1, 4]), W[1:, :]), 0)  # padding\n" + LOOKUP,
            PADDED + "W = zero_padded(W)  # padding\ne = padded_lookup(W, x)\n",
        ),
        Example(
            "a function returns a padded table if it is asked to",
            HEAD
            + "def pad(t, zeros):\n    return tf.concat([tf.zeros([1, 4]), t[1:]], 0) if zeros else t\n"
            + TABLE
            + "e = tf.nn.embedding_lookup(pad(W, zeros=True), x)\n",
            HEAD
            + "from runtime import create_table, padded_lookup, zero_padded\n"
            + "def pad(t, zeros):\n    return zero_padded(t) if zeros else t\n"
            + AFTER.partition("sparse_lookup\n")[2]
            + "e = padded_lookup(pad(W, zeros=True), x)\n",
            assume=True,  # that what trains the rest of the model trains the table, too
        ),
        Example(
            "the last row is zero where a flag is set",
            HEAD + TABLE + "if FLAGS.pad:\n    W = tf.concat([W, tf.zeros([1, 4])], 0)\n" + LOOKUP,
            PADDED + 'if FLAGS.pad:\n    W = zero_padded(W, "last")\ne = padded_lookup(W, x)\n',
        ),
        Example(
            "the padded table is also used as a whole",
            HEAD + TABLE + "P = tf.concat([tf.zeros([1, 4]), W], 0)\ne = tf.gather(P, x)\ny = tf.matmul(u, P)\n",
        ),
        Example(
            "a row that is not zeros",
            HEAD + TABLE + LOOKUP + "loss += tf.concat([tf.ones([1, 4]), W], 0)\n",
        ),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        padding = padding_of(file, reference)
        if padding is None:
            return None
        return blocker(padding.call, RULE, "unseen-use")
