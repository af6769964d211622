"""What a rule is: an id, a text for the user, examples, and one question it answers about the code.

A rule is one file; the decorator registers it and `load` imports every file of a package, so adding a file is all.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from migrate.report.model import Applicability


@dataclass(frozen=True)
class Example:
    """A whole file before and after; `after` is empty when it must not change."""

    title: str
    before: str
    after: str = ""
    says: str = ""  #: words that a finding of the rule contains
    assume: bool = False  #: converted with `--assume`


class Rule:
    """Base of all rules; the class attributes are the rule's page in the catalogue."""

    id: ClassVar[str]  #: stable, appears in reports
    title: ClassVar[str]
    since: ClassVar[str] = "0.1"
    applicability: ClassVar[Applicability | None] = Applicability.EXACT  #: None: the rule only refuses or notes
    fix_safety: ClassVar[str] = ""  #: required when `applicability` is not exact
    examples: ClassVar[tuple[Example, ...]] = ()


R = TypeVar("R", bound=Rule)
_REGISTRY: dict[str, Rule] = {}


def register(cls: type[R]) -> type[R]:
    """Class decorator: make one instance known under its id; raises ValueError for an id used twice."""
    known = _REGISTRY.get(cls.id)
    if known is not None and type(known).__qualname__ != cls.__qualname__:
        raise ValueError(f"two rules have the id `{cls.id}`")
    _REGISTRY[cls.id] = cls()
    return cls


def load(package: str) -> None:
    """Import every module of `package`, which registers its rules."""
    module = importlib.import_module(package)
    for found in pkgutil.iter_modules(module.__path__):
        importlib.import_module(f"{package}.{found.name}")


def rules(kind: type[R]) -> list[R]:
    """Return the registered rules of that kind, by id."""
    return [rule for _, rule in sorted(_REGISTRY.items()) if isinstance(rule, kind)]
