"""What the stand-ins of vendor packages share: exact types, and names put in place for the time of a test."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock


def check(owner: str, value: Any, *kinds: type) -> None:
    """Raise ValueError for a value of another type; a bool is no int."""
    wrong_bool = isinstance(value, bool) and bool not in kinds
    if wrong_bool or not isinstance(value, kinds):
        raise ValueError(f"{owner} is not {' or '.join(kind.__name__ for kind in kinds)}: {value!r}")


@contextlib.contextmanager
def modules(given: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Put modules with these contents into `sys.modules`, with the packages around them that are not there."""
    made: dict[str, types.ModuleType] = {}
    for name in given:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            if path not in made and (path in given or path not in sys.modules):
                made[path] = types.ModuleType(path)
                made[path].__path__ = []
    for name, contents in given.items():
        vars(made[name]).update(contents)
    for name, module in made.items():
        head, _, last = name.rpartition(".")
        if head in made:
            setattr(made[head], last, module)
    with mock.patch.dict(sys.modules, made):
        yield
