"""Lookup functions that are referenced without being called: their call sites are not followed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark, UseRule
from migrate.source.tensorflow.facts.references.escaping_lookups import loose_lookups, may_look_up

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\n'


NOT_CALLED = "where it is called under another name is not seen, so which tables it reads is not known"
CALL_IT = "call the lookup function itself where rows are read, with the variable as its argument"


@register
class LooseLookup(FileRule, UseRule):
    """A lookup function that is stored, passed on or selected at run time.

    It is reported, and the variables that are passed to it are left unchanged.
    """

    id = "tf-loose-lookup"
    title = "A lookup function that is passed on instead of called is reported"
    words = "embedding_lookup|gather"
    applicability = None
    refusals = (
        Refusal(
            "unknown-function",
            "`{text}`",
            "whether this looks up rows, and by which ids, is decided at run time",
            CALL_IT,
        ),
    )
    examples = (
        Example("mapped", MADE + "e = list(map(tf.nn.embedding_lookup, [W], [ids]))\n", says="passed on, not called"),
        Example(
            "the default of a parameter",
            MADE + "def read(ids, lookup=tf.nn.embedding_lookup):\n    return lookup(W, ids)\n",
            says="passed on, not called",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for loose in loose_lookups(file):
            message = f"`{file.tree.excerpt(loose.node)}` is passed on, not called"
            if loose.known:
                yield Remark(loose.node, self.id, State.NOTED, message, "no code of the given files calls it")
            else:
                yield Remark(loose.node, self.id, State.OPAQUE, message, NOT_CALLED, CALL_IT)

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        if not may_look_up(file, reference):
            return None
        call = file.tree.enclosing(reference, cst.Call)
        assert call is not None, "it is given to a call"
        return blocker(call, self.id, "unknown-function", text=file.tree.excerpt(call))
