"""The page about public programs says how many variables are tables, what stays, and what came out."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.public_programs.evidence import what_became
from migrate.report.model import Applicability, Finding, Location, Report, State, TableRecord
from migrate.source.evidence.in_graph import RULE
from migrate.trace.record import GraphRecord, Record, Variable


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
