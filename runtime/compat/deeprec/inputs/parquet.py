"""DeepRec's `ParquetDataset`: batches of Parquet files by column, read by pyarrow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.deeprec.inputs.dataframe import DataFrame

__all__ = ["ParquetDataset", "read_parquet"]

v1: Any = tf.compat.v1


class ParquetDataset:
    """Creates a dataset of batches: a dict from column name to values [rows of the batch], or a `DataFrame.Value`."""

    def __new__(
        cls,
        filenames: Any,
        batch_size: int = 1,
        fields: Any = None,
        partition_count: int = 1,
        partition_index: int = 0,
        drop_remainder: bool = False,
        num_parallel_reads: Any = None,
        num_sequential_reads: int = 1,
    ) -> Any:
        """Return the dataset; row group i of a file is read if `i mod partition_count` is `partition_index`.

        Names in a tensor or a dataset need `fields` with types and ragged ranks. Files are read one after the other:
        `num_parallel_reads` and `num_sequential_reads`, by which DeepRec interleaves them, have no effect.

        Raises:
            ValueError: a column is missing or of another type, or the fields of unknown files are incomplete.
            ImportError: pyarrow is not installed.
        """
        del num_parallel_reads, num_sequential_reads
        _pyarrow()
        files, columns = _files_and_fields(cls, filenames, fields)
        rows = batch_size if drop_remainder else None
        types = {one.name: one.output_types for one in columns}
        shapes = {one.name: one.output_shapes(rows) for one in columns}

        def batches(file: bytes) -> Iterator[dict[str, Any]]:
            path = _text(file)
            for batch in _read(path, columns, batch_size, partition_count, partition_index):
                if not drop_remainder or batch.num_rows == batch_size:
                    yield {one.name: _values(path, one, batch) for one in columns}

        return files.flat_map(lambda file: v1.data.Dataset.from_generator(batches, types, shapes, args=(file,)))

    @classmethod
    def read_schema(cls, filename: str, fields: Any = None, lower: bool = False) -> list[DataFrame.Field]:
        """Return the columns of a file, or those of these names or fields; `lower` also matches lower-case names.

        Raises:
            ValueError: a column is missing, or of another type than its field.
        """
        schema = _pyarrow().read_schema(filename)
        return [_field(filename, schema, one, lower) for one in _given(fields) or map(DataFrame.Field, schema.names)]


def read_parquet(
    batch_size: int,
    fields: Any = None,
    partition_count: int = 1,
    partition_index: int = 0,
    drop_remainder: bool = False,
    num_parallel_reads: Any = None,
    num_sequential_reads: int = 1,
) -> Callable[[Any], Any]:
    """Return what `Dataset.apply` takes to read the files that a dataset names; arguments as of `ParquetDataset`."""
    return lambda filenames: ParquetDataset(
        filenames,
        batch_size,
        fields,
        partition_count,
        partition_index,
        drop_remainder,
        num_parallel_reads,
        num_sequential_reads,
    )


@functools.cache
def _pyarrow() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("ParquetDataset needs pyarrow, which is not installed: pip install pyarrow") from error
    return parquet


def _files_and_fields(owner: Any, filenames: Any, fields: Any) -> tuple[Any, list[DataFrame.Field]]:
    """Return a dataset of file names, and the columns to read."""
    names = [filenames] if isinstance(filenames, (str, bytes)) else filenames
    if isinstance(names, Sequence) and names and all(isinstance(one, (str, bytes)) for one in names):
        texts = [_text(one) for one in names]
        return v1.data.Dataset.from_tensor_slices(texts), owner.read_schema(texts[0], fields)
    columns = _given(fields)
    if not columns or any(one.incomplete for one in columns):
        raise ValueError(
            f"the columns of the files {filenames!r} of a ParquetDataset are not known when it is created: give "
            "`fields` as DataFrame.Field(name, dtype, ragged_rank), or the names as Python strings"
        )
    if isinstance(filenames, tf.data.Dataset):
        return filenames, columns
    return v1.data.Dataset.from_tensor_slices(tf.reshape(tf.convert_to_tensor(filenames, tf.string), [-1])), columns


def _given(fields: Any) -> list[DataFrame.Field]:
    return [one if isinstance(one, DataFrame.Field) else DataFrame.Field(_text(one)) for one in fields or ()]


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


def _field(file: str, schema: Any, wanted: DataFrame.Field, lower: bool) -> DataFrame.Field:
    at = schema.get_field_index(wanted.name)
    if at < 0 and lower:
        at = schema.get_field_index(wanted.name.lower())
    if at < 0:
        raise ValueError(f"{file} has no column {wanted.name!r}: it has {', '.join(schema.names)}")
    kind, name, depth = schema.types[at], schema.names[at], 0
    while str(kind).startswith(("list", "large_list", "fixed_size_list")):
        kind, depth = kind.value_type, depth + 1
    dtype = _dtype(file, name, str(kind))
    if wanted.shape:
        depth = 0
    if wanted.ragged_rank not in (None, depth):
        raise ValueError(
            f"the column {name!r} of {file} has lists of depth {depth}, but its field has ragged_rank "
            f"{wanted.ragged_rank!r}: give it ragged_rank={depth}"
        )
    if wanted.dtype is not None and tf.as_dtype(wanted.dtype) != dtype:
        raise ValueError(
            f"the column {name!r} of {file} is {dtype.name}: give its field this dtype, not {wanted.dtype!r}"
        )
    return DataFrame.Field(name, dtype, depth, wanted.shape)


def _dtype(file: str, name: str, kind: str) -> tf.DType:
    if kind in {"string", "large_string", "binary", "large_binary"}:
        return tf.string
    try:
        return tf.as_dtype({"float": "float32", "double": "float64", "halffloat": "float16"}.get(kind, kind))
    except TypeError:
        raise ValueError(f"the column {name!r} of {file} is {kind}: cast it to numbers or text first") from None


def _read(file: str, columns: list[DataFrame.Field], rows: int, parts: int, part: int) -> Iterator[Any]:
    opened = _pyarrow().ParquetFile(file)
    for (
        column
    ) in columns:  # where a file differs from the first one, or from the fields, TensorFlow would cut ids short
        _field(file, opened.schema_arrow, column, False)
    names = list(dict.fromkeys(one.name for one in columns))
    groups = list(range(part, opened.num_row_groups, parts))
    yield from opened.iter_batches(batch_size=rows, row_groups=groups, columns=names)


def _values(file: str, field: DataFrame.Field, batch: Any) -> Any:
    """Return the values of a column; a list that is missing is an empty one."""
    column, splits = batch.column(field.name), []
    for _ in range(1 if field.shape else field.ragged_rank or 0):
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        splits.append(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        column = column.flatten()
    if column.null_count:
        raise ValueError(f"the column {field.name!r} of {file} has missing values: fill them before it is written")
    values = column.to_numpy(zero_copy_only=False)
    if not field.shape:
        return DataFrame.Value(values, tuple(splits)) if splits else values
    size = int(np.prod(field.shape))
    if (np.diff(splits[0]) != size).any():
        raise ValueError(f"the column {field.name!r} of {file} has rows of other than {size} values: drop its shape")
    return values.reshape(-1, *field.shape)
