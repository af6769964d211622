"""The proof for a graph in a file: fetches come from its collections or its outputs, feeds are synthetic."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.graph.files import read_graphs
from rewriter.graph.view import GraphView
from rewriter.offline.multi_graph import rewrite_meta_graphs
from rewriter.plan.plan import Plan
from rewriter.proof.proving import TOLERANCE, prove_graphs
from rewriter.proof.recording import GIVERS, Recording, Step, maybe_dead, needed, op_of
from rewriter.proof.result import Proof

__all__ = ["BATCH", "ends", "prove_file", "prove_meta_graph", "synthetic_feeds"]

_TRAIN, _LOSSES = "train_op", "losses"


def prove_file(source: Path, tables: Any, steps: int) -> dict[str, Proof]:
    """Rewrite the graphs in a file in memory, and prove each that has a new table; by tags of a SavedModel.

    Raises:
        ValueError: the file cannot be read or proved; see `prove_meta_graph`.
        RewriteError: see `rewriter.offline.rewrite_meta_graph`.
    """
    graphs = read_graphs(source)
    rewritten = rewrite_meta_graphs(graphs, tables)
    return {
        tags: prove_meta_graph(graphs[tags], one.content, one.plan, steps)
        for tags, one in rewritten.items()
        if one.plan.tables
    }


def prove_meta_graph(meta: Any, moved: Any, plan: Plan, steps: int, tolerance: float = TOLERANCE) -> Proof:
    """Compare a MetaGraphDef with its rewrite by `plan`, over steps with synthetic feeds.

    A step runs the train op of its collections and computes the losses there and the outputs of signatures; without
    these, it runs all ops that depend on lookups and updates.

    Raises:
        ValueError: no table was added, or values for a placeholder cannot be synthesized.
    """
    view = GraphView(meta.graph_def)
    fetches = _fetches(meta, view, plan)
    feeds = synthetic_feeds(view, GraphView(moved.graph_def), plan, fetches, steps)
    recording = Recording(tuple(Step(fetches, one) for one in feeds))
    return prove_graphs(meta.graph_def, moved.graph_def, plan, recording, tolerance=tolerance)


def _fetches(meta: Any, view: GraphView, plan: Plan) -> tuple[str, ...]:
    collections = {name: list(meta.collection_def[name].node_list.value) for name in meta.collection_def}
    signatures = [output.name for one in meta.signature_def.values() for output in one.outputs.values()]
    train, losses = (collections.get(name, []) for name in (_TRAIN, _LOSSES))
    if not train:
        losses = [*losses, *ends(view, plan)]
    fetches = (name.removeprefix("^") for name in (*train, *losses, *signatures))
    return tuple(dict.fromkeys(name for name in fetches if op_of(name) in view))


#: The size of unknown dimensions of placeholders.
BATCH = 32
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_WIDTH = 4
_CHECKPOINTS = ("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename")
_INSTEAD = "give GraphModifierHook(verify=N) to a session that trains the model"


def ends(view: GraphView, plan: Plan) -> tuple[str, ...]:
    """Return the outputs of the graph that depend on a lookup or an update of a table, except those of Savers.

    A step that fetches them runs the whole model; a GraphDef does not say which op is the loss.
    """
    parts = {lookup.op for table in plan.tables for lookup in table.lookups}
    parts |= {op for table in plan.tables for update in table.updates for op in update.ops}
    parts |= {edit.old.partition(":")[0] for edit in plan.rows}
    parts = {op for op in parts if op in view}
    after = set(view.descendants(parts)) - parts - maybe_dead(view)
    saved = set(view.descendants(view.of_type(*_CHECKPOINTS)))
    return tuple(op for op in view.nodes if op in after - saved and not view.users(op) and not view.waiting(op))


def synthetic_feeds(
    view: GraphView, moved: GraphView, plan: Plan, fetches: Iterable[str], steps: int
) -> list[dict[str, Any]]:
    """Return feeds for all placeholders that `fetches` need; deterministic. `moved` is the rewritten graph.

    Raises:
        ValueError: values for a placeholder cannot be synthesized, or the data comes from an iterator.
    """
    ops = needed(view, fetches)
    for op in ops:
        if view.type(op) in GIVERS:
            raise ValueError(f"`{op}` reads data that is not in the file: {_INSTEAD}")
    names = [op for op in ops if view.type(op) in _PLACEHOLDERS]
    maker = _Maker(view, moved, plan, np.random.default_rng(0))
    return [maker.feeds(names) for _ in range(steps)]


class _Maker:
    """Draws random values."""

    def __init__(self, view: GraphView, moved: GraphView, plan: Plan, random: np.random.Generator) -> None:
        self._view, self._random = view, random
        self._placeholders = set(view.of_type(*_PLACEHOLDERS))
        self._rows: dict[str, int] = {}
        for table in plan.tables:
            for lookup in table.lookups:
                there = view if lookup.ids.op in view else moved
                for op in there.ancestors([lookup.ids]):
                    self._rows[op] = min(self._rows.get(op, table.rows), table.rows)

    def feeds(self, names: Collection[str]) -> dict[str, Any]:
        """Return values for placeholders; the three of a sparse tensor are consistent, and weights match their ids."""
        counts = self._random.integers(0, _WIDTH + 1, BATCH)
        counts[[0, -1]] = 1, _WIDTH
        feeds: dict[str, Any] = {}
        for name in names:
            base, _, part = name.rpartition("/")
            # An op may read only the values, for example of weights.
            if part in ("indices", "values", "shape") and {f"{base}/indices", f"{base}/values"} <= self._placeholders:
                if f"{base}/indices:0" not in feeds:
                    feeds |= self._sparse(base, counts)
            else:
                feeds[f"{name}:0"] = self._values(name, self._shape(name))
        known = {f"{name}:0" for name in names}
        return {name: value for name, value in feeds.items() if name in known}

    def _sparse(self, base: str, counts: Any) -> dict[str, Any]:
        """Return a sparse matrix with the given number of values in each row."""
        indices = [(row, column) for row, count in enumerate(counts) for column in range(count)]
        return {
            f"{base}/indices:0": np.array(indices, np.int64),
            f"{base}/values:0": self._values(f"{base}/values", (len(indices),)),
            f"{base}/shape:0": np.array([BATCH, _WIDTH], np.int64),
        }

    def _shape(self, name: str) -> tuple[int, ...]:
        shape = tf.TensorShape(self._view.attribute(name, "shape").shape)
        if shape.rank is None:
            raise ValueError(f"the placeholder `{name}` has no static shape to synthesize values for: {_INSTEAD}")
        return tuple(BATCH if one is None else one for one in shape.as_list())

    def _values(self, name: str, shape: tuple[int, ...]) -> Any:
        kind = tf.as_dtype(self._view.attribute(name, "dtype").type)
        if kind == tf.bool:
            return np.ones(shape, bool)
        if kind.is_integer:
            return self._random.integers(0, self._rows.get(name, 2), shape).astype(kind.as_numpy_dtype)
        if kind.is_floating:
            # A scalar is a rate or a probability rather than a feature.
            values = self._random.normal(size=shape) if shape else np.float64(0.1)
            return values.astype(kind.as_numpy_dtype)
        raise ValueError(f"{kind.name} values of the placeholder `{name}` cannot be synthesized: {_INSTEAD}")
