"""What a program does with a variable that became a table after its graph was rewritten: fetches, feeds and new ops.

The program knows nothing of tables, so each of these reads the rows of the table, or sets them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.fetched import gathered_rows
from rewriter.apply.live import MOVED
from rewriter.apply.partitions import row_keys
from rewriter.checks.late_use_guard import replaced, waited_for
from rewriter.facts import ASSIGNMENTS, Table
from rewriter.graph.bodies import functions_of, reached
from rewriter.installation.feeds import Feeds
from rewriter.installation.whole import SavedRows, Whole
from rewriter.patterns.branches import READS
from rewriter.plan.plan import Plan
from runtime.table.create import tables
from runtime.table.table import Table as RuntimeTable

#: Ops that set a whole variable, and those that read one by its handle.
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")

_WRITES = re.compile("^Assign|Scatter|Apply|PyFunc")
_CALLS = re.compile("Call|While|If|Case")
#: Ops that keep a handle that they are given, and read it later, when a stand-in would have the rows of then.
_KEEPS = re.compile("Dataset")


class LateUses:
    """The later uses of the tables of one graph.

    An op that takes a variable itself takes a stand-in of the same shape, which has the rows before the op runs and
    gives them back afterwards: right whatever the op does, at the cost of the whole variable. Of several in one run
    that may write, each waits until the one before has given the rows back.
    """

    def __init__(self, graph: tf.Graph, feeds: Feeds) -> None:
        """Take the graph, of which nothing has moved yet."""
        self._graph, self._feeds = graph, feeds
        self._tables: tuple[Table, ...] = ()
        self._made: dict[str, RuntimeTable] = {}
        self._variables: dict[str, Whole] = {}
        self._starts: dict[str, Whole] = {}  #: by the op that starts a slot
        self._stand_ins: dict[tuple[str, str, tf.DType], tf.Tensor] = {}
        self._mutexes: dict[str, tf.Tensor] = {}
        self._fetched: dict[str, tf.Tensor] = {}
        self._loaded: dict[str, tf.Operation] = {}
        self._reads: dict[str, list[tf.Tensor]] = {}

    def moved(self, plan: Plan) -> None:
        """Add the tables of a rewrite."""
        self._made |= {one.whole.table_name: one.whole for one in tables(self._graph)}
        self._tables += plan.tables
        for table in plan.tables:
            slots = len(table.starts) if len(table.optimizers) == 1 else 0
            starts = {(start.part, start.number + 1): start.op for start in table.slot_starts}
            for part, number in itertools.product(range(len(table.pieces)), range(1 + slots)):
                whole = Whole(self._made[table.name], table, part, number)
                self._variables[whole.name] = whole
                if (part, number) in starts:
                    self._starts[starts[part, number]] = whole

    def fetched(self, element: Any) -> Any:
        """Return what a session fetches in the place of a tensor or op."""
        if isinstance(element, tf.Operation):
            return self._started(element)
        whole = self._of(element) if element.dtype != tf.resource else None
        return gathered_rows(self._graph).get(element.name, element) if whole is None else self._values(whole, element)

    def _values(self, whole: Whole, read: tf.Tensor) -> tf.Tensor:
        """Return the values in the place of a read of the variable, after the ops that this waits for."""
        if read.name not in self._fetched:
            waits, afresh = waited_for(read), tf.control_dependencies(None)
            with self._graph.as_default(), afresh, tf.device(None), tf.control_dependencies(waits):
                values = whole.read() if whole.rows is None or waits else tf.identity(whole.rows)
            self._fetched[read.name] = values
            self._feeds.replaces(read, values)
        return self._fetched[read.name]

    def prepare(self) -> None:
        """Build what sessions may fetch of a graph to which nothing can be added any more."""
        for op in self._graph.get_operations():
            if (op.name in self._variables or op.type in READS) and not _tf_private.in_control_flow(op):
                self.fetched(op.outputs[0])
        for start in self._starts:
            self._started(self._graph.get_operation_by_name(start))

    def _started(self, op: tf.Operation) -> tf.Operation:
        """Return what sets a slot to the value that its initializer is given, which `Variable.load` feeds."""
        whole = self._starts.get(op.name)
        if whole is None:
            return op
        if op.name not in self._loaded:
            with self._graph.as_default(), tf.control_dependencies(None), tf.device(None):
                self._loaded[op.name] = whole.assign(op.inputs[1])
        return self._loaded[op.name]

    def sources(self, tensor: tf.Tensor) -> list[tf.Tensor]:
        """Return what has gradients in the place of a tensor: of a variable, the anchor, terms and what ops read."""
        whole = self._of(tensor)
        if whole is None or whole.number:
            return [tensor]
        stand_ins = (
            one for (name, _, dtype), one in self._stand_ins.items() if (name, dtype) == (whole.name, tf.resource)
        )
        terms = _terms_of(whole, self._graph)
        anchors = [anchor.handle for anchor in whole.runtime_table.variables]
        return [*anchors, *terms, *stand_ins, *self._reads.get(whole.name, ())]

    def gradient(self, tensor: tf.Tensor, gradients: list[Any]) -> Any:
        """Return the gradient of a tensor, given those of its sources."""
        whole = self._of(tensor)
        if whole is None or whole.number:
            return gradients[0]
        anchors = len(whole.runtime_table.variables)
        terms = anchors + len(_terms_of(whole, self._graph))
        return _joined_gradient(whole, gradients[:anchors], gradients[anchors:terms], gradients[terms:])

    def saved(self, items: list[Any], as_variables: bool) -> tuple[list[Any], dict[str, Any]]:
        """Return the items but variables of tables, and by name what a Saver takes for these.

        It takes a table where it has the variable with all of its slots, and else saves rows `as_variables`.
        """
        tables, rest = ([], items) if as_variables else self._complete(items)
        single = [one for one in rest if self._is_single(one)]
        rest = [one for one in rest if not any(one is other for other in single)]
        return rest, {one.table.table_name: one for one in tables} | {one.op.name: one for one in single}

    def initialized(self, items: list[Any]) -> list[Any]:
        """Return the items; a table in the place of its variable and all of its slots, which begin as they did."""
        first = {one.initializer for table in self._tables for one in table.pieces} | self._starts.keys()
        again = [one for one in items if not isinstance(one, tf.Variable) or one.initializer.name in first]
        tables, rest = self._complete(again)
        return [*tables, *rest, *(one for one in items if not any(one is other for other in again))]

    def _complete(self, items: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the tables of which all variables are among the items, and the other items."""
        listed = {one.op.name for one in items if isinstance(one, tf.Variable)}
        whole = [table for table in self._tables if listed.issuperset(table.variables)]
        gone = {name for table in whole for name in table.variables}
        rest = [one for one in items if not (isinstance(one, tf.Variable) and one.op.name in gone)]
        return [self._made[table.name].variable for table in whole], rest

    def _is_single(self, item: Any) -> bool:
        """Whether an item is a variable or slot in a table, and no slice of another one, which Savers put together."""
        return isinstance(item, tf.Variable) and item.op.name in self._variables and not item._save_slice_info

    def saveables(self, items: Sequence[Any], name: str, slices: bool) -> list[SavedRows] | None:
        """Return what saves and restores a variable or slot in a table, or `slices` of it, as `name`.

        None for other items.
        """
        ours = [item for item in items if isinstance(item, tf.Variable) and item.op.name in self._variables]
        if len(ours) < len(items) or (slices and not all(part._save_slice_info for part in ours)):
            return None
        specs = [part._save_slice_info.spec if slices else "" for part in ours]
        return [
            SavedRows(self._variables[part.op.name], part.op, name, spec)
            for part, spec in zip(ours, specs, strict=True)
        ]

    def served(self, kind: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
        """Return how a new op of this type and with these inputs uses tables; None if it cannot."""
        fetched, waits, written, itself = list(tensors), list[tf.Operation](), list[_Written](), dict[int, Whole]()
        for place, tensor in enumerate(tensors):
            if replaced(tensor) is None:
                continue
            whole = self._of(tensor)
            if whole is None or _KEEPS.search(kind):
                return None
            if tensor.dtype == tf.resource or _tf_private.takes_reference(kind, place):
                itself[place] = whole
            else:
                fetched[place] = self._read(whole, tensor)
        locks = [] if kind in _READS else self._locked(itself.values(), tensors)
        for place, whole in itself.items():
            fetched[place] = self._stand_in(whole, tensors[place], kind)
            with tf.control_dependencies([one.op for one in locks]):
                rows = None if kind in ASSIGNMENTS else whole.read()
                waits.append(tf.no_op() if rows is None else _set(fetched[place], rows))
            if kind not in _READS:
                written.append(_Written(whole, fetched[place], rows))
        return _tf_private.Seen(fetched, waits, lambda op: _given_back(op, written, locks))

    def _locked(self, wholes: Iterable[Whole], tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Lock variables once the other inputs of an op are there, always in one order, so that no two ops block."""
        locks, others = list[tf.Tensor](), [one.op for one in tensors if replaced(one) is None]
        for _, whole in sorted({one.name: one for one in wholes}.items()):
            with tf.control_dependencies([*others, *(one.op for one in locks)]):
                locks.append(tf.raw_ops.MutexLock(mutex=self._mutex(whole)))
        return locks

    def _read(self, whole: Whole, tensor: tf.Tensor) -> tf.Tensor:
        """Return the values for a new op. Gradients of them are dense; in a branch or loop they go by row."""
        if whole.number == 0 and _tf_private.may_run_or_not(tf.compat.v1.get_default_graph()):
            self._feeds.replaces(tensor, None)
            return whole.read(trains=True)
        with tf.control_dependencies(waited_for(tensor)):
            rows = tf.stop_gradient(whole.read())
        self._feeds.replaces(tensor, rows)
        self._reads.setdefault(whole.name, []).append(rows)
        return rows

    def _of(self, tensor: tf.Tensor) -> Whole | None:
        return self._variables.get((replaced(tensor) or ("",))[0])

    def _mutex(self, whole: Whole) -> tf.Tensor:
        """Return what ops that may write a variable lock, one after the other."""
        if whole.name not in self._mutexes:
            name = f"{SCOPE}{whole.name}/late"
            with tf.control_dependencies(None), tf.device(None), tf.name_scope(f"{name}/"):
                self._mutexes[whole.name] = tf.raw_ops.MutexV2(shared_name=f"{name}/mutex")
        return self._mutexes[whole.name]

    def _stand_in(self, whole: Whole, tensor: tf.Tensor, kind: str) -> tf.Tensor:
        """Return a variable of the kind of the one that became a table, which only ops from `served` use.

        Those that write share none with others, which would put rows back while one writes.
        """
        role = "read" if kind in _READS else "called" if _CALLS.search(kind) else "late"
        key = whole.name, role, tensor.dtype
        if key not in self._stand_ins:
            name = f"{SCOPE}{whole.name}/{role}"
            make: Callable[..., tf.Tensor] = (
                tf.raw_ops.VarHandleOp if tensor.dtype == tf.resource else tf.raw_ops.VariableV2
            )
            with tf.control_dependencies(None), tf.device(None), tf.name_scope(f"{name}/"):
                self._stand_ins[key] = stand_in = make(dtype=tf.float32, shape=list(whole.shape), shared_name=name)
                MOVED.setdefault(self._graph, []).append(stand_in.op.name)
        return self._stand_ins[key]


class _Written(NamedTuple):
    """A stand-in that an op may write, and the rows that it had before, if the op does not set all."""

    whole: Whole
    stand_in: tf.Tensor
    before: tf.Tensor | None


def _given_back(op: tf.Operation, written: list[_Written], locks: list[tf.Tensor]) -> tf.Operation:
    """Return an op in the place of one that has written stand-ins: it also gives the tables the rows that it changed.

    The locks are held until then.
    """
    if not written or not _writes(op):
        return op
    with tf.control_dependencies([op]):
        sets = [one.whole.assign(_value(one.stand_in), one.before) for one in written]
    with tf.control_dependencies(sets):
        released = [tf.raw_ops.ConsumeMutexLock(mutex_lock=lock) for lock in locks]
    with tf.control_dependencies(released):
        if not op.outputs:
            return tf.no_op()
        if op.outputs[0].dtype._is_ref_dtype:
            return tf.raw_ops.RefIdentity(input=written[0].stand_in).op
        return tf.raw_ops.IdentityN(input=op.outputs)[0].op


def _writes(op: tf.Operation) -> bool:
    """Whether an op may write a resource that it is given; one that calls functions does as these do."""
    if not functions_of(op.node_def, ()):
        return True
    library = {one.signature.name: one for one in op.graph.as_graph_def().library.function}
    inside = (node.op for name in reached([op.node_def], library) for node in library[name].node_def)
    return any(_WRITES.search(kind) for kind in inside)


def _value(stand_in: tf.Tensor) -> tf.Tensor:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.ReadVariableOp(resource=stand_in, dtype=tf.float32)
    return tf.identity(stand_in)


def _set(stand_in: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.AssignVariableOp(resource=stand_in, value=rows)
    return tf.raw_ops.Assign(ref=stand_in, value=rows).op


def _terms_of(whole: Whole, graph: tf.Graph) -> list[tf.Tensor]:
    """Return the values float32 [2] of the terms over all rows: half the squares, and the absolute values."""
    return [graph.get_operation_by_name(name).outputs[0] for name in whole.runtime_table.terms.get(graph, ())]


def _joined_gradient(whole: Whole, anchors: list[Any], terms: list[Any], reads: list[Any]) -> Any:
    """Return the gradient of a variable, given those of the table's anchors, terms and reads as a whole.

    It is dense where one of them is, as TensorFlow adds gradients up. An anchor's has terms as rows that only updates
    of tables read: their keys are no ids, and go.
    """
    dense = [one for one in reads if isinstance(one, tf.Tensor)]
    factors = [one for one in terms if one is not None]
    rows = whole.read() if factors and whole.rows is None else whole.rows
    dense += [one[0] * rows + one[1] * tf.sign(rows) for one in factors]
    slices = [_as_variable(whole, one) for one in reads if isinstance(one, tf.IndexedSlices)]
    slices += [_of_anchor(whole, one) for one in anchors if one is not None]
    if dense:
        return tf.add_n([*dense, *map(tf.convert_to_tensor, slices)])
    if len(slices) < 2:
        return slices[0] if slices else None
    values, indices = (tf.concat([getattr(one, part) for one in slices], 0) for part in ("values", "indices"))
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)


def _of_anchor(whole: Whole, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Return the rows of a variable, or of a part of one, whose number in it is not their key."""
    if len(whole.table.pieces) == 1:
        return _as_variable(whole, gradient)
    sums = tf.math.unsorted_segment_sum(gradient.values, gradient.indices, whole.table.rows)
    rows = tf.gather(sums, row_keys(whole.table, whole.part))
    return _as_variable(whole, tf.IndexedSlices(rows, tf.range(whole.shape[0])))


def _as_variable(whole: Whole, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    values = tf.reshape(gradient.values, [-1, *whole.shape[1:]])
    return tf.IndexedSlices(values, tf.cast(gradient.indices, tf.int64), tf.constant(whole.shape, tf.int64))
