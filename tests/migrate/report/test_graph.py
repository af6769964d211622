"""A graph rewrite as a report: its findings, drawings and ids; damaged and hostile records; the commands on it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.report import serialize, writers
from migrate.report.graph_record import plan_report, read_record
from migrate.report.model import GRAPH_RULE, Applicability, InputFile, Report, State
from rewriter import rewrite
from rewriter.plan.plan import Plan
from rewriter.proof.result import Compared, Difference, Proof
from rewriter.record import record

v1 = tf.compat.v1
SVG = "{http://www.w3.org/2000/svg}"


def recorded(whole: bool = True, more: bool = False) -> dict[str, Any]:
    """Return the record of a model with two tables, of which `item` is used whole if `whole`; `more` adds ops."""
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None], "ids")
        user = v1.get_variable("user", [100, 8], use_resource=True)
        item = v1.get_variable("item", [50, 8], use_resource=True)
        if more:
            ids = tf.identity(tf.nn.relu(ids))
        rows = tf.nn.embedding_lookup(user, ids) + tf.nn.embedding_lookup(item, ids)
        loss = tf.reduce_sum(tf.matmul(rows, item, transpose_b=True, name="scores") if whole else rows)
        v1.train.AdagradOptimizer(0.1).minimize(loss)
        v1.train.Saver()
        return record(rewrite(graph, dry_run=True))


@pytest.fixture(scope="module")
def both() -> tuple[Report, Report]:
    """The reports on a model before and after one of its tables is used whole."""
    return read_record(recorded(whole=False), "a.json"), read_record(recorded(), "b.json")


def test_a_table_and_a_refusal_are_findings_each(both: tuple[Report, Report]) -> None:
    moved, refused, note = both[1].findings
    assert (note.state, note.message, note.reason) == (State.NOTED, "`user` can grow", "each new id gets a row")
    assert (moved.rule, moved.state, moved.applicability) == (GRAPH_RULE, State.APPLIED, Applicability.EXACT)
    assert moved.table == "user"
    assert re.search(r"a table of 100 × 8: 1 lookup \(\S+:\d+\), trained by adagrad \(\S+:\d+\)", moved.reason)
    assert "saved and restored by 2 Saver ops" in moved.reason
    assert (refused.table, refused.state, refused.drawing) == ("item", State.UNSUPPORTED, None)
    assert "MatMul `scores` uses the whole variable in training" in refused.reason
    assert "; path: `item` → " in refused.reason
    assert refused.location.path.endswith("report/test_graph.py")
    assert refused.location.scope == "recorded"
    assert [(table.name, table.rows, table.dim) for table in both[1].tables] == [
        ("user", "100", "8"),
        ("item", "50", "8"),
    ]


def test_ids_hold_what_a_variable_is_called_and_nothing_else(both: tuple[Report, Report]) -> None:
    again = read_record(recorded(more=True), "c.json")
    ids = [{one.table: one.id for one in report.findings if one.table} for report in (*both, again)]
    assert ids[0] == ids[1] == ids[2]
    assert len(set(ids[0].values())) == 2


def test_it_survives_json(both: tuple[Report, Report]) -> None:
    for report in both:
        text = serialize.to_json(report)
        assert serialize.from_data(json.loads(text), "r") == report
        assert serialize.to_json(serialize.from_data(json.loads(text), "r")) == text


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_page_has_a_drawing_for_each_table(both: tuple[Report, Report]) -> None:
    for report, count in zip(both, (2, 1), strict=True):
        page = writers.render(report, ".html")
        found = drawings(page)
        assert len(found) == 3 * count  # before, after, and both in one
        assert page.count(".cut rect {") == 1
        drawn = [[group.get("class") for group in drawing.iter(f"{SVG}g")] for drawing in found]
        for at in range(count):
            before, after = drawn[2 * at], drawn[2 * at + 1]  # in the order of the tables, which come first
            both_sides = drawn[2 * count + at]
            assert before.count("added") == after.count("removed") == 1  # the legend
            assert before.count("removed") == both_sides.count("removed") > 2
            assert after.count("added") == both_sides.count("added") > 2
            assert before.count("kept") == after.count("kept") == both_sides.count("kept") > 2
    assert 'class="scroll drawing"' not in writers.render(read_record(without_tables(), "c"), ".html")


def without_tables() -> dict[str, Any]:
    data = recorded()
    data["plan"].update(tables=[], regions=[], savers=[])
    return data


@pytest.mark.parametrize("suffix", [".txt", ".md", ".sarif", ".json"])
def test_every_format_names_table_and_refusal(both: tuple[Report, Report], suffix: str) -> None:
    text = writers.render(both[1], suffix)
    assert "graph-table" in text.replace("\\-", "-")
    assert "uses the whole variable" in text


def test_a_plan_without_lines_points_at_the_file(both: tuple[Report, Report]) -> None:
    plan = recorded()["plan"]
    for table in plan["tables"]:
        for part in (table, *table["lookups"], *table["updates"]):
            part["source"] = ""
    plan["refusals"][0]["source"] = ""
    report = plan_report(plan, "migrate graph model.pb", "model.pb", [InputFile("model.pb", "0" * 64, "graph")])
    assert {finding.location.path for finding in report.findings} == {"model.pb"}
    assert report.findings[0].state is State.AVAILABLE
    assert "  model.pb: convertible, exact: rows of" in writers.render(report, ".txt")
    assert "whole file" in writers.render(report, ".html")
    assert "line 0" not in writers.render(report, ".html") + writers.render(report, ".md")
    assert "pass GraphModifierHook to the session" in writers.render(report, ".txt")
    assert [finding.id for finding in report.findings] == [finding.id for finding in both[1].findings if finding.table]


def _plan(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda data: change(data["plan"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["schema"].update(major=2), "upgrade recmigrate"),
        (lambda d: d.pop("command"), "`command` or `environment` is missing"),
        (lambda d: d.pop("plan"), "`report` must be an object"),
        (lambda d: d.update(ids=3), "must be an object"),
        (_plan(lambda p: p.pop("tables")), "`tables` is missing"),
        (_plan(lambda p: p["tables"][0].update(rows="many")), "`tables[0].rows` must be a number"),
        (_plan(lambda p: p["regions"][0]["arrows"][0].update(control=1)), "must be true or false"),
        (_plan(lambda p: p["regions"][0]["boxes"][0].update(ops="user")), "must be a list"),
    ],
)
def test_a_damaged_record_is_one_sentence(change: Callable[[Any], Any], said: str) -> None:
    data = recorded()
    change(data)
    with pytest.raises(MigrateError) as caught:
        read_record(data, "g.json")
    assert said in str(caught.value)
    assert "g.json" in str(caught.value)


def test_a_hostile_record_is_harmless() -> None:
    evil = "</title></svg><script>alert(1)</script>\u202e\x00<style>*{}</style>"
    data = json.loads(json.dumps(recorded()).replace("user", "USER"))
    data["plan"]["regions"][0]["boxes"][0] = {"ops": [evil, evil], "type": evil, "state": evil, "source": evil}
    data["plan"]["regions"][0]["arrows"].append({"start": -5, "end": 10**9, "state": evil, "control": False})
    data["plan"]["regions"][0]["table"] = data["plan"]["tables"][0]["name"] = evil
    page = writers.render(read_record(data, "g.json"), ".html")
    assert len(drawings(page)) == 3
    assert page.count("<script") == 2
    assert "\u202e" not in page and "\x00" not in page
    assert page.count("<style") == 1


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Records of a model before and after one of its tables is used whole."""
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path, whole in zip(paths, (False, True), strict=True):
        path.write_text(json.dumps(recorded(whole)))
    return paths


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["report", *map(str, arguments)])
    assert not isinstance(result.exception, MigrateError)
    return result.exit_code, result.output


