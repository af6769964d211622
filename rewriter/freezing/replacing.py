"""A graph in which ops get stand-ins: who needs what, before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import tensorflow as tf

from rewriter.graph.bodies import reached
from rewriter.graph.view import GraphView, Tensor

#: What the names of our ops begin with.
OURS = "Rec"


class Replacing:
    """A live graph, and the tensors that stand in for the outputs of some of its ops.

    Its edges stay as they are until the end. Then what read such an op reads its stand-ins, and an op that a signature
    names becomes an Identity of them.
    """

    def __init__(self, graph: tf.Graph) -> None:
        """Begin without a stand-in."""
        self.graph = graph
        #: For each op that has stand-ins, one for each of its outputs; if it has none, what to wait for.
        self.replaced: dict[str, list[tf.Tensor]] = {}
        self._view: GraphView | None = None

    @property
    def view(self) -> GraphView:
        """The graph with all ops built so far."""
        if self._view is None or len(self._view.nodes) != len(self.graph.get_operations()):
            self._view = GraphView.of(self.graph)
        return self._view

    def inputs(self, op: str, doomed: Collection[str] = ()) -> list[str]:
        """Return the ops that an op will read or wait for, without those that are `doomed`."""
        if op in self.replaced:
            return [self._final(Tensor(op, number)).op for number in range(len(self.replaced[op]))]
        return [*(self._final(tensor).op for tensor in self.view.inputs(op)), *self._waits(op, doomed)]

    def _waits(self, op: str, doomed: Collection[str]) -> list[str]:
        """Return what an op will wait for; a stand-in that only passes a resource on is nothing to wait for."""
        waits: dict[str, None] = {}
        for before in self.view.controls(op):
            if before in self.replaced:
                tensors = [
                    Tensor(before, at) for at, one in enumerate(self.replaced[before]) if one.dtype != tf.resource
                ]
                waits.update(dict.fromkeys(self._final(tensor).op for tensor in tensors))
            elif before not in doomed:
                waits[before] = None
        return list(waits)

    def _final(self, tensor: Tensor) -> Tensor:
        """Return what is read in place of a tensor in the end."""
        while tensor.op in self.replaced:
            stand_in = self.replaced[tensor.op][tensor.output]
            tensor = Tensor(stand_in.op.name, stand_in.value_index)
        return tensor

    def needed(self, roots: Iterable[str], doomed: Collection[str] = ()) -> list[str]:
        """Return `roots` and all ops that they will need; of ops with stand-ins, only `roots` are left."""
        gone, needed, pending = set(doomed), dict[str, None](), list(roots)
        while pending:
            op = pending.pop()
            if op not in needed:
                needed[op] = None
                pending.extend(self.inputs(op, gone))
        return list(needed)

    def fed_by(self, sources: Iterable[str]) -> set[str]:
        """Return `sources` and all ops that are computed from them, up to ops with stand-ins."""
        view, fed, pending = self.view, set[str](), list(sources)
        while pending:
            op = pending.pop()
            if op not in fed and op not in self.replaced:
                fed.add(op)
                pending.extend(use.op for use in view.users(op))
        return fed

    def definition(self, kept: Iterable[str], doomed: Iterable[str]) -> Any:
        """Return the GraphDef of the ops `kept`, with stand-ins in place, and the functions that they call."""
        wanted, gone = set(kept), set(doomed) - self.replaced.keys()
        whole = self.graph.as_graph_def()
        result = type(whole)()
        result.versions.CopyFrom(whole.versions)
        for node in whole.node:
            if node.name in wanted:
                new = result.node.add()
                new.CopyFrom(node)
                self._finish(new, wanted, gone)
        functions = {one.signature.name: one for one in whole.library.function}
        for name in reached(result.node, functions):
            result.library.function.add().CopyFrom(functions[name])
        return result

    def _finish(self, node: Any, wanted: set[str], gone: set[str]) -> None:
        if node.name in self.replaced:
            _stand_in(node, self.graph.get_operation_by_name(node.name), self.replaced[node.name])
            inputs = [self._final(Tensor(node.name, number)) for number in range(len(self.replaced[node.name]))]
            waits = [f"^{tensor.op}" for tensor in inputs] if node.op == "NoOp" else []
        else:
            inputs = [self._final(tensor) for tensor in self.view.inputs(node.name)]
            waits = [f"^{op}" for op in self._waits(node.name, gone)]
        del node.input[:]
        node.input.extend([] if node.op == "NoOp" else [str(tensor) for tensor in inputs])
        node.input.extend(waits)
        if "_class" in node.attr:
            there = [one for one in node.attr["_class"].list.s if one.decode().removeprefix("loc:@") in wanted]
            del node.attr["_class"].list.s[:]
            node.attr["_class"].list.s.extend(there)
            if not there:
                del node.attr["_class"]


def _stand_in(node: Any, op: tf.Operation, tensors: Sequence[tf.Tensor]) -> None:
    """Turn a node into an identity of tensors, or into a NoOp if its op has no outputs; it has no inputs yet."""
    for name in list(node.attr):
        del node.attr[name]
    if not op.outputs:
        node.op = "NoOp"
        return
    node.op = "Identity" if len(tensors) == 1 else "IdentityN"
    types = [tensor.dtype.as_datatype_enum for tensor in tensors]
    if len(types) == 1:
        node.attr["T"].type = types[0]
    else:
        node.attr["T"].list.type.extend(types)
