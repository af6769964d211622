"""The difference of two reports as a page: its counts are those of the JSON, hostile text is text, it loads nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from migrate.cli.report import report as command
from migrate.report import diff_html, diff_show, writers
from migrate.report.diff import Kind
from migrate.report.model import Report, State, with_ids
from tests.support.html_page import Page
from tests.support.report_sample import comparison, finding, report

EVIL = "</li><script>alert(1)</script> & \u202e\x1b `x` {{ 7*7 }}"


def later() -> Report:
    """The sample after another run: a finding is new, one is fixed, one is worse, and so is a comparison."""
    findings = report().findings
    new = finding(state=State.OPAQUE, message=EVIL, reason=EVIL, path=EVIL, before=EVIL)
    worse = replace(findings[1], state=State.UNSUPPORTED, message=EVIL)
    proof = report().verifications[0]
    compared = (replace(proof.comparisons[0], verdict="differs", max_rel=0.5), *proof.comparisons[1:])
    changed = replace(proof, comparisons=(*compared, comparison("loss", EVIL)))
    return replace(report(), findings=with_ids((new, worse, *findings[2:])), verifications=(changed,))


def rendered(old: Report, new: Report) -> str:
    return diff_html.to_html(diff_show.compare(old, new))


def test_its_numbers_are_those_of_the_json() -> None:
    result = diff_show.compare(report(), later())
    data = json.loads(diff_show.to_json(result))
    page = Page(diff_html.to_html(result))
    text = "".join(page.text)
    row = [f"\n{data['counts'][kind.value]}" for kind in Kind]
    assert "findings" + "".join(one.strip() for one in row) in text.replace("\n", "").replace(" ", "")
    changed = [one for one in (*data["findings"], *data["comparisons"]) if one["worse"] or one["class"] != "unchanged"]
    assert sum(tag == "li" for tag, _ in page.elements) == len(changed) == 5
    assert f"{data['worse']} results are new or worse" in text
    assert "largest relative error 0 → 0.5" in text and "equal -> differs" in text


def test_it_is_well_formed_and_hostile_text_is_text() -> None:
    text = rendered(report(), later())
    page = Page(text)
    assert text.startswith("<!doctype html>") and text == rendered(report(), later())
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "img", "iframe"})
    assert all(link.startswith("#") and link[1:] in page.values("id") for link in page.values("href"))
    shown = "".join(page.text)
    assert "<script>alert(1)</script>" in shown and "{{ 7*7 }}" in shown and "\u202e" not in shown
    assert "http://" not in text and "https://" not in text


def test_equal_reports_have_no_changes() -> None:
    page = Page(rendered(report(), report()))
    assert "".join(page.text).count("None.") == 2
    assert not [tag for tag, _ in page.elements if tag == "li"]


def test_the_command_prints_it(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{name}.json") for name in "ab"]
    for path, whole in zip(paths, (report(), later()), strict=True):
        writers.write(whole, path)
    result = CliRunner().invoke(command, ["diff", *paths, "--output-format", "html"])
    assert result.exit_code == 1
    assert result.stdout == rendered(report(), later())
