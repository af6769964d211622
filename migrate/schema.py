"""The feature schema: which input columns are numbers, which are one-hot groups, what the model is trained on.

`load_schema` accepts exactly the keys described in the dataclasses below; anything else is a `MigrateError` that names
the file, the key and the remedy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

import yaml

from migrate.errors import MigrateError

VERSION = 1
LOSSES = ("log_loss", "cross_entropy", "square_error")
MAX_COLUMNS = 2**31 - 1  #: the sizes of both frameworks' matrices are 32-bit numbers


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

    name: str  #: of the argument of `forward`; empty when the schema does not say
    size: int
    dense: tuple[tuple[int, int], ...]  #: half-open column ranges that hold numbers
    sparse: tuple[SparseFeature, ...]

    @property
    def dense_size(self) -> int:
        """How many columns hold numbers."""
        return sum(stop - start for start, stop in self.dense)

    @property
    def rows(self) -> int:
        """How many one-hot columns there are: the rows of the embedding table."""
        return sum(feature.size for feature in self.sparse)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The first key of each sparse feature; key = offset + id keeps the id spaces apart."""
        return tuple(accumulate((feature.size for feature in self.sparse[:-1]), initial=0)) if self.sparse else ()

    @property
    def dense_columns(self) -> tuple[int, ...]:
        """The input columns that hold numbers, in the order of `dense_feature`."""
        return tuple(column for start, stop in self.dense for column in range(start, stop))

    @property
    def key_columns(self) -> tuple[int, ...]:
        """The input column of every key, in the order of the keys."""
        return tuple(column for feature in self.sparse for column in range(feature.start, feature.stop))


@dataclass(frozen=True)
class Task:
    """One output, the label it predicts and its share of the loss."""

    name: str
    output: int  #: index into what `forward` returns
    label: str
    loss: str = "log_loss"  #: one of `LOSSES`
    positive: int = 1  #: column of the output that is the positive class
    epsilon: float = 1e-4
    weight: float = 1.0


@dataclass(frozen=True)
class ModelSpec:
    """The class to build and its constructor arguments; empty values are taken from the files beside the source."""

    name: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Schema:
    """A checked feature schema."""

    path: str
    model: ModelSpec
    input: InputSpec
    labels: tuple[str, ...]
    tasks: tuple[Task, ...] = ()


