"""The report in a browser: numbers, accessibility, and a report of many tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrate.report import words, writers
from migrate.report.model import Location, Memory, Report, State, TableRecord, Verification, with_ids
from rewriter.plan.region import Arrow, Box, Region
from tests.support.browser import Chromium, Tab, chromium, needs_browser
from tests.support.report_sample import comparison, finding, report

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


def test_a_printed_page_cuts_nothing_off(browser: Chromium, page: Path) -> None:
    with browser.tab(700) as tab:
        tab.open(page)
        tab.page.emulate_media(media="print")
        tab.page.evaluate(_OPEN_ALL)
        wide = "[...document.querySelectorAll('.scroll:has(.numbers)')].map((e) => e.scrollWidth - e.clientWidth)"
        widths = tab.page.evaluate(wide)
        assert widths
        assert max(widths) <= 0


COUNT = 16


def many() -> Report:
    """Tables `table_0` ..., each with two findings, a comparison and its memory; every fifth is left unchanged."""
    findings, tables, comparisons, memory = [], [], [], []
    for at in range(COUNT):
        name, path = f"table_{at}", f"m{at % 4}.py"
        state = State.UNSUPPORTED if at % 5 == 0 else State.APPLIED
        for line, rule in ((at + 1, "tf-variable-table"), (at + 100, "tf-embedding-lookup")):
            findings.append(replace(finding(rule, state, line=line, path=path, action="do"), table=name))
        tables.append(TableRecord(name, Location(path, at + 1, at + 1), state, None, "16", str(1000 - at), "", ""))
        comparisons.append(comparison("initial", f"{name} after step 1", error=1e-9 * (at * 7 % COUNT)))
        memory.append(Memory(name, 1000 - at, 1, 128_000 - at, 152_000 - at))
    proof = Verification("a.py", "b.py", tuple(comparisons), (), tuple(memory))
    return Report("migrate verify", "1", findings=with_ids(findings), tables=tuple(tables), verifications=(proof,))


def listed(tab: Tab) -> list[str]:
    """Return the names of the tables in the list, from top to bottom."""
    return list(tab.page.locator(".list tbody th:visible").all_inner_texts())


def test_the_list_is_searched_sorted_and_filtered(browser: Chromium, tmp_path: Path) -> None:
    writers.write(many(), tmp_path / "r.html")
    with browser.tab() as shown:
        shown.open(tmp_path / "r.html")
        page = shown.page
        assert len(listed(shown)) == COUNT and page.locator(".card:visible").count() == 0
        page.get_by_role("button", name="Largest error").click()
        largest = [at for _, at in sorted(((at * 7 % COUNT, at) for at in range(COUNT)), reverse=True)]
        assert listed(shown) == [f"table_{at}" for at in largest]
        page.get_by_role("button", name="Table", exact=True).click()
        assert listed(shown) == [f"table_{at}" for at in range(COUNT)]
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
        page.locator("#search").fill("m1.py table_1")
        assert listed(shown) == ["table_1", "table_13"]
        assert page.locator("#found").inner_text() == f"2 of {COUNT}"
        page.locator("#search").fill("")
        page.locator(".number[data-bucket=unsupported]").click()
        assert listed(shown) == [f"table_{at}" for at in range(0, COUNT, 5)]
        assert shown.errors == []
