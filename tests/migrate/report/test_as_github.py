"""Workflow commands of GitHub, and reports compared for a pull request."""

from __future__ import annotations

import re

from migrate.report import writers
from migrate.report.model import Report, State
from tests.support.report_sample import finding, report

COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\n]*,?)+)::([^\n]+)")


def test_every_line_is_a_command_and_what_blocks_is_first() -> None:
    text = writers.printed(report(), "github")
    found = [COMMAND.fullmatch(line) for line in text.splitlines()]
    assert all(found)
    levels = [one[1] for one in found if one]
    assert levels == ["error", "warning", "warning", "notice", "error"]  # the last is that the numbers differ
    assert "file=nets/decoder.py,line=61,endLine=61,title=left unchanged (tf-variable-table)::table `item` is" in text


def test_text_of_the_source_cannot_end_a_command() -> None:
    evil = finding(state=State.UNSUPPORTED, path="a,line=1::x.py", message="100%\n::error::forged")
    (line,) = writers.printed(Report("c", "1", findings=(evil,)), "github").splitlines()
    assert line.startswith("::error file=a%2Cline=1%3A%3Ax.py,line=12,")
    assert line.endswith("::100%25 ::error::forged")
