"""`tf.gather(W, ids)` on a variable -> `sparse_lookup(W, ids)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.model import Blocker, Lookup, blocker
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER, TABLE
from migrate.source.tensorflow.facts.variables.lookups import bind_either, make_lookup

#: In the v1 API and in the v2 API.
ORDERS = (
    ("params", "indices", "validate_indices", "name", "axis", "batch_dims"),
    ("params", "indices", "validate_indices", "axis", "batch_dims", "name"),
)


@register
class Gather(LookupRule):
    """`tf.gather` along axis 0 of a variable; a gather of any other tensor is left unchanged."""

    id = "tf-gather"
    title = "`tf.gather` along the rows of a table becomes `sparse_lookup`"
    symbols = frozenset({"gather"})
    refusals = (
        Refusal(
            "ambiguous-argument",
            "the arguments of this gather cannot be read",
            "the fourth is a name (v1) or an axis (v2)",
            "pass the arguments after the ids by name",
        ),
        Refusal(
            "other-axis",
            "this gather does not read along axis 0",
            "only a gather along axis 0 reads rows",
            "leave the variable unchanged",
        ),
    )
    examples = (
        Example(
            "a vector of biases is a table of width 1",
            HEAD + 'b = tf.get_variable("b", [9], initializer=tf.zeros_initializer())\ny = tf.gather(b, x)\n',
            HEAD_AFTER + 'b = create_table(key_dtype=tf.int64, dim=1, name="b", device_vocabulary_size=9, '
            "emb_initializer=tf.zeros_initializer())\ny = tf.squeeze(sparse_lookup(b, x), axis=-1)\n",
        ),
        Example(
            "positional arguments",
            HEAD + TABLE + 'y = tf.gather(W, x, None, "g", 0)\n',
            HEAD_AFTER + CREATED + 'y = sparse_lookup(W, x, name="g")\n',
        ),
        Example(
            "another axis",
            HEAD + TABLE + "y = tf.gather(W, x, axis=1)\n",
            says="axis",
        ),
    )

    def _bind(self, call: cst.Call) -> dict[str, cst.Arg] | None:
        return bind_either(call, ORDERS, 3, _version)

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = self._bind(call)
        return bound.get("params") if bound else next(iter(call.args), None)

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        bound = self._bind(call)
        if bound is None:
            return blocker(call, self.id, "ambiguous-argument")
        extra = [bound[k] for k in ("axis", "batch_dims") if k in bound and not is_none(bound[k])]
        if any(literal(arg.value) != 0 for arg in extra):
            return blocker(call, self.id, "other-axis")
        return make_lookup(call, self.id, bound, "indices", keep=("name",), read=("axis", "batch_dims"))


def _version(fourth: cst.Arg) -> int | None:
    value = literal(fourth.value)
    if value is None or isinstance(value, str):
        return 0
    return None if value is ... else 1
