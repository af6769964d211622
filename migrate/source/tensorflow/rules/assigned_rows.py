"""`sess.run(W.assign(matrix))`, `tf.assign(W, placeholder)` -> `set_rows(W, matrix)`."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.arguments import bind, is_none, method_of
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.example_parts import CONVERTED, HEAD, MADE
from migrate.source.tensorflow.facts.calls.inner_graphs import run_apart

AFTER = HEAD + "from runtime import create_table, set_rows, sparse_lookup\n"
FED = "p = tf.placeholder(tf.float32, [9, 4])\n"

RULE = "tf-assigned-rows"
#: Functions that only need an op: it is run before others, or with them.
OPS = {"group", "control_dependencies"}


@register
class AssignedRows(UseRule):
    """An assignment of the whole matrix, which a session only runs, sets the rows of the ids 0 to size - 1.

    The state of the optimizer stays, as it does with a variable. `set_rows` gives an op, so the table stays where the
    value of the assignment is used; its op may be run, grouped with others, or be a control dependency.
    """

    id = RULE
    title = "An assignment of all rows becomes `set_rows`"
    applicability = Applicability.EXACT
    examples = (
        Example(
            "pretrained rows that are fed",
            HEAD + MADE + FED + "init = W.assign(p)\nsess.run(init, feed_dict={p: rows})\n",
            AFTER + CONVERTED + FED + "init = set_rows(W, p)\nsess.run(init, feed_dict={p: rows})\n",
        ),
        Example("its value is used", HEAD + MADE + "e += tf.reduce_sum(W.assign(rows))\n"),
    )

    def of_table(self, file: File, reference: cst.BaseExpression, creation: Creation) -> Adaptation | None:
        pair = assigned(file, reference)
        if pair is None or not creation.rows_text or creation.rank != 2 or "set_rows" not in file.target.functions:
            return None
        call, value = pair
        if not is_only_run(file, call):
            return None
        table = file.tree.source(reference)
        shown = file.tree.excerpt(call)
        change = CodeChange(call, lambda fresh, rows: f"{fresh.imports('set_rows')}({table}, {rows[0]})", takes=value)
        return Adaptation(call, RULE, f"`{shown}` sets all rows of `{table}`", changes=(change,))


def assigned(file: File, node: cst.BaseExpression) -> tuple[cst.Call, cst.BaseExpression] | None:
    """Return the assignment to the variable at `node`, and the matrix: `W.assign(matrix)` or `tf.assign(W, matrix)`.

    `use_locking` changes no row; a call with further arguments is none of these, nor one whose op has a name, which the
    op of `set_rows` has not.
    """
    around = file.tree.parent(node)
    call = file.tree.parent(around) if isinstance(around, (cst.Attribute, cst.Arg)) else None
    if not isinstance(call, cst.Call):
        return None
    bound: dict[str, cst.Arg] | None = None
    if call.func is around and isinstance(around, cst.Attribute) and around.attr.value == "assign":
        bound = bind(call, ("value", "use_locking", "name"))
    elif isinstance(around, cst.Arg) and file.names.of(call.func) == "assign":
        bound = bind(call, ("ref", "value", "validate_shape", "use_locking", "name"))
        bound = bound if bound is not None and bound.get("ref") is around else None
    if bound is None or "value" not in bound or "validate_shape" in bound:
        return None
    if not is_none(bound.get("name")):
        return None
    inside = file.tree.contains(bound["value"].value, node) or run_apart(file, call) is not None
    return None if inside else (call, bound["value"].value)


def is_only_run(file: File, call: cst.Call) -> bool:
    """True if a session runs what a call gives, and nothing reads the value."""
    flow = flow_of(file)
    values = [value for value in flow.values(call) if value.node is call]
    mentions = {call, *(one for value in values for one in flow.mentions(value))}
    if any(flow.holders(value) for value in values if _is_listed(file, value.node)):
        return False
    names = held_in(file, call)
    trees = [part.tree for part in file.program(call)]
    mentions |= {one for tree in trees for name in names for one in tree.attributes[name] if not tree.is_target(one)}
    return bool(values) and all(_runs(file, one) for one in mentions)


def held_in(file: File, call: cst.Call) -> set[str]:
    """Return the attributes that hold what an assignment gives, by which other files may reach it."""
    uses = [one for value in flow_of(file).values(call) if value.node is call for one in flow_of(file).mentions(value)]
    return {node.attr.value for node in uses if isinstance(node, cst.Attribute)} | set(_attributes(file, call))


def _attributes(file: File, call: cst.Call) -> list[str]:
    """Return the names of the attributes that a call is assigned to."""
    around = file.tree.parent(call)
    targets = [one.target for one in around.targets] if isinstance(around, cst.Assign) else []
    return [one.attr.value for one in targets if isinstance(one, cst.Attribute)]


def _is_listed(file: File, node: cst.CSTNode | None) -> bool:
    """True for an entry of a list or a dict that is not given to a function where it is written."""
    display = file.tree.display_with(node)
    return isinstance(display, cst.Dict) or (display is not None and file.tree.call_with(display) is None)


def _runs(file: File, node: cst.BaseExpression) -> bool:
    """True if the use at a place only runs the op, or only binds a name or an attribute to it."""
    if file.tree.is_target(node):
        return True
    around, display = file.tree.parent(node), file.tree.display_with(node)
    if display is not None:
        around = file.tree.parent(display)
        if not isinstance(display, (cst.List, cst.Tuple)) or not isinstance(around, cst.Arg):
            return False
    if isinstance(around, cst.Arg):
        return _takes_op(file, around)
    if isinstance(around, (cst.Assign, cst.Return, cst.AnnAssign)):
        flow = flow_of(file)
        stored = isinstance(around, cst.Assign) and all(
            isinstance(one.target, (cst.Name, cst.Attribute)) for one in around.targets
        )
        return stored or (flow.is_only_copied(node) and not flow.is_returned_outside(node))
    return isinstance(around, cst.Expr)


def _takes_op(file: File, arg: cst.Arg) -> bool:
    """True for what `session.run` runs, where nothing reads the result, and for functions that take ops."""
    call = file.tree.call_with(arg)
    if call is None or arg.star:
        return False
    if file.names.of(call.func) in OPS:
        return True
    if method_of(call) != "run":
        return False
    first = call.args[0] is arg if arg.keyword is None else arg.keyword.value == "fetches"
    return first and isinstance(file.tree.parent(call), cst.Expr)
