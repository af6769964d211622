"""DeepRec's `ParquetDataset`: batches of Parquet files by column, read by pyarrow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import tensorflow as tf

__all__ = ["DataFrame", "ParquetDataset", "read_parquet"]

_FILES = "give the file names as Python strings, because columns are read when the dataset is created"


class DataFrame:
    """DeepRec's namespace for descriptions of columns."""

    @dataclass(frozen=True)
    class Field:
        """A column of a file, and its expected type."""

        name: str
        dtype: Any = None
        ragged_rank: int | None = None
        shape: Any = None


class ParquetDataset:
    """Creates a dataset of batches: a dict from column name to values [rows of the batch]."""

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

        Files are read one after the other: `num_parallel_reads` and `num_sequential_reads`, by which DeepRec
        interleaves them, have no effect.

        Raises:
            ValueError: file names are not Python strings, or a column is a list, missing or of another type.
            ImportError: pyarrow is not installed.
        """
        del num_parallel_reads, num_sequential_reads
        files = _names(filenames)
        columns = cls.read_schema(files[0], fields)
        rows = batch_size if drop_remainder else None
        kinds = {one.name: tf.TensorSpec([rows], one.dtype) for one in columns}

        def batches() -> Iterator[dict[str, Any]]:
            for file in files:
                for batch in _read(file, list(kinds), batch_size, partition_count, partition_index):
                    if not drop_remainder or batch.num_rows == batch_size:
                        yield {name: _values(file, name, batch) for name in kinds}

        return tf.compat.v1.data.Dataset.from_generator(
            batches,
            {name: kind.dtype for name, kind in kinds.items()},
            {name: kind.shape for name, kind in kinds.items()},
        )

    @classmethod
    def read_schema(cls, filename: str, fields: Any = None, lower: bool = False) -> list[DataFrame.Field]:
        """Return the columns of a file, or those of these names or fields; `lower` also matches lower-case names.

        Raises:
            ValueError: a column is a list, missing, or of another type than its field.
        """
        schema = _pyarrow().read_schema(filename)
        given = [one if isinstance(one, DataFrame.Field) else DataFrame.Field(_text(one)) for one in fields or ()]
        return [_field(filename, schema, one, lower) for one in given or map(DataFrame.Field, schema.names)]


def read_parquet(*settings: Any, **named: Any) -> Callable[[Any], NoReturn]:
    """Return a function that refuses a dataset of file names.

    Raises:
        ValueError: when the result is applied.
    """
    del settings, named

    def applied(filenames: Any) -> NoReturn:
        raise ValueError(f"read_parquet applied to {filenames!r} is not supported: use ParquetDataset and {_FILES}")

    return applied


@functools.cache
def _pyarrow() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("ParquetDataset needs pyarrow, which is not installed: pip install pyarrow") from error
    return parquet


def _names(given: Any) -> list[str]:
    names = [given] if isinstance(given, (str, bytes)) else given
    if not isinstance(names, Sequence) or not names or any(not isinstance(one, (str, bytes)) for one in names):
        raise ValueError(f"the filenames {given!r} of a ParquetDataset are not supported: {_FILES}")
    return [_text(one) for one in names]


def _text(given: str | bytes) -> str:
    return given.decode() if isinstance(given, bytes) else given


def _field(file: str, schema: Any, wanted: DataFrame.Field, lower: bool) -> DataFrame.Field:
    at = schema.get_field_index(wanted.name)
    if at < 0 and lower:
        at = schema.get_field_index(wanted.name.lower())
    if at < 0:
        raise ValueError(f"{file} has no column {wanted.name!r}: it has {', '.join(schema.names)}")
    kind, name = str(schema.types[at]), schema.names[at]
    if wanted.ragged_rank or wanted.shape or kind.startswith(("list", "large_list", "fixed_size_list")):
        raise ValueError(
            f"the column {name!r} of {file} holds lists, which is not supported: write them as strings and split these "
            "by tf.strings.split"
        )
    plain = {"string", "large_string", "binary", "large_binary"}
    dtype = tf.string if kind in plain else tf.as_dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    if wanted.dtype is not None and tf.as_dtype(wanted.dtype) != dtype:
        raise ValueError(f"the column {name!r} of {file} is {dtype.name}: its field must not say {wanted.dtype!r}")
    return DataFrame.Field(name, dtype, 0)


def _read(file: str, columns: list[str], rows: int, parts: int, part: int) -> Iterator[Any]:
    opened = _pyarrow().ParquetFile(file)
    groups = list(range(part, opened.num_row_groups, parts))
    yield from opened.iter_batches(batch_size=rows, row_groups=groups, columns=columns)


def _values(file: str, name: str, batch: Any) -> Any:
    column = batch.column(name)
    if column.null_count:
        raise ValueError(f"the column {name!r} of {file} has missing values: fill them before the file is written")
    return column.to_numpy(zero_copy_only=False)
