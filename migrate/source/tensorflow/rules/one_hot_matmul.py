"""`tf.matmul(tf.one_hot(ids, V), W)` -> `one_hot_lookup(W, ids, V)`."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, dropped, is_none, literal
from migrate.source.tensorflow.base.bindings import is_fixed, resolve
from migrate.source.tensorflow.base.model import Blocker, Lookup, Rewrite, blocker
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.example_parts import CREATED, HEAD, TABLE

PARAMETERS = {
    "matmul": ("a", "b", "transpose_a", "transpose_b", "adjoint_a", "adjoint_b", "a_is_sparse", "b_is_sparse", "name"),
    "tensordot": ("a", "b", "axes", "name"),
}
ONE_HOT = ("indices", "depth", "on_value", "off_value", "axis", "dtype", "name")
HARMLESS = {"a_is_sparse", "b_is_sparse", "name"}
ALIASES = {"linalg.matmul": "matmul", "linalg.tensordot": "tensordot"}


@register
class OneHotMatmul(LookupRule):
    """A one-hot matrix times a table selects rows, as a lookup does; an id without a row gives zeros.

    Other SDKs, and switches that count ids, have no such lookup: there every id must be in range.
    """

    id = "tf-one-hot-matmul"
    title = "A product of one-hot ids with a table becomes a lookup"
    applicability = Applicability.EXACT
    symbols = frozenset({*PARAMETERS, *ALIASES})
    words = "one_hot"
    refusals = (
        Refusal(
            "unnamed-ids",
            "the ids of this one-hot product have no name",
            "its ids are computed where the one-hot is computed",
            "bind the ids to a name",
        ),
        Refusal(
            "ids-in-range",
            "this product of one-hot ids can become a lookup only if every id has a row",
            "in `{text}`, an id outside of the matrix gives zeros, but a table would give it a row of its own",
            "convert with --assume if all ids are in range",
            "every id of `{text}` lies in [0, rows)",
        ),
    )
    examples = (
        Example(
            "a product",
            HEAD + TABLE + "e = tf.matmul(tf.one_hot(x, 9), W)\n",
            HEAD + "from runtime import create_table, one_hot_lookup\n" + CREATED + "e = one_hot_lookup(W, x, 9)\n",
        ),
        Example(
            "in another SDK",
            HEAD + TABLE + "e = tf.matmul(tf.one_hot(x, 9), W)\n",
            says="outside of the matrix gives zeros",
            target="deeprec",
        ),
        Example("smoothed", HEAD + TABLE + "loss += tf.matmul(tf.one_hot(x, 9, 0.9, 0.1), W)\nf = tf.gather(W, x)\n"),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        return None

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        call = file.tree.call_with(node)
        bound = _product(file, call) if call is not None else None
        return call if bound and bound["b"].value is node and _ids(file, bound["a"].value) is not None else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        bound = _product(file, call) or {}
        first, table = bound["a"].value, bound["b"].value
        ids = _ids(file, first)
        inline = ids is not None and file.tree.contains(call, ids)
        if ids is None or not (inline or is_fixed(file.tree, ids)):
            return blocker(call, self.id, "unnamed-ids")
        name = f", name={file.tree.source(bound['name'].value)}" if "name" in bound else ""
        idle = "the gradient of a matmul has a row for every id"
        gone = dropped(bound, {"a", "b", "axes", "name"}) + _dropped(file, first)
        depth = _depth(file, call, first)
        if depth is not None:
            texts = (("W", table), ("ids", ids), ("depth", depth), ("name", name))
            exact = Rewrite("{one_hot_lookup}({W}, {ids}, {depth}{name}{train})", ("one_hot_lookup",), texts)
            return Lookup(call, self.id, rewrite=exact, idle=idle, dense=True, dropped=gone)
        template = "{sparse_lookup}({W}, {ids}{name}{train})"
        rewrite = Rewrite(template, ("sparse_lookup",), (("W", table), ("ids", ids), ("name", name)), form="ids")
        text = file.tree.source(ids)
        doubt = blocker(call, self.id, "ids-in-range", text=text)
        return Lookup(call, self.id, rewrite=rewrite, idle=idle, dense=True, doubts=(doubt,), dropped=gone)


def _depth(file: File, call: cst.Call, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the depth of the one-hot matrix, where it means the same at the product; None if the target lacks that."""
    counts = file.switches.admission or file.switches.eviction or file.switches.modify_graph
    hot = resolve(file.tree, node)
    bound = bind(hot, ONE_HOT) if isinstance(hot, cst.Call) else None
    if counts or "one_hot_lookup" not in file.target.functions or bound is None or "depth" not in bound:
        return None
    depth = bound["depth"].value
    known = file.tree.contains(call, depth) or isinstance(depth, cst.Integer)
    return depth if known or (isinstance(depth, (cst.Name, cst.Attribute)) and is_fixed(file.tree, depth)) else None


def _product(file: File, call: cst.Call) -> dict[str, cst.Arg] | None:
    """Return the arguments of a product without transposes, else None."""
    name = file.names.of(call.func) or ""
    name = ALIASES.get(name, name)
    bound = bind(call, PARAMETERS[name]) if name in PARAMETERS else None
    if bound is None or not {"a", "b"} <= bound.keys():
        return None
    if name == "tensordot" and ("axes" not in bound or literal(bound["axes"].value) != 1):
        return None
    flags = bound.keys() - {"a", "b", "axes", *HARMLESS}
    return bound if all(literal(bound[flag].value) is False for flag in flags) else None


def _dropped(file: File, node: cst.BaseExpression) -> tuple[str, ...]:
    """Return the arguments of `one_hot` beside ids and depth; they are removed where nothing else reads them."""
    call = resolve(file.tree, node)
    bound = bind(call, ONE_HOT) if call is node and isinstance(call, cst.Call) else None
    return dropped(bound or {}, {"indices", "depth", "on_value", "off_value", "axis", "dtype"})


def _ids(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the ids of the one-hot matrix at `node`; None when it is something else."""
    call = resolve(file.tree, node)
    if not isinstance(call, cst.Call) or file.names.of(call.func) != "one_hot":
        return None
    bound = bind(call, ONE_HOT)
    if bound is None or "indices" not in bound or not is_float32(file.names, bound.get("dtype")):
        return None
    if not is_none(bound.get("name")):
        return None  # others may fetch it
    plain = all(
        key not in bound or is_none(bound[key]) or literal(bound[key].value) in values
        for key, values in {"on_value": (1, 1.0), "off_value": (0, 0.0), "axis": (-1,)}.items()
    )
    return bound["indices"].value if plain else None
