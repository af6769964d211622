"""Parses a block of rows to arrays, one per column of the schema; invalid rows are skipped or raise an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migrate.dataset.arrow import pa
from migrate.dataset.blocks import Block, Rows, read_block
from migrate.dataset.feature_map import FeatureMap
from migrate.dataset.parse import Array, Converted, Integers, Texts, integers, numbers, several, texts, timestamps
from migrate.dataset.spec import DataSpec, LabelColumn, SparseColumn
from migrate.errors import MigrateError


@dataclass(frozen=True)
class Samples:
    """The valid rows of a block."""

    rows: int
    labels: Array  #: [rows, labels], int64 or float32
    dense: dict[str, Converted]
    sparse: dict[str, Texts | Integers | Converted]  #: `Converted` for buckets
    timestamp: Array | None  #: int64 [rows]
    skipped: int = 0
    first_skipped: str = ""  #: the problem of the first skipped row


@dataclass(frozen=True)
class _Wrong:
    """Rows in which the value of a column is invalid."""

    column: str
    bad: Array  #: [rows] bool
    what: str


def read_samples(block: Block, spec: DataSpec, known: FeatureMap | None, *, skip: bool) -> Samples:
    """Read a block; `known` is a given feature map, whose columns may reject unseen values.

    Raises:
        MigrateError: the file cannot be read or, without `skip`, a row is invalid; the message names the first one.
    """
    rows = read_block(block, spec)
    samples, wrong = _parsed(rows, spec, known)
    if not rows.malformed and not wrong:
        return samples
    first = _first(rows, wrong)
    if not skip:
        raise MigrateError(f"{first}; correct the file, or skip such rows with --bad-rows skip")
    bad = np.zeros(samples.rows, bool)
    for line in wrong:
        bad |= line.bad
    kept = Rows(rows.block, rows.table.filter(pa.array(~bad)))
    samples, _ = _parsed(kept, spec, known)
    skipped = int(bad.sum()) + len(rows.malformed)
    return Samples(**(vars(samples) | {"skipped": skipped, "first_skipped": first}))


def _first(rows: Rows, wrong: list[_Wrong]) -> str:
    """Return the problem of the first invalid line."""
    best, row = None, None
    for problem in wrong:
        at = int(np.argmax(problem.bad))
        if row is None or at < row:
            best, row = problem, at
    line = rows.number(row) if row is not None else None
    if rows.malformed and (line is None or rows.malformed[0][0] < line):
        number, wanted, count = rows.malformed[0]
        return f"{rows.place_of_line(number)}: has {count} value{'s' * (count != 1)}, but the file has {wanted} columns"
    assert best is not None
    assert row is not None
    value = rows.table.column(best.column)[row].as_py()
    shown = "nothing" if value is None else f"`{str(value)[:60]}`"
    return f"{rows.place(row)}: column `{best.column}` {best.what}, got {shown}"


def _parsed(rows: Rows, spec: DataSpec, known: FeatureMap | None) -> tuple[Samples, list[_Wrong]]:
    wrong: list[_Wrong] = []
    table, missing = rows.table, spec.missing

    def check(column: str, bad: Array, what: str) -> None:
        if bad.any():
            wrong.append(_Wrong(column, bad, what))

    labels = []
    for label in spec.labels:
        values, bad, what = _label(table.column(label.column), label, spec)
        check(label.column, bad, what)
        labels.append(values)
    dense = {}
    for column in spec.dense:
        dense[column.name] = converted = numbers(table.column(column.column), missing)
        _check_number(check, column.column, converted, column.missing)
    sparse: dict[str, Texts | Integers | Converted] = {}
    for sparse_column in spec.sparse:
        sparse[sparse_column.name] = _sparse(table.column(sparse_column.column), sparse_column, spec, known, check)
    timestamp = None
    if spec.timestamp:
        time = timestamps(table.column(spec.timestamp.column), spec.timestamp, missing)
        check(spec.timestamp.column, time.bad | time.missing, f"must be a time in the format {spec.timestamp.format}")
        timestamp = time.values
    return Samples(table.num_rows, np.stack(labels, axis=1), dense, sparse, timestamp), wrong


def _check_number(check: Any, column: str, converted: Converted, fill: float | None) -> None:
    check(column, converted.bad, "must be a finite number")
    if fill is None:
        check(column, converted.missing, "must be a number (or set `missing` in the schema, for gaps)")


def _label(column: Any, label: LabelColumn, spec: DataSpec) -> tuple[Array, Array, str]:
    kind = np.float32 if spec.label_type == "float" else np.int64
    if label.positive:
        label_texts = texts(column, spec.missing)
        known = np.array(label_texts.texts.to_pylist())
        allowed = [label.positive, label.negative] if label.negative else known[known != ""].tolist()
        what = f"must be {' or '.join(f'`{text}`' for text in allowed)}" if label.negative else "must have a value"
        return (
            (known == label.positive).astype(kind)[label_texts.codes],
            ~np.isin(known, allowed)[label_texts.codes],
            what,
        )
    number = numbers(column, spec.missing)
    bad = number.bad | number.missing
    if spec.label_type == "int":
        bad |= number.values != np.rint(number.values)
        bad |= np.abs(number.values) >= 2**53
        values = np.where(bad, 0, number.values)
        return (
            values.astype(kind),
            bad,
            "must be an integer (or set `label_type: float`)",
        )
    return number.values.astype(kind), bad, "must be a finite number"


def _sparse(
    column: Any, spec: SparseColumn, data: DataSpec, known: FeatureMap | None, check: Any
) -> Texts | Integers | Converted:
    if spec.ids == "buckets":
        number = numbers(column, data.missing)
        _check_number(check, spec.column, number, spec.missing)
        return number
    if spec.multiple:
        values = several(column, spec, data.missing)
    elif spec.ids == "raw":
        integer = integers(column, data.missing)
        values = Integers(integer.values, integer.bad | integer.missing)
    else:
        values = texts(column, data.missing)
    if isinstance(values, Integers):
        check(spec.column, values.bad, "must be a 64-bit integer")
    elif known is not None and (known.sparse[spec.name].ids(values.texts) < 0).any():
        bad = (known.sparse[spec.name].ids(values.texts) < 0)[values.codes]
        if values.offsets is not None:
            row = np.repeat(np.arange(len(values.offsets) - 1), np.diff(values.offsets))
            bad = np.bincount(row[bad], minlength=len(values.offsets) - 1) > 0
        check(spec.column, bad, "must be a value of the feature map (or build the map with `unseen: reserve`)")
    return values
