"""Reads the YAML of a schema key by key; an invalid key gives a message with the file, the key and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import yaml

from migrate.errors import MigrateError
from migrate.regular_files import read_regular_text

_MOST = 10_000_000  #: bytes of a schema
MAX_COLUMNS = 2**31 - 1  #: sizes of matrices are 32-bit integers in both frameworks


class Section:
    """One mapping of the file, whose methods return validated values of its keys."""

    def __init__(self, path: str, where: str, value: object, allowed: tuple[str, ...]) -> None:
        self.path, self.where = path, where
        if not isinstance(value, dict):
            name = f"`{where}`" if where else "the schema"
            raise MigrateError(f"{path}: {name} is {kind(value)}; give a mapping of {listed(allowed)}")
        self.values: dict[object, object] = value
        unknown = [key for key in value if key not in allowed]
        if unknown:
            shown = unknown[0] if isinstance(unknown[0], str) and plain_name(unknown[0]) else kind(unknown[0])
            raise MigrateError(f"{path}: unknown key `{self.key(shown[:60])}`; use {listed(allowed)}")

    def key(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def fail(self, name: str, problem: str) -> MigrateError:
        return MigrateError(f"{self.path}: `{self.key(name)}` {problem}")

    def _get(self, name: str, wanted: str, default: object) -> object:
        if name not in self.values and default is None:
            raise self.fail(name, f"is missing; give {wanted}")
        return self.values.get(name, default)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._get(name, "a name", default)
        if not isinstance(value, str) or (not value and default is None):
            raise self.fail(name, f"is {kind(value)}; give a name")
        if not plain_name(value):
            raise self.fail(name, "has quotes, backslashes or line breaks; give a plain name")
        return value

    def integer(self, name: str, minimum: int, default: int | None = None) -> int:
        value = self._get(name, f"an integer of at least {minimum}", default)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.fail(name, f"is {kind(value)}; give an integer of at least {minimum}")
        if value > MAX_COLUMNS:
            raise self.fail(name, f"is larger than {MAX_COLUMNS}; give a smaller number")
        return value

    def number(self, name: str, default: float) -> float:
        value = self._get(name, "a number", default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, f"is {kind(value)}; give a number (YAML reads 1e-4 as text: write 1.0e-4)")
        if not -MAX_COLUMNS <= value <= MAX_COLUMNS:
            raise self.fail(name, f"is {kind(value)}; give a number between -{MAX_COLUMNS} and {MAX_COLUMNS}")
        return float(value)

    def items(self, name: str, wanted: str, default: list[object] | None = None) -> list[object]:
        value = self._get(name, wanted, default)
        if not isinstance(value, list):
            raise self.fail(name, f"is {kind(value)}; give {wanted}")
        return value

    def string(self, name: str, default: str) -> str:
        """Return a string, which may contain line breaks and quotes."""
        value = self._get(name, "a string", default)
        if not isinstance(value, str):
            raise self.fail(name, f"is {kind(value)}; give a string in quotes")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._get(name, "true or false", default)
        if not isinstance(value, bool):
            raise self.fail(name, f"is {kind(value)}; give true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.string(name, default)
        if value not in choices:
            raise self.fail(name, f"is {kind(value)}; use one of {listed(choices)}")
        return value

    def names(self, name: str, default: list[object] | None = None) -> tuple[str, ...]:
        """Return a list of plain names."""
        values = self.items(name, "a list of names", default)
        if not all(isinstance(value, str) and value and plain_name(value) for value in values):
            raise self.fail(name, f"is {kind(values)}; give a list of plain names (numbers in quotes)")
        return tuple(str(value) for value in values)

    def unique(self, key: str, names: Iterable[str]) -> None:
        """Raise MigrateError if a list has a name twice."""
        for name, count in Counter(names).items():
            if count > 1:
                raise self.fail(key, f"has the name `{name}` twice; use different names")


def plain_name(text: str) -> bool:
    """Return whether a name can be used in converted code without escaping."""
    return text.isprintable() and not set(text) & {'"', "'", "\\"}


def kind(value: object) -> str:
    """Return a short description of a value, which may be very large because of YAML aliases."""
    if value is None:
        return "empty"
    if isinstance(value, list) and len(value) < 4 and not any(isinstance(item, list | dict | set) for item in value):
        return f"[{', '.join(map(kind, value))}]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**40:
        return "a huge number"
    if not isinstance(value, str | int | float):
        return type(value).__name__
    return repr(value) if len(repr(value)) < 60 else f"{repr(value)[:56]}…'"


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def read_text(path: str | Path, what: str = "the schema", remedy: str = "check the path given to --schema") -> str:
    """Return the text of a schema or another file; raises `MigrateError` if it cannot be read."""
    try:
        return read_regular_text(Path(path), most=_MOST)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise MigrateError(f"{path}: cannot read {what} ({reason}); {remedy}") from error


class _Loader(yaml.SafeLoader):
    """A YAML loader for which duplicate keys are an error."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in seen:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key {kind(key.value)}", key.start_mark)
        seen.add(str(key.value))
    mapping: dict[object, object] = loader.construct_mapping(node, deep=True)
    return mapping


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load_yaml(text: str, path: str) -> object:
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "the file"
        problem = getattr(error, "problem", None) or "syntax error"
        raise MigrateError(f"{path}: {where} is not valid YAML ({problem}); correct it") from error
    except RecursionError as error:
        raise MigrateError(f"{path}: the file is nested too deeply for a schema; correct it") from error
    except ValueError as error:
        raise MigrateError(f"{path}: the file has an invalid date or number; put it in quotes") from error
