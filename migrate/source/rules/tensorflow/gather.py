"""`tf.gather(W, ids)` on a proven variable -> `sparse_lookup(W, ids)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind, is_none, literal
from migrate.source.frontends.tensorflow.facts import Lookup, Stop
from migrate.source.frontends.tensorflow.kinds import File, LookupRule
from migrate.source.frontends.tensorflow.lookups import make_lookup
from migrate.source.rules import Example, register

PARAMETERS = ("params", "indices", "validate_indices", "name", "axis", "batch_dims")
HEAD = "import tensorflow.compat.v1 as tf\n"


@register
class Gather(LookupRule):
    """A gather along the rows of a variable."""

    id = "tf-gather"
    title = "`tf.gather` along the rows of a table becomes `sparse_lookup`"
    symbols = frozenset({"gather"})
    examples = (
        Example(
            "a vector of biases is a table of width 1",
            HEAD + 'b = tf.get_variable("b", [9], initializer=tf.zeros_initializer())\ny = tf.gather(b, x)\n',
            HEAD + "from runtime import create_table, sparse_lookup\n"
            'b = create_table(key_dtype=tf.int64, dim=1, name="b", device_vocabulary_size=9, '
            "emb_initializer=tf.zeros_initializer())\ny = tf.squeeze(sparse_lookup(b, x), axis=-1)\n",
        ),
        Example("an ordinary tensor", HEAD + "c = tf.convert_to_tensor(l)\ny = tf.gather(c, x)\n"),
        Example(
            "another axis",
            HEAD
            + 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ny = tf.gather(W, x, axis=1)\n',
            says="axis",
        ),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = bind(call, PARAMETERS)
        return bound.get("params") if bound else None

    def read(self, file: File, call: cst.Call) -> Lookup | Stop:
        bound = bind(call, PARAMETERS) or {}
        extra = [bound[k] for k in ("axis", "batch_dims") if k in bound and not is_none(bound[k])]
        positional = sum(arg.keyword is None for arg in call.args) > 2
        if positional or any(literal(arg.value) != 0 for arg in extra):
            reason = "only a gather along axis 0 reads rows"
            return Stop(call, self.id, "this gather has an axis of its own", reason, "keep the variable dense")
        return make_lookup(call, self.id, bound, "indices", keep=("name",))
