"""v1 control flow: ops that pass a whole variable into a branch of `tf.cond` or the body of `tf.while_loop`.

These carriers are Switch in a branch, Enter in a loop, and plain reads. Ops behind them use the variable itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rewriter.graph.view import GraphView, Tensor, Use

READS = ("ReadVariableOp", "Identity", "RefIdentity")
SWITCHES = ("Switch", "RefSwitch")
ENTRIES = ("Enter", "RefEnter")
#: Ops that query whether a resource variable or a ref variable is initialized.
ASKS = ("VarIsInitializedOp", "IsVariableInitialized")
#: The remedy if an imported graph has lost the contexts of its loops.
CLOSED = "import the graph with tf.compat.v1.train.import_meta_graph, which restores loops, or build the model again"
#: Ops that assign a resource variable or do not need its value.
_VALUELESS = ("VarIsInitializedOp", "Shape", "AssignVariableOp")
_CHOICES = ("Merge", "RefMerge", "NextIteration", "RefNextIteration", "Exit", "RefExit")
_CARRIERS = (*READS, *SWITCHES, *ENTRIES)
#: Ops at the borders of branches and loops.
CONTROL_FLOW = (*SWITCHES, *ENTRIES, *_CHOICES)


def carries(view: GraphView, use: Use) -> bool:
    """Whether the output of this use of a variable is the variable itself."""
    return use.input == 0 and view.type(use.op) in _CARRIERS


def carried_uses(view: GraphView, variable: str) -> Iterator[Use]:
    """Yield every use of a variable, including uses behind carriers, once each."""
    pending, known = [variable], {variable}
    while pending:
        for use in view.users(pending.pop()):
            yield use
            if carries(view, use) and use.op not in known:
                known.add(use.op)
                pending.append(use.op)


def is_reference(view: GraphView, variable: str) -> bool:
    """Whether a variable is a ref variable, whose op runs whenever a consumer runs."""
    return view.type(variable) != "VarHandleOp"


def readers(view: GraphView, variable: str) -> list[str]:
    """Return the ops that fail once a variable is replaced: a ref variable itself, or reads of a resource variable.

    Ops in loops are left out: they cannot be fetched and cannot wait for ops outside.
    """
    if is_reference(view, variable):
        return [variable]
    ops, pending, known = list[str](), [variable], {variable}
    while pending:
        for use in view.users(pending.pop()):
            if view.type(use.op) in ENTRIES or use.op in known:
                continue
            known.add(use.op)
            if carries(view, use) and view.type(use.op) != "ReadVariableOp":
                pending.append(use.op)
            elif view.type(use.op) not in _VALUELESS:
                ops.append(use.op)
    return ops


def source(view: GraphView, tensor: Tensor) -> Tensor:
    """Return the tensor that was carried to a tensor: the variable, if it carries one."""
    return view.behind(tensor, _CARRIERS)


def waited_for(view: GraphView, carriers: Iterable[str], answers: Iterable[str]) -> tuple[str, ...]:
    """Return the carriers that other ops wait for and that still run after the variable is replaced."""
    carriers = dict.fromkeys(carriers)
    gone = {*carriers, *answers}
    return tuple(op for op in carriers if set(view.waiting(op)) - gone)


def computed_from(view: GraphView, tensors: Iterable[Tensor]) -> set[str]:
    """Return the ops that the tensors are computed from, also through the stacks that a loop fills for its gradient."""
    pending, before = list(tensors), set[str]()
    while pending:
        ops = [op for op in view.ancestors(pending) if op not in before]
        before.update(ops)
        pending = [value for op in ops if view.type(op) == "StackPopV2" for value in _pushed(view, view.inputs(op)[0])]
    return before


def _pushed(view: GraphView, stack: Tensor) -> Iterator[Tensor]:
    for use in carried_uses(view, source(view, stack).op):
        if view.type(use.op) == "StackPushV2":
            yield view.inputs(use.op)[1]