class _Section:
    """One mapping of the file, read key by key so that every mistake can be named."""

    def __init__(self, path: str, where: str, value: object, allowed: tuple[str, ...]) -> None:
        self.path, self.where = path, where
        if not isinstance(value, dict):
            raise MigrateError(
                f"{path}: `{where or 'the schema'}` is {_kind(value)}, give a mapping of {_names(allowed)}"
            )
        self.values: dict[object, object] = value
        unknown = [key for key in value if key not in allowed]
        if unknown:
            name = unknown[0] if isinstance(unknown[0], str) and plain_name(unknown[0]) else _kind(unknown[0])
            raise MigrateError(f"{path}: unknown key `{self.key(name[:60])}`, use {_names(allowed)}")

    def key(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def fail(self, name: str, problem: str) -> MigrateError:
        return MigrateError(f"{self.path}: `{self.key(name)}` {problem}")

    def _get(self, name: str, wanted: str, default: object) -> object:
        if name not in self.values and default is None:
            raise self.fail(name, f"is missing, give {wanted}")
        return self.values.get(name, default)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._get(name, "a name", default)
        if not isinstance(value, str) or (not value and default is None):
            raise self.fail(name, f"is {_kind(value)}, give a name")
        if not plain_name(value):
            raise self.fail(name, "has quotes, backslashes or line breaks, give a plain name")
        return value

    def integer(self, name: str, minimum: int, default: int | None = None) -> int:
        value = self._get(name, f"an integer of at least {minimum}", default)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.fail(name, f"is {_kind(value)}, give an integer of at least {minimum}")
        if value > MAX_COLUMNS:
            raise self.fail(name, f"is larger than {MAX_COLUMNS}, give a smaller number")
        return value

    def number(self, name: str, default: float) -> float:
        value = self._get(name, "a number", default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, f"is {_kind(value)}, give a number (YAML reads 1e-4 as text: write 1.0e-4)")
        if not -MAX_COLUMNS <= value <= MAX_COLUMNS:
            raise self.fail(name, f"is {_kind(value)}, give a number of ordinary size")
        return float(value)

    def items(self, name: str, wanted: str, default: list[object] | None = None) -> list[object]:
        value = self._get(name, wanted, default)
        if not isinstance(value, list):
            raise self.fail(name, f"is {_kind(value)}, give {wanted}")
        return value


def plain_name(text: str) -> bool:
    """Return whether a name can stand in the converted code as it is."""
    return text.isprintable() and not set(text) & {'"', "'", "\\"}


def _kind(value: object) -> str:
    """Return a value in few words: aliases can make a short file a structure without end."""
    if value is None:
        return "empty"
    if isinstance(value, list) and len(value) < 4 and not any(isinstance(item, list | dict | set) for item in value):
        return f"[{', '.join(map(_kind, value))}]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**40:
        return "a huge number"
    if not isinstance(value, str | int | float):
        return type(value).__name__
    return repr(value) if len(repr(value)) < 60 else f"{repr(value)[:56]}…'"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def load_schema(path: str | Path) -> Schema:
    """Read and check a schema file.

    Raises:
        MigrateError: the file cannot be read, is not YAML, or a key is wrong; the message names file, key and remedy.
    """
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise MigrateError(f"{name}: cannot read the schema ({reason}), check the path given to --schema") from error
    return parse_schema(text, name)


def parse_schema(text: str, path: str) -> Schema:
    """Check the text of a schema; `path` is used in messages only. Raises `MigrateError` as `load_schema`."""
    loaded = _load(text, path)
    top = _Section(path, "", loaded, ("version", "model", "input", "labels", "tasks"))
    version = top.integer("version", 1)
    if version != VERSION:
        raise top.fail("version", f"is {version}, this program reads version {VERSION}")
    labels = _labels(top)
    return Schema(path, _model(top), _input(top), labels, _tasks(top, labels))


class _Loader(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error, not the loss of the first value."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {_kind(key.value)} is given twice", key.start_mark
            )
        seen.add(str(key.value))
    mapping: dict[object, object] = loader.construct_mapping(node, deep=True)
    return mapping


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _load(text: str, path: str) -> object:
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "the file"
        problem = getattr(error, "problem", None) or "syntax error"
        raise MigrateError(f"{path}: {where} is not valid YAML ({problem}), correct it") from error
    except RecursionError as error:
        raise MigrateError(f"{path}: the file is nested too deeply to be a schema, correct it") from error
    except ValueError as error:
        raise MigrateError(f"{path}: a date or number of the file has no value, put it in quotes") from error


def _model(top: _Section) -> ModelSpec:
    section = _Section(top.path, "model", top.values.get("model", {}), ("class", "arguments"))
    arguments = section.values.get("arguments", {})
    if not isinstance(arguments, dict) or not all(isinstance(key, str) for key in arguments):
        raise section.fail("arguments", f"is {_kind(arguments)}, give a mapping of constructor argument to value")
    return ModelSpec(section.text("class", ""), {str(key): value for key, value in arguments.items()})


def _input(top: _Section) -> InputSpec:
    if "input" not in top.values:
        raise top.fail("input", "is missing, give a mapping of `name`, `size`, `dense`, `sparse`")
    section = _Section(top.path, "input", top.values["input"], ("name", "size", "dense", "sparse"))
    dense = tuple(_range(section, i, item) for i, item in enumerate(section.items("dense", "a list of ranges", [])))
    sparse = tuple(_feature(section, i, item) for i, item in enumerate(section.items("sparse", "a list of groups", [])))
    spec = InputSpec(section.text("name", ""), section.integer("size", 1), dense, sparse)
    _check_unique(section, "sparse", [feature.name for feature in sparse])
    _check_columns(section, spec)
    return spec


def _range(section: _Section, index: int, item: object) -> tuple[int, int]:
    if isinstance(item, list) and len(item) == 2 and all(type(bound) is int for bound in item):
        start, stop = item
        if 0 <= start < stop <= MAX_COLUMNS:
            return start, stop
    raise section.fail(f"dense[{index}]", f"is {_kind(item)}, give [first column, column after the last]")


def _feature(section: _Section, index: int, item: object) -> SparseFeature:
    entry = _Section(section.path, f"input.sparse[{index}]", item, ("name", "start", "size"))
    return SparseFeature(entry.text("name"), entry.integer("start", 0), entry.integer("size", 1))


def _check_unique(section: _Section, key: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise section.fail(key, f"names `{name}` twice, give every entry its own name")


def _check_columns(section: _Section, spec: InputSpec) -> None:
    """Every column belongs to exactly one range or group."""
    pieces = [(start, stop, f"dense[{i}]") for i, (start, stop) in enumerate(spec.dense)]
    pieces += [(feature.start, feature.stop, f"sparse `{feature.name}`") for feature in spec.sparse]
    pieces.sort()
    for start, stop, name in pieces:
        if stop > spec.size:
            raise section.fail(
                "size", f"is {spec.size} but {name} covers columns {start} to {stop - 1}, correct either"
            )
    for (_, stop, name), (start, _, other) in pairwise(pieces):
        if start < stop:
            raise section.fail("sparse", f"gives column {start} to both {name} and {other}, correct `start` or `size`")
    ends = [0, *(stop for _, stop, _ in pieces)]
    for end, (start, _, name) in zip(ends, [*pieces, (spec.size, spec.size, "the end")], strict=True):
        if start > end:
            raise section.fail("sparse", f"leaves columns {end} to {start - 1} (before {name}) to nothing, add a group")


def _labels(top: _Section) -> tuple[str, ...]:
    labels = top.items("labels", "a list of label names")
    if not labels or not all(isinstance(label, str) and label and plain_name(label) for label in labels):
        raise top.fail("labels", f"is {_kind(labels)}, give a list of at least one plain label name")
    names = [str(label) for label in labels]
    _check_unique(top, "labels", names)
    return tuple(names)


def _tasks(top: _Section, labels: tuple[str, ...]) -> tuple[Task, ...]:
    keys = ("name", "output", "label", "loss", "positive", "epsilon", "weight")
    sections = [
        _Section(top.path, f"tasks[{i}]", item, keys)
        for i, item in enumerate(top.items("tasks", "a list of tasks", []))
    ]
    tasks = tuple(_task(section, index, labels) for index, section in enumerate(sections))
    _check_unique(top, "tasks", [task.name for task in tasks])
    return tasks


def _task(section: _Section, index: int, labels: tuple[str, ...]) -> Task:
    label, loss = section.text("label"), section.text("loss", "log_loss")
    if label not in labels:
        raise section.fail("label", f"is `{label}`, which `labels` lacks, use one of {_names(labels)}")
    if loss not in LOSSES:
        raise section.fail("loss", f"is `{loss}`, use one of {_names(LOSSES)}")
    epsilon = section.number("epsilon", 1e-4)
    if epsilon < 0:
        raise section.fail("epsilon", f"is {epsilon}, give a number of at least 0")
    return Task(
        name=section.text("name", label),
        output=section.integer("output", 0, index),
        label=label,
        loss=loss,
        positive=section.integer("positive", 0, 1),
        epsilon=epsilon,
        weight=section.number("weight", 1.0),
    )
