"""What is done with a list of the file's own that a table is put into."""

from __future__ import annotations

from enum import Enum

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from migrate.source.tensorflow.base.bindings import (
    assigned_value,
    builtin,
    is_target,
    local_names,
    scope_of_name,
    self_class,
)
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.references.metadata_loops import only_metadata


class Reader(Enum):
    """Who reads the list."""

    NOBODY = "nobody"
    SUMS = "a loop that sums over each member"
    OTHERS = "code outside of the file"


def reader(file: File, listed: cst.BaseExpression) -> Reader | cst.CSTNode | None:
    """Return who reads the list at `listed`, a use of it that is not understood, or None when it cannot be followed."""
    uses = _uses(file, listed)
    if uses is None:
        return None
    made = [use for use in uses if is_target(file.tree, use)]
    if any(not _is_list(file, assigned_value(file.tree, target)) for target in made):
        return next(target for target in made if not _is_list(file, assigned_value(file.tree, target)))
    sums = False
    for use in uses:
        if is_target(file.tree, use) or _appends(file, use) or prints(file, use) or _measures(file, use):
            continue
        kind = _loop(file, use)
        if kind is None:
            return use
        sums = sums or kind is Reader.SUMS
    if isinstance(listed, cst.Name) and _is_shared(file, listed):
        return Reader.OTHERS
    if isinstance(listed, cst.Attribute) or not made:
        return Reader.SUMS if sums and made else Reader.OTHERS
    return Reader.SUMS if sums else Reader.NOBODY


def _uses(file: File, listed: cst.BaseExpression) -> list[cst.Name] | list[cst.Attribute] | None:
    if isinstance(listed, cst.Name):
        scope = scope_of_name(file.tree, listed)
        unknown = scope is None or isinstance(scope, ClassScope)
        return None if unknown or scope is None else local_names(file.tree, listed.value, scope)
    if isinstance(listed, cst.Attribute) and self_class(file.tree, listed) is not None:
        return list(file.tree.attributes[listed.attr.value])
    return None


def _is_shared(file: File, listed: cst.Name) -> bool:
    """True for a list of a module that another file mentions, or may."""
    scope = scope_of_name(file.tree, listed)
    if not isinstance(scope, GlobalScope):
        return False
    unseen = len(file.files) == 1 and file.tree.link is not None and file.tree.link.imported()
    return unseen or bool(file.tree.elsewhere(listed, scope))


def _is_list(file: File, value: cst.BaseExpression | None) -> bool:
    return isinstance(value, cst.List) or (
        isinstance(value, cst.Call) and not value.args and builtin(file.tree, value.func) == "list"
    )


def _appends(file: File, use: cst.BaseExpression) -> bool:
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
    """Return what a loop over the list does with its members; None when that is not understood."""
    loop = file.tree.parent(use)
    return members(file, loop) if isinstance(loop, cst.For | cst.CompFor) and loop.iter is use else None


def members(file: File, loop: cst.For | cst.CompFor) -> Reader | None:
    """Return SUMS for a loop that sums over each member, NOBODY for one that asks for shapes and names, else None."""
    if not isinstance(loop.target, cst.Name):
        return None
    if only_metadata(file, loop, loop.target):
        return Reader.NOBODY
    return Reader.SUMS if only_metadata(file, loop, loop.target, sums=True) else None
