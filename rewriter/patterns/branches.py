"""v1 control flow: the ops that carry a variable whole into a branch of `tf.cond` or the body of `tf.while_loop`.

What stands behind them uses the variable itself. They are Switch in a branch and Enter in a loop, and plain reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rewriter.graph.view import GraphView, Tensor, Use

__all__ = [
    "ASKS",
    "CLOSED",
    "ENTRIES",
    "READS",
    "SWITCHES",
    "carried_uses",
    "carries",
    "computed_from",
    "is_reference",
    "readers",
    "source",
    "waited_for",
]

READS = ("ReadVariableOp", "Identity", "RefIdentity")
SWITCHES = ("Switch", "RefSwitch")
ENTRIES = ("Enter", "RefEnter")
#: Who asks whether a variable is initialized: of a resource, and of a reference.
ASKS = ("VarIsInitializedOp", "IsVariableInitialized")
#: The remedy where TensorFlow does not know a loop as one.
CLOSED = "import the graph with tf.compat.v1.train.import_meta_graph, which knows its loops, or call the model's code"
#: What needs no value of a resource variable, or sets it.
_VALUELESS = ("VarIsInitializedOp", "Shape", "AssignVariableOp")
_CHOICES = ("Merge", "RefMerge", "NextIteration", "RefNextIteration", "Exit", "RefExit")
_CARRIERS = (*READS, *SWITCHES, *ENTRIES)


def carries(view: GraphView, use: Use) -> bool:
    """Whether what stands behind this use of a variable has the variable itself."""
    return use.input == 0 and view.type(use.op) in _CARRIERS


def carried_uses(view: GraphView, variable: str, chosen: bool = False) -> Iterator[Use]:
    """Return every use of a variable, those behind carriers included, each once.

    With `chosen` also the uses of what is the variable only sometimes: what a tf.cond or a loop chose among several.
    """
    pending, known = [variable], {variable}
    while pending:
        for use in view.users(pending.pop()):
            yield use
            passes = carries(view, use) or (chosen and view.type(use.op) in _CHOICES)
            if passes and use.op not in known:
                known.add(use.op)
                pending.append(use.op)


def is_reference(view: GraphView, variable: str) -> bool:
    """Whether a variable is one on references, whose op is run by all who take it."""
    return view.type(variable) != "VarHandleOp"


def readers(view: GraphView, variable: str) -> list[str]:
    """Return what fails when a variable is gone: a ref variable itself, or who reads the value of a resource.

    What stands in a loop is left out: nobody fetches it, and it can wait for nothing outside.
    """
    if is_reference(view, variable):
        return [variable]
    found, pending, known = list[str](), [variable], {variable}
    while pending:
        for use in view.users(pending.pop()):
            if view.type(use.op) in ENTRIES or use.op in known:
                continue
            known.add(use.op)
            if carries(view, use) and view.type(use.op) != "ReadVariableOp":
                pending.append(use.op)
            elif view.type(use.op) not in _VALUELESS:
                found.append(use.op)
    return found


def source(view: GraphView, tensor: Tensor) -> Tensor:
    """Return what was carried to a tensor: the variable, where it is one."""
    while view.type(tensor.op) in _CARRIERS:
        tensor = view.inputs(tensor.op)[0]
    return tensor


def waited_for(view: GraphView, carriers: Iterable[str], answers: Iterable[str]) -> tuple[str, ...]:
    """Return the carriers that ops wait for which still run when the variable is gone."""
    carriers = dict.fromkeys(carriers)
    gone = {*carriers, *answers}
    return tuple(op for op in carriers if set(view.waiting(op)) - gone)


def computed_from(view: GraphView, tensors: Iterable[Tensor]) -> set[str]:
    """Return the ops that the tensors are computed from, also by the stacks that a loop fills for its gradient."""
    pending, found = list(tensors), set[str]()
    while pending:
        ops = [op for op in view.ancestors(pending) if op not in found]
        found.update(ops)
        pending = [value for op in ops if view.type(op) == "StackPopV2" for value in _pushed(view, view.inputs(op)[0])]
    return found


def _pushed(view: GraphView, stack: Tensor) -> Iterator[Tensor]:
    for use in carried_uses(view, source(view, stack).op):
        if view.type(use.op) == "StackPushV2":
            yield view.inputs(use.op)[1]
