"""Converts a checkpoint of variables to one of tables: row i, with its slots, becomes key i; the rest is copied."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime import _tf_private
from runtime.checkpoint.bundle import Bundle, CheckpointError, write_bundle
from runtime.checkpoint.meta_layout import divided, layout_of
from runtime.checkpoint.moves.tables_to_variables import partition_ids
from runtime.checkpoint.rows import PARTS, optimizer_kind, optimizer_slots, table_names
from runtime.checkpoint.variable_names import find_slots
from runtime.initializers import table_seed
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.storage.buckets import Buckets

_POWER = re.compile(r"(?:.*/)?(beta[12]_power)(?:_\d+)?")
#: Scopes of the step counters of the tables' Adam: it is the only one, or a second one beside that of other variables.
_SCOPES = ("Adam", "Adam_1")


@dataclass(frozen=True)
class Move:
    """A variable [rows, dim] or [rows] of a checkpoint, and the table that replaces it."""

    table: str
    variable: str
    optimizer: str | None = None  #: whose slots to convert, by the checkpoint's name for it; None: no slots
    parts: int = 1  #: number of partitions with ids spread by `mod`: id i is row i // parts of partition i % parts
    as_base: bool = False  #: whether row i becomes the row of bucket i, which new rows begin as
    buckets: Buckets | None = None  #: how ids divide into these, if that is known; else the program alone says it


@dataclass(frozen=True)
class Moved:
    """The result of one `Move`."""

    move: Move
    rows: int
    dim: int
    slots: tuple[str, ...]  #: the slots that were found, in the order of a row


def move_variables(
    source: str | Path, target: str | Path, moves: Sequence[Move], like: str | Path | None = None
) -> list[Moved]:
    """Write the checkpoint `target`: that of `source` with tables in place of some variables.

    All other tensors (dense variables with their slots, the global step) are copied. If a table is trained by Adam, the
    step counters are also written under the names of the tables' Adam. `like` is a checkpoint written by the converted
    program: then `target` gets exactly the tensors of `like`, which must all exist with the same shapes.

    Raises:
        CheckpointError: there is no such checkpoint or variable, a variable is not a float matrix or vector, slots are
            incomplete, several Adams have counted different steps, `source` has a table of the name already, or `like`
            has a tensor that `source` does not have.
    """
    bundle = Bundle(source)
    refuse_objects(bundle)
    refuse_tables(bundle, {move.table for move in moves} & {*table_names(bundle)})
    tensors: dict[str, Any] = {}
    taken: set[str] = set()
    done = []
    wanted = None if like is None else Bundle(like)
    for move in moves:
        moved, parts, names = _table(bundle, _with_buckets(move, wanted))
        tensors |= parts
        taken |= names
        done.append(moved)
    for name in bundle.shapes:
        if name not in taken:
            tensors.setdefault(name, bundle.read(name))
    if any(moved.slots == ("m", "v") for moved in done):
        tensors = {**_counters(tensors, wanted, bundle.path), **tensors}
    write_bundle(target, tensors if wanted is None else _as(tensors, wanted, bundle.path))
    return done


def refuse_objects(bundle: Bundle) -> None:
    """Raise CheckpointError where a checkpoint is of objects, whose variables have other names."""
    if _tf_private.OBJECT_GRAPH_KEY in bundle:
        raise CheckpointError(
            f"{bundle.path} is object-based (from tf.train.Checkpoint or Keras): load it in the converted Keras "
            "program as it is, or fill the table in another one with warm_start(table, path, variable_name)"
        )


def refuse_tables(bundle: Bundle, tables: Set[str]) -> None:
    """Raise CheckpointError where a checkpoint has rows of tables that are to be made of variables."""
    if tables:
        raise CheckpointError(
            f"{bundle.path} has rows of the table `{min(tables)}` already: restore it in the converted program as it "
            "is, or give a checkpoint of the original program"
        )


def _with_buckets(move: Move, like: Bundle | None) -> Move:
    """Return the move with the buckets that the converted program has, as a checkpoint of it says."""
    if like is None or not move.as_base or move.table not in table_names(like):
        return move
    return replace(move, buckets=layout_of(like.read(f"{move.table}-meta")).buckets or move.buckets)


def _table(bundle: Bundle, move: Move) -> tuple[Moved, dict[str, Any], set[str]]:
    """Return the result for a table, its tensors, and the names of the tensors that it replaces."""
    values = bundle.read(move.variable)
    if values.ndim not in (1, 2) or values.dtype != np.float32:
        raise CheckpointError(
            f"`{move.variable}` of {bundle.path} is {values.dtype} of shape {list(values.shape)}, but a table has rows "
            "of float32: give a variable [rows, dim] or [rows]"
        )
    rows = values.reshape(len(values), -1)
    wanted = optimizer_slots(move.optimizer) if move.optimizer else ()
    by_name = find_slots(bundle, move.variable, move.optimizer, wanted) if move.optimizer else {}
    tensor_of = {slot: by_name[slot] for slot in wanted if by_name}  # in the order of a row
    slots: list[NDArray[np.float32]] = [bundle.read(tensor).reshape(rows.shape) for tensor in tensor_of.values()]
    kind = optimizer_kind(move.optimizer) if move.optimizer and (tensor_of or not wanted) else 0
    meta = [2, table_seed(None, move.table, 0), rows.shape[1], len(slots), kind, *([0] * len(slots))]
    if move.buckets is not None:
        if move.buckets.rows != len(rows):
            raise CheckpointError(
                f"`{move.variable}` of {bundle.path} has {len(rows)} rows, and the table `{move.table}` with "
                f"{move.buckets} divides ids into {move.buckets.rows}: create the table with as many buckets as "
                "the variable has rows"
            )
        meta = divided(meta, move.buckets)
    empty = np.zeros([len(rows), 0], np.float32)
    keys = partition_ids(len(rows), move.parts) + (FIRST_BASE_KEY if move.as_base else 0)
    parts = (keys, rows, np.concatenate([empty, *slots], 1), np.array(meta, np.int64))
    tensors = {f"{move.table}-{part}": array for part, array in zip(PARTS, parts, strict=True)}
    tensors[move.table] = np.zeros([0, rows.shape[1]], np.float32)
    count, dim = rows.shape
    return Moved(move, count, dim, tuple(tensor_of)), tensors, {move.variable, *tensor_of.values()}


def _counters(tensors: Mapping[str, Any], like: Bundle | None, source: str) -> dict[str, Any]:
    """Return Adam's step counters under the names of the tables' Adam: those of `like`, or all that it may have."""
    powers = {name: match[1] for name in tensors if (match := _POWER.fullmatch(name))}
    counted = {power: tensors[name] for name, power in powers.items()}
    if any(not np.array_equal(tensors[name], counted[power]) for name, power in powers.items()):
        raise CheckpointError(
            f"{source} has different step counts in {', '.join(sorted(powers))}, and it is not known which of "
            "them counts the steps of the tables: fill the tables in the converted program with "
            "warm_start(table, path, variable_name)"
        )
    if like is None:
        return {f"{scope}/{power}": value for scope in _SCOPES for power, value in counted.items()}
    wanted = {name: match[1] for name in like.shapes if (match := _POWER.fullmatch(name))}
    return {name: counted[power] for name, power in wanted.items() if power in counted}


def _as(tensors: dict[str, Any], like: Bundle, source: str) -> dict[str, Any]:
    rows = re.compile(r".*-(keys|values|slots|meta)")
    for name, shape in like.shapes.items():
        if name not in tensors:
            raise CheckpointError(
                f"{like.path} holds `{name}` of shape {shape}, but {source} has no value for it: give a `like` "
                "of the program as it is converted now, or none"
            )
        if not rows.fullmatch(name) and list(tensors[name].shape) != list(shape):
            raise CheckpointError(
                f"`{name}` has shape {list(tensors[name].shape)} in {source} but {shape} in {like.path}: they are not "
                "checkpoints of one model"
            )
    return {name: tensors[name] for name in like.shapes}
