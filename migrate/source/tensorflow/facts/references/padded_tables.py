"""A row of zeros put next to a table, as code does it: `tf.concat([tf.zeros([1, D]), W[1:]], 0)` and the like."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Holder
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.bindings import is_fixed, is_target, resolve
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.fetched_names import may_be_fetched

RULE = "tf-zero-padding"
SHAPES = {"zeros": ("shape", "dtype", "name"), "constant": ("value", "dtype", "shape", "name", "verify_shape")}


@dataclass(frozen=True)
class Padding:
    """One concatenation of a table with a row of zeros."""

    call: cst.Call
    table: cst.BaseExpression  #: the mention of the table in the concatenation
    kind: str  #: `first`: the zeros replace row 0; `before`: ids are shifted by one; `last`: the zeros are row V
    target: cst.BaseExpression | None  #: the name or attribute it is assigned to; None if it is handed on directly
    line: cst.CSTNode | None  #: the statement that assigns it, or the `if` that contains only this statement
    flag: cst.BaseExpression | None  #: the condition under which rows are padded


def padding_of(file: File, read: cst.BaseExpression) -> Padding | None:
    """Return the concatenation with a row of zeros in which `read` is the table; None if there is none."""
    if isinstance(read, cst.Call):
        return None  # a creation that is padded directly
    around = file.tree.parent(read)
    sliced = isinstance(around, cst.Subscript) and around.value is read and _all_but_first(around)
    part = around if sliced else read
    element = file.tree.parent(part) if part is not None else None
    listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
    arg = file.tree.parent(listed) if isinstance(listed, cst.List | cst.Tuple) else None
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(listed, cst.List | cst.Tuple) or len(listed.elements) != 2:
        return None
    bound = bind(call, ("values", "axis", "name")) if file.names.of(call.func) == "concat" else None
    if bound is None or bound.get("values") is not arg or "axis" not in bound or literal(bound["axis"].value) != 0:
        return None
    if "name" in bound and may_be_fetched(file, bound["name"].value):
        return None
    first = listed.elements[0] is element
    other = listed.elements[1 if first else 0].value
    if not _is_zero_row(file, other) or (first and sliced):
        return None
    kind = "last" if first else "first" if sliced else "before"
    placed = _placed(file, call, read, kind)
    return placed if placed is not None or not are_values(file) else Padding(call, read, kind, None, None, None)


def are_values(file: File) -> bool:
    """True if padded tables are values of their own after the conversion, wherever they are made."""
    return "zero_padded" in file.target.functions


def _placed(file: File, call: cst.Call, read: cst.BaseExpression, kind: str) -> Padding | None:
    """Return the padding with its target; None if its statement cannot be removed."""
    assign = file.tree.parent(call)
    if isinstance(assign, cst.Arg):
        return Padding(call, read, kind, None, None, None)
    line = file.tree.parent(assign) if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    if not isinstance(assign, cst.Assign) or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    block = file.tree.parent(line)
    holder = file.tree.parent(block) if block is not None else None
    target = assign.targets[0].target
    if not isinstance(holder, cst.If):
        return Padding(call, read, kind, target, line, None)
    alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1 and holder.orelse is None
    test = holder.test
    plain = _keeps(file, test, holder) if isinstance(test, cst.Attribute) else _is_name(file, test)
    outermost = holder.body is block and not isinstance(file.tree.parent(holder), cst.If)
    if not (alone and plain and outermost) or kind == "before":
        return None
    return Padding(call, read, kind, target, holder, test)


def _is_name(file: File, test: cst.BaseExpression) -> bool:
    """True for a name that is bound once, except to a list or a dict, which may become empty later."""
    if not isinstance(test, cst.Name) or not is_fixed(file.tree, test):
        return False
    return not any(isinstance(one, Holder) and one.kind in {"list", "dict"} for one in flow_of(file).values(test))


def _keeps(file: File, flag: cst.Attribute, line: cst.If) -> bool:
    """True for an attribute that nothing sets between the padding and later lookups, which read it again."""
    targets = [one for one in file.tree.attributes.get(flag.attr.value, ()) if is_target(file.tree, one)]
    return not any(_runs_behind(file, one, line) for one in targets)


def _runs_behind(file: File, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    """True for code that may run after a line, or in the loop around it, before the enclosing function ends."""
    tree, flow = file.tree, flow_of(file)
    function, loop = _function(file, line), frame_around(file, line)
    pending, seen = [node], {id(node)}
    while pending:
        one = pending.pop()
        around = _function(file, one)
        if around is function and tree.module_of(one) is tree.module_of(line):
            looped = isinstance(loop, cst.For | cst.While) and tree.contains(loop, one)
            if looped or tree.span(one)[0] > tree.span(line)[0]:
                return True
        sites = flow.sites(around) if isinstance(around, cst.FunctionDef | cst.Lambda) else ()
        new = [site for site in sites if id(site) not in seen and around is not function]
        seen.update(map(id, new))
        pending += new
    return False


def _function(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    kinds = cst.FunctionDef | cst.Lambda
    return next((around for around in file.tree.ancestors(node) if isinstance(around, kinds)), None)


def _all_but_first(node: cst.Subscript) -> bool:
    """True for `[1:]` and `[1:, :]`."""
    slices = [part.slice for part in node.slice]
    rows = slices[0] if slices else None
    if not isinstance(rows, cst.Slice) or literal(rows.lower) != 1 or rows.upper or rows.step:
        return False
    rest = slices[1:]
    return len(rest) < 2 and all(isinstance(s, cst.Slice) and not (s.lower or s.upper or s.step) for s in rest)


def _is_zero_row(file: File, node: cst.BaseExpression) -> bool:
    """True for `tf.zeros([1, D])` and `tf.constant(0.0, shape=[1, D])`."""
    call = resolve(file.tree, node)
    name = file.names.of(call.func) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or name not in SHAPES:
        return False
    bound = bind(call, SHAPES[name])
    if bound is None or "shape" not in bound or (name == "constant" and literal(bound["value"].value) != 0):
        return False
    shape = resolve(file.tree, bound["shape"].value)
    return (
        isinstance(shape, cst.List | cst.Tuple) and len(shape.elements) == 2 and literal(shape.elements[0].value) == 1
    )


def frame_around(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the innermost function or loop around `node`."""
    kinds = (cst.FunctionDef, cst.Lambda, cst.For, cst.While)
    return next((a for a in file.tree.ancestors(node) if isinstance(a, kinds)), None)
