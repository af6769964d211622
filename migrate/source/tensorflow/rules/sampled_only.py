"""Variables that only a sampled loss reads: named in the report, as no lookup makes them tables."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark
from migrate.source.tensorflow.base.value_flow import flow_of

LOOKUPS = (
    "nn.embedding_lookup", "nn.embedding_lookup_sparse", "nn.safe_embedding_lookup_sparse", "gather", "gather_nd",
)  # fmt: skip
LOSSES = ("nn.nce_loss", "nn.sampled_softmax_loss")
PARAMETERS = (
    "weights", "biases", "labels", "inputs", "num_sampled", "num_classes", "num_true", "sampled_values",
    "remove_accidental_hits", "partition_strategy", "name", "seed",
)  # fmt: skip
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\nb = tf.get_variable("b", [9])\n'


@register
class SampledOnly(FileRule):
    """A sampled loss takes whole variables, and reads the rows of the labels and of a sample of all rows."""

    id = "tf-sampled-only"
    title = "Variables that only a sampled loss reads are named"
    words = "nce_loss|sampled_softmax"
    examples = (
        Example(
            "weights of a loss",
            MADE + "loss = tf.nn.nce_loss(W, b, labels, inputs, 5, 9)\n",
            says="is read by `tf.nn.nce_loss` alone",
        ),
        Example(
            "weights that are looked up, too",
            MADE + "e = tf.nn.embedding_lookup(W, ids)\nloss = tf.nn.nce_loss(W, b, labels, inputs, 5, 9)\n",
            says="is read by `tf.nn.nce_loss` alone",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        calls = [call for call, _ in file.calls(*LOSSES)]
        if not calls:
            return
        flow = flow_of(file)
        tables = [arg.value for call, _ in file.calls(*LOOKUPS) for arg in call.args[:1]]
        looked_up = {id(value.node) for table in tables for value in flow.values(table)}
        creations = {id(call) for call, name in file.names.calls if name in {"get_variable", "Variable"}}
        for call in calls:
            bound = bind(call, PARAMETERS)
            arguments = [bound[name].value for name in PARAMETERS[:2] if bound is not None and name in bound]
            nodes = [value.node for one in arguments for value in flow.values(one)]
            for variable in (node for node in nodes if isinstance(node, cst.Call) and id(node) in creations):
                if id(variable) not in looked_up:
                    looked_up.add(id(variable))
                    yield self._remark(file, variable, call)

    def _remark(self, file: File, variable: cst.Call, call: cst.Call) -> Remark:
        message = f"`{file.tree.excerpt(variable)}` is read by `{file.tree.one_line(call.func)}` alone"
        reason = "a sampled loss takes the whole variable, and draws from a fixed number of rows"
        action = "leave it unchanged, or train with `migrate run`, which replaces such variables by tables"
        return Remark(variable, self.id, State.NOTED, message, reason, action)
