"""The section `data` of a feature schema: how columns of files become features of samples.

`docs/dataset.md` describes the keys, which are validated when the schema is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from migrate.schema import read_labels, top_section
from migrate.schema_file import Section, kind, read_text

FORMATS = ("csv", "tsv", "parquet")
NORMALIZATIONS = ("none", "zscore", "minmax", "log")
IDS = ("map", "hash", "buckets", "raw")
ORDERS = ("count", "value")
UNSEEN = ("reserve", "error")
#: Names of features that consist of several columns; a multi-hot column is a feature with its own name.
GROUPED = ("label", "sparse_feature", "dense_feature", "timestamp")
#: Keys of an entry besides its name.
_KEYS = {
    "labels": ("positive", "negative"),
    "dense": ("normalize", "missing"),
    "sparse": (
        *("ids", "size", "separator", "max_values", "min_count", "max_ids", "order", "unseen"),
        *("buckets", "missing"),
    ),
}
#: Key -> the values of `ids` for which it is valid.
_ONLY = {
    "size": ("hash",),
    "buckets": ("buckets",),
    "missing": ("buckets",),
    **dict.fromkeys(("min_count", "max_ids", "order", "unseen"), ("map",)),
}
#: Folder of the bundled schemas.
BUNDLED = Path(__file__).parent / "schemas"

T = TypeVar("T")


@dataclass(frozen=True)
class DenseColumn:
    """One column of `dense_feature`."""

    name: str
    column: str
    normalize: str = "none"  #: one of `NORMALIZATIONS`
    missing: float | None = (
        None  #: replacement of missing values, before normalisation; None: missing values are invalid
    )


@dataclass(frozen=True)
class SparseColumn:
    """One column of `sparse_feature` or, with a `separator`, a feature with any number of ids."""

    name: str
    column: str
    ids: str = "map"  #: one of `IDS`
    size: int = 0  #: number of ids for `hash`; 0 for others
    separator: str = ""  #: between the values of a multi-hot column; any text for lists in Parquet
    max_values: int = 0  #: maximal number of values per row; 0: no limit
    min_count: int = 1  #: minimal number of occurrences of a value with an id of its own
    max_ids: int = 0  #: maximal number of values with ids, the most frequent ones; 0: no limit
    order: str = "count"  #: one of `ORDERS`
    unseen: str = "reserve"  #: one of `UNSEEN`
    buckets: tuple[float, ...] = ()
    missing: float | None = None  #: for `buckets`, as `DenseColumn.missing`

    @property
    def multiple(self) -> bool:
        """Whether a row can have several values."""
        return bool(self.separator)


@dataclass(frozen=True)
class LabelColumn:
    """One label: the number in the column, or 1 for the text `positive`."""

    name: str
    column: str
    positive: str = ""
    negative: str = ""  #: with `positive`: the only other valid text; empty: any other text is 0


@dataclass(frozen=True)
class TimestampColumn:
    """The time of a sample, in whole seconds since 1970 (UTC)."""

    column: str
    format: str  #: `unix`, `unix_ms`, `iso`, or a format of `strptime`


@dataclass(frozen=True)
class DataSpec:
    """A validated section `data`, with the labels of the schema."""

    path: str
    labels: tuple[LabelColumn, ...]
    dense: tuple[DenseColumn, ...]
    sparse: tuple[SparseColumn, ...]
    timestamp: TimestampColumn | None
    format: str  #: one of `FORMATS`; empty: by the file name
    delimiter: str  #: empty: by the format
    quote: str
    columns: tuple[str, ...]  #: names of columns, for files without header; empty: in the first line
    missing: tuple[str, ...]  #: texts that mean a missing value, after stripping blanks
    label_type: str  #: `int` or `float`
    model: dict[object, object] = field(
        compare=False
    )  #: other sections of the schema, for the schema that is written with the data

    @property
    def single(self) -> tuple[SparseColumn, ...]:
        """The columns of `sparse_feature`, in order."""
        return tuple(column for column in self.sparse if not column.multiple)

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns that are read, without duplicates."""
        time = [self.timestamp.column] if self.timestamp else []
        dense, sparse = ([one.column for one in self.dense], [one.column for one in self.sparse])
        return tuple(dict.fromkeys([*(label.column for label in self.labels), *dense, *sparse, *time]))


def load_spec(path: str) -> DataSpec:
    """Read the section `data` of a schema file, or of a bundled schema (`criteo`, `census`) if there is no such file.

    Raises:
        MigrateError: the file cannot be read or a key is invalid; the message names file, key and remedy.
    """
    bundled = BUNDLED / f"{path}.yaml"
    if not Path(path).exists() and "/" not in path and bundled.is_file():
        return parse_spec(bundled.read_text(encoding="utf-8"), path)
    return parse_spec(read_text(path), path)


