"""How the table in the place of a variable holds its rows: which it begins with, limits, disk, admission."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

_DECLARED, _ON_DEMAND = "declared", "on demand"
_CHOICES = {
    "first_rows": (_DECLARED, _ON_DEMAND),
    "when_full": ("error", "evict"),
    "values": ("float32", "bfloat16", "float16"),
}
_MOST = 2**60


@dataclasses.dataclass(frozen=True)
class TableSettings:
    """What a table does otherwise than the variable that it replaces; the defaults train as the variable does."""

    #: "declared": the table begins with all rows of the variable, as the program's initializer draws them. "on demand":
    #: a row begins when its id is first trained, drawn from the same distribution; memory holds only what is used.
    #: "": "on demand" where `admit_after` or `max_bytes` is given, else "declared".
    first_rows: str = ""
    #: Limit for the memory of rows and index, in bytes.
    max_bytes: int | None = None
    #: At `max_bytes`, "error" ends the run, "evict" replaces the rows that were least recently used.
    when_full: str = "error"
    #: How values are stored; slots, gradients and arithmetic are float32.
    values: str = "float32"
    #: How often an id must occur in training before it gets a row; until then it reads zeros, or with `unbucket` the
    #: row of its bucket.
    admit_after: int | None = None
    #: A directory for the rows that do not fit into `memory_bytes`.
    disk: str | None = None
    #: Bytes of rows to keep in memory where there is a `disk`; 1 GiB if left out.
    memory_bytes: int | None = None
    #: Whether ids that the graph hashes or divides into the buckets of the variable get rows of their own, which begin
    #: as those of the buckets.
    unbucket: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range, or two of them exclude each other.
        """
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices and (name != "first_rows" or self.first_rows):
                raise ValueError(f"`{name}` is {getattr(self, name)!r}: use {' or '.join(map(repr, choices))}")
        for name in ("max_bytes", "admit_after", "memory_bytes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST):
                raise ValueError(f"`{name}` is {value!r}: give a whole number from 1 to {_MOST}")
        if not isinstance(self.unbucket, bool):
            raise ValueError(f"`unbucket` is {self.unbucket!r}: give true or false")
        if self.unbucket and self.first_rows == _ON_DEMAND:
            raise ValueError(
                "`unbucket` and `first_rows: on demand` exclude each other, because with `unbucket` a new row "
                "begins as the row of its bucket: leave `first_rows` out"
            )
        if self.disk is not None and not (isinstance(self.disk, str) and self.disk):
            raise ValueError(f"`disk` is {self.disk!r}: give the path of a directory")
        if self.disk is not None and self.max_bytes is not None:
            raise ValueError("`max_bytes` and `disk` exclude each other: limit the rows in memory by `memory_bytes`")
        if self.disk is None and self.memory_bytes is not None:
            raise ValueError(
                "`memory_bytes` needs a `disk` for the rows that do not fit: give a directory as `disk`, or limit "
                "all rows by `max_bytes`"
            )
        if self.when_full == "evict" and self.max_bytes is None:
            raise ValueError("`when_full: evict` needs a limit: add `max_bytes`")
        if self.admit_after is not None and self.first_rows == _DECLARED and not self.unbucket:
            raise ValueError(
                "`admit_after` and `first_rows: declared` exclude each other, because all ids have rows from the "
                "beginning: leave `first_rows` out"
            )

    @property
    def begins_empty(self) -> bool:
        """Whether rows begin on demand."""
        if self.unbucket:
            return False
        limited = self.admit_after is not None or self.max_bytes is not None
        return self.first_rows == _ON_DEMAND or (limited and self.first_rows != _DECLARED)

    @property
    def changes(self) -> str:
        """The settings by which training differs from that of the variable, for people; "" if there is none."""
        changing = ["first_rows: on demand"] * self.begins_empty
        changing += [f"{name}: {getattr(self, name)}" for name in ("values", "when_full") if self._differs(name)]
        changing += ["unbucket: true"] * self.unbucket
        changing += [f"admit_after: {self.admit_after}"] * (self.admit_after is not None)
        return ", ".join(changing)

    @property
    def text(self) -> str:
        """What was set, for people; "" if nothing was."""
        return ", ".join(f"{one.name}: {getattr(self, one.name)}" for one in _FIELDS if self._differs(one.name))

    def _differs(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(DEFAULT, name))


_FIELDS = dataclasses.fields(TableSettings)
DEFAULT = TableSettings()


def checked_settings(settings: Mapping[str, TableSettings | Mapping[str, Any]] | None) -> dict[str, TableSettings]:
    """Return settings by names of variables, or patterns such as `user_*`; mappings have the fields of TableSettings.

    Raises:
        ValueError: a field is unknown or has a wrong value; the message names table and field.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise ValueError(f"settings={settings!r} must be a dict of names of variables and TableSettings")
    known = [one.name for one in _FIELDS]
    checked = {}
    for pattern, options in settings.items():
        if not isinstance(options, TableSettings | Mapping):
            raise ValueError(f"settings of `{pattern}` are {options!r}: give a dict of {', '.join(known)}")
        unknown = [] if isinstance(options, TableSettings) else [name for name in options if name not in known]
        if unknown:
            raise ValueError(f"settings of `{pattern}`: unknown `{unknown[0]}`; use {', '.join(known)}")
        try:
            checked[str(pattern)] = options if isinstance(options, TableSettings) else TableSettings(**options)
        except ValueError as error:
            raise ValueError(f"settings of `{pattern}`: {error}") from error
    return checked


def check_tables(tables: Any) -> None:
    """Require "auto" or names of variables.

    Raises:
        ValueError: `tables` is something else.
    """
    named = isinstance(tables, Iterable) and not isinstance(tables, str)
    if tables != "auto" and not (named and all(isinstance(one, str) for one in tables)):
        raise ValueError(f'tables={tables!r} must be "auto" or a list of names of variables')


def is_pattern(name: str) -> bool:
    """Whether a name of settings stands for all tables that it fits, which may be none."""
    return bool(set(name) & set("*?["))


def whole_of(variable: str) -> str:
    """Return the name of the partitioned variable that a variable is a part of; its own name, if it is none."""
    return re.sub(r"/part_\d+$", "", variable)


def called(variables: Iterable[str]) -> dict[str, str]:
    """Return how lines for users call each of these variables: a partitioned one of a single part by its own name."""
    wholes = {variable: whole_of(variable) for variable in variables}
    counts = Counter(wholes.values())
    return {variable: whole if counts[whole] == 1 else variable for variable, whole in wholes.items()}


def names_of(variables: Iterable[str]) -> set[str]:
    """Return the names by which users mean these variables: their own, and those of partitioned variables."""
    return {name for variable in variables for name in (variable, whole_of(variable))}


def settings_of(table: str, settings: Mapping[str, TableSettings]) -> TableSettings:
    """Return the settings of a table: those of its name, else of the first pattern that it matches.

    The name of a partitioned variable, or a pattern that it matches, means tables of its parts, too.
    """
    names = (table, whole_of(table))
    named = (settings[name] for name in names if name in settings)
    matching = (given for pattern, given in settings.items() if any(fnmatchcase(name, pattern) for name in names))
    return next(named, None) or next(matching, DEFAULT)


def require_provable(settings: Mapping[str, TableSettings], verify: int) -> None:
    """Raise ValueError if a proof by `verify` steps is wanted of a table that trains otherwise than its variable."""
    for pattern, options in settings.items():
        if verify and options.changes:
            raise ValueError(
                f"settings of `{pattern}`: with {options.changes} training differs from the original's, and verify "
                "would report a difference; verify without this setting, then train with it"
            )
