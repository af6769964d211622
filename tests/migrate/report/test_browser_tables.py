"""A report of many tables in a browser: their list, and the page of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.report import writers
from migrate.report.model import Location, Memory, Report, State, TableRecord, Verification, with_ids
from tests.support.browser import PATIENCE, Chromium, Tab, chromium, needs_browser
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


def shows(tab: Tab, *names: str) -> None:
    """Wait until the page shows the cards of these tables; it hears of a changed address after the browser did."""
    from playwright.sync_api import expect

    expect(tab.page.locator(".card:visible h3")).to_have_text(list(names), timeout=PATIENCE)


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


def test_a_table_has_a_page_of_its_own(shown: Tab) -> None:
    page = shown.page
    page.locator(".list").get_by_role("link", name="table_7", exact=True).click()
    shows(shown, "table_7")
    assert page.evaluate("document.activeElement.id") == "t-table-7"
    assert page.locator(".finding:visible .line").all_inner_texts() == ["line 8", "line 107"]
    assert page.locator(".card.one .picture:visible").count() == 2
    assert page.locator(".finding:visible pre").locator("visible=true").count() == 2
    assert not page.locator(".top, #work, #proof, .listing, #environment").locator("visible=true").count()
    page.locator(".card.one dd a").last.click()
    shows(shown, "table_7")  # a finding about it is on its page
    page.go_back()
    page.get_by_role("link", name="Next table").click()
    shows(shown, "table_8")
    page.keyboard.press("j")
    assert page.locator(".finding.here").get_attribute("data-tables") == "t-table-8"
    page.keyboard.press("Escape")
    shows(shown)
    page.locator(".top").wait_for()
    assert len(listed(shown)) == COUNT


def test_the_first_table_has_none_before_it_and_work_leads_out_of_its_page(shown: Tab, page: Path) -> None:
    shown.page.goto(f"{page.as_uri()}#t-table-0")
    assert shown.page.get_by_text("Previous table").get_attribute("href") is None
    shown.page.get_by_role("link", name="Whole report").click()
    shown.page.locator(".top").wait_for()
    shown.page.locator("#work a").first.click()
    shown.page.locator(".finding:target").wait_for()


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (400, False)], ids=["wide and dark", "narrow"])
@pytest.mark.one_case
def test_the_page_of_a_table_is_readable_for_all(browser: Chromium, page: Path, width: int, dark: bool) -> None:
    with browser.tab(width, dark=dark) as tab:
        for place in ("tables", "t-table-7"):
            tab.page.goto(f"{page.as_uri()}#{place}")
            assert tab.page.evaluate("document.documentElement.scrollWidth") == width
            assert tab.violations() == []


def test_without_scripts_a_link_shows_the_table(browser: Chromium, page: Path) -> None:
    with browser.tab(scripts=False) as tab:
        tab.page.route(
            "**/*", lambda route: route.fulfill(body=page.read_text().replace("<script>", "<script type=x>"))
        )
        tab.page.goto("http://report/r.html#t-table-7")
        assert tab.page.locator(".card:visible h3").all_inner_texts() == ["table_7"]


def test_print_has_all_tables_or_the_one_that_is_shown(shown: Tab) -> None:
    shown.page.emulate_media(media="print")
    assert shown.page.locator(".card:visible").count() == COUNT
    shown.page.emulate_media(media="screen")
    shown.page.evaluate("location.hash = '#t-table-3'")
    shown.page.locator(".card.one").wait_for()
    shown.page.emulate_media(media="print")
    assert shown.page.locator(".card:visible").count() == 1
