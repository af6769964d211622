"""A report of many tables in a browser: their list, and the page of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.report import writers
from migrate.report.model import Location, Memory, Report, State, TableRecord, Verification, with_ids
from tests.support.browser import Chromium, Tab, chromium, needs_browser
from tests.support.report_sample import comparison, finding

pytestmark = needs_browser

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "r.html"
    writers.write(many(), path)
    return path


@pytest.fixture
def shown(browser: Chromium, page: Path) -> Iterator[Tab]:
    with browser.tab() as tab:
        tab.open(page)
        yield tab
        assert tab.errors == []


def listed(tab: Tab) -> list[str]:
    """Return the names of the tables in the list, from top to bottom."""
    return list(tab.page.locator(".list tbody th:visible").all_inner_texts())


def test_the_list_is_searched_sorted_and_filtered(shown: Tab) -> None:
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
