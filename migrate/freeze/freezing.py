"""Writes the frozen form of a SavedModel. Imports TensorFlow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow.core.protobuf import saved_model_pb2

from migrate.errors import MigrateError
from migrate.freeze.quantized import Error, stored
from migrate.graph.directories import check_replaceable, new_directory
from rewriter.copied_folders import not_copied
from rewriter.freezing.freeze import Frozen, freeze
from rewriter.freezing.frozen_table import FrozenTable, Numbers
from runtime.checkpoint.blocks import BlockReader, BlockWriter
from runtime.checkpoint.bundle import Bundle, CheckpointError

__all__ = ["FrozenRows", "freeze_saved_model"]

_FILE = "saved_model.pb"
_VARIABLES = Path("variables", "variables")
_COPIED = ("assets", "assets.extra")
_SERVE = "serve"


@dataclass(frozen=True)
class FrozenRows:
    """What was written of one table."""

    table: str
    rows: int
    dim: int
    error: Error


def freeze_saved_model(source: Path, target: Path, numbers: Numbers, force: bool) -> list[FrozenRows]:
    """Write to the directory `target` the SavedModel `source` with stock ops in place of its tables.

    Raises:
        MigrateError: `source` is no SavedModel with tables, it has what cannot be frozen, or `target` cannot be
            written; nothing is written.
    """
    source = _newest(source)
    meta = _read(source)
    if target.resolve() == source.resolve() or source.resolve() in target.resolve().parents:
        raise MigrateError(f"{target}: overlaps with the source; give another directory")
    check_replaceable(target, force)
    if not (index := source / f"{_VARIABLES}.index").is_file():
        raise MigrateError(
            f"{index}: does not exist, it has the rows; export the model again, or copy all of its folder"
        )
    try:
        reader = BlockReader(Bundle(source / _VARIABLES))
        frozen = freeze(meta, reader, numbers)
        with new_directory(target) as folder:
            return _write(frozen, reader, source, folder)
    except CheckpointError as error:
        raise MigrateError(str(error)) from error
    except ValueError as error:
        raise MigrateError(f"{source}: {error}") from error


def _newest(folder: Path) -> Path:
    """Return the latest version below a folder that holds numbered ones, as servers do; else the folder."""
    if (folder / _FILE).is_file() or not folder.is_dir():
        return folder
    versions = [one for one in folder.iterdir() if one.name.isdigit() and (one / _FILE).is_file()]
    return max(versions, key=lambda version: int(version.name), default=folder)


def _read(source: Path) -> Any:
    """Return the graph of a SavedModel that servers load."""
    file = source / _FILE
    if not file.is_file():
        raise MigrateError(f"{source}: has no {_FILE}; give the directory of a SavedModel")
    try:
        model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    except Exception as error:  # DecodeError is private to implementations of protobuf
        raise MigrateError(f"{file}: is not a SavedModel ({error}); export the model again") from error
    serving = [meta for meta in model.meta_graphs if _SERVE in meta.meta_info_def.tags]
    if not serving:
        tags = "; ".join(", ".join(meta.meta_info_def.tags) for meta in model.meta_graphs)
        raise MigrateError(f"{source}: has no graph with the tag `{_SERVE}` (its tags: {tags}); export one for serving")
    return min(serving, key=lambda meta: len(meta.meta_info_def.tags))


def _write(frozen: Frozen, reader: BlockReader, source: Path, folder: Path) -> list[FrozenRows]:
    (folder / _VARIABLES).parent.mkdir()
    done = []
    with BlockWriter(folder / _VARIABLES) as writer:
        for new, old in sorted(frozen.copies.items()):
            writer.copy(reader, old, new)
        for table in frozen.tables:
            done.append(_write_table(table, reader, writer))
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    model.meta_graphs.add().CopyFrom(frozen.meta)
    (folder / _FILE).write_bytes(model.SerializeToString(deterministic=True))
    for name in _COPIED:
        if (source / name).is_dir():
            if (outside := not_copied(source / name, source)) is not None:
                raise MigrateError(f"{outside}: leads out of {source}; put what is meant in its place")
            shutil.copytree(source / name, folder / name)
    return done


def _write_table(table: FrozenTable, reader: BlockReader, writer: BlockWriter) -> FrozenRows:
    source, error, scales = table.source, Error(), []
    writer.copy(reader, source.keys, table.keys.op.name)

    def rows() -> Iterator[Any]:
        for block in stored(_blocks(table, reader), table.numbers, error):
            if block.scales is not None:
                scales.append(block.scales)
            yield block.rows

    try:
        writer.add_blocks(table.rows.op.name, [source.rows + 1, source.dim], rows())
    except ValueError as refused:
        raise ValueError(f"the table `{source.name}` {refused}") from refused
    if table.scales is not None:
        writer.add(table.scales.op.name, np.concatenate(scales))
    return FrozenRows(source.name, source.rows, source.dim, error)


def _blocks(table: FrozenTable, reader: BlockReader) -> Iterator[np.ndarray[Any, Any]]:
    if table.source.rows:
        yield from reader.blocks(table.source.values)
    yield table.last_row[None]
