"""Optional features of a target, given on the command line or in a configuration file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from migrate.errors import MigrateError

FLAGS = ("dynamic-expansion", "modify-graph", "multi-lookup")
KEYS = (*FLAGS, "cache-mode", "admission", "eviction")
MODES = ("HBM", "DDR", "SSD")
MOST = 2**31 - 1


@dataclass(frozen=True)
class Switches:
    """The requested features; all are off by default."""

    dynamic_expansion: bool = False  #: tables grow in device memory
    cache_mode: str = ""  #: where rows are stored: `HBM`, `DDR` or `SSD`
    admission: int = 0  #: occurrences of an id after which it gets a row; 0: at once
    eviction: int = 0  #: age after which an unused row is evicted, in `unit`; 0: never
    unit: str = "seconds"  #: unit of `eviction`: `seconds` or `steps`
    modify_graph: bool = False  #: the input pipeline computes ids ahead
    multi_lookup: bool = False  #: all lookups of a table are merged into one


def read_switches(values: Mapping[str, object], where: str = "--{}") -> Switches:
    """Return the switches; `where` is the format of a key's name in errors.

    Raises MigrateError for a value that has a wrong type or is out of range.
    """

    def checked(key: str, good: bool, expected: str) -> None:
        if not good:
            raise MigrateError(f"{where.format(key)}: invalid value {values[key]!r}; write {expected}")

    for key in FLAGS:
        checked(key, isinstance(values.get(key, False), bool), "true or false")
    mode, admission, eviction = (values.get(key) for key in ("cache-mode", "admission", "eviction"))
    checked("cache-mode", mode is None or mode in MODES, "HBM, DDR or SSD")
    checked("admission", admission is None or _counts(admission), "a number of occurrences, at least 1")
    parts = re.fullmatch(r"(\d{1,10})\s*(|s|seconds|steps)", str(eviction))
    age = int(parts[1]) if parts is not None and not isinstance(eviction, bool) else 0
    checked("eviction", eviction is None or 0 < age <= MOST, "seconds, e.g. 86400, or steps, e.g. 5000steps")
    return Switches(
        dynamic_expansion=bool(values.get("dynamic-expansion")),
        cache_mode=str(mode or ""),
        admission=admission if isinstance(admission, int) else 0,
        eviction=age,
        unit="steps" if parts is not None and parts[2] == "steps" else "seconds",
        modify_graph=bool(values.get("modify-graph")),
        multi_lookup=bool(values.get("multi-lookup")),
    )


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST
