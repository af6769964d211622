"""Models that are exported with their tables."""

from __future__ import annotations

from migrate.source.rules import Example, register
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import AFTER, HEAD, MADE
from migrate.source.tensorflow.facts.references.exports import OPERATIONS, RULE, exports, note

SAVED = 'tf.saved_model.simple_save(sess, path, {"ids": ids}, {"e": e})\n'


@register
class Export(CheckRule):
    """A SavedModel or a graph in a file holds the rows, and operations that TensorFlow alone does not know.

    A Python program that loads it first calls `runtime.native.ops()`, or `tf.load_op_library` with the library of the
    runtime. TensorFlow Serving needs a build with that library. The page docs/serving.md tells how.
    """

    id = RULE
    title = "A loader of an exported model must register the operations of its tables"
    applicability = None
    examples = (
        Example("a SavedModel", HEAD + MADE + SAVED, HEAD + AFTER + SAVED, says="load the operations"),
        Example("no table is converted", HEAD + MADE + "op = W.assign_add(rows)\n" + SAVED),
    )

    def judge(self, judgement: Judgement) -> None:
        """Add a note to each table for every export of the model."""
        for node, text, kind in exports(judgement.file):
            if kind == OPERATIONS:
                for table in judgement.tables:
                    if judgement.file.tree.related(node, table.creation.call):
                        table.adaptations.append(note(node, text))
