"""What a run feeds besides what the program feeds: ops that read that before a rewrite read something else now."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import _tf_private
from rewriter._tf_private_files import ranges_of
from rewriter._tf_private_sessions import elements_of
from rewriter.checks.late_use_guard import replaced
from rewriter.facts import Lookup
from rewriter.installation.checkpoints import opened
from rewriter.patterns.branches import READS
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan
from runtime.checkpoint.bundle import read_as_stored
from runtime.checkpoint.row_layout import columns_of

#: Stateful ops that give the same when a run computes them again.
_REPEATED = re.compile("^Var|^ReadVar|Table|^Placeholder|^Assert")
_GONE = (
    "`feed_dict` has a value for `%s`, which has become a table: assign the value, or leave the variable out by "
    "tables=[...]"
)
_COMPUTED_AHEAD = (
    "`feed_dict` has a value for `%s` but not for the other parts of its dataset element, from which ids were "
    "computed in the dataset: feed the other parts, too, or call rewriter.install(move_ids=False)"
)


class _Edge(NamedTuple):
    """What ops of the program read, and what they read now; None if that is inside of a function.

    The new tensor has the rows of a `lookup` in `old`, if there is one. If it is `computed`, `old` is computed of what
    is fed, and a dataset computes the new one. If it is not `fit`, its value follows from more than that of `old`.
    """

    old: tf.Tensor
    new: tf.Tensor | None
    lookup: Lookup | None = None
    computed: bool = False
    fit: bool = True


class Feeds:
    """The edges that rewrites of one graph have moved: a run that feeds what the old ones read feeds the new ones."""

    def __init__(self, graph: tf.Graph) -> None:
        """Take the graph."""
        self._graph, self._restores = graph, _Restores(graph)
        self._edges: dict[tuple[str, str], _Edge] = {}
        self._ops: set[str] = set()  #: whose values other ops are given, too, if they are fed

    def moved(self, plan: Plan, pipeline: PipelinePlan) -> None:
        """Add the edges of a rewrite."""
        old = self._graph.get_tensor_by_name
        new = {edit: self._graph.get_operation_by_name(edit.use.op).inputs[edit.use.input] for edit in plan.inputs}
        parts = {edit.by: tensor for edit, tensor in new.items()}
        lookups = {f"{one.name}/lookup/{i}": lookup for one in plan.tables for i, lookup in enumerate(one.lookups)}
        unfit = {edit.table for edit in plan.rows} | {one.name for one in plan.tables if one.parts or one.terms}
        for edit, tensor in new.items():
            part = edit.by.removesuffix("/rows")
            if part in lookups and part != edit.by:
                for rows in (tensor, parts.get(part, tensor)):
                    self.replaces(old(edit.old), rows, lookup=lookups[part], fit=edit.table not in unfit)
            elif part in lookups or f"{edit.table}/rows/" in edit.by:
                self.replaces(old(edit.old), tensor)
            elif not edit.by.startswith(tuple(lookups)):
                self.replaces(old(edit.old), tensor, fit=False)
        for buckets, wide in plan.widened:
            self.replaces(old(buckets), old(wide))
        for edit in pipeline.inputs:
            read = self._graph.get_operation_by_name(edit.use.op).inputs[edit.use.input]
            self.replaces(old(edit.old), read, computed=True)
        self._ops |= pipeline.replaced()

    def replaces(self, old: tf.Tensor, new: tf.Tensor | None, **more: Any) -> None:
        """Add an edge."""
        self._edges[old.name, "" if new is None else new.name] = _Edge(old, new, **more)
        self._ops.update(name.partition(":")[0] for name in _behind(old))

    def among(self, feeds: Iterable[Any]) -> bool:
        """Whether ops that read one of these tensors read something else now."""
        tensors = [tensor for fed in feeds for tensor in self._tensors(fed)]
        ops = {tensor.op.name for tensor in tensors}
        known = not self._ops.isdisjoint(ops) or self._restores.among(ops)
        return known or any(replaced(tensor) is not None for tensor in tensors)

    def additions(self, fetches: Any, feeds: Mapping[Any, Any], run: Callable[[Any, Any], Any]) -> dict[tf.Tensor, Any]:
        """Return what to feed besides in a run of `fetches`, None if these are not known yet.

        `run(tensors, feeds)` computes ids of what is fed.

        Raises:
            ValueError: what reads a fed tensor cannot be given it.
        """
        if not self.among(feeds):
            return {}
        fed = {tensor.name: value for one, value in feeds.items() for tensor in self._tensors(one)}
        values: dict[tf.Tensor, Any] = {} if fetches is None else self._restores.values(fetches, fed)
        ops = None if fetches is None else _run_by(self._graph, fetches)
        computed: dict[tf.Tensor, tuple[tf.Tensor, _Edge, Any]] = {}
        for edge in self._edges.values():
            read = next((name for name in _behind(edge.old) if name in fed), None)
            source = read or (min(_computed_of(edge.old, fed) & fed.keys(), default=None) if edge.computed else None)
            if source is None or (ops is not None and edge.new is not None and edge.new.op not in ops):
                continue
            plain = read is not None and edge.lookup is None
            ids = edge.old if edge.lookup is None else self._graph.get_tensor_by_name(str(edge.lookup.ids))
            fit = edge.fit and (plain or self._repeats(ids, edge.lookup, fed)) and not (edge.lookup and ops is None)
            if edge.new is None or not fit:
                raise ValueError(_COMPUTED_AHEAD % source if edge.computed else _GONE % source)
            if plain:
                values[edge.new] = fed[source]
            else:
                computed[edge.new] = ids, edge, fed[source]
        results = run([ids for ids, _, _ in computed.values()], feeds) if computed else []
        for (new, (_, edge, value)), result in zip(computed.items(), results, strict=True):
            values[new] = result if edge.lookup is None else _rows(np.asarray(value), np.asarray(result), new)
        return values

    def _repeats(self, ids: tf.Tensor, lookup: Lookup | None, fed: Container[str]) -> bool:
        """Whether ids that are computed once more are the same, and rows follow from them alone."""
        before = {self._graph.get_tensor_by_name(name).op for name in _computed_of(ids, fed) if name not in fed}
        odd = lookup is not None and (lookup.nested or lookup.product or _tf_private.in_control_flow(ids.op))
        return not odd and all(_REPEATED.search(op.type) or not op.op_def.is_stateful for op in before)

    def _tensors(self, fed: Any) -> list[tf.Tensor]:
        """Return what is fed as `fed`, which may be a structure."""
        try:
            return [self._graph.as_graph_element(fed, allow_operation=False)]
        except (TypeError, ValueError, KeyError):
            return [one for one in tf.nest.flatten(fed, expand_composites=True) if isinstance(one, tf.Tensor)]


def _behind(tensor: tf.Tensor) -> Iterator[str]:
    """Yield the names of a tensor and of those that it is a mere read of, back to the variable."""
    yield tensor.name
    while tensor.op.type in READS:
        tensor = tensor.op.inputs[0]
        yield tensor.name


def _computed_of(tensor: tf.Tensor, fed: Container[str]) -> set[str]:
    """Return the tensors that a tensor is computed of, as far as they are not computed of fed ones."""
    known, left = set[str](), [tensor]
    while left:
        tensor = left.pop()
        if tensor.name not in known:
            known.add(tensor.name)
            left += [] if tensor.name in fed else tensor.op.inputs
    return known


def _rows(value: NDArray[Any], ids: NDArray[Any], read: tf.Tensor) -> NDArray[Any]:
    """Return the rows of ids, one after the other where the reader takes them so."""
    wrong = np.argwhere((ids < 0) | (ids >= len(value)))
    if len(wrong):
        place = ",".join(map(str, wrong[0]))
        error = f"indices[{place}] = {ids[tuple(wrong[0])]} is not in [0, {len(value)})"
        raise tf.errors.InvalidArgumentError(None, None, error)
    return np.take(value, ids.reshape(-1) if read.op.type == "PlaceholderWithDefault" else ids, 0)


class _Restores:
    """The RestoreV2 ops of a graph whose paths are fed, looked up again when the graph has grown.

    Where a checkpoint has a table in the place of a variable that one of them reads, all that is read of it is fed.
    """

    def __init__(self, graph: tf.Graph) -> None:
        """Take the graph."""
        self._graph, self._version = graph, 0
        self._ops: dict[str, list[tf.Operation]] = {}

    def among(self, ops: set[str]) -> bool:
        """Whether one of these ops gives the path of a checkpoint."""
        for op in self._graph.get_operations()[self._version :] if self._version < self._graph.version else ():
            if op.type == "RestoreV2":
                prefix = op.inputs[0].op
                while prefix.type == "Identity":
                    prefix = prefix.inputs[0].op
                self._ops.setdefault(prefix.name, []).append(op)
        self._version = self._graph.version
        return not self._ops.keys().isdisjoint(ops)

    def values(self, fetches: Any, fed: Mapping[str, Any]) -> dict[tf.Tensor, NDArray[Any]]:
        """Return what to feed in a run of `fetches` beside what is `fed`, by name."""
        values: dict[tf.Tensor, NDArray[Any]] = {}
        for name, path in fed.items():
            ops = self._ops.get(name.partition(":")[0], [])
            values |= _read(np.asarray(path).item(), ops, lambda: _run_by(self._graph, fetches)) if ops else {}
        return values


def _run_by(graph: tf.Graph, fetches: Any) -> set[tf.Operation]:
    """Return the ops that a run of these fetches runs; a Saver that was rebuilt for tables leaves others behind."""
    pending = [getattr(one, "op", one) for one in elements_of(graph, fetches)]
    known = set(pending)
    while pending:
        op = pending.pop()
        new = {*(given.op for given in op.inputs), *op.control_inputs} - known
        known |= new
        pending += new
    return known


def _read(path: Any, ops: list[tf.Operation], runs: Callable[[], set[tf.Operation]]) -> dict[tf.Tensor, NDArray[Any]]:
    """Return the values of those ops that are run and read variables or slots which are in tables of the checkpoint."""
    values: dict[tf.Tensor, NDArray[Any]] = {}
    stored = opened(path.decode() if isinstance(path, bytes) else str(path))
    with read_as_stored():
        columns = {} if stored is None else columns_of(stored.shapes(), stored.tensor)
    if stored is None or not columns:
        return values
    run = runs()
    for op in (one for one in ops if one in run):
        names, cuts = (tf.get_static_value(given) for given in op.inputs[1:])
        read = None if names is None or cuts is None else [one.decode() for one in names]
        pairs = zip(op.outputs, read or (), cuts if read else (), strict=False)
        asked = [one for one in pairs if not run.isdisjoint(one[0].consumers())]
        differs = any(name in columns and output.dtype == tf.float32 for output, name, _ in asked)
        if differs and all(stored.has(name) for _, name, _ in asked):
            values |= {output: np.asarray(stored.tensor(name))[ranges_of(cut)] for output, name, cut in asked}
    return values
