"""`sok.dump` and `sok.load`: rows of variables in files that any number of ranks can read."""

from __future__ import annotations

import contextlib
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import _validation, ranks
from runtime.compat.sok import files, placing, states
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.files import FilesError, TableMeta, Writer
from runtime.compat.sok.static import SharedVariable
from runtime.compat.sok.variables import assign, export

#: Rows are gathered in rounds of about this many bytes per rank.
_ROUND = 64 << 20


def dump(path: str, dump_vars: Any, optimizer: Any = None) -> None:
    """Write the rows of variables to a directory, in eager mode; every rank must call it with the same path.

    Args:
        path: the directory; created if it does not exist.
        dump_vars: a variable of SOK or a list of them.
        optimizer: also write its slots: an `sok.OptimizerWrapper`, or the optimizer that it wraps.

    Raises:
        RuntimeError: in a v1 graph.
        TypeError: a variable is not SOK's, or the file format does not support the optimizer.
        FilesError: two variables would have the same file name.
    """
    variables, inner = _checked(dump_vars, optimizer, "dump")
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Files replace older ones once all are written: if writing fails, the older dump is complete.
        with contextlib.ExitStack() as opened:
            metas = [_dump_one(folder, variable, inner, opened) for variable in variables]
    except OSError as error:
        raise FilesError(
            f"cannot write {error.filename or folder}: {error.strerror}; dump to a directory, with shorter names"
        ) from error
    if ranks.rank() == 0:
        for meta in metas:
            _drop_other_slots(folder, meta, inner)
        files.write_meta(folder, metas)
    ranks.current().barrier()


def load(path: str, load_vars: Any, optimizer: Any = None) -> None:
    """Read the files of `dump` by any number of ranks, by the names of the variables; every rank must call it.

    Args:
        path: the directory.
        load_vars: a variable of SOK or a list of them.
        optimizer: also read its slots; a DynamicVariable then loses rows that are not in the files.

    Raises:
        RuntimeError: in a v1 graph.
        TypeError: a variable is not SOK's, or the file format does not support the optimizer.
        FilesError: a file is missing or damaged, or its rows do not fit the variable.
    """
    variables, inner = _checked(load_vars, optimizer, "load")
    # Read and check all files before any variable changes.
    metas = files.read_meta(Path(path))
    stored = [_read_one(Path(path), variable, inner) for variable in variables]
    for variable, (keys, columns) in zip(variables, stored, strict=True):
        _check_meta(Path(path), metas.get(name_in_files(variable)), keys, columns[0])
    for variable, (keys, columns) in zip(variables, stored, strict=True):
        fill = _fill_table if isinstance(variable, DynamicVariable) else _fill_variable
        fill(variable, inner, keys, columns)
    ranks.current().barrier()


def name_in_files(variable: Any) -> str:
    """Return a variable's name with `_` for each punctuation character."""
    return str(variable.name).translate({ord(one): "_" for one in string.punctuation})


