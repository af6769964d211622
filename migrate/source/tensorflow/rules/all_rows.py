"""A read of the whole matrix that no loss depends on -> `all_rows`."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Adaptation, Creation
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import CONVERTED, HEAD, MADE
from migrate.source.tensorflow.facts.variables.trained_reads import IN_PART, TRAINED
from migrate.source.tensorflow.facts.variables.whole_reads import RULE, whole_read

AFTER = HEAD + "from runtime import all_rows, create_table, sparse_lookup\n"
READ = "tf.squeeze(sparse_lookup(W, ids), axis=-1)"


@register
class AllRows(UseRule):
    """What scores all items, shows a table in a summary or fetches it reads the rows of all ids, 0 to size - 1.

    The values that are computed from the matrix are followed through names, attributes, lists and functions of the
    program. Each must end in a summary, a metric, a fetch, a prediction or a comparison; where one may get into a loss,
    it needs a decision. Nothing is inserted by the read. Should a gradient be taken through it after all, TensorFlow
    raises LookupError when the graph is built.

    Where a loss may depend on the matrix, `--assume` looks all ids up for training: the same values, and the same
    gradient for each row, at a higher cost than that of the variable.
    """

    id = RULE
    title = "A read of the whole matrix apart from training becomes `all_rows`"
    applicability = Applicability.EXACT
    refusals = (
        Refusal(
            "differing-ranks",
            "this reads all rows of one of several tables; which one depends on the object",
            "one of these tables is a matrix, another a vector",
            "read each table in an expression of its own",
        ),
        *(
            Refusal(
                key,
                "`{text}` computes with all rows of `{source}`",
                "a loss may depend on it, and a lookup of all ids in each step costs more than the variable does",
                "leave the variable unchanged; or convert with --assume, which trains all of its rows",
                "each step may look up and train all rows of `{source}`, and every id is below their number",
            )
            for key in (TRAINED, IN_PART)
        ),
    )
    examples = (
        Example(
            "scores of all items",
            HEAD + MADE + "scores = tf.nn.softmax(tf.matmul(e, W, transpose_b=True))\nprint(sess.run(scores))\n",
            AFTER
            + CONVERTED
            + "scores = tf.nn.softmax(tf.matmul(e, all_rows(W), transpose_b=True))\nprint(sess.run(scores))\n",
        ),
        Example(
            "fetched again and again, by one op",
            HEAD + MADE + "for _ in epochs:\n    rows, _ = sess.run([W, e])\n",
            AFTER + CONVERTED + "for _ in epochs:\n    rows, _ = sess.run([all_rows(W, once=True), e])\n",
        ),
        Example(
            "a vector",
            HEAD + MADE.replace("[9, 4]", "[9]") + 'tf.summary.histogram("w", W)\n',
            AFTER
            + CONVERTED.replace("dim=4", "dim=1").replace("sparse_lookup(W, ids)", READ)
            + 'tf.summary.histogram("w", all_rows(W)[:, 0])\n',
        ),
        Example(
            "a loss may depend on it",
            HEAD + MADE + "scores = tf.matmul(e, W, transpose_b=True)\nloss = loss_of(scores, labels)\n",
            says="a loss may depend on it",
        ),
        Example(
            "a loss may depend on it, and `--assume` takes the cost",
            HEAD + MADE + "scores = tf.matmul(e, W, transpose_b=True)\nloss = loss_of(scores, labels)\n",
            AFTER
            + CONVERTED
            + "scores = tf.matmul(e, all_rows(W, trainable=True), transpose_b=True)\n"
            + "loss = loss_of(scores, labels)\n",
            assume=True,
        ),
    )

    def of_table(self, file: File, reference: cst.BaseExpression, creation: Creation) -> Adaptation | None:
        return whole_read(file, reference, creation)
