"""The feature schema: dense columns and one-hot groups of a model's input, its labels and tasks.

`load_schema` accepts the keys of the dataclasses below; anything else is a `MigrateError` that names the file, the key
and the remedy. The section `data`, on the origin of the columns, is read by `migrate.dataset.spec`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeAlias

from migrate.schema_file import MAX_COLUMNS, Section, kind, listed, load_yaml, plain_name, read_text

VERSION = 1
LOSSES = ("log_loss", "cross_entropy", "square_error")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
MAX_DEPTH, MAX_ITEMS = 8, 10_000  #: of `inputs`: lists in one another, and tensors


@dataclass(frozen=True)
class SparseFeature:
    """A one-hot group: category `k` is input column `start + k`."""

    name: str
    start: int
    size: int

    @property
    def stop(self) -> int:
        """The first column after the group."""
        return self.start + self.size


@dataclass(frozen=True)
class InputSpec:
    """The model's raw input, a float tensor [batch, size]."""

    name: str  #: the argument of `forward`; empty if not given
    size: int
    dense: tuple[tuple[int, int], ...]  #: half-open ranges of dense columns
    sparse: tuple[SparseFeature, ...]

    @property
    def dense_size(self) -> int:
        """The number of dense columns."""
        return sum(stop - start for start, stop in self.dense)

    @property
    def rows(self) -> int:
        """The number of one-hot columns, which is the number of rows of the embedding table."""
        return sum(feature.size for feature in self.sparse)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The first key of each sparse feature: key = offset + id, so that features do not share keys."""
        return tuple(accumulate((feature.size for feature in self.sparse[:-1]), initial=0)) if self.sparse else ()

    @property
    def dense_columns(self) -> tuple[int, ...]:
        """The dense columns of the input, in the order of `dense_feature`."""
        return tuple(column for start, stop in self.dense for column in range(start, stop))

    @property
    def key_columns(self) -> tuple[int, ...]:
        """The input column of each key, in the order of keys."""
        return tuple(column for feature in self.sparse for column in range(feature.start, feature.stop))


@dataclass(frozen=True)
class Task:
    """One output of the model, the label that it predicts, and its part of the loss."""

    name: str
    output: int  #: index of the output that `forward` returns
    label: str
    loss: str = "log_loss"  #: one of `LOSSES`
    positive: int = 1  #: column of the output with the positive class
    epsilon: float = 1e-4
    weight: float = 1.0


@dataclass(frozen=True)
class BatchItem:
    """One tensor of the batch that a Paddle trainer gets."""

    shape: tuple[int | None, ...]  #: None is a size that varies, such as that of the batch
    dtype: str  #: one of `DTYPES`
    start: float = 0  #: the least number that `migrate verify` draws
    below: float | None = None  #: drawn numbers are less; None leaves it to `migrate verify`


Batch: TypeAlias = "tuple[BatchItem | Batch, ...]"  #: items may be lists of items


@dataclass(frozen=True)
class ModelSpec:
    """The model class and its constructor arguments; empty values are taken from files beside the source."""

    name: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Schema:
    """A validated feature schema."""

    path: str
    model: ModelSpec
    input: InputSpec
    labels: tuple[str, ...]
    tasks: tuple[Task, ...] = ()
    inputs: Batch = ()  #: the items of a batch, if they are given


def load_schema(path: str | Path) -> Schema:
    """Read and validate a schema file.

    Raises:
        MigrateError: the file cannot be read, is not YAML, or a key is invalid; the message names file, key and remedy.
    """
    return parse_schema(read_text(path), str(path))


def parse_schema(text: str, path: str) -> Schema:
    """Validate the text of a schema; `path` is for messages. Raises `MigrateError` as `load_schema`."""
    top = top_section(text, path)
    if "inputs" in top.values and "input" not in top.values:  # a trainer tells the rest
        return Schema(path, _model(top), InputSpec("", 0, (), ()), (), (), read_inputs(top))
    labels = read_labels(top)
    return Schema(path, _model(top), _input(top), labels, _tasks(top, labels), read_inputs(top))


def top_section(text: str, path: str) -> Section:
    """Return the top level of a schema, after checking its version. Raises `MigrateError` as `load_schema`."""
    top = Section(path, "", load_yaml(text, path), ("version", "model", "data", "input", "inputs", "labels", "tasks"))
    version = top.integer("version", 1)
    if version != VERSION:
        raise top.fail("version", f"is {version}, but this program reads version {VERSION}; write `version: {VERSION}`")
    return top


def _model(top: Section) -> ModelSpec:
    section = Section(top.path, "model", top.values.get("model", {}), ("class", "arguments"))
    arguments = section.values.get("arguments", {})
    if not isinstance(arguments, dict) or not all(isinstance(key, str) for key in arguments):
        raise section.fail("arguments", f"is {kind(arguments)}; give a mapping of constructor argument to value")
    return ModelSpec(section.text("class", ""), {str(key): value for key, value in arguments.items()})


def _input(top: Section) -> InputSpec:
    if "input" not in top.values:
        made = ", or the schema.yaml that `migrate dataset build` wrote" if "data" in top.values else ""
        raise top.fail("input", f"is missing; give a mapping of `name`, `size`, `dense`, `sparse`{made}")
    section = Section(top.path, "input", top.values["input"], ("name", "size", "dense", "sparse"))
    dense = tuple(_range(section, i, item) for i, item in enumerate(section.items("dense", "a list of ranges", [])))
    sparse = tuple(_feature(section, i, item) for i, item in enumerate(section.items("sparse", "a list of groups", [])))
    spec = InputSpec(section.text("name", ""), section.integer("size", 1), dense, sparse)
    section.unique("sparse", [feature.name for feature in sparse])
    _check_columns(section, spec)
    return spec


def _range(section: Section, index: int, item: object) -> tuple[int, int]:
    if isinstance(item, list) and len(item) == 2 and all(type(bound) is int for bound in item):
        start, stop = item
        if 0 <= start < stop <= MAX_COLUMNS:
            return start, stop
    raise section.fail(f"dense[{index}]", f"is {kind(item)}; give [first column, column after the last]")


def _feature(section: Section, index: int, item: object) -> SparseFeature:
    entry = Section(section.path, f"input.sparse[{index}]", item, ("name", "start", "size"))
    return SparseFeature(entry.text("name"), entry.integer("start", 0), entry.integer("size", 1))


def _check_columns(section: Section, spec: InputSpec) -> None:
    """Raise MigrateError unless each column belongs to exactly one range or group."""
    pieces = [(start, stop, f"dense[{i}]") for i, (start, stop) in enumerate(spec.dense)]
    pieces += [(feature.start, feature.stop, f"sparse `{feature.name}`") for feature in spec.sparse]
    pieces.sort()
    for start, stop, name in pieces:
        if stop > spec.size:
            raise section.fail(
                "size", f"is {spec.size}, but {name} covers columns {start} to {stop - 1}; correct one of the two"
            )
    for (_, stop, name), (start, _, other) in pairwise(pieces):
        if start < stop:
            raise section.fail(
                "sparse", f"assigns column {start} to both {name} and {other}; correct `start` or `size`"
            )
    ends = [0, *(stop for _, stop, _ in pieces)]
    for end, (start, _, name) in zip(ends, [*pieces, (spec.size, spec.size, "the end")], strict=True):
        if start > end:
            raise section.fail("sparse", f"assigns columns {end} to {start - 1} (before {name}) to no group; add one")


def read_labels(top: Section) -> tuple[str, ...]:
    """Return the names of the labels, at least one."""
    labels = top.items("labels", "a list of label names")
    if not labels or not all(isinstance(label, str) and label and plain_name(label) for label in labels):
        raise top.fail("labels", f"is {kind(labels)}; give a list of at least one plain label name")
    names = [str(label) for label in labels]
    top.unique("labels", names)
    return tuple(names)


def parse_inputs(text: str, path: str) -> Batch:
    """Return only `inputs` of the text of a schema, which needs no other section. Raises `MigrateError`."""
    return read_inputs(top_section(text, path))


def read_inputs(top: Section) -> Batch:
    """Return the items of a batch that a schema gives; none if it has no `inputs`."""
    if "inputs" not in top.values:
        return ()
    found = _batch(top, "inputs", top.items("inputs", "a list of items"), iter(range(MAX_ITEMS)))
    if not found:
        raise top.fail("inputs", "is empty; give `{shape: [null, 1], dtype: int64}` for each item of a batch")
    return found


def _batch(top: Section, where: str, items: list[object], left: Iterator[int]) -> Batch:
    if where.count("[") >= MAX_DEPTH:
        raise top.fail(where, f"is in {MAX_DEPTH} lists; give fewer lists in one another")
    found: list[BatchItem | Batch] = []
    for i, item in enumerate(items):
        place = f"{where}[{i}]"
        found.append(_batch(top, place, item, left) if isinstance(item, list) else _batch_item(top, place, item, left))
    return tuple(found)


def _batch_item(top: Section, where: str, item: object, left: Iterator[int]) -> BatchItem:
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


def _tasks(top: Section, labels: tuple[str, ...]) -> tuple[Task, ...]:
    keys = ("name", "output", "label", "loss", "positive", "epsilon", "weight")
    sections = [
        Section(top.path, f"tasks[{i}]", item, keys) for i, item in enumerate(top.items("tasks", "a list of tasks", []))
    ]
    tasks = tuple(_task(section, index, labels) for index, section in enumerate(sections))
    top.unique("tasks", [task.name for task in tasks])
    return tasks


def _task(section: Section, index: int, labels: tuple[str, ...]) -> Task:
    label, loss = section.text("label"), section.text("loss", "log_loss")
    if label not in labels:
        raise section.fail("label", f"is `{label}`, which is not in `labels`; use one of {listed(labels)}")
    if loss not in LOSSES:
        raise section.fail("loss", f"is `{loss}`; use one of {listed(LOSSES)}")
    epsilon = section.number("epsilon", 1e-4)
    if epsilon < 0:
        raise section.fail("epsilon", f"is {epsilon}; give a number of at least 0")
    return Task(
        name=section.text("name", label),
        output=section.integer("output", 0, index),
        label=label,
        loss=loss,
        positive=section.integer("positive", 0, 1),
        epsilon=epsilon,
        weight=section.number("weight", 1.0),
    )
