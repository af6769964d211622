"""The feature schema: dense columns and one-hot groups of a model's input, its labels and tasks.

`load_schema` accepts the keys of the dataclasses below; anything else is a `MigrateError` that names the file, the key
and the remedy. The section `data`, on the origin of the columns, is read by `migrate.dataset.spec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

from migrate.schema_batch import Batch, read_inputs
from migrate.schema_file import MAX_COLUMNS, Section, kind, listed, load_yaml, plain_name, read_text

VERSION = 1
LOSSES = ("log_loss", "cross_entropy", "square_error")


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
        alternative = ", or the schema.yaml that `migrate dataset build` wrote" if "data" in top.values else ""
        raise top.fail("input", f"is missing; give a mapping of `name`, `size`, `dense`, `sparse`{alternative}")
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
