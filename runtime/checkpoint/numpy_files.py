"""Tables as numpy files: `<directory>/<table>/keys.npy`, `values.npy`, `slots_<name>.npy` and `meta.json`."""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.bundle import CheckpointError
from runtime.checkpoint.live_tables import snapshot_rows
from runtime.checkpoint.loading import load_tables
from runtime.checkpoint.rows import TableRows, slot_names
from runtime.table.table import Table

#: From 2 on, `meta.json` has checksums: of each file, and of all else that it says.
_FORMAT = 2
# Further values per row, after the slots: step counters and the like, for some optimizers and settings.
_CELLS = "cells"
_META = "meta.json"


def export_numpy(
    source: str | Path | Table | Iterable[Table],
    directory: str | Path,
    tables: Iterable[str] | None = None,
    session: tf.compat.v1.Session | None = None,
) -> list[Path]:
    """Write tables to `directory`, each into its own folder, which appears complete or not at all.

    Args:
        source: prefix of a checkpoint (or a directory: the latest in it), or live tables.
        directory: where to create the folders.
        tables: names of the tables of a checkpoint to export; default: all.
        session: for tables of a v1 graph; default: the default session.

    Returns:
        The folders. Slot files are named after the slots of the optimizer.

    Raises:
        CheckpointError: there is no checkpoint or no such table, or a file is damaged.
        FileExistsError: a folder exists already; nothing is overwritten.
    """
    held = load_tables(source, tables) if isinstance(source, (str, Path)) else _from_tables(source, session)
    return [_write(Path(directory), name, rows) for name, rows in held]


def read_numpy(directory: str | Path, mmap: bool = False) -> TableRows:
    """Read the folder of one table; with `mmap`, keys and values are checked, and stay on disk.

    Raises:
        CheckpointError: a file is missing or damaged, or does not fit the others.
    """
    folder = Path(directory)
    file = folder / _META
    try:
        facts = json.loads(file.read_text())
        sums = facts.pop("crc32", {} if facts["format"] > 1 else None)
        _check(sums, file.name, _crc_of(facts))
        parts: dict[str, NDArray[Any]] = {}
        for part in ["keys", "values", *(f"slots_{name}" for name in facts["slots"]), *facts["extra"]]:
            file = folder / f"{part}.npy"
            _check(sums, file.name, None if sums is None else _crc(file))
            parts[part] = np.load(file, mmap_mode="r" if mmap else None, allow_pickle=False)
        keys, values, *slots = parts.values()
        joined = slots[0] if len(slots) == 1 else np.concatenate([np.zeros([len(keys), 0], np.float32), *slots], axis=1)
        return TableRows(keys, values, joined, np.asarray(facts["meta"], np.int64))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} is missing or damaged ({error}): export the table again") from error


def _check(sums: dict[str, int] | None, name: str, checksum: int | None) -> None:
    if sums is not None and sums[name] != checksum:
        raise ValueError("its checksum differs")


def _crc(file: Path) -> int:
    total = 0
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            total = zlib.crc32(block, total)
    return total


def _crc_of(facts: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(facts, sort_keys=True).encode())


def _from_tables(source: Table | Iterable[Table], session: Any) -> Iterable[tuple[str, TableRows]]:
    for table in [source] if isinstance(source, Table) else source:
        yield table.table_name, snapshot_rows(table, session)


def _write(directory: Path, name: str, rows: TableRows) -> Path:
    folder = directory / name
    if folder.exists():
        raise FileExistsError(f"{folder} exists already: remove it or export into another directory")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        partial.chmod(0o755)
        names, used = slot_names(rows), rows.slot_count * rows.dim
        parts: dict[str, NDArray[Any]] = {"keys": rows.keys, "values": rows.values}
        parts |= {f"slots_{slot}": rows.slot(number) for number, slot in enumerate(names)}
        extra = {_CELLS: rows.slots[:, used:]} if rows.slots.shape[1] > used else {}
        for part, array in (parts | extra).items():
            np.save(partial / f"{part}.npy", array)
        facts = {"format": _FORMAT, "table": name, "rows": len(rows.keys), "dim": rows.dim, "seed": rows.seed}
        facts |= {"optimizer": rows.optimizer, "slots": list(names), "extra": list(extra), "meta": rows.meta.tolist()}
        sums = {f"{part}.npy": _crc(partial / f"{part}.npy") for part in parts | extra} | {_META: _crc_of(facts)}
        (partial / _META).write_text(json.dumps(facts | {"crc32": sums}, indent=1) + "\n")
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder
