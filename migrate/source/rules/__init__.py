"""Conversion rules, one per file; `base` defines what a rule is, and finds them."""

from migrate.source.rules.base import (
    Example,
    Refusal,
    Rule,
    load,
    local_rules,
    refusal,
    refusals_of,
    register,
    rules,
    same_message,
)

__all__ = [
    "Example",
    "Refusal",
    "Rule",
    "load",
    "local_rules",
    "refusal",
    "refusals_of",
    "register",
    "rules",
    "same_message",
]
