"""Tables that stand or fall together: one variable made in two places, one lookup that reads one table or another."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from migrate.report.model import State
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.model import Blocker, Table, refused_state
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.references.containers import holder_of
from migrate.source.tensorflow.facts.references.table_values import RULE


def check_shared_names(judgement: Judgement) -> None:
    """`get_variable` calls with one full name are one variable: they move together or not at all."""
    file = judgement.file
    known = {id(table.creation.call): table for table in judgement.tables}
    for name, calls in _same_names(file).items():
        changed = len(calls) > 1
        while changed:
            changed = False
            moving = {id(table.creation.call) for table in judgement.moving}
            stuck = [call for call in calls if id(call) not in moving]
            for call in calls:
                if id(call) in moving and any(file.tree.related(call, other) for other in stuck):
                    reason = "another call makes or reuses the same variable and stays as it is"
                    rule = known[id(call)].creation.rule
                    state = refused_state([s for one in stuck if id(one) in known for s in known[id(one)].blockers])
                    blocker = Blocker(
                        call,
                        rule,
                        f"variable `{name}` is made twice",
                        reason,
                        "give each its own name, or make it once and pass it on",
                    )
                    asked = state is State.NOTED and all(id(one) in known for one in stuck)
                    known[id(call)].blockers.append(replace(blocker, state=State.NOTED) if asked else blocker)
                    changed = True


def _same_names(file: File) -> dict[str, list[cst.Call]]:
    """Return full name -> the `get_variable` calls that have it."""
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
        # With one scope unknown, every variable of that name may be the same one.
        outer = prefix(file, call) or ()
        full = _last(name) if None in scopes[_last(name)] else "/".join([*filter(None, outer), name])
        groups.setdefault(full, []).append(call)
    return groups


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def check_shared_reads(judgement: Judgement) -> None:
    """Code that reads one table or another, by the object it is given, converts only when all of them move."""
    readers: dict[int, list[Table]] = {}
    for table in judgement.tables:
        for lookup in table.lookups:
            readers.setdefault(id(lookup.call), []).append(table)
    groups = [(tables, call) for call, tables in readers.items() if len(tables) > 1]
    changed = bool(groups) or any(table.passed for table in judgement.tables)
    while changed:
        moving = {id(table) for table in judgement.moving}
        changed = _check_passed(judgement)
        for tables, call in groups:
            same = len({_form(judgement.file, table, call) for table in tables}) == 1
            if same and all(id(table) in moving for table in tables):
                continue
            for table in tables:
                if id(table) in moving:
                    lookup = next(one for one in table.lookups if id(one.call) == call)
                    other = next(one for one in tables if one is not table)
                    reason = f"it also reads `{other.label}`, which stays as it is" if same else "their shapes differ"
                    message = "this lookup reads one table or another"
                    table.blockers.append(
                        Blocker(lookup.call, lookup.rule, message, reason, "look each up in its own place")
                    )
                    changed = True


def _form(file: File, table: Table, call: int) -> tuple[object, ...]:
    """Return what a lookup becomes by what its table is: its rank, and sizes that are written around it."""
    lookup = next(one for one in table.lookups if id(one.call) == call)
    wrapped = tuple((file.tree.span(arg), before, after) for arg, before, after in lookup.wraps)
    return table.creation.rank, lookup.around, wrapped, lookup.function


def _check_passed(judgement: Judgement) -> bool:
    """Stop a table whose function is also given something that is no moving table; return whether one was stopped."""
    moving = judgement.moving
    known = {id(node) for table in moving for node in table.references}
    stopped = False
    for table in moving:
        other = next((node for node in table.passed if id(node) not in known), None)
        if other is not None:
            text = " ".join(judgement.file.tree.source(other).split())
            reason = f"`{text}` is passed there as well, and it is no table that moves"
            message = f"the function that takes `{table.label}` also takes another value"
            action = "give the tables a function of their own"
            if _is_returned(judgement.file, other):
                message = f"what reads `{table.label}` may read another value"
                reason = f"`{text}` is returned there as well, and it is no table that moves"
                action = "return the tables from a function of their own"
            elif _is_kept(judgement.file, other):
                message = f"what reads `{table.label}` may read another value"
                reason = f"`{text}` is kept there as well, and it is no table that moves"
                action = "keep the tables in a dict or list of their own"
            elif _is_bound(judgement.file, other):
                message = f"`{table.label}` is bound more than once"
                reason = f"it is also `{text}`, which is no table that moves"
                action = "give the other value a name of its own"
            table.blockers.append(Blocker(other, RULE, message, reason, action))
            stopped = True
    return stopped


def _is_bound(file: File, node: cst.BaseExpression) -> bool:
    """True for the value of an assignment."""
    around = file.tree.parent(node)
    whole = file.tree.parent(around) if isinstance(around, cst.Element) else node
    return isinstance(file.tree.parent(whole or node), cst.Assign | cst.AnnAssign | cst.NamedExpr)


def _is_returned(file: File, node: cst.BaseExpression) -> bool:
    """True for what a function returns, alone or in its place of several."""
    around = file.tree.parent(node)
    whole = file.tree.parent(around) if isinstance(around, cst.Element) else node
    return whole is not None and isinstance(file.tree.parent(whole), cst.Return)


def _is_kept(file: File, node: cst.BaseExpression) -> bool:
    """True for a member of a dict or list, and for what stands there under a condition."""
    held = holder_of(file, node)
    given = held is not None and isinstance(file.tree.parent(held[0]), cst.Arg) and holder_of(file, held[0]) is None
    return (held is not None and not given) or isinstance(file.tree.parent(node), cst.IfExp)
