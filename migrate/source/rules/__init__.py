"""Conversion rules, one a file; `base` says what a rule is and finds them."""

from migrate.source.rules.base import Example, Rule, load, register, rules

__all__ = ["Example", "Rule", "load", "register", "rules"]
