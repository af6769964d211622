"""Which rules are asked for: `--select` and `--ignore`, by id or by the first words of ids."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrate.errors import MigrateError

EXACT = 1 << 10  #: weight of a whole id, above that of any number of first words


@dataclass(frozen=True)
class Selection:
    """Rules that are wanted; the more exact of two entries that meet wins, and `ignore` wins a draw."""

    select: tuple[str, ...] = ()  #: empty: every rule
    ignore: tuple[str, ...] = ()

    def wants(self, rule: str) -> bool:
        """True when the rule may change code and is reported."""
        chosen = max((weight(entry, rule) for entry in self.select), default=0)
        left_out = max((weight(entry, rule) for entry in self.ignore), default=-1)
        return chosen > left_out

    def without(self, entries: Iterable[str]) -> Selection:
        """Return the selection with more entries to ignore."""
        return Selection(self.select, (*self.ignore, *entries))


ALL = Selection()


def weight(entry: str, rule: str) -> int:
    """Return how exactly an entry names a rule: EXACT for its id, else the number of its first words, -1 for no match.

    `tf-gather` is a rule, `tf` and `tf-embedding` stand for every rule whose id begins with these words.
    """
    if entry == rule:
        return EXACT
    return len(entry.split("-")) if rule.startswith(f"{entry}-") else -1


def names(entry: str, rules: Iterable[str]) -> list[str]:
    """Return the ids that an entry names: the rule itself, or all that begin with its words."""
    found = list(rules)
    return [entry] if entry in found else [rule for rule in found if weight(entry, rule) > 0]


def parse(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the entries of `a,b` and of repeated options, without blanks."""
    return tuple(entry.strip() for text in texts for entry in text.split(",") if entry.strip())


def check_known(entries: Sequence[str], rules: Iterable[str], where: str) -> None:
    """Raise MigrateError for an entry that names no rule; `where` is the option or the key that has it."""
    known = sorted(rules)
    for entry in entries:
        if not names(entry, known):
            raise MigrateError(f"{where}: no rule is called `{entry}`; {nearest(entry, known)}")


def nearest(entry: str, rules: Sequence[str]) -> str:
    """Return a hint with ids like `entry`."""
    close = difflib.get_close_matches(entry.lower(), rules, n=3, cutoff=0.75)
    return f"did you mean {' or '.join(close)}?" if close else "`migrate rules list` shows all"