def test_show_and_html_take_a_record(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert run("show", files[0])[0] == 0
    code, text = run("show", files[1])
    assert code == 1
    assert "1 of 2 tables converted" in text
    assert run("html", *files, "-o", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="scroll drawing"') == 2  # `user` is equal in both


def test_diff_shows_a_table_that_is_newly_refused(files: tuple[Path, Path]) -> None:
    code, text = run("diff", *files)
    assert code == 1
    assert "state: applied -> unsupported" in text
    assert "`item`" in text
    assert run("diff", files[0], files[0])[0] == 0
    code, text = run("diff", files[1], files[0])
    assert code == 0
    assert "state: unsupported -> applied" in text


@pytest.mark.parametrize("wrong", [False, True])
def test_a_proof_is_a_verification(wrong: bool) -> None:
    kinds = [Compared("ids", ("lookup",), 20, 0.0, 9.0, 0.0), Compared("losses", ("Sum",), 20, 1e-7, 1.0, 1e-5)]
    difference = None
    if wrong:
        kinds[1] = Compared("losses", ("Sum",), 3, float("inf"), 1.0, 1e-5)
        difference = Difference(3, "losses", "Sum:0", 0.5, 1.0, "add:0", "AddV2", "it reads `x`", "user", "model.py:3")
    proof = Proof(20, ("user",), 1e-5, tuple(kinds), difference)
    with tf.Graph().as_default() as graph:
        tf.nn.embedding_lookup(v1.get_variable("user", [9, 8]), v1.placeholder(tf.int64, [None], "ids"))
        data = json.loads(json.dumps(record(rewrite(graph, dry_run=True), proof=proof), allow_nan=False))
    report = read_record(data, "g.json")
    (found,) = report.verifications
    assert found.passed is proof.ok is not wrong
    assert [one.verdict for one in found.comparisons] == ["equal", "differs" if wrong else "equal"]
    assert serialize.from_data(json.loads(serialize.to_json(report)), "r") == report
    text = writers.render(report, ".txt")
    assert ("1 of 2 comparisons equal" if wrong else "2 of 2 comparisons equal") in text
    assert ("the first tensor that differs is `add:0`" in text) is wrong
    assert "the results differ" in text if wrong else "the results agree" in text


def test_a_proof_that_compared_nothing_of_lookups_proves_nothing() -> None:
    proof = Proof(2, ("user",), 1e-5, (Compared("initial values", ("user",), 2, 0.0, 1.0, 1e-5),))
    data = recorded()
    data["proof"] = json.loads(json.dumps(record(Plan((), (), (), ()), proof=proof)))["proof"]
    (found,) = read_record(data, "g.json").verifications
    assert not found.passed
