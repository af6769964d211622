"""How the program uses a list of its own that contains a table."""

from __future__ import annotations

from enum import Enum

import libcst as cst
from libcst.metadata import GlobalScope

from migrate.source.flow import Class, Holder, Symbol, Unknown, Value, ValueFlow
from migrate.source.tensorflow.base.bindings import binders, builtin, is_target, scope_of_name
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of
from migrate.source.tensorflow.facts.references.l2_terms import sum_over
from migrate.source.tensorflow.facts.references.metadata_loops import only_metadata, reads_shapes


class Reader(Enum):
    """Who reads the members of the list."""

    NOBODY = "nobody"
    SHAPES = "a loop that reads shapes or other attributes that a table does not have"
    SUMS = "a loop that sums over each member"
    OTHERS = "code outside of the file"


def reader(file: File, listed: cst.BaseExpression) -> Reader | cst.CSTNode | None:
    """Return who reads a list, a use of it that is not understood, or None for an external name."""
    flow = flow_of(file)
    values = flow.values(listed)
    known = bool(values) and all(_is_list(file, value) for value in values)
    if not known and not isinstance(listed, cst.Attribute):
        bound = binders(file.tree, listed)
        return bound[0] if bound else None
    if not known and not all(_is_from_outside(value) for value in values):
        return listed
    mentions = [one for value in values for one in flow.mentions(value)]
    if isinstance(listed, cst.Attribute) and not known:
        mentions = [one for one in file.tree.attributes[listed.attr.value] if not is_target(file.tree, one)]
    found: set[Reader] = set()
    named, handed = [listed], list[cst.CSTNode]()
    for use in mentions:
        made = any(use is value.node for value in values)
        if _is_handed_on(file, use):
            named += _targets(file.tree.parent(use)) if made else []
            handed += [use] if not made else []
        elif not _only_grows(file, use) and not prints(file, use) and not _measures(file, use):
            kind = _loop(file, use)
            if kind is None:
                return use
            found.add(kind)
    sums = Reader.SUMS in found and known
    if handed and not sums:
        return handed[0]
    kept = not known or any(isinstance(one, cst.Attribute) for one in named)
    if any(_is_shared(file, one) for one in named) or (kept and not sums):
        return Reader.OTHERS
    if sums:
        return Reader.SUMS
    return Reader.SHAPES if Reader.SHAPES in found else Reader.NOBODY


def summed(file: File, listed: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """Return the members that loops over a list sum over, where `reader` is SUMS; None if a loop also reads shapes."""
    flow, found = flow_of(file), list[cst.BaseExpression]()
    for use in (one for value in flow.values(listed) for one in flow.mentions(value)):
        loop = file.tree.parent(use)
        if not isinstance(loop, cst.For | cst.CompFor) or loop.iter is not use or not isinstance(loop.target, cst.Name):
            continue
        members_of = summands(file, loop.target)
        if members_of is None:
            return None
        found += members_of
    return found


def summands(file: File, variable: cst.Name) -> list[cst.BaseExpression] | None:
    """Return the mentions of a loop's variable in sums over its entries; None if the loop reads attributes of it."""
    uses = flow_of(file).carried(variable)
    if any(isinstance(file.tree.parent(use), cst.Attribute) for use in uses):
        return None
    return [use for use in uses if sum_over(file, use) is not None]


def _is_from_outside(value: Value) -> bool:
    """True for an attribute inherited from a base class outside of the analysed code."""
    return isinstance(root_of(value), Unknown | Symbol) and not isinstance(value.node, cst.Call)


def _is_list(file: File, value: Value) -> bool:
    made = value.node if isinstance(value, Holder) and value.kind == "list" else None
    return isinstance(made, cst.List) or (
        isinstance(made, cst.Call) and not made.args and builtin(file.tree, made.func) == "list"
    )


def _is_handed_on(file: File, use: cst.BaseExpression) -> bool:
    """True if the list is bound to a name, passed to a function of the program, or returned by one."""
    around, flow = file.tree.parent(use), flow_of(file)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        return flow.hands_on(use) and not around.star and bool(flow.runs(call or around))
    if isinstance(around, cst.Return):
        return not flow.leaves(use)
    targets = _targets(around)
    return bool(targets) and all(_is_followed(flow, one) for one in targets)


def _targets(around: cst.CSTNode | None) -> list[cst.BaseExpression]:
    if isinstance(around, cst.Assign):
        return [one.target for one in around.targets]
    return [around.target] if isinstance(around, cst.AnnAssign | cst.NamedExpr) else []


def _is_followed(flow: ValueFlow, target: cst.BaseExpression) -> bool:
    """True for a name, and for an attribute of an object of the program: an entry or a part may be anything."""
    if isinstance(target, cst.Attribute):
        return all(isinstance(value, Holder | Class) for value in flow.values(target.value))
    return isinstance(target, cst.Name)


def _only_grows(file: File, use: cst.BaseExpression) -> bool:
    """True for `params.append(x)` as a statement."""
    method = file.tree.parent(use)
    call = file.tree.parent(method) if isinstance(method, cst.Attribute) and method.value is use else None
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call):
        return False
    return method.attr.value in {"append", "extend"} and isinstance(file.tree.parent(call), cst.Expr)


def _measures(file: File, use: cst.BaseExpression) -> bool:
    arg = file.tree.parent(use)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and builtin(file.tree, call.func) == "len"


def _loop(file: File, use: cst.BaseExpression) -> Reader | None:
    """Return how a loop over the list uses its members; None if that is not understood."""
    loop = file.tree.parent(use)
    return members(file, loop) if isinstance(loop, cst.For | cst.CompFor) and loop.iter is use else None


def _is_shared(file: File, listed: cst.BaseExpression) -> bool:
    """True for a list of a module that another file mentions, or may mention."""
    scope = scope_of_name(file.tree, listed) if isinstance(listed, cst.Name) else None
    if not isinstance(listed, cst.Name) or not isinstance(scope, GlobalScope):
        return False
    unseen = len(file.files) == 1 and file.tree.link is not None and file.tree.link.imported()
    return unseen or bool(file.tree.elsewhere(listed, scope))


def members(file: File, loop: cst.For | cst.CompFor) -> Reader | None:
    """Return how a loop uses its members: SUMS over each, SHAPES of them, NOBODY if names at most; else None."""
    if not isinstance(loop.target, cst.Name):
        return None
    if only_metadata(file, loop.target):
        return Reader.SHAPES if reads_shapes(file, loop.target) else Reader.NOBODY
    return Reader.SUMS if only_metadata(file, loop.target, sums=True) else None
