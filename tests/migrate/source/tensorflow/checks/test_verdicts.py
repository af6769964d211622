"""The rules that judge programs, and the order in which they are asked."""

from __future__ import annotations

from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.checks.judgement import CheckRule
from migrate.source.tensorflow.checks.verdicts import ORDER, check_rules


def test_each_rule_that_judges_programs_has_its_place() -> None:
    assert [rule.id for rule in check_rules()] == list(ORDER)
    assert {rule.id for rule in rules(CheckRule)} == set(ORDER)
