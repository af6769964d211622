"""Text, Markdown, SARIF, and the rules of `write`: extension, atomicity, counts in words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report import writers
from migrate.report.model import Applicability, Report, Stage, State
from migrate.report.summary import Tally, remaining, verdict
from tests.support.report_sample import WAY, finding, report


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.json.gz"])
def test_an_unknown_extension_names_the_known_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=r"is unknown; use one of \.json, \.html"):
        writers.write(report(), tmp_path / name)
    assert not list(tmp_path.iterdir())


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


def test_the_text_has_every_finding_table_and_comparison_and_the_totals() -> None:
    text = writers.render(report(), ".txt")
    for item in report().findings:
        assert f"{item.location.path}:{item.location.line}: " in text
        assert item.message in text and item.reason in text and item.action in text
    for table in report().tables:
        assert f"  {table.name}: " in text
    assert "model.py and migrated/model.py: 7 of 10 comparisons equal" in text
    assert text.endswith(
        "1 of 3 tables converted; 2 remain, of which 1 blocks\n"
        "4 of 7 findings converted; 3 remain, of which 2 block\n"
        "2 of these under a condition, or with changed values\n"
        "model.py: 7 of 10 comparisons equal\n"
    )
    assert "%" not in text


@pytest.mark.parametrize(
    ("tally", "sentence"),
    [
        (Tally(0, 0, 0, 0), "0 of 0 tables converted"),
        (Tally(1, 1, 0, 0), "1 of 1 table converted"),
        (Tally(0, 1, 1, 1), "0 of 1 table converted; 1 remains, and it blocks"),
        (Tally(2, 3, 1, 0), "2 of 3 tables converted; 1 remains, and it does not block"),
        (Tally(2, 4, 2, 0), "2 of 4 tables converted; 2 remain, of which none blocks"),
        (Tally(2, 4, 2, 1), "2 of 4 tables converted; 2 remain, of which 1 blocks"),
        (Tally(2, 5, 3, 2), "2 of 5 tables converted; 3 remain, of which 2 block"),
    ],
)
def test_singular_and_plural(tally: Tally, sentence: str) -> None:
    assert tally.sentence("table") == sentence


def test_the_verdict_of_the_whole() -> None:
    done = finding(applicability=Applicability.EXACT)
    assert verdict(Report("c", "1")) == ("ok", "nothing to convert was found")
    assert verdict(Report("c", "1", findings=(done,)))[0] == "ok"
    assert verdict(Report("c", "1", findings=(done, finding(state=State.SUGGESTED))))[0] == "work"
    assert verdict(Report("c", "1", findings=(done, finding(state=State.OPAQUE))))[0] == "blocked"
    assert verdict(Report("c", "1", stages=(Stage("write", "failed"),))) == ("failed", "stage `write` failed")
    assert verdict(report())[0] == "failed"  # its numbers do not agree


def test_remaining_work_has_blocking_findings_first() -> None:
    assert [item.state for item in remaining(report())] == [State.UNSUPPORTED, State.OPAQUE, State.SUGGESTED]


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


#: The way of the sample, of which the last step is on line 61.
CHAIN = (
    '`item` is made (model.py:20) -> entry `"item"` of a dict, returned by `build` (model.py:24) -> '
    "assigned to `self.tables` (line 50) -> used as `item_table`"
)


def test_text_and_markdown_tell_the_way_of_what_remains() -> None:
    assert f"\n      way: {CHAIN}\n      do: Give" in writers.render(report(), ".txt")
    shown = writers.render(report(), ".md").replace("\\>", ">")
    assert f"\n  - way: {CHAIN}\n  - do: Give" in shown
    done = replace(report(), findings=(finding(steps=WAY),))
    assert not [suffix for suffix in (".txt", ".md") if "way:" in writers.render(done, suffix)]
    page = writers.render(report(), ".html")
    assert page.count("How the table gets here") == 1
    assert '<li>returned by <code>build</code> <span class="mono">model.py:24</span></li>' in page


def test_a_verification_speaks_of_numbers_only() -> None:
    proof = replace(report(), findings=(), tables=(), inputs=tuple(replace(item, diff="") for item in report().inputs))
    text = writers.render(proof, ".txt")
    assert "0 of 0" not in text and "nothing to convert" not in text
    assert "verdict: the results differ" in text
    assert 'class="strip"' not in writers.render(proof, ".html")


def test_the_command_line_can_be_run_again() -> None:
    import click
    from click.testing import CliRunner

    from migrate.cli.command_line import command_line

    @click.command("convert")
    @click.argument("paths", nargs=-1)
    @click.option("-o", "--output")
    @click.option("--steps", default=10)
    @click.option("--force", is_flag=True)
    @click.option("--diff", is_flag=True)
    @click.option("--report", "reports", multiple=True)
    def command(**options: object) -> None:
        click.echo(command_line())

    said = CliRunner().invoke(command, ["a b.py", "-o", "out", "--force", "--report", "r.json", "--steps", "10"]).stdout
    assert said == "migrate convert 'a b.py' --output out --force\n"
