"""Lookups in a list of variables, which are partitions of one matrix. Reported, not converted."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, UseRule

CALLS = {
    "nn.embedding_lookup",
    "nn.embedding_lookup_sparse",
    "nn.safe_embedding_lookup_sparse",
    "contrib.layers.safe_embedding_lookup_sparse",
}


@register
class Partitioned(UseRule):
    """A lookup in a list of several variables. A list of one is that variable."""

    id = "tf-partitioned-params"
    title = "A table of several variables is left unchanged"
    refusals = (
        Refusal(
            "partitions",
            "a lookup over a list of partitions is not converted",
            "ids are spread over several variables, so the rows of one lookup would come from several tables",
            "use one variable instead of the partitions; a table needs no partitions",
        ),
    )
    examples = (
        Example(
            "two partitions",
            'import tensorflow.compat.v1 as tf\na = tf.get_variable("a", [9, 4])\nb = tf.get_variable("b", [9, 4])\n'
            "e = tf.nn.embedding_lookup([a, b], ids)\n",
            says="partition",
        ),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        listed = file.tree.display_with(reference)
        call = file.tree.call_with(listed) if isinstance(listed, (cst.List, cst.Tuple)) else None
        if call is None or file.names.of(call.func) not in CALLS:
            return None
        return blocker(call, self.id, "partitions")
