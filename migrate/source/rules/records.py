"""What the rules of a report's findings say of themselves, as the report records it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from migrate.report.model import Report, RuleRecord
from migrate.source.rules.base import Rule
from migrate.source.rules.catalogue import catalogue
from migrate.source.rules.pages import MEANINGS, documentation


def described(report: Report, custom: Sequence[Rule] = ()) -> Report:
    """Return the report with a record of each rule that its findings name, if the catalogue or `custom` has it."""
    known = {rule.id: rule for rule in (*catalogue(), *custom)}
    named = sorted({finding.rule for finding in report.findings} & known.keys())
    return replace(report, rules=tuple(_record(known[name]) for name in named))


def _record(rule: Rule) -> RuleRecord:
    meaning = MEANINGS[rule.applicability]
    safety = [f"Safety: {rule.fix_safety}"] if rule.fix_safety else []
    return RuleRecord(rule.id, rule.title, "\n\n".join([*documentation(rule), f"It {meaning}.", *safety]))
