"""What belongs to a table: its findings, where its name is another's, too."""

from __future__ import annotations

from dataclasses import replace

from migrate.report.model import Location, Report, with_ids
from migrate.report.table_view import table_parts
from tests.support.report_sample import finding, report


def test_tables_of_one_name_have_the_findings_of_their_own_files() -> None:
    user = report().tables[0]
    other = replace(user, location=replace(user.location, path="other.py"))
    findings = with_ids([finding(line=1), finding(line=2, path="other.py"), finding(line=3)])
    parts = table_parts(Report("c", "1", findings=findings, tables=(user, other)))
    assert [[one.location.line for one in part.findings] for part in parts] == [[1, 3], [2]]
    assert [part.anchor for part in parts] == ["t-user", "t-user-1"]


def test_tables_of_one_name_in_one_file_have_the_findings_of_their_own_lines() -> None:
    first = replace(report().tables[0], location=Location("model.py", 5, 6))
    second = replace(first, location=Location("model.py", 8, 8))
    findings = with_ids([finding(line=line) for line in (6, 8, 20)])
    parts = table_parts(Report("c", "1", findings=findings, tables=(first, second)))
    assert [[one.location.line for one in part.findings] for part in parts] == [[6, 20], [8, 20]]
