"""The base of rules: an id, a text for the user, examples, what it refuses, and methods that analyse code.

A rule is one file, in which a decorator registers it; `load` imports all files of a package.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from migrate.report.model import Applicability


@dataclass(frozen=True)
class Example:
    """A file before and after its conversion; `after` is empty if it must not change."""

    title: str
    before: str
    after: str = ""
    says: str = ""  #: text that a finding of the rule must contain
    assume: bool = False  #: convert with `--assume`
    target: str = "runtime"
    switches: tuple[tuple[str, object], ...] = ()  #: switches of the target, by their names in configuration files
    unbucket: tuple[str, ...] = ()  #: convert with `--unbucket` of these tables


@dataclass(frozen=True)
class Refusal:
    """What a rule says where it leaves code unchanged: templates, with `{names}` for what the code shows."""

    key: str  #: stable, and its own within the rule and its base classes
    message: str  #: what stands there
    reason: str = ""  #: why it cannot be converted
    action: str = ""  #: what the user may do
    assumption: str = ""  #: set for a doubt: what must hold for the conversion, which `--assume` takes for granted
    applicability: Applicability = Applicability.ASSUMPTION  #: what the conversion under the assumption then is

    def filled(self, words: Mapping[str, object]) -> Refusal:
        """Return the texts with these words in place of their names; raises KeyError for a name without a word."""
        message, reason = self.message.format_map(words), self.reason.format_map(words)
        action, assumption = self.action.format_map(words), self.assumption.format_map(words)
        return Refusal(self.key, message, reason, action, assumption, self.applicability)


def same_message(message: str, *rows: tuple[str, ...]) -> Iterator[Refusal]:
    """Yield refusals that say the same of what stands there: each row is a key, and the texts after the message."""
    for key, *texts in rows:
        reason, action, assumption = (*texts, "", "", "")[:3]
        yield Refusal(key, message, reason, action, assumption)


class Rule:
    """Base class of all rules; its class attributes make up the rule's page in the catalogue."""

    id: ClassVar[str]  #: stable, appears in reports
    title: ClassVar[str]
    since: ClassVar[str] = "0.1"
    applicability: ClassVar[Applicability | None] = Applicability.EXACT  #: None: the rule only reports
    fix_safety: ClassVar[str] = ""  #: how results may differ; required if `applicability` is not exact
    examples: ClassVar[tuple[Example, ...]] = ()
    refusals: ClassVar[tuple[Refusal, ...]] = ()  #: those of base classes hold as well
    #: A pattern, for speed: a file without a match has nothing for this rule to begin with. None: as its kind says.
    words: ClassVar[str | None] = None


R = TypeVar("R", bound=Rule)


@dataclass
class _Registry:
    """The built-in rules and, during a conversion, the custom rules."""

    own: dict[str, Rule]
    local: tuple[Rule, ...] = ()
    collected: dict[str, Rule] | None = None  #: receives registered rules while a file with custom rules is loaded


_REGISTRY = _Registry({})


def register(cls: type[R]) -> type[R]:
    """Class decorator that registers an instance of the rule; raises ValueError for an id that is already used."""
    known = _REGISTRY.own.get(cls.id)
    collected = _REGISTRY.collected
    if (known is not None and type(known).__qualname__ != cls.__qualname__) or (
        collected is not None and (known is not None or cls.id in collected)
    ):
        raise ValueError(f"two rules have the id `{cls.id}`")
    (_REGISTRY.own if collected is None else collected)[cls.id] = cls()
    return cls


@contextmanager
def collecting() -> Iterator[dict[str, Rule]]:
    """Yield a dictionary that receives the rules registered in the block, instead of the global registry."""
    before, collected = _REGISTRY.collected, dict[str, Rule]()
    _REGISTRY.collected = collected
    try:
        yield collected
    finally:
        _REGISTRY.collected = before


@contextmanager
def asking(local: Sequence[Rule]) -> Iterator[None]:
    """Let `rules` return these custom rules, before the built-in ones, while the block runs."""
    before = _REGISTRY.local
    _REGISTRY.local = tuple(local)
    try:
        yield
    finally:
        _REGISTRY.local = before


def load(package: str) -> None:
    """Import every module of `package`, which registers its rules."""
    module = importlib.import_module(package)
    for submodule in pkgutil.iter_modules(module.__path__):
        importlib.import_module(f"{package}.{submodule.name}")


def rules(kind: type[R]) -> list[R]:
    """Return the registered rules of a kind: custom rules in their order, then built-in rules by id."""
    own = [rule for _, rule in sorted(_REGISTRY.own.items())]
    return [rule for rule in (*_REGISTRY.local, *own) if isinstance(rule, kind)]


def local_rules(kind: type[R]) -> list[R]:
    """Return the custom rules of a kind."""
    return [rule for rule in _REGISTRY.local if isinstance(rule, kind)]


def refusal(rule: str, key: str) -> Refusal:
    """Return what a rule refuses under this key; raises LookupError where it has no such row."""
    known = {one.id: one for one in (*_REGISTRY.own.values(), *_REGISTRY.local)}
    rows = refusals_of(known[rule]) if rule in known else ()
    refusal_row = next((row for row in rows if row.key == key), None)
    if refusal_row is None:
        raise LookupError(f"the rule `{rule}` has no refusal `{key}`")
    return refusal_row


def refusals_of(rule: Rule) -> tuple[Refusal, ...]:
    """Return all rows of a rule, those of its base classes behind its own."""
    kinds = [kind for kind in type(rule).__mro__ if issubclass(kind, Rule) and "refusals" in vars(kind)]
    return tuple(row for kind in kinds for row in kind.refusals)
