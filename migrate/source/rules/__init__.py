"""Conversion rules, one per file; `base` defines what a rule is, and finds them."""

from migrate.source.rules.base import Example, Rule, load, local_rules, register, rules

__all__ = ["Example", "Rule", "load", "local_rules", "register", "rules"]
