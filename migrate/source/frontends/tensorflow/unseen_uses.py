"""Uses of a table that only the value flow sees: what reaches them by a way that the mentions of names do not show.

A class may be decorated, bound anew or made by a metaclass, a method may be replaced: the text of a call then says
little about what it gives. Whatever may be the table is asked what it does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from migrate.source.flow import Result, Value, ValueFlow
from migrate.source.frontends.tensorflow.facts import Followed, Lookup, Stop, Table
from migrate.source.frontends.tensorflow.flows import flow_of, only_asks
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.mentioned import RULE

#: Says what an expression that may be the table does with it.
Classify = Callable[[cst.BaseExpression], Lookup | Followed | Stop]


def check_unseen_uses(file: File, table: Table, classify: Classify) -> None:
    """Stop a table that reaches an expression which is not among its mentions and needs more than rows."""
    if table.hard:
        return
    flow, call = flow_of(file), table.creation.call
    known = {id(node) for node in (*table.references, *table.holders, call)}
    seen = [*(one.node for one in table.followed), *(one.node for one in table.stops)]
    for value in flow.values(call):
        if not isinstance(value, Result) or value.node is not call:
            continue
        for use in dict.fromkeys((*flow.uses(value), *_in_lists(file, flow, value))):
            if id(use) in known or only_asks(file, use) or _is_member(file, use, table.holders):
                continue
            # What becomes of a list that is understood is said of the list.
            if any(file.tree.contains(one, place) for place in (use, *flow.path(value, use)) for one in seen):
                continue
            does = classify(use)
            if isinstance(does, Lookup):
                does = _other_way(file, table, use)
            if isinstance(does, Stop):
                table.stops.append(does)


def _in_lists(file: File, flow: ValueFlow, value: Value) -> list[cst.BaseExpression]:
    """Return the mentions of a value in lists that are written as arguments, as in `concat([v, w], 0)`."""
    found = []
    for node in flow.mentions(value):
        element = file.tree.parent(node)
        listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
        if isinstance(listed, cst.List | cst.Tuple) and isinstance(file.tree.parent(listed), cst.Arg):
            found.append(node)
    return found


def _is_member(file: File, use: cst.BaseExpression, holders: Sequence[cst.BaseExpression]) -> bool:
    """True inside a loop over a list or dict that holds the table: what a loop does is asked of the list."""
    for around in file.tree.ancestors(use):
        over = around.for_in if isinstance(around, cst.BaseComp) else around
        if isinstance(over, cst.For | cst.CompFor) and any(file.tree.contains(over.iter, one) for one in holders):
            return True
    return False


def _other_way(file: File, table: Table, use: cst.BaseExpression) -> Stop:
    text = " ".join(file.tree.source(use).split())
    line = file.tree.start(table.creation.call).line
    reason = f"it may be the table of line {line}, which comes there by a way that conversion does not follow"
    return Stop(
        use, RULE, f"`{text}` is looked up", reason, f"look up `{table.label}` by the name that it is made with"
    )
