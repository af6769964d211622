"""Uses of a whole variable by value: terms of the loss, arithmetic of a dense gradient, reads apart from training."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rewriter import _tf_private
from rewriter.facts import RowOp, Update, WholeRead, WholeTerm
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import CONTROL_FLOW, computed_from, is_reference, source
from rewriter.patterns.whole_table import ARITHMETIC, forward_terms

#: Ops of a Saver of TensorFlow 1.0, which write the variable under its name.
_SAVES = ("Save", "SaveSlices")


@dataclass(frozen=True)
class WholeUse:
    """A use of the whole variable, at the end of a path of ops from the variable."""

    path: tuple[str, ...]
    input: int

    @property
    def op(self) -> str:
        """The op that uses it."""
        return self.path[-1]


@dataclass(frozen=True)
class WholeUses:
    """Such uses, by kind; `refused` is the first one that a table cannot replace."""

    reads: tuple[WholeRead, ...] = ()
    terms: tuple[WholeTerm, ...] = ()
    refused: WholeUse | None = None


def sort_whole_uses(
    view: GraphView,
    variable: str,
    uses: Sequence[WholeUse],
    updates: Sequence[Update],
    unknown: Collection[str],
    writes: Sequence[RowOp] = (),
) -> WholeUses:
    """Sort the uses of a variable that is trained by `updates`, by `writes` of rows, and by ops of an `unknown` form.

    A read is apart from training if no update is computed from it: its gradient is not a part of theirs, since that
    would be dense. A term whose gradient is not a part of the updates, such as one that is only logged, is a read, too.
    """
    arithmetic = {op for update in updates for op in update.arithmetic}
    in_loss = any(update.whole for update in updates)
    # Nothing is computed from a summary. A walk over the graph for each table that has one would take long.
    computes = any(not view.type(use.op).endswith("Summary") for use in uses)
    steps = [
        *_gradients(updates),
        *(one for op in (*unknown, *(write.op for write in writes)) for one in view.inputs(op)),
    ]
    trained = computed_from(view, steps if computes else [])
    reads, terms = list[WholeRead](), list[WholeTerm]()
    for use in uses:
        # Of a step that is not understood, its arithmetic is not known either: the step is the reason then.
        if use.op in arithmetic or (unknown and view.type(use.op) in ARITHMETIC):
            continue
        forward = (forward_terms(view, variable, use.op) or []) if in_loss or unknown else []
        read = None if forward else _read(view, variable, use)
        logged = view.type(use.op).endswith("Summary")
        if not forward and (read is None or use.op in trained or (unknown and not logged)):
            return WholeUses(refused=use)
        terms += forward
        reads += [read] if read else []
    return WholeUses(tuple(reads), tuple(dict.fromkeys(terms)))


def _gradients(updates: Iterable[Update]) -> Iterator[Tensor]:
    for update in updates:
        yield from (one for piece in update.gradients for one in piece)


def _read(view: GraphView, variable: str, use: WholeUse) -> WholeRead | None:
    """Return the read; None if the op takes a handle or a reference, by which it may write, or saves the value."""
    old = view.inputs(use.op)[use.input]
    if view.type(use.op) in _SAVES or _tf_private.takes_references(view.type(use.op)) or is_handle(view, old):
        return None
    waits = tuple(_ordering(view, variable, use.op)) if is_reference(view, variable) else ()
    return WholeRead(use.op, use.input, old, waits)


def _ordering(view: GraphView, variable: str, op: str) -> Iterator[str]:
    """Yield the op and what it is computed from, where these wait for others: the op then runs after these, too.

    TensorFlow leaves out a control input of an op that has an input with the same one: in `W * 0.9` under control
    dependencies only the constant waits. Inputs in other branches or loops are left out.
    """
    pending, known = [op], {op}
    while pending:
        tensor = pending.pop()
        if view.controls(tensor):
            yield tensor
        for before in view.inputs(tensor):
            apart = view.type(before.op) in CONTROL_FLOW or source(view, before).op == variable
            if before.op not in known and not apart:
                known.add(before.op)
                pending.append(before.op)


def is_handle(view: GraphView, tensor: Tensor) -> bool:
    """Whether a tensor that carries a variable is its handle, not its value."""
    while view.type(tensor.op) != "VarHandleOp":
        if view.type(tensor.op) == "ReadVariableOp" or not view.inputs(tensor.op):
            return False
        tensor = view.inputs(tensor.op)[0]
    return True
