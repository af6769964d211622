"""Gives lookups and steps of a live graph wide ids, which tell their buckets; what else reads these has the buckets.

Functions of datasets give wide ids, too: ops of the graph call copies of them, in which ops divide no more.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.edges import edit_input
from rewriter.apply.fetched import fetched_instead
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.buckets import BOUNDS, Bucketing, Group
from rewriter.plan.chains import Chain
from rewriter.plan.datasets import Place
from rewriter.plan.plan import InputEdit
from rewriter.plan.vocabularies import FINDS
from runtime.storage.buckets import Buckets


def widen(
    graph: tf.Graph, view: GraphView, groups: Iterable[tuple[Group, Chain]], undo: contextlib.ExitStack
) -> dict[str, str]:
    """Let lookups and steps read wide ids: hashes and numbers modulo a multiple of the buckets.

    Returns:
        By the name of each tensor between an op that divides and a lookup, the one that is in its place for this.
    """
    names: dict[str, str] = {}
    for group, chain in groups:
        copies = _Copies(graph, view, group, chain)
        for element, ways in chain.elements.items():
            copies.divide(element, *ways, undo)
        for use in chain.edits:
            old = graph.get_operation_by_name(use.op).inputs[use.input]
            new = copies.wide(old)
            if new is not old:
                edit_input(graph, InputEdit(use, old.name, new.name), new, undo)
        for name in chain.gradients:
            _by_position(graph, name, undo)
        names |= {old: new.name for old, new in copies.by_name.items()}
    return names


@contextlib.contextmanager
def _beside(op: tf.Operation) -> Iterator[None]:
    """Build ops where an op is."""
    with op.graph.as_default(), tf.name_scope(f"{SCOPE}wide/"), _tf_private.control_flow_of(op), tf.device(op.device):
        yield


class _Copies:
    """What is built again with wide ids, when it is asked for."""

    def __init__(self, graph: tf.Graph, view: GraphView, group: Group, chain: Chain) -> None:
        self._graph, self._view, self._chain = graph, view, chain
        self._divided = {str(one.output): one for one in group.bucketings.values()}
        #: By the name of a tensor what has wide ids in its place.
        self.by_name: dict[str, tf.Tensor] = {}

    def divide(self, element: Tensor, buckets: Buckets, more: int, undo: contextlib.ExitStack) -> None:
        """Give the buckets to what reads ids of a dataset, which has widened them; `more` is added to them later."""
        wide = self._graph.get_tensor_by_name(str(element))
        with _beside(wide.op):
            narrow = tf.where(wide + more < 0, wide, buckets.row_of(wide + more) - more)
            narrow.set_shape(wide.shape)
        for use in self._view.uses(element):
            if use not in self._chain.edits:
                edit_input(self._graph, InputEdit(use, wide.name, narrow.name), narrow, undo)
        self.by_name[narrow.name] = wide
        fetched_instead(wide, narrow)

    def wide(self, tensor: tf.Tensor) -> tf.Tensor:
        """Return what has wide ids in the place of a tensor, which is this tensor if it has no ids."""
        pending = [tensor]
        while pending:
            op = pending[-1].op
            left = [] if self._is_made(pending[-1]) else [one for one in op.inputs if not self._is_made(one)]
            if left and pending[-1].name not in self._divided:
                pending += left
            else:
                self._make(pending.pop())
        return self.by_name.get(tensor.name, tensor)

    def _is_made(self, tensor: tf.Tensor) -> bool:
        changes = tensor.op.name in self._chain.copied or tensor.name in self._divided
        return not changes or tensor.name in self.by_name

    def _make(self, tensor: tf.Tensor) -> None:
        if self._is_made(tensor):
            return
        bucketing = self._divided.get(tensor.name)
        if bucketing is not None:
            with _beside(tensor.op), _tf_private.waiting_for(tensor.op.control_inputs):
                self.by_name[tensor.name] = _wide(tensor.op, bucketing)
            return
        inputs = [self.by_name.get(given.name, given) for given in tensor.op.inputs]
        with _beside(tensor.op), _tf_private.waiting_for(tensor.op.control_inputs):
            if tensor.op.type == "Minimum":  # which bounds ids by a number that all rows pass
                widest = tf.constant(BOUNDS["Minimum"], inputs[0].dtype)
                inputs = [widest if one is old else one for one, old in zip(inputs, tensor.op.inputs, strict=True)]
            again = _again(tensor.op, inputs)
        self.by_name |= {old.name: new for old, new in zip(tensor.op.outputs, again.outputs, strict=True)}


def _by_position(graph: tf.Graph, name: str, undo: contextlib.ExitStack) -> None:
    """Let the gradient of a pooled lookup number the ids of the batch, as wide ids are no rows of the variable."""
    op = graph.get_operation_by_name(name)
    ids, uses = op.inputs[1], [(user, list(user.inputs)) for user in op.outputs[1].consumers()]
    with _beside(op):
        count = tf.size(ids)
        positions = tf.range(tf.cast(count, ids.dtype))
        chosen = tf.gather(ids, op.outputs[1])
    edit_input(graph, InputEdit(Use(name, 1), ids.name, positions.name), positions, undo)
    edit_input(graph, InputEdit(Use(name, 3), op.inputs[3].name, count.name), count, undo)
    for user, inputs in uses:
        for number, tensor in enumerate(inputs):
            if tensor is op.outputs[1]:
                edit_input(graph, InputEdit(Use(user.name, number), tensor.name, chosen.name), chosen, undo)


def _wide(old: tf.Operation, bucketing: Bucketing) -> tf.Tensor:
    """Build an op again with the largest multiple of its buckets that 63 bits hold."""
    name, widest = old.name.rpartition("/")[2], bucketing.layout.widest
    if old.type in FINDS:
        return _found(old, bucketing, name)
    if old.type == "FloorMod":
        wide = tf.math.floormod(old.inputs[0], widest, name)
    else:
        again = _again(old, list(old.inputs), num_buckets=tf.compat.v1.AttrValue(i=widest))
        wide = again.outputs[bucketing.output.output]
    return wide + bucketing.added if bucketing.added else wide


def _found(old: tf.Operation, bucketing: Bucketing, name: str) -> tf.Tensor:
    """Look words up; one that the vocabulary does not have gets its hash as its id."""
    handle, words, other = old.inputs
    none = tf.constant(other.dtype.min, other.dtype)
    ids = tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=words, default_value=none, name=name)
    if words.dtype == tf.string:
        wide = tf.strings.to_hash_bucket_fast(words, bucketing.layout.widest)
    else:
        wide = tf.math.floormod(tf.cast(words, tf.int64), bucketing.layout.widest)
    return tf.where(tf.equal(ids, none), wide + bucketing.added, ids)


def _again(old: tf.Operation, inputs: list[tf.Tensor], **attributes: tf.compat.v1.AttrValue) -> tf.Operation:
    """Build an op again with other inputs or attributes, in the same place."""
    new = old.graph.create_op(
        old.type,
        inputs,
        [one.dtype for one in old.outputs],
        name=old.name.rpartition("/")[2],
        attrs={**old.node_def.attr, **attributes},
    )
    for before, after in zip(old.outputs, new.outputs, strict=True):
        after.set_shape(before.shape)
    return new


_Inside = tuple[Sequence[tuple[str, str]], str, Bucketing]  # calls, op, bucketing


def widen_functions(
    graph: tf.Graph, view: GraphView, bucketings: Iterable[tuple[Place, Bucketing]], undo: contextlib.ExitStack
) -> None:
    """Let the ops at these places give wide ids: hashes and numbers modulo a multiple of the buckets."""
    copies = _FunctionCopies(view.functions)
    changed = [
        (call, copies.widened(view.attribute(*call).func.name, inside))
        for call, inside in _by_call((place.calls, place.op, bucketing) for place, bucketing in bucketings).items()
    ]
    library = tf.compat.v1.GraphDef(versions=view.definition.versions)
    library.library.function.extend(copies.added)
    with graph.as_default():
        tf.graph_util.import_graph_def(library, name="")
    for (op, attribute), name in changed:
        node = graph.get_operation_by_name(op)
        old = _tf_private.call(node, attribute, name)
        undo.callback(_tf_private.call, node, attribute, old)


class _FunctionCopies:
    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions, self.added = functions, list[Any]()

    def widened(self, name: str, inside: Iterable[_Inside]) -> str:
        """Copy a function, and those that it calls, with wide ids; return the name of the copy."""
        copied = type(self._functions[name])()
        copied.CopyFrom(self._functions[name])
        new = _free(f"{name}_wide", {*self._functions, *(one.signature.name for one in self.added)})
        copied.signature.name = new
        self.added.append(copied)
        nodes, inside = {node.name: node for node in copied.node_def}, [*inside]
        for calls, op, bucketing in inside:
            if not calls:
                _widen(copied, nodes[op], bucketing)
        for (op, attribute), deeper in _by_call(one for one in inside if one[0]).items():
            called = nodes[op].attr[attribute].func
            called.name = self.widened(called.name, deeper)
        return new


def _widen(function: Any, node: Any, bucketing: Bucketing) -> None:
    if node.op != "FloorMod":
        node.attr["num_buckets"].i = bucketing.layout.widest
        return
    names = {other.name for other in function.node_def} | {argument.name for argument in function.signature.input_arg}
    divisor = function.node_def.add(name=_free(f"{node.name}_wide", names), op="Const")
    divisor.attr["dtype"].type = node.attr["T"].type
    divisor.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(bucketing.layout.widest, node.attr["T"].type))
    node.input[1] = f"{divisor.name}:output:0"


def _by_call(inside: Iterable[_Inside]) -> dict[tuple[str, str], list[_Inside]]:
    by_call: dict[tuple[str, str], list[_Inside]] = {}
    for (first, *calls), op, bucketing in inside:
        by_call.setdefault(first, []).append((calls, op, bucketing))
    return by_call


def _free(name: str, known: Collection[str]) -> str:
    return next(free for number in itertools.count() if (free := f"{name}_{number}") not in known)
