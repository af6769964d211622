"""Variables that TensorFlow may find by a name that the file does not show, and tables that may have such a name."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.variables.runtime_names import ACTION, MESSAGE, plain, table_name
from migrate.source.tensorflow.facts.variables.variable_reuse import given_argument, has_other_rank, may_reuse, pattern

RULE = "tf-get-variable"


def check_unknown_names(judgement: Judgement) -> None:
    """Block the tables that a `get_variable` with a computed name may reuse."""
    file = judgement.file
    tables = [table for table in judgement.tables if not table.creation.unique and table.creation.name]
    if not tables or not may_reuse(file):
        return
    unknown = [call for call, _ in file.calls("get_variable") if _name(call) is None]
    for table in tables:
        own = table.creation.call
        call = next((c for c in unknown if c is not own and _may_be(file, c, table)), None)
        if call is not None:
            text = " ".join(file.tree.source(call).split())[:80]
            reason = f"its name is computed, so it may reuse `{table.creation.name}`, which would be a second variable"
            action = "give it a fixed name, or a scope of its own"
            table.blockers.append(Blocker(call, RULE, f"`{text}` may be this variable", reason, action))


def _name(call: cst.Call) -> str | None:
    return string(given_argument(call, "name", 0))


def _may_be(file: File, call: cst.Call, table: Table) -> bool:
    """True when the name and the shape of `call` may be those of the table."""
    if not file.tree.related(call, table.creation.call) or has_other_rank(file, call, table.creation.rank):
        return False
    own, around = prefix(file, table.creation.call), prefix(file, call)
    name = "/".join(filter(None, (*(own or ()), table.creation.name)))
    before = "" if around is None or own is None else re.escape("".join(f"{part}/" for part in around if part))
    wanted = pattern(file, given_argument(call, "name", 0))
    free = "(.*/)?" if around is None or own is None else ""
    return re.fullmatch(f"{free}{before}{wanted}", name) is not None


def check_scoped_names(judgement: Judgement) -> None:
    """Block a table that takes its name at run time where another one, with a fixed name, may get the same."""
    file = judgement.file
    fixed = [(table, _fixed_name(file, table)) for table in judgement.moving if not table.creation.scoped]
    for table in [one for one in judgement.moving if one.creation.scoped and one.creation.name is not None]:
        end = plain(table.creation.name or "")
        for other, name in fixed:
            related = file.tree.related(other.creation.call, table.creation.call)
            if related and (name == end or name.endswith(f"_{end}")):
                reason = f"the variable scope around it is not fixed, and `{other.label}` may have the same name"
                table.blockers.append(Blocker(table.creation.call, table.creation.rule, MESSAGE, reason, ACTION))
                break


def _fixed_name(file: File, table: Table) -> str:
    return plain("_".join([*(prefix(file, table.creation.call) or ()), table_name(table)]))
