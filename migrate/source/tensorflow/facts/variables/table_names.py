"""The names of tables: fixed, or known at run time alone, when the table also takes its initial values from the scope.

The name of a table has `_` in place of `/`, also before a number that TensorFlow appends to the name of a variable.
"""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from migrate.source.tensorflow.base.arguments import given_argument, string
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Creation, Initializer, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option, full_name, prefix
from migrate.source.tensorflow.facts.variables.partitions import is_partitioned
from migrate.source.tensorflow.facts.variables.variable_reuse import has_other_rank, may_reuse, namesake, pattern

NAMED = "its name is that of the variable scope when the program runs: in another scope it is another table"
COMPUTED = "its name is computed when the program runs: another name is another table"
NUMBERED = "each run creates a table of its own, whose name gets a number as that of the variable"
BEGUN = (
    "rows begin by the initializer of the variable scope when the program runs; creating the table fails where "
    "tables do not support it"
)
#: Characters that are replaced by `_` in the name of a table.
PLAIN = r"[^0-9A-Za-z_]"


def from_scope() -> Initializer:
    """Return an initializer that uses the one of the scope at run time."""
    return Initializer("", BEGUN)


def check_scope(file: File, table: Table) -> None:
    """If the scopes of a table are not static, let it take its name at run time, or block it."""
    creation = table.creation
    seen = prefix(file, creation.call) is not None
    if creation.naming.computed is None and seen:
        return
    if (unfixed := _unfixed(file, creation, seen)) is not None:
        table.blockers.append(unfixed)
        return
    creation.naming.scoped = True
    creation.notes.append(NAMED if creation.naming.computed is None else COMPUTED)
    if not creation.has_initializer and not seen:
        creation.initializer = from_scope()
        table.blockers[:] = [
            each for each in table.blockers if all(each is not other for other in creation.scope_blockers)
        ]


def _unfixed(file: File, creation: Creation, seen: bool) -> Blocker | None:
    """Return a blocker for a variable whose full name is not static if it cannot take its name at run time."""
    computed = creation.naming.computed is not None
    what = "its name is computed" if computed else "the variable scope around it is not fixed"
    refused = partial(blocker, creation.call, creation.rule, what=what)
    if creation.rank == 0 or (creation.name is None and not computed):
        return refused("unfixed-name-unread")
    other = namesake(file, creation) if computed and may_reuse(file) else None
    if other is not None:
        return refused("unfixed-name-reused", other=file.tree.excerpt(other))
    if creation.rank == 1 and not creation.has_initializer and not seen:
        return refused("unfixed-name-vector")
    if is_partitioned(file, creation):
        return refused("unfixed-name-partitioned")
    for find in (enclosing_option, callers_option):
        if find(file, creation.call, "regularizer") is not None:
            return refused("unfixed-name-regularizer")
    return None


def table_name(table: Table) -> str:
    """Return the name of the variable, or else a word for it: of its label or, where that is a call, its `name`."""
    label, by = table.label.removeprefix("self."), table.creation.naming.computed
    if "(" in label:
        label = cst.Module([]).code_for_node(by) if by is not None else label.partition("(")[0]
    words = re.findall(r"\w+", label)
    return table.creation.name or (words[-1] if words else "table")


def plain(name: str) -> str:
    """Return a variable's name as a table name, in lower case: names that differ only in case are the same table."""
    return re.sub(PLAIN, "_", name.lower())


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
        full = _last(name) if None in scopes[_last(name)] else full_name(outer, name)
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
    name = full_name(own, table.creation.name)
    before = "" if around is None or own is None else re.escape(full_name(around, ""))
    wanted = pattern(file, given_argument(call, "name", 0))
    free = "(.*/)?" if around is None or own is None else ""
    return re.fullmatch(f"{free}{before}{wanted}", name) is not None


def fixed_name(file: File, table: Table) -> str:
    """Return the name of a table according to its static scopes and its own name."""
    return plain("_".join([*(prefix(file, table.creation.call) or ()), table_name(table)]))


def is_known_at_run_time(file: File, table: Table) -> bool:
    """True for a name in scopes that are not fixed, and for a suffixed one that is computed or gets name scopes."""
    naming, names = table.creation.naming, (file.tree.names, file.tree.attributes)
    more = naming.computed is not None or any("name_scope" in known for known in names)
    return naming.scoped or (naming.suffixed and more)


def may_be_named(file: File, table: Table, other: Table) -> bool:
    """True if a table whose name is known at run time alone may have the fixed name of another, of another variable."""
    creation, computed = table.creation, table.creation.naming.computed
    texts = [table_name(table)]
    full = full_name(prefix(file, other.creation.call), other.creation.name)
    if computed is not None:
        if re.fullmatch(f"(.*/)?{pattern(file, computed)}", full):
            return False  # names that are equal as written are one variable for TensorFlow, too
        texts = [re.sub(r"\\(.)", r"\1", part) for part in pattern(file, computed).split(".*")]
    number = r"(_\d+)?" if creation.naming.suffixed else ""
    end = ".*".join(re.escape(plain(text)) for text in texts)
    return re.fullmatch(f"(.*_)?{end}{number}", fixed_name(file, other)) is not None
