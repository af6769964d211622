"""Selects rules by `--select` and `--ignore`, whose entries are ids or prefixes of ids."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrate.errors import MigrateError

EXACT = 1 << 10  #: weight of a complete id, larger than that of any prefix


@dataclass(frozen=True)
class Selection:
    """Selected and ignored rules; the more exact of two matching entries wins, and `ignore` wins a tie."""

    select: tuple[str, ...] = ()  #: empty: every rule
    ignore: tuple[str, ...] = ()

    def wants(self, rule: str) -> bool:
        """True if the rule is applied and reported."""
        chosen = max((weight(entry, rule) for entry in self.select), default=0)
        left_out = max((weight(entry, rule) for entry in self.ignore), default=-1)
        return chosen > left_out

    def without(self, entries: Iterable[str]) -> Selection:
        """Return the selection with additional entries to ignore."""
        return Selection(self.select, (*self.ignore, *entries))


ALL = Selection()


def weight(entry: str, rule: str) -> int:
    """Return how exactly an entry matches a rule: EXACT for its id, the number of words for a prefix, -1 for no match.

    `tf-gather` is the id of a rule; `tf` and `tf-embedding` match all rules whose ids begin with these words.
    """
    if entry == rule:
        return EXACT
    return len(entry.split("-")) if rule.startswith(f"{entry}-") else -1


def names(entry: str, rules: Iterable[str]) -> list[str]:
    """Return the ids that an entry matches: the rule with that id, or all with that prefix."""
    listed = list(rules)
    return [entry] if entry in listed else [rule for rule in listed if weight(entry, rule) > 0]


def parse(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the entries of `a,b` and of repeated options, without blanks."""
    return tuple(entry.strip() for text in texts for entry in text.split(",") if entry.strip())


def check_known(entries: Sequence[str], rules: Iterable[str], where: str) -> None:
    """Raise MigrateError for an entry that matches no rule; `where` is its option or key, for the message."""
    known = sorted(rules)
    for entry in entries:
        if not names(entry, known):
            raise MigrateError(f"{where}: unknown rule `{entry}`; {nearest(entry, known)}")


def nearest(entry: str, rules: Sequence[str]) -> str:
    """Return a hint with ids similar to `entry`."""
    close = difflib.get_close_matches(entry.lower(), rules, n=3, cutoff=0.75)
    return f"did you mean {' or '.join(close)}?" if close else "`migrate rules list` shows all"
