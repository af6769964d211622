"""A checkpoint of variables made into one of tables: row i, with its slots, becomes key i; all else is copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime import _tf_private
from runtime.checkpoint.bundle import Bundle, CheckpointError, write_bundle
from runtime.checkpoint.rows import PARTS, optimizer_kind, optimizer_slots
from runtime.checkpoint.variable_names import find_slots
from runtime.initializers import table_seed

__all__ = ["Move", "Moved", "move_variables"]

_POWER = re.compile(r"(.*/)?(beta[12]_power)")
#: How the step counters of Adam are called where a second Adam, that of the tables, stands beside the first.
_SECOND = "Adam_1"


@dataclass(frozen=True)
class Move:
    """A variable [rows, dim] or [rows] of a checkpoint, and the table that takes its place."""

    table: str
    variable: str
    optimizer: str | None = None  #: whose slots go with the rows, by the names that checkpoints know; None: no slots
    parts: int = 1  #: partitions of the variable, over which `mod` spread the ids: id i is row i // parts of i % parts


@dataclass(frozen=True)
class Moved:
    """What became of one variable."""

    move: Move
    rows: int
    dim: int
    slots: tuple[str, ...]  #: those that were found, in a row's order


def move_variables(
    source: str | Path, target: str | Path, moves: Sequence[Move], like: str | Path | None = None
) -> list[Moved]:
    """Write the checkpoint `target`: that of `source` with tables in place of some variables.

    Everything else (dense variables with their slots, the global step) is copied. Where a table is trained by Adam, the
    step counters are written under the names of a second Adam, too. `like` is a checkpoint that the converted program
    wrote: then `target` holds what that one holds, nothing else, and must have all of it in the same shapes.

    Raises:
        CheckpointError: no such checkpoint or variable, a variable that is no float matrix or vector, slots that are
            not all there, or something that `like` has and `source` has not.
    """
    bundle = Bundle(source)
    if _tf_private.OBJECT_GRAPH_KEY in bundle:
        raise CheckpointError(
            f"{bundle.path} is a checkpoint of objects (tf.train.Checkpoint, Keras): load it in its program, and fill "
            "the table with warm_start(table, path, variable_name)"
        )
    tensors: dict[str, Any] = {}
    taken: set[str] = set()
    done = []
    for move in moves:
        moved, parts, names = _table(bundle, move)
        tensors |= parts
        taken |= names
        done.append(moved)
    for name in bundle.shapes:
        if name not in taken:
            tensors.setdefault(name, bundle.read(name))
    if any(moved.slots == ("m", "v") for moved in done):
        tensors = {**_second_counters(tensors), **tensors}
    write_bundle(target, tensors if like is None else _as(tensors, Bundle(like), bundle.path))
    return done


def _table(bundle: Bundle, move: Move) -> tuple[Moved, dict[str, Any], set[str]]:
    """Return what is told of a table, its tensors, and the tensors that it replaces."""
    values = bundle.read(move.variable)
    if values.ndim not in (1, 2) or values.dtype != np.float32:
        raise CheckpointError(
            f"`{move.variable}` of {bundle.path} is {values.dtype} of shape {list(values.shape)}, and a table has rows "
            "of float32: give a variable [rows, dim] or [rows]"
        )
    rows = values.reshape(len(values), -1)
    wanted = optimizer_slots(move.optimizer) if move.optimizer else ()
    by_name = find_slots(bundle, move.variable, move.optimizer, wanted) if move.optimizer else {}
    found = {slot: by_name[slot] for slot in wanted if by_name}  # in a row's order, which is not the checkpoint's
    slots: list[NDArray[np.float32]] = [bundle.read(tensor).reshape(rows.shape) for tensor in found.values()]
    kind = optimizer_kind(move.optimizer) if move.optimizer and (found or not wanted) else 0
    meta = [2, table_seed(None, move.table, 0), rows.shape[1], len(slots), kind, *([0] * len(slots))]
    empty = np.zeros([len(rows), 0], np.float32)
    parts = (_keys(len(rows), move.parts), rows, np.concatenate([empty, *slots], 1), np.array(meta, np.int64))
    tensors = {f"{move.table}-{part}": array for part, array in zip(PARTS, parts, strict=True)}
    tensors[move.table] = np.zeros([0, rows.shape[1]], np.float32)
    count, dim = rows.shape
    return Moved(move, count, dim, tuple(found)), tensors, {move.variable, *found.values()}


def _keys(rows: int, parts: int) -> NDArray[np.int64]:
    """Return the id of each row of a variable whose partitions, the first ones a row longer, stand one by one."""
    sizes = [rows // parts + (part < rows % parts) for part in range(parts)]
    return np.concatenate([part + parts * np.arange(size, dtype=np.int64) for part, size in enumerate(sizes)])


def _second_counters(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the step counters of Adam under the names that the Adam of the tables gives them."""
    found = {name: match for name in tensors if (match := _POWER.fullmatch(name))}
    return {f"{match[1] or ''}{_SECOND}/{match[2]}": tensors[name] for name, match in found.items()}


def _as(tensors: dict[str, Any], like: Bundle, source: str) -> dict[str, Any]:
    rows = re.compile(r".*-(keys|values|slots|meta)")
    for name, shape in like.shapes.items():
        if name not in tensors:
            raise CheckpointError(
                f"{like.path} holds `{name}` of shape {shape}, and {source} nothing for it: convert the program that "
                "wrote it anew, or leave it out"
            )
        if not rows.fullmatch(name) and list(tensors[name].shape) != list(shape):
            raise CheckpointError(
                f"`{name}` has shape {list(tensors[name].shape)} in {source} and {shape} in {like.path}: these are not "
                "checkpoints of one model"
            )
    return {name: tensors[name] for name in like.shapes}
