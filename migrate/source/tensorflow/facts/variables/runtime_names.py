"""Variables whose name or scope is only known at run time: their tables get name and initial values from it then."""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Creation, Initializer, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option, prefix
from migrate.source.tensorflow.facts.variables.partitions import is_partitioned
from migrate.source.tensorflow.facts.variables.variable_reuse import may_reuse, namesake

NAMED = "its name is that of the variable scope when the program runs: in another scope it is another table"
COMPUTED = "its name is computed when the program runs: another name is another table"
NUMBERED = "each run makes a table of its own, whose name is numbered as that of the variable"
BEGUN = "rows begin as the variable scope says when the program runs; making the table fails where it cannot"
#: Characters that are replaced by `_` in the name of a table.
PLAIN = r"[^0-9A-Za-z_]"


def from_scope() -> Initializer:
    """Return an initializer that uses the one of the scope at run time."""
    return Initializer("", BEGUN)


def check_scope(file: File, table: Table) -> None:
    """If the scopes of a table are not static, let it take its name at run time, or block it."""
    creation = table.creation
    seen = prefix(file, creation.call) is not None
    if creation.named_by is None and seen:
        return
    if (unfixed := _unfixed(file, creation, seen)) is not None:
        table.blockers.append(unfixed)
        return
    creation.scoped = True
    creation.notes.append(NAMED if creation.named_by is None else COMPUTED)
    if not creation.has_initializer and not seen:
        creation.initializer = from_scope()
        table.blockers[:] = [
            each for each in table.blockers if all(each is not other for other in creation.scope_blockers)
        ]


def _unfixed(file: File, creation: Creation, seen: bool) -> Blocker | None:
    """Return a blocker for a variable whose full name is not static if it cannot take its name at run time."""
    what = "its name is computed" if creation.named_by is not None else "the variable scope around it is not fixed"
    refused = partial(blocker, creation.call, creation.rule, what=what)
    if creation.rank == 0 or (creation.name is None and creation.named_by is None):
        return refused("unfixed-name-unread")
    other = namesake(file, creation) if creation.named_by is not None and may_reuse(file) else None
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
    told, by = table.label.removeprefix("self."), table.creation.named_by
    if "(" in told:
        told = cst.Module([]).code_for_node(by) if by is not None else told.partition("(")[0]
    words = re.findall(r"\w+", told)
    return table.creation.name or (words[-1] if words else "table")


def plain(name: str) -> str:
    """Return a variable's name as a table name, in lower case: names that differ only in case are the same table."""
    return re.sub(PLAIN, "_", name.lower())
