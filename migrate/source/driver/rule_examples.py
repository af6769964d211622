"""Runs the examples of rules: each comes out as it says, names its rule, and does not change in a second run."""

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
    """What one example gave; it passed when it has no problem."""

    rule: Rule
    example: Example
    problem: str = ""


def run_examples(rules: Sequence[Rule], files: Sequence[RuleFile] = ()) -> Iterator[Outcome]:
    """Yield the outcome of every example of these rules; `files` are the user's own rules that are asked, too."""
    for rule in rules:
        for example in rule.examples:
            yield Outcome(rule, example, problem_of(rule, example, files))


def problem_of(rule: Rule, example: Example, files: Sequence[RuleFile] = ()) -> str:
    """Return how an example comes out in another way than it says, or an empty string."""
    options = replace(options_of(example), rule_files=tuple(files))
    result = convert_text("example.py", example.before, options, {})
    failed = [finding for finding in result.findings if finding.state is State.FAILED]
    if failed:
        return failed[0].message
    expected = example.after or example.before
    if result.converted != expected:
        return "it comes out in another way:\n" + unified_diff("example.py", expected, result.converted)
    if example.says and example.says not in words(result):
        return f"no finding says `{example.says}`; it says:\n" + words(result)
    if example.says and rule.id not in {finding.rule for finding in result.findings}:
        return f"no finding is of this rule, but of {', '.join(sorted({f.rule for f in result.findings}))}"
    return ""


def options_of(example: Example) -> Options:
    """Return the options under which an example is converted."""
    return Options(target=example.target, switches=read_switches(dict(example.switches)), assume=example.assume)


def words(result: SourceResult) -> str:
    """Return all words of the findings, a line each."""
    return "\n".join(
        f"{f.state.value}: {f.message}: {f.reason}; {f.action}; {', '.join(f.assumptions)}" for f in result.findings
    )
