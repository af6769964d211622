"""Uses of the list of all variables, trainable or not: a table is in this list, but its rows are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Holder, Member, Unknown, Value, ValueFlow
from migrate.source.flow.kinds import is_slice
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.optimizers.collection_keys import RULE
from migrate.source.tensorflow.facts.references.metadata_loops import METADATA
from migrate.source.tensorflow.facts.references.variable_lists import collected, saves_all, shown

#: Functions that list all variables, or restore variables by such a list.
LISTS = re.compile(
    r"global_variables|all_variables|model_variables"
    r"|contrib\.(framework|slim)\.(get_\w*variables\w*|filter_variables|assign_from_checkpoint\w*)"
)
#: Calls that save, restore or initialize their arguments.
STORES = {
    "train.Saver", "variables_initializer", "initialize_variables", "report_uninitialized_variables",
    "is_variable_initialized", "train.init_from_checkpoint", "contrib.framework.init_from_checkpoint",
    "contrib.framework.assign_from_checkpoint_fn", "contrib.framework.assign_from_checkpoint",
}  # fmt: skip


def all_variables(judgement: Judgement) -> Iterator[Blocker]:
    """Yield a blocker for each use of the list except to initialize, save or print it."""
    file = judgement.file
    named = [call for call, name in file.names.calls if LISTS.fullmatch(name)]
    for call in {id(call): call for call in [*named, *collected(file)]}.values():
        arg = file.tree.parent(call)
        outer = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        initialises = (
            isinstance(outer, cst.Call) and file.names.of(outer.func) == "variables_initializer" and not call.args
        )
        if initialises or shown(file, call) or _unused(file, call) or saves_all(file, outer, call):
            continue
        text = file.tree.excerpt(file.tree.statement(call) or call)
        yield blocker(call, RULE, "all-stored" if _is_stored(file, call) else "all-used", text=text)


def _unused(file: File, call: cst.Call) -> bool:
    """True when the list is assigned to a name that no code reads."""
    assign = file.tree.parent(call)
    named = isinstance(assign, cst.Assign) and all(isinstance(one.target, cst.Name) for one in assign.targets)
    return named and all(one is call or is_target(file.tree, one) for one in flow_of(file).carried(call))


def _is_stored(file: File, call: cst.Call) -> bool:
    """True when the variables are only saved, restored, assigned, printed, counted, or read for names and shapes."""
    flow = flow_of(file)
    listed = flow.values(call)
    if any(isinstance(one, Unknown) and one.node is not call for one in listed):
        return False
    reads = (value for one in listed for value in reached(one, lambda one: _parts(file, one)))
    return all(_is_harmless(file, value) for value in reads)


def _parts(file: File, value: Value) -> list[Value]:
    """Return the variables of a list, what is cut out of it, and the lists that hold one."""
    flow = flow_of(file)
    held = [one for one, _ in flow.held(value) if isinstance(one, Holder) and one.kind in {"list", "dict", "record"}]
    around = (file.tree.parent(use) for use in flow.uses(value))
    cut = [one for node in around if isinstance(node, cst.Subscript) and is_slice(node) for one in flow.values(node)]
    return [*once(file, ("entries",), lambda: _entries(flow)).get(value, ()), *held, *cut]


def _entries(flow: ValueFlow) -> dict[Value, list[Value]]:
    """Return the entries of a value from outside code, by the value they are taken from."""
    found: dict[Value, list[Value]] = {}
    members = (value for _, value in flow.where(lambda value: isinstance(value, Member) and value.name == "[]"))
    for value in dict.fromkeys(members):
        if isinstance(value, Member):
            found.setdefault(value.base, []).append(value)
    return found


def _is_harmless(file: File, value: Value) -> bool:
    flow = flow_of(file)
    uses = flow.uses(value)
    return all(_stores(file, use) for use in uses) and all(site in uses for site in flow.escapes(value))


def _stores(file: File, use: cst.BaseExpression) -> bool:
    """True for a use that needs no values, or only those of the listed variables."""
    around = file.tree.parent(use)
    if prints(file, use) or isinstance(around, cst.Expr) or (isinstance(around, cst.Subscript) and around.value is use):
        return True
    if isinstance(around, cst.Attribute):
        outer = file.tree.parent(around)
        named = isinstance(outer, cst.Attribute) and outer.attr.value == "name"
        return around.attr.value in {*METADATA, "append"} or (around.attr.value == "op" and named)
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    known = file.names.of(call.func)
    return known in STORES or (known == "assign" and call.args[0] is around) or builtin(file.tree, call.func) == "len"
