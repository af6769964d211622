"""Encodes many samples at once as framed `tf.train.Example`s, with the bytes that TensorFlow writes.

The lengths of all nested messages are computed first, from the inside out. Then the messages of a group of rows are
written to a matrix, each at the end of its row, field by field for all rows together. Features are sorted by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_HEADER, _FOOTER = 12, 4  # of a TFRecord: length and its CRC; CRC of the data
_GROUP_ROWS = 8192  # so that the matrix fits in the processor's cache
_GROUP_BYTES = 32 << 20  # limit of the matrix, for long rows
# Protobuf tags: field number << 3 | 2 (length-delimited).
_FEATURES, _ENTRY, _KEY, _VALUE, _PACKED = b"\x0a", b"\x0a", b"\x0a", b"\x12", b"\x0a"
_FLOATS, _INTEGERS = b"\x12", b"\x1a"
#: Continuation bits of a varint, by its number of bytes (up to four).
_MORE = np.array([0, 0, 0x80, 0x8080, 0x808080], np.uint32)
_WORD = 8  #: bytes processed at a time; the width of the matrix is a multiple of it
_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8


@dataclass(frozen=True)
class Feature:
    """One feature of every row: float32 or int64 [rows, k], or flat values with `offsets` [rows + 1]."""

    name: str
    values: Array
    offsets: Array | None = None

    def rows(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the flat values of some rows, and the number of values per row."""
        if self.offsets is None:
            part = self.values[start:stop]
            return part.reshape(-1), np.full(len(part), part.shape[1], np.int64)
        bounds = self.offsets[start : stop + 1]
        return self.values[bounds[0] : bounds[-1]], np.diff(bounds)


def frames(features: Sequence[Feature], start: int, stop: int) -> Iterator[bytes]:
    """Yield the rows `start` to `stop` as framed records, several thousand at a time."""
    features = sorted(features, key=lambda feature: feature.name.encode())
    for first in range(start, stop, _GROUP_ROWS):
        yield from _group([_Field(feature, first, min(first + _GROUP_ROWS, stop)) for feature in features])


class _Field:
    """A feature of a group of rows, with the lengths of its nested messages."""

    def __init__(self, feature: Feature, start: int, stop: int) -> None:
        self.key = feature.name.encode()
        self.start, self.stop, self.feature = start, stop, feature
        self.values, self.counts = feature.rows(start, stop)
        self.floats = self.values.dtype == np.float32
        if self.floats:
            self.sizes = np.full(len(self.values), 4, np.int64)
        else:
            self.sizes = varint_sizes(self.values)
        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        bounds = np.concatenate([[0], np.cumsum(self.counts)])
        self.places = ends[:-1] - np.repeat(ends[bounds[:-1]], self.counts)  # of each value within its row
        self.packed = ends[bounds[1:]] - ends[bounds[:-1]]
        self.list = np.where(self.packed > 0, _delimited(self.packed), 0)
        self.value = _delimited(self.list)
        self.entry = 1 + varint_sizes(np.array([len(self.key)]))[0] + len(self.key) + _delimited(self.value)

    def part(self, start: int, stop: int) -> _Field:
        """Return the field for some of the rows."""
        return _Field(self.feature, self.start + start, self.start + stop)


def _delimited(lengths: Array) -> Array:
    """Return the length of a field with a one-byte tag, given the length of its content."""
    return 1 + varint_sizes(lengths) + lengths


def varint_sizes(values: Array) -> Array:
    """Return the number of bytes of each int64 as a varint: seven bits per byte, ten bytes for a negative one."""
    unsigned = values.astype(np.int64, copy=False).view(np.uint64)
    sizes = np.ones(unsigned.shape, np.int64)
    largest = int(unsigned.max(initial=0))
    for k in range(1, 10):
        if largest < 1 << 7 * k:
            break
        sizes += unsigned >= np.uint64(1 << 7 * k)
    return sizes


