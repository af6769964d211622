"""Lookups that combine rows: `embedding_lookup_sparse` and its relatives. Named, not converted yet."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File, UseRule
from migrate.source.rules import Example, register

CALLS = {
    "nn.embedding_lookup_sparse": "tf.nn.embedding_lookup_sparse",
    "nn.safe_embedding_lookup_sparse": "tf.nn.safe_embedding_lookup_sparse",
    "contrib.layers.safe_embedding_lookup_sparse": "safe_embedding_lookup_sparse",
    "sparse_tensor_dense_matmul": "tf.sparse_tensor_dense_matmul",
    "sparse.sparse_dense_matmul": "tf.sparse.sparse_dense_matmul",
    "sparse.matmul": "tf.sparse.matmul",
}
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\n'


@register
class SparseLookups(UseRule):
    """A lookup with a combiner."""

    id = "tf-embedding-lookup-sparse"
    title = "A lookup that combines rows keeps its table as it is"
    examples = (
        Example("combiner", MADE + "e = tf.nn.embedding_lookup_sparse(W, sp, None)\n", says="embedding_lookup_sparse"),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Stop | None:
        arg = file.tree.parent(reference)
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        name = file.names.of(call.func) if isinstance(call, cst.Call) else None
        if call is None or name not in CALLS:
            return None
        return Stop(
            call,
            self.id,
            f"`{CALLS[name]}` is not converted yet",
            "it sums or averages rows per sample, which needs a segment operation after the lookup",
            "write it as a lookup of the ids followed by a segment sum, or keep the table dense",
        )
