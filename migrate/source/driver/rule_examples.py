"""Runs the examples of rules and compares each result and its findings with what the example states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.atomic_write import unified_diff
from migrate.source.files.conversion_result import SourceResult
from migrate.source.rules.base import Example, Rule
from migrate.source.settings.options import Options, RuleFile
from migrate.targets.switches import read_switches


@dataclass(frozen=True)
class Outcome:
    """The result of one example; it passed if `problem` is empty."""

    rule: Rule
    example: Example
    problem: str = ""


def run_examples(rules: Sequence[Rule], files: Sequence[RuleFile] = ()) -> Iterator[Outcome]:
    """Yield the outcome of every example of these rules; the custom rules of `files` apply as well."""
    for rule in rules:
        for example in rule.examples:
            yield Outcome(rule, example, problem_of(rule, example, files))


def problem_of(rule: Rule, example: Example, files: Sequence[RuleFile] = ()) -> str:
    """Return how the result of an example differs from what it states, or an empty string."""
    options = replace(options_of(example), rule_files=tuple(files))
    result = convert_text("example.py", example.before, options, {})
    failed = [finding for finding in result.findings if finding.state is State.FAILED]
    if failed:
        return failed[0].message
    expected = example.after or example.before
    if result.converted != expected:
        return "the result differs:\n" + unified_diff("example.py", expected, result.converted)
    if convert_text("example.py", expected, options, {}).converted != expected:
        return "a second conversion would change the result again"
    if example.says and example.says not in words(result):
        return f"no finding contains `{example.says}`; the findings are:\n" + words(result)
    if example.says and rule.id not in {finding.rule for finding in result.findings}:
        return f"no finding has this rule; their rules are {', '.join(sorted({f.rule for f in result.findings}))}"
    return ""


def options_of(example: Example) -> Options:
    """Return the options with which an example is converted."""
    switches = read_switches(dict(example.switches))
    return Options(target=example.target, switches=switches, assume=example.assume, unbucket=example.unbucket)


def words(result: SourceResult) -> str:
    """Return the texts of the findings, one per line."""
    return "\n".join(
        f"{f.state.value}: {f.message}: {f.reason}; {f.action}; {', '.join(f.assumptions)}" for f in result.findings
    )
