"""Restores single tables: from another number of ranks, under another name, from increments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.admission_counters import meta_of_rank
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.increments import chain_of
from runtime.checkpoint.live_tables import replace_rows
from runtime.checkpoint.meta_layout import layout_of
from runtime.checkpoint.presence import restored
from runtime.checkpoint.rows import PARTS, delta_part_names, optimizer_kind, part_names
from runtime.native.base_keys import are_base_keys
from runtime.storage.buckets import Buckets
from runtime.table.table import Table

_NO_OPTIMIZER = optimizer_kind("none")


def restore_table(
    table: Table,
    paths: str | Path | Sequence[str | Path],
    name: str | None = None,
    rank: int = 0,
    ranks: int = 1,
) -> tf.Operation | None:
    """Replace the rows of `table` by those of the checkpoints `paths` with `key mod ranks == rank`.

    Args:
        table: the table to restore.
        paths: checkpoint prefixes of all ranks that saved, as each holds a part of the keys; increments are allowed.
        name: the table's name in the checkpoints; default: its own.
        rank: this rank.
        ranks: number of ranks now.

    Returns:
        In a v1 graph, an op that reads the files when it runs and also initializes the table; None in eager mode. Rows
        saved by a rank whose table was never updated get the slots of new rows.

    Raises:
        CheckpointError: there is no such checkpoint or table, an index is damaged, the width differs, or the
            checkpoints have different optimizers or seeds.
        ValueError: `rank` is not in [0, ranks).
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"`rank` is {rank} of {ranks}: it must be in [0, ranks)")
    chains = [_chain(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    name = name or table.table_name
    metas = [chain[-1].read(_names(chain[-1], name)["meta"]) for chain in chains]
    trained = next((meta for meta in metas if meta[4] != _NO_OPTIMIZER), metas[0])
    alike = [meta[: 3 if meta[4] == _NO_OPTIMIZER else 5] for meta in metas]
    divided = {layout_of(meta).buckets for meta in metas}
    if len(divided) > 1 or any(head.tolist() != trained[: len(head)].tolist() for head in alike):
        raise CheckpointError(
            f"the checkpoints {', '.join(chain[-1].path for chain in chains)} hold rows of `{name}` with different "
            "seeds, optimizers or buckets: give checkpoints of one training"
        )
    if metas[0][2] != table.dim:
        raise CheckpointError(
            f"the rows of `{name}` in {chains[0][-1].path} have width {metas[0][2]}, but the table "
            f"`{table.table_name}` has {table.dim}: create it with that dim"
        )
    with table.scope("restore_table"):
        buckets = table.arguments.base_buckets
        parts = [
            _of_rank(_read(chain, name), rank, ranks, buckets, meta) for chain, meta in zip(chains, metas, strict=True)
        ]
        parts = [
            _with_slots(part, trained) if meta[4] == _NO_OPTIMIZER else part
            for part, meta in zip(parts, metas, strict=True)
        ]
        keys, values, slots = (tf.concat(part, 0) for part in zip(*parts, strict=True))
        metas.sort(key=lambda meta: bool(meta[4] == _NO_OPTIMIZER))
        meta = meta_of_rank(metas, lambda keys: np.mod(keys, ranks) == rank)
        return replace_rows(table, (keys, values, slots, tf.constant(meta, tf.int64)))


def _with_slots(rows: tuple[tf.Tensor, ...], trained: NDArray[np.int64]) -> tuple[tf.Tensor, ...]:
    """Add slots to rows that have none: those that the table with metadata `trained` gives to new rows."""
    slots = int(trained[3])
    # Format 1 stored a single initial value for all slots, and none if it was zero.
    bits = trained[5 : 5 + slots] if trained[0] != 1 else np.resize(np.append(trained[5:6], 0)[:1], slots)
    starts = np.repeat(bits.astype(np.uint32).view(np.float32), int(trained[2]))
    return rows[0], rows[1], tf.tile(starts[None, :], [tf.shape(rows[0])[0], 1])


def _merged(
    before: Sequence[tf.Tensor], changed: Sequence[tf.Tensor], removed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return keys, values and slots after changes; `before` and `changed` are such triples, `removed` are keys."""
    stay, at = tf.raw_ops.ListDiff(x=before[0], y=tf.concat([changed[0], removed], 0), out_idx=tf.int64)
    values, slots = (
        tf.concat([tf.gather(old, at), new], 0) for old, new in zip(before[1:3], changed[1:3], strict=True)
    )
    return tf.concat([stay, changed[0]], 0), values, slots


def _chain(path: str | Path) -> list[Bundle]:
    return [Bundle(link) for link in chain_of(Bundle(path).path)]


def _names(bundle: Bundle, table: str) -> dict[str, str]:
    """Return the names of the tensors with the rows, or the changes, of `table`."""
    return delta_part_names(bundle, table) or part_names(bundle, table)


def _read(chain: Sequence[Bundle], table: str) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    full, *deltas = chain
    keys, values, slots, _ = _tensors(full, part_names(full, table))
    for delta in deltas:
        *changed, _, removed = _tensors(delta, _names(delta, table))
        keys, values, slots = _merged((keys, values, slots), changed, removed)
    return keys, values, slots


def _tensors(bundle: Bundle, names: dict[str, str]) -> list[tf.Tensor]:
    types = [tf.float32 if part in ("values", "slots") else tf.int64 for part in names]
    tensors = restored(bundle.path, list(names.values()), types)
    for tensor, part in zip(tensors, names, strict=True):
        tensor.set_shape([None] if part in (*PARTS[:1], "meta", "removed") else [None, None])
    return tensors


def _of_rank(
    rows: tuple[tf.Tensor, ...], rank: int, ranks: int, buckets: Buckets | None, meta: NDArray[np.int64]
) -> tuple[tf.Tensor, ...]:
    if ranks == 1:
        return rows
    keys, *others = rows
    mine = tf.equal(tf.math.floormod(keys, ranks), rank)
    if buckets is not None:
        keys = buckets.key_of(keys, meta)
        mine |= are_base_keys(keys)
    chosen = tf.where(mine)[:, 0]
    return tuple(tf.gather(part, chosen) for part in (keys, *others))
