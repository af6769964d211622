"""The page about public programs says how many variables are tables, what stays, and what came out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.public_programs import page
from benchmarks.public_programs.comparing import difference
from benchmarks.public_programs.evidence import what_became
from benchmarks.public_programs.modern import modernize
from benchmarks.public_programs.programs import Evidence, Outcome, Program, Recording
from benchmarks.public_programs.recipes import PROGRAMS
from benchmarks.public_programs.recipes.notebooks import script
from migrate.report.model import Applicability, Finding, Location, Report, State, TableRecord
from migrate.source.evidence.in_graph import RULE
from migrate.trace.record import GraphRecord, Record, Variable

_PROGRAM = Program("DIN", "someone/models", "0123abc", "session", ("train.py", "--small"), "din", remark="A remark.")


def _outcome(found: float = 0.0, error: str = "", again: float | None = None, nudged: float | None = None) -> Outcome:
    moved = Recording([[0.5], [0.25, 1.0]], error, ["items", "users"], {"words": "MatMul uses the | whole variable"})
    return Outcome(_PROGRAM, Recording([[0.5], [0.25, 1.0]], ""), moved, found, again, nudged)


def test_the_page_counts_tables_and_says_what_stays() -> None:
    without = Outcome(_PROGRAM, Recording([], "no data"), Recording([], ""), 0.0)
    text = page.text([_outcome(), without], {}, "Some version.")
    assert "1 programs of 1 repositories; 2 of 3 variables that are looked up are tables, 67 %. equal: 1." in text
    assert "| someone/models DIN | session | 2 | 3 | 3 | none | equal |" in text
    assert r"| DIN | 1 | MatMul uses the \| whole variable |" in text
    assert "`DIN`: `someone/models` at `0123abc`, folder `din`. A remark.\n\n```\ntrain.py --small\n```" in text


def test_the_page_says_what_a_record_converts_and_how_it_is_proven() -> None:
    moved = {"items": "in source", "users": "in graph", "words": "MatMul uses the whole variable"}
    others = [replace(_PROGRAM, name=name) for name in ("DIEN", "SASRec", "BST", "MIND")]
    evidence = {
        "DIN": Evidence(moved, difference=0.1, compared=40),
        "DIEN": Evidence({"items": "in graph"}, difference=1e-8, said="it needs | data"),
        "SASRec": Evidence({"items": "in source"}, difference=0.1, compared=40, differing=("loss",)),
        "BST": Evidence({"items": "in graph"}),
        "MIND": Evidence(error="not traced: no data"),
    }
    text = page.text([_outcome(), *(replace(_outcome(), program=one) for one in others)], evidence, "Some version.")
    assert "looked up: 6 in 4 programs; 2 are tables in the source, 3 move in the graph, 1 stay. 83 %" in _joined(text)
    assert "and 3 of these 5 are proven:" in _joined(text)
    assert "| DIN | 1 | 1 | 1 | 40 equal | other first rows |" in text
    assert r"| DIEN | 0 | 1 | 0 | it needs \| data | 1e-08 |" in text
    assert "| SASRec | 1 | 0 | 0 | 1 of 40 differ | other first rows |" in text
    assert "| BST | 0 | 1 | 0 | not run | stops |" in text
    assert "| MIND | not traced: no data | | | | |" in text


def test_what_became_of_a_variable_is_what_the_report_says() -> None:
    """The layer of a feature column makes its variable, in another line than the column."""
    line, city = Location("a.py", 5, 5), Location("columns.py", 9, 9)
    converted = TableRecord("users", line, State.APPLIED, Applicability.EXACT, "8", "", "", "")
    by_graph = replace(converted, name="items", location=replace(line, line=6), applicability=Applicability.IN_GRAPH)
    tables = (converted, by_graph, replace(converted, name="city_embedding", location=city))
    added = Finding(RULE, "import", State.APPLIED, line, "", after='rewriter.install(tables=["items"])')
    made = [("users", 5, "users"), ("items", 6, "items"), ("layer/city_embedding/w", 7, "w"), ("words", 8, "")]
    variables = [Variable(name, (9, 8), "float32", (("a.py", n),), table=to, stays="why") for name, n, to in made]
    record = Record((), "by itself", 3, "", "", {}, {}, (GraphRecord(tuple(variables)),))
    assert what_became(Report("c", "1", findings=(added,), tables=tables), record) == {
        "users": "in source",
        "items": "in graph",
        "layer/city_embedding/w": "in source",
        "words": "why",
    }


def _joined(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (_outcome(1e-7), "equal"),
        (_outcome(1e-3, again=0.0, nudged=2e-3), "rounding"),
        (_outcome(1e-3, again=1e-3, nudged=0.0), "the original differs from itself"),
        (_outcome(1e-3, again=0.0, nudged=1e-6), "differs"),
        (_outcome(error="ValueError: no"), "stops"),
    ],
)
def test_verdicts(outcome: Outcome, verdict: str) -> None:
    assert outcome.verdict == verdict


def test_the_difference_is_relative_and_sees_what_is_no_number() -> None:
    one = Recording([[100.0, 2.0]], "")
    assert difference(one, Recording([[101.0, 2.0]], "")) == pytest.approx(0.01)
    assert difference(one, Recording([[100.0, float("nan")]], "")) == 1e9
    assert difference(Recording([[float("nan")]], ""), Recording([[float("nan")]], "")) == 0.0


def test_python_2_is_translated_and_texts_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("for one in xrange(3):\n\tprint 'rows', one / 2\n")
    modernize(tmp_path, {r"one / 2": "one // 2"}, python2=True)
    assert (tmp_path / "a.py").read_text().strip() == "for one in range(3):\n        print('rows', one // 2)"


def test_the_cells_of_a_notebook_are_a_script(tmp_path: Path) -> None:
    cells = [("code", ["%%time\n", "steps = 400"]), ("markdown", ["# Steps"]), ("code", ["print(steps)"])]
    notebook = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    script(tmp_path / "a.ipynb", tmp_path / "a.py", {"400": "40"})
    assert (tmp_path / "a.py").read_text().split("\n\n") == ["\nsteps = 40", "print(steps)"]


def test_each_recipe_has_a_name_of_its_own() -> None:
    assert len({one.name for one in PROGRAMS}) == len(PROGRAMS)
