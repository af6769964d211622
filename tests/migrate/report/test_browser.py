"""The report in a browser: numbers, keyboard, accessibility, size, dark, print, 400 pixels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrate.report import words, writers
from migrate.report.model import Report
from rewriter.plan.region import Arrow, Box, Region
from tests.support.browser import Chromium, Tab, chromium, needs_browser
from tests.support.report_sample import report

pytestmark = needs_browser

_OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


def whole() -> Report:
    """The sample, with a drawing."""
    boxes = (
        Box(("user",), "VarHandleOp", "removed"),
        Box(("table",), "Table", "added"),
        Box(("ids",), "Const", "kept"),
    )
    region = Region("user", boxes, (Arrow(0, 2, "removed"), Arrow(1, 2, "added")))
    findings = report().findings
    return replace(report(), findings=(replace(findings[0], drawing=region), *findings[1:]))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "r.html"
    writers.write(whole(), path)
    return path


@pytest.fixture
def shown(browser: Chromium, page: Path) -> Iterator[Tab]:
    with browser.tab() as tab:
        tab.open(page)
        yield tab


def cells(tab: Any, table: str, value: str) -> Any:
    """Return the rows of tables, by an expression for what a `cell` holds."""
    rows = f"[...document.querySelectorAll({table + ' tbody tr'!r})]"
    return tab.evaluate(f"{rows}.map((row) => [...row.children].map((cell) => {value}))")


def test_the_numbers_shown_are_those_of_the_json(shown: Tab) -> None:
    data = json.loads(writers.render(whole(), ".json"))
    tab = shown.page
    assert json.loads(tab.locator("#report-data").text_content()) == data
    counts = {
        one.get_attribute("data-bucket"): int(one.locator(".count").inner_text())
        for one in tab.locator(".number").all()
    }
    assert counts == {key: count for key, count in data["summary"]["buckets"].items() if key != "noted"}
    for bucket, count in counts.items():
        tab.locator(f".number[data-bucket={bucket}]").click()
        assert tab.locator(".finding:visible").count() == count, bucket
    rows = cells(tab, ".numbers:not(.narrow)", "cell.firstChild.textContent")
    compared = data["verification"][0]["comparisons"]
    sizes = ("max_abs", "max_rel", "tolerance", "needed")
    assert [row[:6] for row in rows] == [
        [one["name"], str(one["count"]), *(words.number(one[size]) for size in sizes)] for one in compared
    ]
    (series,) = [one["series"][0] for one in compared if one["series"]]
    losses = cells(tab, ".narrow", "+cell.textContent")
    assert [row[0] for row in losses] == [*range(1, 11)]
    for column, side in enumerate(("original", "converted", "reference"), 1):
        assert [row[column] for row in losses] == pytest.approx(series[side], rel=1e-8)
    todo = [one.text_content() for one in tab.locator("#work .do").all()]
    assert todo == [one["do"].replace("`", "") for one in data["summary"]["remaining"]]


def test_axe_finds_nothing_serious(browser: Chromium, page: Path) -> None:
    with browser.tab(400, dark=True) as tab:
        tab.open(page)
        tab.page.evaluate(_OPEN_ALL)
        assert tab.violations() == []
