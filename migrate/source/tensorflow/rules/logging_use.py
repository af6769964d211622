"""Uses of a table that do not read its rows: it is printed, logged, or compared with None."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.arguments import is_name
from migrate.source.tensorflow.base.logging_statements import is_shown
from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER, LOOKUP, TABLE

AFTER = HEAD_AFTER + CREATED + "{0}e = sparse_lookup(W, ids)\n"
PRINTED = 'print("made", W)\n'
ASKED = "assert W is not None\n"


@register
class HarmlessUse(UseRule):
    """Code that only prints a table, or tests whether it exists, does not block its conversion."""

    id = "tf-harmless-use"
    title = "A table that is printed, logged or compared with None is converted"
    examples = (
        Example("printed", HEAD + TABLE + PRINTED + LOOKUP, AFTER.format(PRINTED), says="shows the table"),
        Example("compared with None", HEAD + TABLE + ASKED + LOOKUP, AFTER.format(ASKED), says="is not None"),
        Example("a check of its class", HEAD + TABLE + "assert isinstance(W, tf.Variable)\n" + LOOKUP),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Adaptation | None:
        call = is_shown(file, reference)
        if call is not None:
            message = f"`{file.tree.excerpt(call)}` shows the table in place of the variable"
            return Adaptation(call, self.id, message, "only the printed text changes")
        around = file.tree.parent(reference)
        if isinstance(around, cst.Comparison) and around.left is reference and _is_none_test(around):
            return Adaptation(around, self.id, f"`{file.tree.excerpt(around)}` gives the same result for a table")
        return None


def _is_none_test(node: cst.Comparison) -> bool:
    """True for `... is None` and `... is not None`."""
    first, *others = node.comparisons
    return not others and isinstance(first.operator, (cst.Is, cst.IsNot)) and is_name(first.comparator, "None")
