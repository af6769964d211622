"""Every edit of a plan knows its rule, its table and the user's line; a summary and a refusal show the lines."""

from __future__ import annotations

import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from tests.support.paths import ROOT
from tests.support.rewriter import traced as trace_models
from tests.support.rewriter.traced import line_of

FILE = "tests/support/rewriter/traced.py"


@pytest.fixture(autouse=True)
def _above_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def judged(graph: tf.Graph) -> Plan:
    """Return the plan for a model with a table of each kind and one that stays."""
    trace_models.whole_model()
    return rewrite(graph, dry_run=True)


def test_every_edit_has_rule_table_and_source(graph: tf.Graph) -> None:
    plan = judged(graph)
    for edit in (*plan.inputs, *plan.controls):
        assert edit.rule and edit.table and edit.source.startswith(f"{FILE}:"), edit
    rules = {edit.rule for edit in (*plan.inputs, *plan.controls)}
    kinds = {
        "lookup",
        "pooled lookup",
        "update by adam",
        "initializer",
        "slots started again",
        "assigned",
        "saver",
        "started",
        "gone",
    }
    assert rules == kinds
    assert {edit.table for edit in plan.controls if edit.rule == "saver"} == {"user, item", "item", "user"}


def test_lookups_updates_and_variables_have_the_lines_that_built_them(graph: tf.Graph) -> None:
    user, item = judged(graph).tables
    assert (user.name, item.name) == ("user", "item")
    step = f"{FILE}:{line_of('minimized')} in whole_model"
    assert user.source == f"{FILE}:{line_of('user')} in whole_model"
    assert [one.source for one in user.lookups] == [f"{FILE}:{line_of('looked up')} in whole_model"]
    assert [(one.rule, one.source) for one in item.lookups] == [
        ("pooled lookup", f"{FILE}:{line_of('pooled')} in whole_model")
    ]
    assert {one.source for table in (item, user) for one in table.updates} == {step}


def test_a_graph_without_lines_has_rules_all_the_same(graph: tf.Graph) -> None:
    trace_models.whole_model()
    plan = make_plan(GraphView.of(graph))
    assert all(edit.rule and edit.table and not edit.source for edit in (*plan.inputs, *plan.controls))
    assert "1 lookup, adam; new ids" in plan.summary()
