"""Who uses the slots of a variable: its optimizers, Savers, and what starts a slot again. All else keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rewriter.analysis.savers import restored_by
from rewriter.analysis.unfit import Fitness, Refused
from rewriter.facts import ASSIGNMENTS, SlotStart, Table
from rewriter.graph.view import GraphView, Use
from rewriter.patterns.branches import ASKS, ENTRIES, READS, carried_uses, carries

_SAVES = ("SaveV2", "DisableCopyOnRead")
_REMEDY = "leave the slots to the optimizer, or leave the variable out by tables=[...]"


def is_slot(view: GraphView, name: str, variables: Iterable[str]) -> bool:
    """Whether a variable is called as a slot of one of the variables, and has its shape: steps look slots up, too.

    A variable in parts has a name that no op has.
    """
    owners = (one for one in variables if name in view and one != name and f"/{one}/" in f"/{name}")
    return any(one not in view or view.attribute(one, "shape") == view.attribute(name, "shape") for one in owners)


def slot_starts(view: GraphView, table: Table) -> tuple[SlotStart, ...]:
    """Return the ops that assign a slot of the table the number that it starts with."""
    numbers = [(one, owner, at) for owner, one in enumerate(table.optimizers) for at in range(len(one.slots))]
    starts = []
    for (optimizer, owner, at), slots in zip(numbers, table.slots_by_number, strict=True):
        for part, slot in enumerate(slots):
            uses = (use for use in carried_uses(view, slot) if _starts(view, use, optimizer.starts[at]))
            starts += [SlotStart(use.op, owner, at, part) for use in uses]
    return tuple(starts)


def _starts(view: GraphView, use: Use, start: float) -> bool:
    if use.input != 0 or view.type(use.op) not in ASSIGNMENTS or _in_loop(view, use) or view.users(use.op):
        return False
    value = view.number(view.inputs(use.op)[1])
    return value is not None and float(value) == start


def _in_loop(view: GraphView, use: Use) -> bool:
    entered = view.inputs(use.op)[0].op
    while view.type(entered) not in ENTRIES and carries(view, Use(entered, 0)):
        entered = view.inputs(entered)[0].op
    return view.type(entered) in ENTRIES


def why_slots_stay(view: GraphView, table: Table, fitness: Fitness) -> tuple[str, str] | None:
    """Return why a table could not hold the slots of a variable, with the op at fault; None if it can.

    A slot in a row is read and written by the table's own updates alone.
    """
    own = {op for update in table.updates for op in (*update.ops, *update.inner)}
    own |= {op for one in table.row_ops for op in (one.op, *one.results)}
    reads = {one.op for one in table.row_ops if one.how == "read"}
    starts = {start.op for start in table.slot_starts}
    for part in table.pieces:
        for slot in part.slots:
            if unfit := _why_unfit(fitness, slot, (part.rows, *table.row)):
                return unfit, slot
            for op in _strangers(view, slot, own, reads, starts):
                kind = view.type(op)
                if sent := _broadcast(view, op):
                    return (
                        f"{view.type(sent)} `{sent}` sends its slot `{slot}` to all ranks, which a table gives to its "
                        "own steps only: leave BroadcastGlobalVariablesHook out, and let all ranks begin with the same "
                        "seeds, or the same checkpoint",
                        sent,
                    )
                what = "writes" if kind.startswith(("Assign", "Scatter", "ResourceScatter")) else "uses"
                return (
                    f"{kind} `{op}` {what} its slot `{slot}`, which only the optimizer can do in a table: {_REMEDY}",
                    op,
                )
    for update in table.updates:
        if len(set(update.slots)) < len(update.slots):
            return f"`{update.ops[0]}` uses one variable as two different slots", update.ops[0]
    return None


def _why_unfit(fitness: Fitness, slot: str, shape: tuple[int, ...]) -> str:
    try:
        fitness.check(slot)
        other = fitness.size(slot)
    except Refused as refused:
        return f"its slot `{slot}` does not fit into a table: {refused.reason}"
    return "" if other == shape else f"its slot `{slot}` has the shape {list(other)}, not {list(shape)}"


def _strangers(view: GraphView, slot: str, own: set[str], reads: set[str], starts: set[str]) -> Iterator[str]:
    """Yield the ops that a table does not replace and that use a slot, or what its own steps compute of it.

    What `reads` give are single rows, which anything may use.
    """
    for use in carried_uses(view, slot):
        kind = view.type(use.op)
        if use.op in reads and use.input == 0:
            continue
        if use.op in own:
            yield from (further.op for further in view.users(use.op) if further.op not in own)
        elif carries(view, use):
            waiting = view.waiting(use.op) if kind in READS else ()
            yield from (op for op in waiting if op not in own)
        elif use.op not in starts and kind not in (*_SAVES, *ASKS) and not _restores(view, use):
            yield use.op


def _broadcast(view: GraphView, op: str) -> str:
    """Return the op that takes the value of a variable to other ranks, or gives that of another; "" for other ops."""
    ops = [op, *(one.op for one in view.inputs(op)[1:2])]
    return next((one for one in ops if "Broadcast" in view.type(one) and view.type(one).startswith("Horovod")), "")


def _restores(view: GraphView, use: Use) -> bool:
    return use.input == 0 and view.type(use.op) in ASSIGNMENTS and bool(restored_by(view, use.op))
