"""`inputs` of a schema: the items of a batch, for a Paddle trainer whose reader cannot be executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from migrate.schema_file import MAX_COLUMNS, Section, kind, listed

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
MAX_DEPTH, MAX_ITEMS = 8, 10_000  #: lists and dicts in one another, and tensors
_EXAMPLE = "`{shape: [null, 1], dtype: int64}` for each item of a batch"


@dataclass(frozen=True)
class BatchItem:
    """One tensor of the batch that a Paddle trainer gets."""

    shape: tuple[int | None, ...]  #: None is a size that varies, such as that of the batch
    dtype: str  #: one of `DTYPES`
    start: float = 0  #: the least number that `migrate verify` draws
    below: float | None = None  #: drawn numbers are less; None leaves it to `migrate verify`


@dataclass(frozen=True)
class BatchDict(Mapping[str, "BatchItem | Batch"]):
    """Items by the names that the reader gives them."""

    pairs: tuple[tuple[str, BatchItem | Batch], ...]

    def __getitem__(self, name: str) -> BatchItem | Batch:
        """Return the item of a name; raises KeyError if there is none."""
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names in order."""
        return iter([name for name, _ in self.pairs])

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.pairs)


Batch: TypeAlias = "tuple[BatchItem | Batch, ...] | BatchDict"  #: items may be lists or dicts of items


def read_inputs(top: Section) -> Batch:
    """Return the items of a batch that a schema gives; none if it has no `inputs`."""
    if "inputs" not in top.values:
        return ()
    inputs = top.values["inputs"]
    if not isinstance(inputs, list | dict):
        raise top.fail("inputs", f"is {kind(inputs)}; give a list of items, or a mapping of names to items")
    left = iter(range(MAX_ITEMS))
    return _dict(top, "inputs", inputs, left) if isinstance(inputs, dict) else _list(top, "inputs", inputs, left)


def _list(top: Section, where: str, items: list[object], left: Iterator[int]) -> Batch:
    _check(top, where, items)
    return tuple(_item(top, f"{where}[{i}]", item, left) for i, item in enumerate(items))


def _dict(top: Section, where: str, items: dict[object, object], left: Iterator[int]) -> Batch:
    _check(top, where, items)
    entries = []
    for name, item in items.items():
        if not isinstance(name, str):
            raise top.fail(where, f"has the name {kind(name)}; give names as text, in quotes")
        if not isinstance(item, list | dict):
            raise top.fail(f"{where}.{name}", f"is {kind(item)}; give {_EXAMPLE}")
        entries.append((name, _item(top, f"{where}.{name}", item, left)))
    return BatchDict(tuple(entries))


def _check(top: Section, where: str, items: list[object] | dict[object, object]) -> None:
    if where.count("[") + where.count(".") >= MAX_DEPTH:
        raise top.fail(where, f"is in {MAX_DEPTH} lists; give fewer lists in one another")
    if not items and where == "inputs":
        raise top.fail(where, f"is empty; give {_EXAMPLE}")


def _item(top: Section, where: str, item: object, left: Iterator[int]) -> BatchItem | Batch:
    if isinstance(item, list):
        return _list(top, where, item, left)
    if isinstance(item, dict) and item and not any(_tells(item, key) for key in ("shape", "dtype")):
        return _dict(top, where, item, left)
    return _tensor(top, where, item, left)


def _tells(item: dict[object, object], key: str) -> bool:
    """Return whether a key is that of a tensor's description, not the name of an item."""
    value = item.get(key, {})
    inner = value if isinstance(value, list) else ()
    return not isinstance(value, dict) and not any(isinstance(one, list | dict) for one in inner)


def _tensor(top: Section, where: str, item: object, left: Iterator[int]) -> BatchItem:
    if next(left, None) is None:  # YAML's aliases make lists that are much longer than their text
        raise top.fail("inputs", f"has more than {MAX_ITEMS} items; give fewer")
    section = Section(top.path, where, item, ("shape", "dtype", "from", "below"))
    shape = section.items("shape", "a list of sizes, with null for one that varies")
    for size in shape:
        if size is not None and (type(size) is not int or not 0 < size <= MAX_COLUMNS):
            raise section.fail("shape", f"has the size {kind(size)}; give a number of at least 1, or null if it varies")
    sizes = tuple(size if isinstance(size, int) else None for size in shape)
    return BatchItem(sizes, _dtype(section), *_drawn(section))


def _drawn(section: Section) -> tuple[float, float | None]:
    """Return the numbers between which an item is drawn, from the first to below the second."""
    bounds = [section.number(key, 0) if key in section.values else None for key in ("from", "below")]
    start, below = bounds[0] or 0, bounds[1]
    if bounds[0] is not None and below is None:
        raise section.fail("below", "is missing; give a number above `from`")
    if below is not None and not start < below:
        raise section.fail("below", f"is {below:g}, but `from` is {start:g}; give a larger number")
    return start, below


def _dtype(section: Section) -> str:
    if "dtype" not in section.values:
        raise section.fail("dtype", f"is missing; use one of {listed(DTYPES)}")
    return section.choice("dtype", DTYPES, "")