def _checked(variables: Any, optimizer: Any, what: str) -> tuple[list[Any], Any]:
    if not tf.executing_eagerly():
        raise RuntimeError(f"sok.{what} needs eager mode: in a v1 graph use sok.Saver, or tf.compat.v1.train.Saver")
    listed = list(variables) if isinstance(variables, (list, tuple)) else [variables]
    for variable in listed:
        if not isinstance(variable, (SharedVariable, DynamicVariable)):
            raise TypeError(f"sok.{what} needs variables of SOK: got {type(variable).__name__}")
    names = [name_in_files(one) for one in listed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FilesError(f"two variables would have the files of `{twice[0]}`: give them different names")
    if isinstance(optimizer, (list, tuple)):
        optimizer = optimizer[0] if _validation.integer("the number of optimizers", len(optimizer), 0, 1) else None
    states.name_of(optimizer)
    return listed, optimizer


def _dump_one(folder: Path, variable: Any, optimizer: Any, opened: contextlib.ExitStack) -> TableMeta:
    """Write temporary files for one variable, until `opened` ends; return its entry for `meta_info`."""
    name, kind = name_in_files(variable), states.name_of(optimizer)
    keys, values = (np.asarray(part) for part in export(variable))
    order = np.argsort(keys, kind="stable")
    columns = {"weight": values} | {f"{kind}-{slot}": state for slot, state in _slots(variable, optimizer).items()}
    parts = {"key": keys} | columns
    writers = {
        part: opened.enter_context(_writing(folder / f"{name}-{part}", name, part, values))
        for part in (parts if ranks.rank() == 0 else ())
    }
    count = 0
    for rows in _rounds(order, values):
        for part, column in parts.items():
            gathered = np.asarray(ranks.current().all_gather(tf.constant(column[rows]))[0])
            count += len(gathered) if part == "key" else 0
            if part in writers:
                writers[part].add(gathered)
    for writer in writers.values():
        writer.close()
    return TableMeta(name, kind, "int64", values.dtype.name, int(np.prod(values.shape[1:])), count)


@contextlib.contextmanager
def _writing(path: Path, name: str, part: str, values: NDArray[Any]) -> Iterator[Writer]:
    if part == "key":
        writer = Writer(path, name, files.KEY, "int64")
    elif part == "weight":
        writer = Writer(path, name, files.EMBEDDING, values.dtype.name)
    else:
        writer = Writer(path, name, files.OPTIMIZER_STATE, "float32", part.partition("-")[2])
    try:
        yield writer
    except BaseException:
        writer.drop()
        raise
    writer.finish()


def _drop_other_slots(folder: Path, meta: TableMeta, optimizer: Any) -> None:
    """Remove slot files of an older dump that this one does not have, because they belong to older rows."""
    written = {f"{meta.optimizer}-{slot}" for slot in states.slots_of(optimizer)}
    for part in states.names_in_files():
        if part not in written:
            (folder / f"{meta.name}-{part}").unlink(missing_ok=True)


def _rounds(order: NDArray[np.int64], values: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers in equally many rounds on each rank."""
    at_once = max(1, _ROUND // max(1, values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))))
    rounds = -(-len(order) // at_once)
    every = np.asarray(ranks.current().all_gather(tf.constant([rounds], tf.int64))[0])
    for number in range(int(every.max())):
        yield order[number * at_once : (number + 1) * at_once]


def _slots(variable: Any, optimizer: Any) -> dict[str, NDArray[Any]]:
    """Return the slots of this rank's rows, by name."""
    names = states.slots_of(optimizer)
    if isinstance(variable, DynamicVariable):
        return {slot: np.asarray(states.of_table(variable, optimizer, number)) for number, slot in enumerate(names)}
    return {slot: np.asarray(states.of_variable(optimizer, variable, slot)) for slot in names}


def _read_one(folder: Path, variable: Any, optimizer: Any) -> tuple[NDArray[np.int64], list[NDArray[Any]]]:
    """Return a variable's keys in the files, and the columns: its rows and the slots of the optimizer."""
    name, kind = name_in_files(variable), states.name_of(optimizer)
    width = variable.table.dim if isinstance(variable, DynamicVariable) else int(np.prod(variable.shape[1:]))
    keys = files.read(folder / f"{name}-key", files.KEY).astype(np.int64)
    columns = [files.read(folder / f"{name}-weight", files.EMBEDDING, width)]
    for slot in states.slots_of(optimizer):
        columns.append(files.read(folder / f"{name}-{kind}-{slot}", files.OPTIMIZER_STATE, width))
    for column in columns:
        if len(column) != len(keys):
            raise FilesError(f"the files of `{name}` in {folder} have unequal numbers of rows: dump the tables again")
    if columns[0].dtype != np.dtype(variable.dtype.as_numpy_dtype):
        raise FilesError(
            f"the rows of `{name}` in {folder} are {columns[0].dtype}, but the variable has {variable.dtype.name}: "
            "the file is damaged, or the variable must be created with that type"
        )
    if not isinstance(variable, DynamicVariable):
        _check_ids(variable, keys)
    return keys, columns


def _check_meta(folder: Path, meta: TableMeta | None, keys: NDArray[np.int64], rows: NDArray[Any]) -> None:
    """Check that the files match `meta_info`; a table that is not in it is from an older dump."""
    if meta is None:
        return
    stored, expected = (len(keys), rows.shape[1], rows.dtype.name), (meta.rows, meta.width, meta.dtype)
    if stored != expected:
        raise FilesError(
            f"the files of `{meta.name}` in {folder} have {stored[0]} rows of {stored[1]} {stored[2]}, but meta_info "
            f"says {expected[0]} of {expected[1]} {expected[2]}: they are from different dumps or truncated; dump the "
            "tables again"
        )


def _check_ids(variable: Any, keys: NDArray[np.int64]) -> None:
    rows = int(variable.global_shape[0])
    if len(keys) != rows or not np.array_equal(np.sort(keys), np.arange(rows)):
        raise FilesError(
            f"the {len(keys)} ids in the file of the sok.Variable `{variable.name}` are not 0 to {rows - 1}: "
            "create the variable with its former size"
        )


def _fill_table(variable: Any, optimizer: Any, keys: NDArray[np.int64], columns: list[NDArray[Any]]) -> None:
    if len(columns) == 1:
        variable.table.import_rows(keys, columns[0])
        return
    mine = np.asarray(placing.lie_here(tf.constant(keys), variable.placement))
    values, *slots = (tf.constant(column[mine]) for column in columns)
    states.import_with_slots(variable, optimizer, tf.constant(keys[mine]), values, slots)


def _fill_variable(variable: Any, optimizer: Any, keys: NDArray[np.int64], columns: list[NDArray[Any]]) -> None:
    """Assign each row by its id, whatever order the file has."""
    shape = [len(keys), *variable.shape[1:]]
    assign(variable, keys, columns[0].reshape(shape).astype(variable.dtype.as_numpy_dtype))
    mine = np.asarray(placing.lie_here(tf.constant(keys), variable.placement))
    places = np.asarray(placing.local_rows(tf.constant(keys[mine]), variable.placement))
    for slot, column in zip(states.slots_of(optimizer), columns[1:], strict=True):
        kept = states.of_variable(optimizer, variable, slot)
        value = np.zeros(tuple(kept.shape), column.dtype)
        value[places] = column.reshape(shape)[mine]
        kept.assign(value)
