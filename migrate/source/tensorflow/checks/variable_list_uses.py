"""What is done with the list of all variables, trainable or not: a table is in it without its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.bindings import assigned_value, is_target, local_names, scope_of_name
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.collection_keys import RULE
from migrate.source.tensorflow.facts.references.metadata_loops import METADATA
from migrate.source.tensorflow.facts.references.variable_lists import collected, saves_all

#: Functions that list variables whatever these are for, or restore them by such a list.
LISTS = re.compile(
    r"global_variables|all_variables|model_variables"
    r"|contrib\.(framework|slim)\.(get_\w*variables\w*|filter_variables|assign_from_checkpoint\w*)"
)
#: Calls that store, restore or initialise what they are given.
STORES = {
    "train.Saver", "variables_initializer", "initialize_variables", "report_uninitialized_variables",
    "is_variable_initialized", "train.init_from_checkpoint", "contrib.framework.init_from_checkpoint",
    "contrib.framework.assign_from_checkpoint_fn", "contrib.framework.assign_from_checkpoint",
}  # fmt: skip
#: Built-in functions that give a list of the same variables.
SAME = {"list", "tuple", "set", "sorted"}
DEPTH = 5


def all_variables(file: File) -> Iterator[Blocker]:
    """Yield a doubt for each use of the list but to initialise, save or print; a stop where it is computed with."""
    named = [call for call, name in file.names.calls if LISTS.fullmatch(name)]
    for call in {id(call): call for call in [*named, *collected(file)]}.values():
        arg = file.tree.parent(call)
        outer = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        initialises = (
            isinstance(outer, cst.Call) and file.names.of(outer.func) == "variables_initializer" and not call.args
        )
        if initialises or prints(file, call) or _unused(file, call) or saves_all(file, outer, call):
            continue
        text = " ".join(file.tree.source(file.tree.statement(call) or call).split())[:80]
        yield blocker(call, RULE, "all-stored" if _is_stored(file, call) else "all-used", text=text)


def _unused(file: File, call: cst.Call) -> bool:
    """True when the list is given a name that nothing reads."""
    uses = _named(file, call)
    return uses is not None and not uses


def _named(file: File, value: cst.CSTNode) -> list[cst.Name] | None:
    """Return where the name is read that is given `value`, whatever else it is given; None where it has no name."""
    assign = file.tree.parent(value)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name):
        return None
    return [use for use in local_names(file.tree, target.value, scope) if not is_target(file.tree, use)]


def _is_stored(file: File, node: cst.CSTNode, depth: int = DEPTH) -> bool:
    """True when a list of variables is only stored, restored, printed or counted, and no value of it computed with."""
    around = file.tree.parent(node)
    if prints(file, node) or isinstance(around, cst.Expr):
        return True
    if not depth or around is None:
        return False
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        callee = file.tree.source(call.func) if isinstance(call, cst.Call) else ""
        stores = isinstance(call, cst.Call) and (file.names.of(call.func) in STORES or callee == "len")
        return stores or (callee in SAME and call is not None and _is_stored(file, call, depth - 1))
    if isinstance(around, cst.For | cst.CompFor):
        return around.iter is node and isinstance(around.target, cst.Name) and _loop(file, around, depth)
    if isinstance(around, cst.Subscript) and around.value is node:
        return _one(file, around, depth - 1)
    uses = _named(file, node)
    return uses is not None and all(_is_stored(file, use, depth - 1) for use in uses)


def _loop(file: File, loop: cst.For | cst.CompFor, depth: int) -> bool:
    """True when each variable that a loop takes is only stored or asked for its name or shape."""
    whole: cst.CSTNode | None = loop
    while isinstance(whole, cst.CompFor):
        whole = file.tree.parent(whole)
    name = loop.target.value if isinstance(loop.target, cst.Name) else ""
    uses = [use for use in file.tree.names[name] if whole is not None and file.tree.contains(whole, use)]
    return all(is_target(file.tree, use) or _one(file, use, depth - 1) for use in uses)


def _one(file: File, use: cst.BaseExpression, depth: int) -> bool:
    """True when one variable of the list is only stored, restored, assigned, or asked for its name or shape."""
    around = file.tree.parent(use)
    if prints(file, use):
        return True
    if not depth or around is None:
        return False
    if isinstance(around, cst.Attribute):
        outer = file.tree.parent(around)
        named = isinstance(outer, cst.Attribute) and outer.attr.value == "name"
        return around.attr is use or around.attr.value in METADATA or (around.attr.value == "op" and named)
    if isinstance(around, cst.Arg):
        return _given(file, around, depth)
    if isinstance(around, cst.ListComp | cst.GeneratorExp | cst.SetComp | cst.DictComp):
        return _is_stored(file, around, depth - 1)
    uses = _named(file, use)
    return uses is not None and all(_one(file, one, depth - 1) for one in uses)


def _given(file: File, arg: cst.Arg, depth: int) -> bool:
    """True for a variable that is assigned, stored, or put into a list whose variables are only stored."""
    call = file.tree.parent(arg)
    if not isinstance(call, cst.Call):
        return False
    known = file.names.of(call.func)
    if known in STORES or (known == "assign" and call.args[0] is arg):
        return True
    method = call.func if isinstance(call.func, cst.Attribute) else None
    if method is None or method.attr.value != "append" or not isinstance(method.value, cst.Name):
        return False
    scope = scope_of_name(file.tree, method.value)
    listed = local_names(file.tree, method.value.value, scope) if scope is not None else []
    made = [assigned_value(file.tree, one) for one in listed if is_target(file.tree, one)]
    read = [one for one in listed if not is_target(file.tree, one) and not _appends(file, one)]
    plain = all(isinstance(value, cst.List) and not value.elements for value in made)
    return bool(made) and plain and all(_is_stored(file, one, depth - 1) for one in read)


def _appends(file: File, use: cst.Name) -> bool:
    method = file.tree.parent(use)
    return isinstance(method, cst.Attribute) and method.value is use and method.attr.value == "append"
