"""The tables of a graph: where each has its rows in the checkpoint, and what its new rows begin with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter.freezing.restores import Restores
from rewriter.graph.view import GraphView, Tensor
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.meta_layout import layout_of
from runtime.checkpoint.rows import part_names
from runtime.native.base_keys import are_base_keys
from runtime.storage.buckets import Buckets

_SOURCES = ("VarHandleOp", "RecTableHandle")
#: Ops through which a handle reaches a lookup; the first input is the handle.
_SAME = ("Identity", "StopGradient", "ReadVariableOp", "Enter", "RefEnter", "Switch", "RefSwitch")
_SEEN = 0x6E656573


@dataclass(frozen=True)
class TableSource:
    """A table of the graph, as its checkpoint has it."""

    name: str
    dim: int
    rows: int
    #: Names of the tensors with keys int64 [rows] and values float32 [rows, dim].
    keys: str
    values: str
    #: `width:kind:a:b` for each block of columns, as `runtime.initializers` writes it.
    initializer: str
    seed: int
    #: What weight decay has left of the initial value of a new row.
    left: float
    #: The least count of a row that was counted; None if no row was.
    least_count: int | None
    #: How the table stores values, new ones among them.
    value_dtype: tf.DType
    #: Of a table with a base: how ids divide into its rows, whose keys are among `keys`; None without one.
    buckets: Buckets | None
    #: Rows of ids, without those of the base.
    ids: int


def handle_of(view: GraphView, tensor: Tensor) -> str:
    """Return the op, a variable or a table's handle, that a lookup's first input comes from.

    Raises:
        ValueError: it comes from something else.
    """
    start, tensor = tensor, view.behind(tensor, _SAME)
    if view.type(tensor.op) not in _SOURCES:
        raise ValueError(
            f"`{start.op}` gets a table that {view.type(tensor.op)} `{tensor.op}` selects when the graph runs: "
            "export a graph in which each lookup reads a fixed table"
        )
    return tensor.op


def find_source(view: GraphView, handle: str, restores: Restores, bundle: Bundle) -> TableSource:
    """Return the table whose handle an op is or holds.

    Raises:
        CheckpointError: the checkpoint has no rows of it.
        ValueError: the op is no table's.
    """
    node = view.nodes[handle]
    creator = node if node.op == "RecTableHandle" else restores.creators.get(handle)
    if creator is None:
        raise ValueError(f"`{handle}` is not the handle of a table that the graph creates: export the model again")
    name = creator.attr["table_name"].s.decode()
    restored = restores.tables.get(handle)
    if restored is None and node.op == "VarHandleOp":  # of a version 1 graph, where a handle is created beside it
        created = [one for one in restores.creators if one != handle and restores.creators[one] is creator]
        restored = next((restores.tables[one] for one in created if one in restores.tables), None)
    keys, values, meta = (restored[0], restored[1], restored[3]) if restored else _named(bundle, name)
    numbers = bundle.read(meta)
    shape = bundle.shapes[values]
    if len(shape) != 2 or shape[1] != creator.attr["dim"].i or bundle.shapes[keys] != shape[:1]:
        raise CheckpointError(f"{bundle.path} has rows of shape {shape} of the table `{name}`: export the model again")
    buckets, layout = _buckets(creator.attr["options"].s.decode()), layout_of(numbers)
    if layout.buckets not in (None, buckets):
        raise CheckpointError(
            f"{bundle.path} has rows of the table `{name}` that were saved with {layout.buckets}, and the graph has "
            f"{buckets or 'no base_buckets'}: export the model again"
        )
    base = 0 if buckets is None else int(are_base_keys(bundle.read(keys)).sum())
    return TableSource(
        name,
        int(shape[1]),
        int(shape[0]),
        keys,
        values,
        creator.attr["initializer"].s.decode(),
        int(numbers[1]),
        layout.left,
        _least_count(bundle, keys, numbers),
        layout.value_dtype,
        buckets if base else None,  # of a base that was forgotten nothing is left
        int(shape[0]) - base,
    )


def _buckets(options: str) -> Buckets | None:
    """Return the base that the options of a native table have."""
    values = dict(option.split("=", 1) for option in options.split(";") if option)
    return Buckets.of_option(values["buckets"]) if "buckets" in values else None


def _named(bundle: Bundle, name: str) -> tuple[str, str, str]:
    if f"{name}-freqs" in bundle:
        raise CheckpointError(
            f"the table `{name}` counts keys as DeepRec's EmbeddingVariable does, and a new key reads a random row "
            "that no checkpoint has, so it cannot be frozen: serve the export as it is, with the runtime's "
            "operations (docs/serving.md)"
        )
    parts = part_names(bundle, name)
    return parts["keys"], parts["values"], parts["meta"]


def _least_count(bundle: Bundle, keys: str, meta: NDArray[np.int64]) -> int | None:
    """Return the least count, above 0, of the keys with a row, from what metadata says of counted keys."""
    at = layout_of(meta).counters_at
    if meta[0] == 1 or len(meta) < at + 3 or meta[at] != _SEEN:
        return None
    known = int(meta[at + 2])
    seen, packed = meta[at + 3 : at + 3 + known], meta[at + 3 + known : at + 3 + 2 * known]
    held = (packed[np.isin(seen, bundle.read(keys))] >> 32) & 0xFFFFFFFF
    return int(held[held > 0].min(initial=2**32)) if (held > 0).any() else None
