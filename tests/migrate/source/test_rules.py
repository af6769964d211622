"""Every rule: complete, and its own examples come out as it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import migrate.source.tensorflow.rules as package
from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.driver.rule_examples import options_of, problem_of
from migrate.source.rules import Example, Rule, register, rules
from migrate.source.tensorflow.base import rule_registry  # noqa: F401 - loads the rules
from migrate.source.tensorflow.base.rule_kinds import relevant, words_of

pytestmark = pytest.mark.each_case

RULES = [rule for rule in rules(Rule) if type(rule).__module__.startswith(package.__name__)]
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}: {example.title}") for rule in RULES for example in rule.examples
]


def test_every_file_registers_a_rule() -> None:
    files = {path.stem for path in Path(package.__path__[0]).glob("*.py")} - {"__init__"}
    assert files == {type(rule).__module__.rpartition(".")[2] for rule in RULES}


def test_no_rule_reads_every_file() -> None:
    """A rule with remarks says by `words` which files it is asked about: names of the others are not resolved."""
    assert not [rule.id for rule in RULES if words_of(rule) == ""]
    assert not relevant().search("import tensorflow as tf\nloss = tf.layers.dense(x, 4)\n")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_documented(rule: Rule) -> None:
    assert rule.id.startswith("tf-")
    assert rule.title
    assert type(rule).__doc__
    assert any(not example.after for example in rule.examples), "a case that must not change"
    if rule.applicability is not None:
        assert any(example.after for example in rule.examples), "a case that changes"
    if rule.applicability not in {None, Applicability.EXACT}:
        assert rule.fix_safety


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_an_example_comes_out_as_it_says(rule: Rule, example: Example) -> None:
    assert problem_of(rule, example) == ""
    result = convert_text("model.py", example.before, options_of(example), {})
    asked = {table.location for table in result.tables if table.verdict is State.SUGGESTED}
    if asked:  # what is said to convert with `--assume` does
        decided = convert_text("model.py", example.before, replace(options_of(example), assume=True), {})
        assert {t.verdict for t in decided.tables if t.location in asked} == {State.APPLIED}


def test_an_id_is_used_once() -> None:
    with pytest.raises(ValueError, match="tf-gather"):

        @register
        class Other(Rule):
            id = "tf-gather"


@pytest.mark.parametrize(
    ("example", "says"),
    [
        (Example("", "import os\n", "import sys\n"), "+import os"),
        (Example("", "import tensorflow as tf\n", says="words"), "no finding contains `words`"),
        (Example("", "import (\n"), "does not parse"),
        (
            Example("", "import tensorflow as tf\ne = tf.contrib.layers.embed_sequence(x)\n", says="embed_sequence"),
            "no finding has this rule; their rules are tf-other-embedding",
        ),
    ],
)
def test_a_wrong_example_is_noticed(example: Example, says: str) -> None:
    rule = next(rule for rule in RULES if rule.id == "tf-gather")
    assert says in problem_of(rule, example)
