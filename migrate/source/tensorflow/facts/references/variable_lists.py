"""Lists of all trainable variables or of all variables: where the program creates and reads them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Bound, Function
from migrate.source.tensorflow.base.bindings import is_target, local_names, scope_of_name, single_value
from migrate.source.tensorflow.base.logging_statements import is_shown, only_reads, prints, prints_alone
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.optimizers.collection_keys import collection_reads, is_key
from migrate.source.tensorflow.facts.references.list_uses import Reader, members
from migrate.source.tensorflow.facts.references.metadata_loops import asks

#: Functions that reduce their argument to a number or text.
TOTALS = {"sum", "len", "max", "np.sum", "numpy.sum", "np.prod", "sorted", "str"}


def saves_all(file: File, saver: cst.CSTNode | None, listed: cst.BaseExpression) -> bool:
    """True for `Saver(tf.global_variables())`, which saves tables as `Saver()` does."""
    if not isinstance(saver, cst.Call) or file.names.of(saver.func) != "train.Saver":
        return False
    everything = {"global_variables", "all_variables"}
    return isinstance(listed, cst.Call) and not listed.args and file.names.of(listed.func) in everything


def shown(file: File, listed: cst.BaseExpression) -> bool:
    """True if the list, or an element of it, is only printed."""
    return printed(file, listed) or (prints(file, listed) and not _does_more(file, listed))


def printed(file: File, listed: cst.BaseExpression) -> bool:
    """True if the list is only printed, in a loop or whole, or decides what is printed.

    A printed element is not: its index may mean another variable afterwards.
    """
    around = file.tree.parent(listed)
    if isinstance(around, cst.For):
        return around.iter is listed and _shows_members(file, around)
    if isinstance(around, cst.ComparisonTarget) and isinstance(around.operator, cst.In | cst.NotIn):
        chosen = file.tree.parent(file.tree.parent(around) or around)
        return isinstance(chosen, cst.If) and _prints_only(file, chosen)
    return prints(file, listed) and not isinstance(around, cst.Subscript) and not _does_more(file, listed)


def _does_more(file: File, listed: cst.BaseExpression) -> bool:
    """True for a list of which a print does something for each member that is more than to read it."""
    around = file.tree.parent(listed)
    return isinstance(around, cst.CompFor) and not only_reads(file, file.tree.parent(around) or around)


def _shows_members(file: File, loop: cst.For) -> bool:
    """True for a loop that prints its variable or what it says of itself, and may choose by whether a list has it."""
    if not isinstance(loop.target, cst.Name) or loop.orelse is not None or not _prints_only(file, loop):
        return False
    uses = flow_of(file).carried(loop.target)
    return all(
        is_shown(file, use) or asks(file, use) or isinstance(file.tree.parent(use), cst.Comparison) for use in uses
    )


def collected(file: File) -> Iterator[cst.Call]:
    """Yield the calls that list all variables through a collection or through a function of that name."""
    for key in ("GLOBAL_VARIABLES", "MODEL_VARIABLES"):
        yield from listing(file, key.lower(), key)


def listing(file: File, function: str, key: str) -> Iterator[cst.Call]:
    """Yield the calls of functions with this name, and those of `get_collection` with this key.

    The function may belong to any object, which may be TensorFlow under another name, unless the program defines it.
    """
    for call in file.tree.calls:
        known = file.names.of(call.func)
        short = (known or file.tree.source(call.func)).rpartition(".")[2]  # a method of `tf.f()` is known as `f.method`
        if function and short == function and (known is not None or not _is_defined(file, call.func)):
            yield call
    yield from (call for call, node in collection_reads(file) if is_key(file, node, key))


def _is_defined(file: File, func: cst.BaseExpression) -> bool:
    """True for functions and methods that the program defines."""
    values = flow_of(file).values(func)
    return bool(values) and all(isinstance(value, Function | Bound) for value in values)


def uses_of(file: File, call: cst.Call) -> list[cst.BaseExpression]:
    """Return where the list is read: the call itself, or the reads of the name it is assigned to."""
    assign = file.tree.parent(call)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name) or single_value(file.tree, target) is not call:
        return [call]
    uses = local_names(file.tree, target.value, scope)
    return [use for use in uses if not is_target(file.tree, use) and not shown(file, use)]


def further_reader(file: File, use: cst.BaseExpression) -> cst.CSTNode | None:
    """Return a use, other than printing, of the values fetched by the names of all variables; None if there is none."""
    loop = file.tree.parent(use)
    if not isinstance(loop, cst.CompFor) or members(file, loop) not in (Reader.NOBODY, Reader.SHAPES):
        return None
    whole = file.tree.parent(loop)
    return _read_on(file, whole) if whole is not None else None


def _read_on(file: File, node: cst.CSTNode, depth: int = 3) -> cst.CSTNode | None:
    """Return a use of fetched values other than printing, through at most `depth` names; None if there is none."""
    around = file.tree.parent(node)
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(call, cst.Call) and file.tree.source(call.func).endswith(".run") and depth:
        return _read_on(file, call, depth)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name) or not depth:
        return node
    uses = [u for u in local_names(file.tree, target.value, scope) if not is_target(file.tree, u)]
    further = (_read_on(file, one, depth - 1) for one in uses if not _shown(file, one, depth - 1))
    return next(further, None)


def only_shown(file: File, loop: cst.For | cst.CompFor) -> bool:
    """True if a loop over shapes and names only results in a number or a print."""
    if isinstance(loop, cst.For):
        return _counts_only(file, loop)
    whole = file.tree.parent(loop)
    while isinstance(whole, cst.CompFor):
        whole = file.tree.parent(whole)
    return whole is not None and _shown(file, whole)


def _counts_only(file: File, block: cst.For | cst.If | cst.Else) -> bool:
    """True for a block of prints and assignments to names."""
    for line in block.body.body:
        if isinstance(line, cst.For | cst.If):
            last = line.orelse
            if not _counts_only(file, line) or (last is not None and not _counts_only(file, last)):
                return False
            continue
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else [line]:
            targets = [t.target for t in small.targets] if isinstance(small, cst.Assign) else []
            targets = [small.target] if isinstance(small, cst.AugAssign) else targets
            named = bool(targets) and all(isinstance(target, cst.Name) for target in targets)
            if not (named or prints(file, small) or isinstance(small, cst.Pass)):
                return False
    return True


def _shown(file: File, node: cst.CSTNode, depth: int = 3) -> bool:
    """True if a list of names, shapes or fetched values is only printed or counted."""
    if prints(file, node):
        return True
    around = file.tree.parent(node)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        if not isinstance(call, cst.Call):
            return False
        callee = file.tree.source(call.func)
        if callee in TOTALS:
            return True
        if callee == "zip":
            return _printed_loop(file, call)
        return callee.endswith(".run") and len(call.args) == 1 and _shown(file, call, depth)
    if isinstance(around, cst.For):
        return around.iter is node and _prints_only(file, around)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name) or not depth:
        return False
    uses = [u for u in local_names(file.tree, target.value, scope) if not is_target(file.tree, u)]
    return all(_shown(file, use, depth - 1) for use in uses)


def _printed_loop(file: File, call: cst.Call) -> bool:
    loop = file.tree.parent(call)
    return isinstance(loop, cst.For) and loop.iter is call and _prints_only(file, loop)


def _prints_only(file: File, block: cst.For | cst.If | cst.Else) -> bool:
    """True for a loop or branches that only print."""
    if isinstance(block, cst.If) and not only_reads(file, block.test):
        return False
    if isinstance(block, cst.If) and block.orelse is not None and not _prints_only(file, block.orelse):
        return False
    return all(
        _prints_only(file, line)
        if isinstance(line, cst.If)
        else isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and prints_alone(file, line.body[0])
        for line in block.body.body
    )
