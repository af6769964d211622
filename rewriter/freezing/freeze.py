"""A MetaGraph of a SavedModel with stock ops alone, and what its checkpoint holds."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.freezing.frozen_table import DEVICE, FrozenTable, Numbers
from rewriter.freezing.inlined import inline, ours_inside
from rewriter.freezing.lookups import STAND_INS, handles
from rewriter.freezing.replacing import OURS, Replacing
from rewriter.freezing.restores import Restores, find_restores
from rewriter.freezing.result import exported, initializing_op, op_of, saved_name, signature_ops, variables_of
from rewriter.freezing.sources import TableSource, find_source, handle_of
from runtime import native
from runtime.checkpoint.blocks import BlockReader

v1 = tf.compat.v1


@dataclass(frozen=True)
class Frozen:
    """The frozen MetaGraph, its tables, and for each other variable the tensor of the old checkpoint."""

    meta: Any
    tables: tuple[FrozenTable, ...]
    #: name in the new checkpoint -> name in the old one
    copies: Mapping[str, str]


def freeze(meta: Any, reader: BlockReader, numbers: Numbers) -> Frozen:
    """Return the MetaGraph `meta` with variables and stock ops in place of tables.

    Raises:
        ValueError: the graph has no table, or needs an op of ours that has no stand-in, which is named.
        CheckpointError: the checkpoint lacks rows or variables.
    """
    native.ops()
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(meta)
        work = Replacing(graph)
        initializer = initializing_op(meta)
        roots = signature_ops(meta)
        inline(work, roots)
        tables = _Tables(work, find_restores(work.view), reader, numbers)
        tables.replace_lookups(roots)
        if not tables.built:
            raise ValueError("has no table that its signatures look up: serve it without freezing")
        doomed = work.fed_by(tables.resources)
        ready = _initializer(work, initializer, tables.built.values(), doomed)
        needed = work.needed([*roots, ready.name], doomed)
        _require_stock(work, needed)
        copies = variables_of(work, needed, tables.new, tables.restores, reader.bundle)
        everything = [*copies.values(), *tables.new]
        saver = v1.train.Saver({saved_name(one): one for one in everything} if everything else None).as_saver_def()
        ends = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
        own = [op_of(one) for one in ends] + [one.initializer.name for one in everything]
        kept = work.needed([*roots, ready.name, *own], doomed)
        _require_stock(work, kept)
        definition = work.definition(kept, doomed)
        result = exported(meta, definition, saver, ready.name, [one.to_proto() for one in everything])
    found = {saved_name(one): key for key, one in copies.items()}
    return Frozen(result, tuple(tables.built.values()), found)


class _Tables:
    """The tables that lookups of a graph read, made when the first of them is met."""

    def __init__(self, work: Replacing, restores: Restores, reader: BlockReader, numbers: Numbers) -> None:
        self.restores = restores
        self.built: dict[str, FrozenTable] = {}
        #: Handles and anchors, which nothing may read any more.
        self.resources: set[str] = set()
        self._work, self._reader, self._numbers = work, reader, numbers
        self._sources: dict[str, TableSource] = {}

    @property
    def new(self) -> list[Any]:
        """The variables of all tables."""
        return [variable for table in self.built.values() for variable in table.variables]

    def replace_lookups(self, roots: Collection[str]) -> None:
        """Give each op of ours that `roots` need, and that has one, its stand-in."""
        work, view = self._work, self._work.view
        lookups = [op for op in work.needed(roots) if view.type(op) in STAND_INS]
        read: list[tuple[tf.Operation, list[FrozenTable]]] = []
        for name in sorted(lookups):
            op = work.graph.get_operation_by_name(name)
            given, count = view.inputs(name), handles(op)
            read.append((op, [self._table(handle_of(view, tensor)) for tensor in given[:count]]))
            anchors = given[count : 2 * count] if op.type not in ("RecContains", "RecTableSize") else ()
            self.resources |= {handle_of(view, tensor) for tensor in anchors if view.type(tensor.op) != "Const"}
        doomed = work.fed_by(self.resources) - {op.name for op, _ in read}
        for op, tables in read:
            waits = [one for one in op.control_inputs if one.name not in doomed]
            with (
                work.graph.as_default(),
                _tf_private.control_flow_of(op),
                tf.control_dependencies(waits),
                tf.device(DEVICE),
                tf.name_scope(f"{op.name}/frozen/"),
            ):
                work.replaced[op.name] = STAND_INS[op.type](op, tables)

    def _table(self, handle: str) -> FrozenTable:
        if handle not in self.built:
            self.resources.add(handle)
            source = find_source(self._work.view, handle, self.restores, self._reader.bundle)
            if any(one.name == source.name for one in self._sources.values()):
                raise ValueError(f"has two tables called `{source.name}`: give them different names, and export again")
            self._sources[handle] = source
            with self._work.graph.as_default():
                self.built[handle] = FrozenTable(source, self._numbers, self._identity(source))
        return self.built[handle]

    def _identity(self, source: TableSource) -> str:
        digest = hashlib.sha256()
        for block in self._reader.blocks(source.keys):
            digest.update(block.tobytes())
        return digest.hexdigest()[:16]


def _initializer(work: Replacing, old: str | None, tables: Any, doomed: set[str]) -> tf.Operation:
    """Build the op that runs after restoring: it fills the hash tables, and does the rest of what `old` does."""
    kept: list[str] = []
    pending = [old] if old else []
    while pending:
        op = pending.pop()
        needed = work.needed([op])
        view = work.view
        ours = any(one in doomed or view.type(one).startswith(OURS) for one in needed if one not in work.replaced)
        if not ours and not any(ours_inside(view, one) for one in needed):
            kept.append(op)
        elif view.type(op) == "NoOp":
            pending.extend(view.controls(op))
    waits = [work.graph.get_operation_by_name(one) for one in kept]
    waits += [one.initializer for one in tables]
    with work.graph.as_default(), tf.name_scope(""), tf.control_dependencies(waits):
        return tf.no_op("frozen_tables_ready")


def _require_stock(work: Replacing, needed: Collection[str]) -> None:
    view = work.view
    for op in sorted(needed):
        if op not in work.replaced and view.type(op).startswith(OURS):
            raise ValueError(
                f"needs {view.type(op)} `{op}`, which stock operations cannot replace: export a graph that only looks "
                "rows up (is_train=False)"
            )
