"""The names that variables and tables may have at run time.

The name of a table has `_` in place of `/`, also before a number that TensorFlow appends to the name of a variable.
"""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.tensorflow.base.arguments import given_argument, string
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.variables.runtime_names import plain, table_name
from migrate.source.tensorflow.facts.variables.variable_reuse import has_other_rank, pattern


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


def may_be_named(file: File, table: Table, other: Table) -> bool:
    """True if a table whose name is known at run time alone may have the fixed name of another, of another variable."""
    creation, computed = table.creation, table.creation.named_by
    texts = [table_name(table)]
    full = "/".join([*filter(None, prefix(file, other.creation.call) or ()), other.creation.name or ""])
    if computed is not None:
        if re.fullmatch(f"(.*/)?{pattern(file, computed)}", full):
            return False  # names that are equal as written are one variable for TensorFlow, too
        texts = [re.sub(r"\\(.)", r"\1", part) for part in pattern(file, computed).split(".*")]
    number = r"(_\d+)?" if creation.numbered else ""
    end = ".*".join(re.escape(plain(text)) for text in texts)
    return re.fullmatch(f"(.*_)?{end}{number}", fixed_name(file, other)) is not None


def _opens_name_scopes(file: File) -> bool:
    return any("name_scope" in names for names in (file.tree.names, file.tree.attributes))
