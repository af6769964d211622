"""The catalogue of all built-in rules, for `migrate rules` and `--select`."""

from __future__ import annotations

from migrate.source.rules.base import Rule, load, rules

PACKAGES = ("migrate.source.tensorflow.rules", "migrate.source.paddle.rules", "migrate.source.rules.general")


def catalogue() -> list[Rule]:
    """Return all rules, sorted by id."""
    for package in PACKAGES:
        load(package)
    return sorted(rules(Rule), key=lambda rule: rule.id)


def known_ids() -> list[str]:
    """Return the ids of all rules."""
    return [rule.id for rule in catalogue()]
