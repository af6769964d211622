"""Dense layers on one-hot ids, which are embeddings. Suggested, not converted."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark

LAYERS = {"layers.dense", "contrib.layers.fully_connected", "contrib.slim.fully_connected"}
KERAS = {"keras.layers.Dense", "layers.Dense"}
HEAD = "import tensorflow.compat.v1 as tf\n"


@register
class OneHotDense(FileRule):
    """The kernel of such a layer is an embedding table, and its product with a one-hot vector is a lookup."""

    id = "tf-one-hot-dense"
    title = "A dense layer on one-hot ids is reported: its kernel is an embedding table"
    words = "one_hot"
    examples = (
        Example("a layer function", HEAD + "x = tf.one_hot(ids, n)\ny = tf.layers.dense(x, 8)\n", says="lookup"),
        Example("a Keras layer", HEAD + "y = tf.keras.layers.Dense(8)(tf.one_hot(ids, n))\n", says="lookup"),
        Example("another input", HEAD + "y = tf.layers.dense(x, 8)\n"),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call in file.tree.calls if "one_hot" in file.tree.identifiers() else ():
            inner = call.func.func if isinstance(call.func, cst.Call) else None
            layer = file.names.of(call.func) in LAYERS or (inner is not None and file.names.of(inner) in KERAS)
            first = next((arg.value for arg in call.args if not arg.keyword or arg.keyword.value == "inputs"), None)
            value = resolve(file.tree, first) if layer and first is not None else None
            if isinstance(value, cst.Call) and file.names.of(value.func) == "one_hot":
                text = file.tree.source(inner if inner is not None else call.func)
                reason = (
                    "its kernel [ids, units] is a table of which a one-hot vector picks a row; "
                    "the layer makes it, adds a bias and applies its activation and regularizers"
                )
                action = "write it as a variable, a lookup of the ids and a bias, then convert again"
                message = f"`{text}` on one-hot ids could be a lookup"
                yield Remark(call, self.id, State.SUGGESTED, message, reason, action)
