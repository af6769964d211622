"""Text, Markdown, commands of GitHub, and the rules of `write`: atomicity, text that steers nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report import writers
from migrate.report.model import Report, State
from tests.support.report_sample import finding, report


def test_an_unwritable_path_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "d.json").mkdir()
    (tmp_path / "file").write_text("x")
    for name in ("d.json", "none/r.json", "file/r.json"):
        with pytest.raises(MigrateError, match="cannot write"):
            writers.write(report(), tmp_path / name)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")
    path.chmod(0o640)

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(MigrateError, match="No space left"):
            writers.write(report(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    writers.write(report(), path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_text_cannot_steer_a_terminal() -> None:
    whole = Report("c", "1", findings=(finding(message="\x1b[2J\x07 a\u202eb\nc", action="x\r\ny"),))
    text = writers.render(whole, ".txt")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert r"\x1b[2J\x07 a\u202eb c" in text


def test_markdown_cannot_be_forged_by_the_source() -> None:
    hostile = "x | y <script>alert(1)</script> [a](http://b) ``` `c`"
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-```\n+````\n"
    item = replace(report().inputs[0], path=hostile, diff=diff)
    whole = replace(report(), inputs=(item,), findings=(finding(message=hostile, path=hostile),))
    text = writers.render(whole, ".md")
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    assert "<script>" not in outside.replace("\\<", "")
    assert "[a](" not in outside.replace("\\[", "").replace("\\]", "")
    assert "`````diff\n" in text  # longer than any fence inside


def test_a_verification_speaks_of_numbers_only() -> None:
    proof = replace(report(), findings=(), tables=(), inputs=tuple(replace(item, diff="") for item in report().inputs))
    text = writers.render(proof, ".txt")
    assert "0 of 0" not in text and "nothing to convert" not in text
    assert "verdict: the results differ" in text
    assert 'class="strip"' not in writers.render(proof, ".html")


#: A workflow command of GitHub.
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
