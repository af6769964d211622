"""Parses columns of a block to arrays, and marks invalid values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from migrate.dataset.arrow import compute, pa
from migrate.dataset.spec import SparseColumn, TimestampColumn

Array = np.ndarray[Any, np.dtype[Any]]
#: An Arrow array or chunked array.
Column = Any

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Converted:
    """One value per row; `missing` and `bad` are masks of missing and invalid values."""

    values: Array
    missing: Array
    bad: Array


@dataclass(frozen=True)
class Texts:
    """Categories: value `i` is `texts[codes[i]]`; with `offsets` [rows + 1], any number of values per row."""

    codes: Array
    texts: Column
    offsets: Array | None = None


@dataclass(frozen=True)
class Integers:
    """Integer ids; with `offsets` [rows + 1], any number of values per row."""

    values: Array
    bad: Array  #: [rows], mask of invalid rows
    offsets: Array | None = None


def plain(column: Column) -> Column:
    """Return a column as one array without chunks."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if isinstance(column, pa.ChunkedArray):  # without chunks
            column = pa.array([], column.type)
    return column


def _stripped(texts: Column, missing: tuple[str, ...]) -> Column:
    """Return texts with blanks stripped, and null for texts that mean a missing value."""
    texts = compute.utf8_trim_whitespace(texts)
    return compute.if_else(compute.is_in(texts, pa.array(missing, pa.string())), None, texts)


def _is_clean(texts: Column, missing: tuple[str, ...]) -> bool:
    """Return whether no text needs stripping or is missing, judged by lengths and first and last bytes."""
    offsets, data = text_buffers(texts)
    if not len(texts) or texts.null_count:
        return not len(texts)
    sizes = np.diff(offsets)
    if np.isin(sizes, [0, *(len(text.encode()) for text in missing)]).any():
        return False
    edges = np.concatenate([data[offsets[:-1]], data[offsets[1:] - 1]])
    return bool(((edges > ord(" ")) & (edges < 0x80)).all())


def text_buffers(texts: Column) -> tuple[Array, Array]:
    """Return the offsets [n + 1] of the texts of an Arrow array, and their bytes."""
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1], content


def _is_text(column: Column) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _converted(column: Column, to: Any, convert: Callable[[Column], Column], missing: tuple[str, ...]) -> Converted:
    """Convert a column; if that fails, convert each distinct text separately."""
    coded = column if pa.types.is_dictionary(column.type) else None
    bad: Array = np.zeros(len(column), bool)
    try:
        result = convert(column if coded is None else coded.dictionary)
        if coded is not None:
            result = result.take(coded.indices)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        coded = column.cast(pa.string()).dictionary_encode() if coded is None else coded
        each, wrong = [], []
        for text in _stripped(coded.dictionary.cast(pa.string()), missing):
            try:
                each.append(convert(pa.array([text.as_py()], pa.string()))[0].as_py())
                wrong.append(False)
            except pa.ArrowInvalid:
                each.append(None)
                wrong.append(True)
        result = pa.array(each, to).take(coded.indices)
        codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        if wrong:
            bad = np.array(wrong)[codes] & coded.indices.is_valid().to_numpy(zero_copy_only=False)
    nulls = result.is_null().to_numpy(zero_copy_only=False)
    return Converted(result.fill_null(0).to_numpy(zero_copy_only=False), nulls & ~bad, bad)


def numbers(column: Column, missing: tuple[str, ...]) -> Converted:
    """Return a column as float64; values that are not finite in float32 are bad, but NaN in Parquet is missing."""
    column = plain(column)
    converted = _converted(column, pa.float64(), lambda part: part.cast(pa.float64()), missing)
    strange = np.isnan(converted.values)
    absent = converted.missing if _is_text(column) else converted.missing | strange
    # With this comparison, NaN is bad as well.
    bad = converted.bad | (~(np.abs(converted.values) <= _LARGEST) & ~absent)
    return Converted(converted.values, absent, bad)


def integers(column: Column, missing: tuple[str, ...]) -> Converted:
    """Return a column as int64."""
    return _converted(plain(column), pa.int64(), lambda part: part.cast(pa.int64()), missing)


def timestamps(column: Column, spec: TimestampColumn, missing: tuple[str, ...]) -> Converted:
    """Return a column of times as whole seconds since 1970 (UTC), rounded down."""
    column = plain(column)
    if pa.types.is_temporal(column.type):
        converted = _converted(column, pa.int64(), _microseconds, missing)
        return Converted(converted.values // 1_000_000, converted.missing, converted.bad)
    if spec.format in ("unix", "unix_ms"):
        converted = integers(column, missing)
        return Converted(
            converted.values // (1000 if spec.format == "unix_ms" else 1), converted.missing, converted.bad
        )
    if spec.format == "iso":
        converted = _converted(column, pa.int64(), _iso, missing)
        return Converted(converted.values // 1_000_000, converted.missing, converted.bad)
    return _converted(column, pa.int64(), partial(_by_format, layout=spec.format), missing)


def _microseconds(part: Column) -> Column:
    return part.cast(pa.timestamp("us")).cast(pa.int64())


def _iso(part: Column) -> Column:
    try:
        return _microseconds(part)
    except pa.ArrowInvalid:  # with a time zone
        return part.cast(pa.timestamp("us", "UTC")).cast(pa.int64())


def _by_format(part: Column, layout: str) -> Column:
    return compute.strptime(part, format=layout, unit="s").cast(pa.int64())


def texts(column: Column, missing: tuple[str, ...]) -> Texts:
    """Return a column's categories with blanks stripped; a missing value is the category of the empty text."""
    column = plain(column)
    if not pa.types.is_dictionary(column.type):
        column = (column if _is_text(column) else column.cast(pa.string())).dictionary_encode()
    known = column.dictionary.cast(pa.string())
    clean = known if _is_clean(known, missing) else _stripped(known, missing)
    # An empty text after all others, for nulls.
    every = pa.concat_arrays([clean.fill_null(""), pa.array([""], pa.string())])
    rows = column.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    if clean is known:
        return Texts(rows, every)
    # Stripping may have made texts equal.
    once = every.dictionary_encode()
    return Texts(once.indices.to_numpy()[rows], once.dictionary)


def several(column: Column, spec: SparseColumn, missing: tuple[str, ...]) -> Texts | Integers:
    """Return the values of a multi-hot column, without empty values, and at most `max_values` per row."""
    column = plain(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        column = column if _is_text(column) else column.cast(pa.string())
        column = compute.split_pattern(column, spec.separator)
    counts = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = column.flatten()
    row = np.repeat(np.arange(len(counts)), counts)
    if _is_text(flat):
        flat = _stripped(flat, missing)
        flat = compute.if_else(compute.equal(flat, ""), None, flat)
    keep = flat.is_valid().to_numpy(zero_copy_only=False)
    row, offsets = row[keep], _offsets(row[keep], len(counts))
    flat = flat.filter(pa.array(keep))
    if spec.max_values:
        keep = np.arange(len(row)) - offsets[row] < spec.max_values
        row, flat = row[keep], flat.filter(pa.array(keep))
        offsets = _offsets(row, len(counts))
    if spec.ids == "raw":
        converted = integers(flat, ())
        bad = np.zeros(len(counts), bool)
        bad[row[converted.bad]] = True
        return Integers(converted.values, bad, offsets)
    coded = texts(flat, ())
    return Texts(coded.codes, coded.texts, offsets)


def _offsets(row: Array, rows: int) -> Array:
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))]).astype(np.int64)
