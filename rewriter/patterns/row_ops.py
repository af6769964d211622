"""Steps that a graph composes of reads and writes of single rows: of a variable, and of the slots beside it.

Such a step may compute anything of the rows that it gathers. A table gives it the same rows, and takes what it
scatters, so nothing of the step itself has to be understood: LazyAdam, a decay of the rows looked up, an optimizer of
one's own. What reads or assigns a whole slot, as Adam's decay of its moments does, is another step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from rewriter.facts import VARIABLES, Optimizer, RowOp
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.branches import carries, source

_HOW = {"Update": "set", "Add": "add", "Sub": "sub"}
_REF_WRITES = {f"Scatter{nested}{kind}": how for kind, how in _HOW.items() for nested in ("", "Nd")}
#: Types of ops that write single rows, and how.
ROW_WRITES = {prefix + kind: how for kind, how in _REF_WRITES.items() for prefix in ("", "Resource")}
_GATHERS = ("ResourceGather", "GatherV2", "Gather")
#: What a row has room for (`composed_1` and so on of the engine's rules).
_SLOTS = 4

#: The reads and writes of slots, and the optimizers whose slots these are.
Composed = tuple[tuple[RowOp, ...], tuple[Optimizer, ...]]


def writes_rows(view: GraphView, op: str) -> bool:
    """Whether an op writes whole rows of what it is given: not elements, as `ScatterNdUpdate` can."""
    nested = view.type(op) in ROW_WRITES and "ScatterNd" in view.type(op)
    return view.type(op) in ROW_WRITES and (not nested or view.shape(view.inputs(op)[1])[-1:] == [1])


def row_write(view: GraphView, op: str, slot: str = "", after: str = "") -> RowOp:
    """Return what an op of a type in `ROW_WRITES` writes to a variable, or to one of its slots."""
    _, ids, value = view.inputs(op)
    return RowOp(op, ROW_WRITES[view.type(op)], ids, value, slot, tuple(_results(view, op)), after)


def composed_steps(
    view: GraphView,
    variable: str,
    writes: Sequence[RowOp],
    lookups: Collection[Tensor],
    others: Collection[str],
    start_of: Callable[[str], float],
) -> Composed | str:
    """Return the reads and writes of the slots beside the `writes` of a variable, and whose slots they are.

    `lookups` are the ids of all lookups of the variable, `others` the slots of its other steps. What writes at the same
    ids belongs to one optimizer, and so do steps that share a slot. The result is a reason if a table has no room for
    the slots.
    """
    beside = slots_beside(view, variable, writes, lookups)
    composed = {slot: ops for slot, ops in beside.items() if slot not in others}
    groups: list[set[str]] = []
    for ids in dict.fromkeys(one.ids for one in writes):
        own = {slot for slot, ops in composed.items() if any(one.ids == ids for one in ops)}
        joined = [group for group in groups if not group.isdisjoint(own)]
        groups = [group for group in groups if group not in joined] + ([own.union(*joined)] if own else [])
    optimizers = []
    for group in groups:
        if len(group) > _SLOTS:
            return f"its optimizer has {len(group)} slots, and a table has room for {_SLOTS}"
        slots = tuple(slot for slot in composed if slot in group)
        optimizers.append(Optimizer(f"composed_{len(slots)}", slots, tuple(map(start_of, slots))))
    return tuple(one for ops in composed.values() for one in ops), tuple(optimizers)


def slots_beside(
    view: GraphView, variable: str, writes: Iterable[RowOp], lookups: Collection[Tensor]
) -> dict[str, list[RowOp]]:
    """Return the slots that a step writes at the same ids as the variable, with all their reads and writes of rows.

    A variable is a slot if it has the shape of the variable and its rows are read only where they are written, while
    rows of the variable are also looked up elsewhere.
    """
    at = list(dict.fromkeys(one.ids for one in writes))
    if not set(lookups) - set(at):
        return {}
    beside = [
        name for ids in at for name in _written_at(view, ids) if name != variable and _alike(view, name, variable)
    ]
    slots, others = dict[str, list[RowOp]](), list[str]()
    for name in dict.fromkeys(beside):
        ops = list(_row_ops(view, name))
        if {one.ids for one in ops if one.how == "read"} <= {one.ids for one in ops if one.how != "read"}:
            slots[name] = ops
        else:
            others.append(name)
    # Where two variables are written at the same ids, names say whose slots the others are.
    return {name: ops for name, ops in slots.items() if not others or f"/{variable}/" in f"/{name}"}


def _written_at(view: GraphView, ids: Tensor) -> Iterator[str]:
    for use in view.uses(ids):
        if use.input == 1 and writes_rows(view, use.op):
            variable = _variable(view, view.inputs(use.op)[0])
            if view.type(variable) in VARIABLES:
                yield variable


def _variable(view: GraphView, tensor: Tensor) -> str:
    """Return the variable that an op is given: a scatter into a ref variable gives it on."""
    op = source(view, tensor).op
    while view.type(op) in _REF_WRITES:
        op = source(view, view.inputs(op)[0]).op
    return op


def _alike(view: GraphView, left: str, other: str) -> bool:
    return all(view.attribute(left, name) == view.attribute(other, name) for name in ("shape", "dtype"))


def _row_ops(view: GraphView, slot: str) -> Iterator[RowOp]:
    """Yield the reads and writes of rows of a slot, each write before what reads its result."""
    pending, known = [(slot, "")], {slot}
    while pending:
        op, after = pending.pop(0)
        for use in view.users(op):
            if use.input != 0 or use.op in known:
                continue
            known.add(use.op)
            if writes_rows(view, use.op):
                yield row_write(view, use.op, slot, after)
                pending.append((use.op, use.op))
            elif view.type(use.op) in _GATHERS and _of_rows(view, use.op):
                yield RowOp(use.op, "read", view.inputs(use.op)[1], None, slot, (), after)
            elif carries(view, use):
                pending.append((use.op, after))


def _of_rows(view: GraphView, op: str) -> bool:
    axis = view.number(view.inputs(op)[2]) if view.type(op) == "GatherV2" else 0
    return axis is not None and int(axis) == 0 and view.attribute(op, "batch_dims").i == 0


def _results(view: GraphView, write: str) -> Iterator[str]:
    """Yield the reads that give the variable after a write, where others only wait for them."""
    variable = _variable(view, view.inputs(write)[0])
    for op in view.waiting(write):
        reads = view.type(op) in ("ReadVariableOp", "Identity") and carries(view, Use(op, 0))
        if reads and source(view, Tensor(op)).op == variable and not view.users(op):
            yield op
