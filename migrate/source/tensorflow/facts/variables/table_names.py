"""The names that variables and tables may have at run time, and whether two of them may be equal.

The name of a table has `_` in place of `/`, also before a number that TensorFlow appends to the name of a variable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import libcst as cst

from migrate.source.flow import Unknown
from migrate.source.tensorflow.base.arguments import literal, string
from migrate.source.tensorflow.base.bindings import is_target, local_names, scope_of_name
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, sources
from migrate.source.tensorflow.facts.calls.callers import opens_scopes
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.variables.runtime_names import plain, table_name, walked
from migrate.source.tensorflow.facts.variables.variable_reuse import given_argument, has_other_rank, pattern

#: The known parts of a name, in order; any text may be between two of them.
Parts = list[str]


def same_names(file: File) -> dict[str, list[cst.Call]]:
    """Return the `get_variable` calls by full name."""
    groups: dict[str, list[cst.Call]] = {}
    scopes: dict[str, set[tuple[str, ...] | None]] = {}
    named: list[tuple[cst.Call, str]] = []
    for call, _ in file.calls("get_variable"):
        first = next((a for a in call.args if a.keyword is None or a.keyword.value == "name"), None)
        name = string(first.value) if first is not None else None
        if name is not None:
            named.append((call, name))
            scopes.setdefault(_last(name), set()).add(prefix(file, call))
    for call, name in named:
        # If one of the scopes is unknown, all variables with that last name may be the same one.
        outer = prefix(file, call) or ()
        full = _last(name) if None in scopes[_last(name)] else "/".join([*filter(None, outer), name])
        groups.setdefault(full, []).append(call)
    return groups


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def written_name(call: cst.Call) -> str | None:
    """Return the literal `name` argument of a call, or None."""
    return string(given_argument(call, "name", 0))


def may_reuse_name(file: File, call: cst.Call, table: Table) -> bool:
    """True if the name and the shape of `call` may be those of the table."""
    if not file.tree.related(call, table.creation.call) or has_other_rank(file, call, table.creation.rank):
        return False
    own, around = prefix(file, table.creation.call), prefix(file, call)
    name = "/".join(filter(None, (*(own or ()), table.creation.name)))
    before = "" if around is None or own is None else re.escape("".join(f"{part}/" for part in around if part))
    wanted = pattern(file, given_argument(call, "name", 0))
    free = "(.*/)?" if around is None or own is None else ""
    return re.fullmatch(f"{free}{before}{wanted}", name) is not None


def fixed_name(file: File, table: Table) -> str:
    """Return the name of a table according to its static scopes and its own name."""
    return plain("_".join([*(prefix(file, table.creation.call) or ()), table_name(table)]))


def _is_computed(table: Table) -> bool:
    """True if the name is computed. A `tf.Variable` that is created once is named after its label instead."""
    creation = table.creation
    return creation.named_by is not None and (creation.scoped or creation.numbered or bool(table.blockers))


def is_late(file: File, table: Table) -> bool:
    """True for a computed name, and for one to which name scopes and a number may be added."""
    return _is_computed(table) or (table.creation.numbered and _opens_name_scopes(file))


def may_meet(file: File, table: Table, other: Table) -> bool:
    """True if two different variables may have the same name as tables."""
    if table.creation.unique and other.creation.unique and (table.creation.numbered and other.creation.numbered):
        return False  # each picks a name that is still free
    # otherwise, names that are equal even without scopes are numbered
    known = _is_computed(table) or _is_computed(other)
    names = [(one, theirs) for one in _names(file, table, own=known) for theirs in _names(file, other)]
    if not (table.creation.unique or other.creation.unique):
        # Names that are equal as written are one variable for TensorFlow, too.
        names = [pair for pair in names if not _overlap(*pair)]
    plains = [([plain(part) for part in one], [plain(part) for part in theirs]) for one, theirs in names]
    firsts = [pair for one, theirs in plains for pair in product(_ends(one, other), _ends(theirs, table))]
    return any(_overlap(*pair) for pair in firsts)


def _ends(name: Parts, other: Table) -> list[Parts]:
    """Return the name, and beside a variable that is numbered also what is before a number: `a_1` may be its `a`."""
    last = re.sub(r"^\d+$|_\d+$", "", name[-1])
    return [name, [*name[:-1], last]] if other.creation.numbered and last != name[-1] else [name]


def _names(file: File, table: Table, *, own: bool = True) -> list[Parts]:
    """Return the possible full names of a table, without a number. That of a `tf.Variable` may include name scopes.

    Without `own`, only names with additional name scopes are returned.
    """
    creation = table.creation
    computed = creation.named_by if _is_computed(table) else None
    outer = prefix(file, creation.call)
    before = "".join(f"{part}/" for part in outer or () if part)
    last = [[table_name(table)]] if computed is None else _spelled(file, computed, 3)
    found = [[before + one[0], *one[1:]] for one in last]
    loose = outer is None or (creation.unique and (opens_scopes(file) or _opens_name_scopes(file)))
    scoped = [["", "/" + one[0], *one[1:]] for one in found] if loose else []
    return [*found, *scoped] if own else scoped


def _spelled(file: File, node: cst.BaseExpression, depth: int) -> list[Parts]:
    """Return the strings that an expression may be, according to loops over literals and to callers."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        left, right = _spelled(file, node.left, depth), _spelled(file, node.right, depth)
        return [[*one[:-1], one[-1] + two[0], *two[1:]] for one in left for two in right]
    values = _values(file, node) if isinstance(node, cst.Name) and depth else []
    found = [parts for value in values for parts in _spelled(file, value, depth - 1)]
    return found or [[re.sub(r"\\(.)", r"\1", part) for part in pattern(file, node).split(".*")]]


def _values(file: File, name: cst.Name) -> Sequence[cst.BaseExpression]:
    """Return all values that a loop or the callers give a name, if nothing else binds it; else nothing."""
    scope, function = scope_of_name(file.tree, name), file.tree.enclosing(name, cst.FunctionDef)
    bound = [one for one in local_names(file.tree, name.value, scope) if is_target(file.tree, one)] if scope else []
    if texts := walked(file, name, name.value):
        return [cst.SimpleString(repr(text)) for text in texts]
    if len(bound) != 1 or function is None:
        return ()
    values = flow_of(file).values(name) if isinstance(file.tree.parent(bound[0]), cst.Param) else []
    if any(isinstance(value, Unknown) for value in values):
        return ()
    return [one for one in sources(file, name) if one is not name and literal(one) is not None] if values else ()


def _opens_name_scopes(file: File) -> bool:
    return any("name_scope" in names for names in (file.tree.names, file.tree.attributes))


def _overlap(first: Parts, second: Parts) -> bool:
    """True if one string may consist of both."""
    if len(second) == 1:
        first, second = second, first
    if len(first) == 1:
        return re.fullmatch(".*".join(map(re.escape, second)), first[0]) is not None
    begun = first[0].startswith(second[0]) or second[0].startswith(first[0])
    return begun and (first[-1].endswith(second[-1]) or second[-1].endswith(first[-1]))
