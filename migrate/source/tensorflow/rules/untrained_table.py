"""`trainable=False` -> a table that is not trained."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Table, blocker
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER
from migrate.source.tensorflow.facts.lists.listings import RULE as COLLECTION

MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer(), trainable={})\n'
AFTER = HEAD_AFTER + CREATED.replace(")\n", ",\n                 trainable={})\n")
MODEL = 'b = tf.get_variable("b", [4])\nloss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) * b)\n'
STEP = "step = tf.train.GradientDescentOptimizer(0.1).minimize(loss{})\n"


@register
class UntrainedTable(CheckRule):
    """A variable with `trainable=False` becomes a table with the same argument, whose rows stay as they began.

    A training step that names no variables leaves it alone, before and after the conversion. One that names it would
    train the variable all the same; and a term over all its rows is no part of what a table that is not trained has.
    """

    id = "tf-untrained"
    title = "A variable that is not trained becomes a table that is not trained"
    refusals = (
        Refusal(
            "trained-by-list",
            "`{text}` trains `{label}` by a list",
            (
                "TensorFlow trains a variable that is in a `var_list` even with trainable=False; a table would "
                "not be trained"
            ),
            "leave it out of the list, or make it trainable",
        ),
        Refusal(
            "term",
            "`{text}` takes all rows of `{label}`",
            "a term over all rows needs a table that is trained",
            "leave this variable out of the term, or make it trainable",
        ),
    )
    examples = (
        Example(
            "the step is the same",
            HEAD + MADE.format("False") + MODEL + STEP.format(""),
            AFTER.format("False") + MODEL.replace("tf.nn.embedding_lookup", "sparse_lookup") + STEP.format(""),
        ),
        Example(
            "a list names it",
            HEAD + MADE.format("False") + MODEL + STEP.format(", var_list=[W, b]"),
            says="by a list",
        ),
        Example(
            "a term over all its rows",
            HEAD + MADE.format("flag") + MODEL + "loss += tf.nn.l2_loss(W)\n" + STEP.format(""),
            says="needs a table that is trained",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        """Block tables that may not be trained, and that a list trains or a term takes as a whole."""
        for table in judgement.tables:
            if _may_be_untrained(judgement, table):
                table.blockers += [*_trained(judgement, table), *_terms(judgement, table)]


def _may_be_untrained(judgement: Judgement, table: Table) -> bool:
    """True if the table's call, or another that makes the same variable, has the argument `trainable`."""
    name = table.creation.name
    same = [one for one in judgement.tables if name and one.creation.name == name and not one.creation.naming.unique]
    alike = same if same and not table.creation.naming.unique else [table]
    return any(one.creation.trainable is not None for one in alike)


def _trained(judgement: Judgement, table: Table) -> Iterator[Blocker]:
    """Yield a blocker for each training step that names the table in a list."""
    file = judgement.file
    for step in judgement.training.steps:
        if step.listed is not None and id(table.creation.call) in step.listed.tables:
            text = file.tree.excerpt(step.call)
            yield blocker(step.call, UntrainedTable.id, "trained-by-list", text=text, label=table.label)


def _terms(judgement: Judgement, table: Table) -> Iterator[Blocker]:
    """Yield a blocker for each term over all rows of the table, exact or not, and for its regularizer."""
    file, creation = judgement.file, table.creation
    used: list[Adaptation | Blocker] = [*table.adaptations, *table.blockers]
    nodes = [
        one.node for one in table.adaptations if one.otherwise is not None or (one.rule == COLLECTION and one.changes)
    ]
    nodes += [one.node for one in table.blockers if one.takes_rows]
    nodes += [creation.call] if creation.regularizer or any(one.rule == "tf-regularizer" for one in used) else []
    for node in nodes:
        text = file.tree.excerpt(node)
        yield blocker(node, UntrainedTable.id, "term", text=text, label=table.label)
