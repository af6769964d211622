"""Rec SDK's layout of tables in a checkpoint: `sparse-<prefix>/<table>/<item>/slice.data` and `slice.attribute`.

Items are `key` (int64 [n]), `embedding` and the optimizer's slots (float32 [n, dim]), and those of `thresholds`. An
attribute is int64: number of rows, row width (for rows), and bytes of a value. An increment is in
`delta-sparse-<prefix>` and has the changed rows. Rec SDK does not read the further items, which this runtime needs to
continue exactly: `recmigrate_meta` (seed, counters, …), `recmigrate_cells` (per-row values of some optimizers) and, in
an increment, `recmigrate_removed` (removed keys).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint import CheckpointError, TableRows
from runtime.checkpoint.rows import optimizer_kind, slot_names
from runtime.compat.mx_rec.checkpoint import admission_files

REMOVED = "recmigrate_removed"
_KEYS, _VALUES, _META, _CELLS = "key", "embedding", "recmigrate_meta", "recmigrate_cells"
_NO_SLOTS = {_KEYS, _VALUES, _META, _CELLS, REMOVED, *admission_files.ITEMS}
#: Rec SDK's names for the slots of an optimizer, in the order of a row; by address, Adagrad has another rule.
_ITEMS = {
    "lazy_adam": ("LazyAdam_momentum", "LazyAdam_velocity"),
    "adagrad": ("Adagrad_accumulator",),
    "adagrad_inside": ("Adagrad_accumulator",),
    "ftrl": ("ftrl_accum", "ftrl_linear"),
}


def directory_of(path: str | Path, delta: bool = False) -> Path:
    """Return the directory with the tables of the checkpoint `path` (the prefix of its dense part)."""
    return Path(path).with_name(f"{'delta-' if delta else ''}sparse-{Path(path).name}")


def write_tables(directory: Path, tables: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Write the items of tables, by name, to a directory that appears complete or not at all."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        partial.chmod(0o755)
        for name, items in tables.items():
            for item, array in items.items():
                _write(partial / name / item, array, admission_files.attribute_of(item, array))
        if directory.exists():
            shutil.rmtree(directory)
        partial.rename(directory)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def items_of(rows: TableRows, optimizer: str = "none") -> dict[str, NDArray[Any]]:
    """Return the arrays for a table's rows, by directory name.

    A table without rows has empty slots of `optimizer`, because Rec SDK expects them.
    """
    if not len(rows.keys) and rows.optimizer == "none":
        none = dict.fromkeys(_ITEMS.get(optimizer, ()), rows.values)
        return {_KEYS: rows.keys, _VALUES: rows.values, **none, _META: rows.meta}
    names = _ITEMS.get(rows.optimizer, tuple(f"{rows.optimizer}_{slot}" for slot in slot_names(rows)))
    used = rows.slot_count * rows.dim
    own = {_META: rows.meta} | ({_CELLS: rows.slots[:, used:]} if rows.slots.shape[1] > used else {})
    slots = {name: rows.slot(number) for number, name in enumerate(names)}
    return {_KEYS: rows.keys, _VALUES: rows.values, **slots, **own}


def _write(folder: Path, array: NDArray[Any], attribute: list[int]) -> None:
    folder.mkdir(parents=True)
    np.ascontiguousarray(array).tofile(folder / "slice.data")
    np.array(attribute, np.int64).tofile(folder / "slice.attribute")


def read_table(folder: Path, dim: int | None = None, seed: int = 0, expands: bool = False) -> TableRows:
    """Read the rows of a table, of width `dim` unless it is None.

    For files of Rec SDK, `seed` is the seed for new rows, and `expands` says which Adagrad its slots belong to.

    Raises:
        FileExistsError: the directory does not exist (Rec SDK's error type).
        CheckpointError: a file is missing or truncated, or does not fit the others.
    """
    if not folder.is_dir():
        raise FileExistsError(f"{folder} does not exist: restore a checkpoint that was saved with this table")
    keys = _read(folder / _KEYS, np.int64, 1)
    parts = {item.name for item in folder.iterdir() if item.is_dir()} - _NO_SLOTS
    values = _rows(folder / _VALUES, len(keys), dim)
    dim = values.shape[1]
    if (folder / _META).is_dir():
        meta = _read(folder / _META, np.int64, 1)
        rows = TableRows(keys, values, np.zeros([len(keys), int(meta[3]) * dim], np.float32), meta)
        names = [item for item in items_of(rows) if item not in _NO_SLOTS]
    else:
        kind, names = _kind(folder, parts, expands)
        meta = np.array([2, seed, dim, len(names), optimizer_kind(kind), *[0] * len(names)], np.int64)
        meta = admission_files.with_counters(meta, folder)
    slots = [_rows(folder / item, len(keys), dim) for item in names]
    if (folder / _CELLS).is_dir():
        slots.append(_rows(folder / _CELLS, len(keys), None))
    joined = np.concatenate([np.zeros([len(keys), 0], np.float32), *slots], axis=1)
    return TableRows(keys, values, joined, meta)


def read_removed(folder: Path) -> NDArray[np.int64]:
    """Return the removed keys of an increment; Rec SDK's increments have none.

    Raises:
        CheckpointError: a file is truncated.
    """
    return _read(folder / REMOVED, np.int64, 1) if (folder / REMOVED).is_dir() else np.zeros(0, np.int64)


def read_pairs(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the keys [n] and the rows [n, dim] of the table in `folder`.

    Raises:
        CheckpointError: a file is missing or truncated, or does not fit the other.
    """
    keys = _read(folder / _KEYS, np.int64, 1)
    return keys, _rows(folder / _VALUES, len(keys), None)


def _kind(folder: Path, parts: set[str], expands: bool) -> tuple[str, list[str]]:
    """Return the optimizer that the slots belong to, and their names, in the order of a row."""
    if not parts:
        return "none", []
    for kind, names in _ITEMS.items():
        if set(names) == parts and (kind != "adagrad" or not expands):
            return kind, list(names)
    raise CheckpointError(f"{folder} has slots {sorted(parts)}, which belong to no known optimizer")


def _rows(folder: Path, count: int, dim: int | None) -> NDArray[np.float32]:
    rows = _read(folder, np.float32, 2)
    if rows.shape[0] != count or dim not in (None, rows.shape[1]):
        raise CheckpointError(
            f"{folder} holds {rows.shape[0]} rows of width {rows.shape[1]}, but the table has {count} keys and "
            f"{'any width' if dim is None else f'dim {dim}'}"
        )
    return rows


def _read(folder: Path, dtype: Any, rank: int) -> NDArray[Any]:
    try:
        *shape, size = np.fromfile(folder / "slice.attribute", np.int64).tolist()
        numbers = np.fromfile(folder / "slice.data", dtype)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} is missing or damaged ({error}): restore another checkpoint") from error
    if len(shape) != rank or size != numbers.itemsize or min(shape) < 0 or int(np.prod(shape)) != numbers.size:
        raise CheckpointError(
            f"{folder} is damaged: its attribute says {shape} of {size} bytes, but the data has {numbers.size} values "
            f"of {numbers.itemsize} bytes"
        )
    return numbers.reshape(shape)