def parse_spec(text: str, path: str) -> DataSpec:
    """Validate the text of a schema; `path` is for messages. Raises `MigrateError` as `load_spec`."""
    top = top_section(text, path)
    labels = read_labels(top)
    if "data" not in top.values:
        raise top.fail("data", "is missing; describe the columns there (see docs/dataset.md)")
    keys = ("format", "delimiter", "quote", "columns", "missing", "label_type", "labels", "dense", "sparse")
    data = Section(path, "data", top.values["data"], (*keys, "timestamp"))
    dense = tuple(_entries(data, "dense", _dense))
    sparse = tuple(_entries(data, "sparse", _sparse))
    if not dense and not sparse:
        raise data.fail("sparse", "and `data.dense` are both empty; add at least one column")
    data.unique("sparse", [column.name for column in sparse])
    data.unique("sparse", [*GROUPED, *(column.name for column in sparse if column.multiple)])
    data.unique("dense", [column.name for column in dense])
    columns = data.names("columns", [])
    data.unique("columns", columns)
    missing = tuple(_text(data, "missing", item) for item in data.items("missing", "a list of strings", [""]))
    spec = DataSpec(
        path=path,
        labels=_labels(data, labels),
        dense=dense,
        sparse=sparse,
        timestamp=_timestamp(data),
        format=data.choice("format", ("", *FORMATS), ""),
        delimiter=_character(data, "delimiter", ""),
        quote=_character(data, "quote", '"'),
        columns=columns,
        missing=missing,
        label_type=data.choice("label_type", ("int", "float"), "int"),
        model={key: value for key, value in top.values.items() if key in ("model", "tasks")},
    )
    unknown = [column for column in spec.needed if columns and column not in columns]
    if unknown:
        raise data.fail("columns", f"does not have `{unknown[0]}`, which another key uses; correct one of the two")
    return spec


def _text(section: Section, name: str, item: object) -> str:
    if not isinstance(item, str):
        raise section.fail(name, f"has the item {kind(item)}; put strings in quotes")
    return item.strip()


def _character(section: Section, name: str, default: str) -> str:
    value = section.string(name, default)
    if len(value) > 1 or not value.isascii() or (value and value in "\r\n"):
        raise section.fail(name, f"is {kind(value)}; give one ASCII character")
    return value


def _entries(data: Section, key: str, read: Callable[[Section, str, str], T]) -> Iterator[T]:
    """Yield the columns of a list; an entry with `names` defines several columns."""
    keys = ("name", "names", "column", *_KEYS[key])
    for i, item in enumerate(data.items(key, "a list of columns", [])):
        entry = Section(data.path, f"data.{key}[{i}]", item, keys)
        if "names" in entry.values:
            for other in ("name", "column"):
                if other in entry.values:
                    raise entry.fail(other, "cannot be combined with `names`; give one of the two")
            yield from (read(entry, name, name) for name in entry.names("names"))
        else:
            name = entry.text("name")
            yield read(entry, name, entry.text("column", name))


def _missing(entry: Section) -> float | None:
    return entry.number("missing", 0.0) if "missing" in entry.values else None


def _dense(entry: Section, name: str, column: str) -> DenseColumn:
    return DenseColumn(name, column, entry.choice("normalize", NORMALIZATIONS, "none"), _missing(entry))


def _sparse(entry: Section, name: str, column: str) -> SparseColumn:
    ids = entry.choice("ids", IDS, "map")
    for key, kinds in _ONLY.items():
        if key in entry.values and ids not in kinds:
            raise entry.fail(key, f"is not valid with `ids: {ids}`; remove it")
    sparse = SparseColumn(
        name=name,
        column=column,
        ids=ids,
        size=entry.integer("size", 1) if ids == "hash" else 0,
        separator=entry.string("separator", ""),
        max_values=entry.integer("max_values", 1) if "max_values" in entry.values else 0,
        min_count=entry.integer("min_count", 1, 1),
        max_ids=entry.integer("max_ids", 1) if "max_ids" in entry.values else 0,
        order=entry.choice("order", ORDERS, "count"),
        unseen=entry.choice("unseen", UNSEEN, "reserve"),
        buckets=_buckets(entry) if ids == "buckets" else (),
        missing=_missing(entry),
    )
    if sparse.max_values and not sparse.multiple:
        raise entry.fail("max_values", "is valid only with a `separator`; add one or remove it")
    if sparse.multiple and ids == "buckets":
        raise entry.fail("separator", "is not valid with `ids: buckets`; remove it")
    if sparse.unseen == "error" and (sparse.min_count > 1 or sparse.max_ids):
        raise entry.fail("unseen", "is `error`, but `min_count` or `max_ids` leave values without an id; use `reserve`")
    return sparse


def _buckets(entry: Section) -> tuple[float, ...]:
    bounds = entry.items("buckets", "a list of increasing numbers")
    numbers = [float(bound) for bound in bounds if isinstance(bound, int | float) and not isinstance(bound, bool)]
    if len(numbers) != len(bounds) or not numbers or any(not a < b for a, b in pairwise(numbers)):
        raise entry.fail("buckets", f"is {kind(bounds)}; give at least one number, in increasing order")
    return tuple(numbers)


def _labels(data: Section, names: tuple[str, ...]) -> tuple[LabelColumn, ...]:
    by_name = {label.name: label for label in _entries(data, "labels", _label)}
    unknown = [name for name in by_name if name not in names]
    if unknown:
        raise data.fail("labels", f"describes `{unknown[0]}`, which is not in the schema's `labels`; add it there")
    return tuple(by_name.get(name, LabelColumn(name, name)) for name in names)


def _label(entry: Section, name: str, column: str) -> LabelColumn:
    label = LabelColumn(name, column, entry.string("positive", ""), entry.string("negative", ""))
    if label.negative and not label.positive:
        raise entry.fail("negative", "is valid only with `positive`; give both")
    return label


def _timestamp(data: Section) -> TimestampColumn | None:
    if "timestamp" not in data.values:
        return None
    section = Section(data.path, "data.timestamp", data.values["timestamp"], ("column", "format"))
    layout = section.string("format", "unix")
    if layout not in ("unix", "unix_ms", "iso") and ("%" not in layout or "%z" in layout.lower()):
        raise section.fail("format", f"is {kind(layout)}; use `unix`, `unix_ms`, `iso` or e.g. `%Y-%m-%d %H:%M:%S`")
    return TimestampColumn(section.text("column"), layout)