def _group(fields: list[_Field]) -> Iterator[bytes]:
    features = sum((_delimited(field.entry) for field in fields), np.zeros(len(fields[0].counts), np.int64))
    lengths = _delimited(features)
    rows, width = len(lengths), -(-int(lengths.max(initial=0) + _HEADER) // _WORD) * _WORD
    if rows > 1 and rows * (width + _FOOTER) > _GROUP_BYTES:
        middle = rows // 2
        yield from _group([field.part(0, middle) for field in fields])
        yield from _group([field.part(middle, rows) for field in fields])
        return
    message = _Messages(rows, width, lengths)
    message.put(_FEATURES)
    message.put_varints(features)
    for field in fields:
        _write(message, field)
    yield _framed(message.matrix, width, lengths)


def _write(message: _Messages, field: _Field) -> None:
    message.put(_ENTRY)
    message.put_varints(field.entry)
    message.put(_KEY + _varint(len(field.key)) + field.key + _VALUE)
    message.put_varints(field.value)
    message.put(_FLOATS if field.floats else _INTEGERS)
    message.put_varints(field.list)
    some = None if field.packed.all() else field.packed > 0
    message.put(_PACKED, some)
    message.put_varints(field.packed, some)
    if field.floats and field.feature.offsets is None:
        message.put_rows(field.values.astype("<f4", copy=False).reshape(len(message.at), -1))
        return
    at = np.repeat(message.at, field.counts) + field.places
    if field.floats:
        message.write(at, field.values.astype("<f4", copy=False))
    else:
        message.write_varints(at, field.values, field.sizes)
    message.at += field.packed


class _Messages:
    """The messages being written; `at` is the current position of each.

    Fields must be written in order, because writing a short number may write zeros after it, where the next field goes.
    """

    def __init__(self, rows: int, width: int, lengths: Array) -> None:
        self.matrix = np.zeros((rows, width + _FOOTER), np.uint8)
        self.flat = self.matrix.reshape(-1)
        self.at = np.arange(1, rows + 1) * (width + _FOOTER) - _FOOTER - lengths

    def write(self, places: Array, values: Array) -> None:
        """Write the bytes of each value to its place in the flat matrix."""
        size = values.dtype.itemsize
        kind = np.dtype((np.void, size))
        window: Array = np.ndarray((len(self.flat) - size + 1,), kind, self.flat.data, strides=(1,))
        window[places] = values.view(kind)

    def put(self, content: bytes, some: Array | None = None) -> None:
        """Write the same bytes to every row, or to some."""
        places = self.at if some is None else self.at[some]
        self.write(places, np.full(len(places), np.void(content)))
        self.at += len(content) if some is None else len(content) * some

    def put_rows(self, values: Array) -> None:
        """Write a row of values to every row."""
        size = values.dtype.itemsize * values.shape[1]
        if size:
            self.write(self.at, np.ascontiguousarray(values).view(np.dtype((np.void, size)))[:, 0])
        self.at += size

    def put_varints(self, values: Array, some: Array | None = None) -> None:
        """Write one number to every row, or to some."""
        sizes = varint_sizes(values)
        if some is None:
            self.write_varints(self.at, values, sizes)
            self.at += sizes
        else:
            self.write_varints(self.at[some], values[some], sizes[some])
            self.at += sizes * some

    def write_varints(self, places: Array, values: Array, sizes: Array) -> None:
        """Write numbers as varints to places of the flat matrix, which must be increasing."""
        left = values.astype(np.int64, copy=False).view(np.uint64)
        if int(sizes.max(initial=0)) <= _FOOTER:
            # Each number as one word. Extra bytes of short numbers are zero and are overwritten by the next number, or
            # by the footer, which is written last.
            word = left.astype(np.uint32)
            spread = word & np.uint32(0x7F)
            for k in range(1, _FOOTER):
                spread |= (word << np.uint32(k)) & np.uint32(0x7F << 8 * k)
            self.write(places, (spread | _MORE[sizes]).astype("<u4", copy=False))
            return
        while len(left):
            more = sizes > 1
            self.flat[places] = (left & np.uint64(0x7F)).astype(np.uint8) | (more.view(np.uint8) << 7)
            if not more.all():
                places, left, sizes = places[more], left[more], sizes[more]
            places, left, sizes = places + 1, left >> np.uint64(7), sizes - 1


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


def _framed(rows: Array, width: int, lengths: Array) -> bytes:
    """Return the records: each message with the TFRecord frame (length, its CRC, data, CRC of the data)."""
    rows[:, width:] = _masked_crc32c(rows[:, :width], lengths).astype("<u4")[:, None].view(np.uint8)
    words = lengths.astype("<u8")[:, None].view(np.uint8)
    header = np.empty((len(rows), _HEADER), np.uint8)
    header[:, :8] = words
    header[:, 8:] = _masked_crc32c(words, np.full(len(rows), 8)).astype("<u4")[:, None].view(np.uint8)
    ends = np.arange(1, len(rows) + 1) * rows.shape[1]
    starts = ends - _FOOTER - lengths - _HEADER
    flat = rows.reshape(-1)
    flat[starts[:, None] + np.arange(_HEADER)] = header
    # Joining slices is several times faster than a mask of bytes, and slices of bytes are faster than views.
    view = flat.tobytes()
    return b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


@lru_cache(maxsize=1)
def _bytes() -> Array:
    """Return [8, 256] uint32: the CRC, from 0, of byte `b` followed by `k` zero bytes."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(_WORD - 1):
        tables.append((tables[-1] >> np.uint32(8)) ^ first[tables[-1] & 0xFF])
    return np.stack(tables)


@lru_cache(maxsize=1)
def _pairs() -> list[Array]:
    """Return four tables [65536] uint32, one for each two bytes of a word in memory order."""
    single, pair = _bytes(), np.arange(1 << 16)
    low, high = pair & 0xFF, pair >> 8
    return [single[_WORD - 1 - 2 * k][low] ^ single[_WORD - 2 - 2 * k][high] for k in range(_WORD // 2)]


@lru_cache(maxsize=8)
def _starts(size: int) -> Array:
    """Return [size] uint32: the start value after 0, 1, 2, … zero bytes."""
    table = [int(x) for x in _bytes()[0]]
    value, values = 0xFFFFFFFF, []
    for _ in range(size):
        values.append(value)
        value = (value >> 8) ^ table[value & 0xFF]
    return np.array(values, dtype=np.uint32)


def _masked_crc32c(rows: Array, lengths: Array) -> Array:
    """Return the masked CRC-32C (Castagnoli) of each record, [n] uint32.

    A CRC is linear: zeros before a record do not change it, and the contribution of the start value depends only on the
    record's length. So the CRCs of records that end in the same column of a matrix are computed column by column.

    Args:
        rows: uint8 [n, w], each row contiguous and w a multiple of `_WORD`; a record is at the end of its row, after
            zeros.
        lengths: [n], the length of each record.
    """
    lanes = np.ascontiguousarray(rows.view("<u2").T)
    first, second, third, fourth = _pairs()
    total = np.zeros(len(rows), np.uint32)
    for k in range(0, len(lanes), 4):
        a, b = lanes[k] ^ (total & np.uint32(0xFFFF)), lanes[k + 1] ^ (total >> np.uint32(16))
        total = first.take(a) ^ second.take(b) ^ third.take(lanes[k + 2]) ^ fourth.take(lanes[k + 3])
    # Powers of two, so that blocks of different widths share a cached table.
    total ^= _starts(1 << rows.shape[1].bit_length())[lengths] ^ np.uint32(0xFFFFFFFF)
    masked: Array = ((total >> np.uint32(15)) | (total << np.uint32(17))) + np.uint32(_MASK_DELTA)
    return masked
