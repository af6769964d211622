"""The report in a browser: numbers, keyboard, accessibility, size, dark, print, 400 pixels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrate.report import words, writers
from migrate.report.model import Report, State, with_ids
from rewriter.plan.region import Arrow, Box, Region
from tests.support.browser import Chromium, Tab, chromium, needs_browser
from tests.support.report_sample import finding, report

pytestmark = needs_browser

#: Objects and passes of layout for a page of any length: findings out of sight are not laid out, and none asks alone.
_OBJECTS, _PASSES = 6_000, 30
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


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    states = [State.APPLIED, State.UNSUPPORTED, State.SUGGESTED, State.OPAQUE, State.NOTED]
    findings = [
        finding(
            line=at, message=f"lookup {at}", path=f"m{at % 50}.py", before=f"x{at}", state=states[at % 5], action="do"
        )
        for at in range(10_000)
    ]
    path = tmp_path_factory.mktemp("many") / "r.html"
    writers.write(replace(report(), findings=with_ids(findings)), path)
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


def test_it_asks_for_nothing_and_nothing_fails(shown: Tab, page: Path) -> None:
    shown.page.evaluate(_OPEN_ALL)
    assert (shown.requests, shown.errors) == ([page.as_uri()], [])


def focused(tab: Any) -> str:
    return str(tab.evaluate("document.activeElement.className + ' ' + document.activeElement.tagName.toLowerCase()"))


def test_the_keyboard_is_enough(shown: Tab) -> None:
    tab = shown.page
    tab.keyboard.press("Tab")
    assert focused(tab) == "skip a"
    tab.keyboard.press("Enter")
    assert tab.url.endswith("#main")
    for _ in range(60):
        tab.keyboard.press("Tab")
        if focused(tab).startswith("number"):
            break
    chosen = tab.evaluate("document.activeElement.dataset.bucket")
    tab.keyboard.press("Space")
    assert tab.locator("[aria-pressed=true]").get_attribute("data-bucket") == chosen
    assert "Showing 2 of 8 findings: converted exactly" in tab.locator("#status").inner_text()
    tab.keyboard.press("Escape")
    assert tab.locator("[aria-pressed=true]").count() == 0
    lines = []
    for key in ("j", "j", "j", "k"):
        tab.keyboard.press(key)
        lines.append(tab.evaluate("document.activeElement.querySelector('.line').textContent"))
    assert lines == ["line 1", "line 11", "line 12", "line 11"]
    summary = tab.locator("summary", has_text="The losses as numbers")
    summary.focus()
    tab.keyboard.press("Enter")
    assert tab.locator(".narrow").is_visible()


def test_each_element_that_can_be_reached_is_left_again(shown: Tab) -> None:
    """Tab goes through all of the page and comes to its end."""
    last = shown.page.locator("#save")
    for _ in range(200):
        shown.page.keyboard.press("Tab")
        if last.evaluate("(one) => one === document.activeElement"):
            return
    pytest.fail(f"the keyboard is caught in {focused(shown.page)}")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)], ids=["wide", "narrow and dark"])
@pytest.mark.one_case
def test_axe_finds_nothing_serious(browser: Chromium, page: Path, width: int, dark: bool) -> None:
    with browser.tab(width, dark=dark) as tab:
        tab.open(page)
        tab.page.evaluate(_OPEN_ALL)
        assert tab.violations() == []


def test_axe_does_find_what_is_hard_to_see(browser: Chromium) -> None:
    with browser.tab() as tab:
        tab.page.set_content(
            "<html lang=en><title>t</title><main><h1>T</h1><p style='color: #ddd'>grey on white</main>"
        )
        assert [one.partition(" ")[0] for one in tab.violations()] == ["color-contrast"]


@pytest.mark.soak
def test_ten_thousand_findings_cost_the_layout_of_a_screen(browser: Chromium, many: Path) -> None:
    """Counted, not timed: `benchmarks.conversion.report_page` has the seconds."""
    with browser.tab() as tab:
        metrics = tab.page.context.new_cdp_session(tab.page)
        metrics.send("Performance.enable")
        tab.open(many)
        assert tab.page.locator(".finding").count() == 10_000
        tab.page.locator(".number[data-bucket=opaque]").click()
        assert "Showing 2000 of 10000 findings" in tab.page.locator("#status").inner_text()
        tab.page.keyboard.press("j")
        assert tab.page.locator(".finding.here").get_attribute("data-bucket") == "opaque"
        found = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
        assert found["LayoutObjects"] < _OBJECTS
        assert found["LayoutCount"] + found["RecalcStyleCount"] < _PASSES
        assert tab.errors == []


def brightness(tab: Any, selector: str, key: str) -> float:
    """Return how bright a colour is, 0 to 1."""
    text = tab.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{key}")
    return sum(float(part) for part in text.removeprefix("rgb(").removesuffix(")").split(",")) / 765


@pytest.mark.soak
def test_dark_is_dark_and_print_is_light(browser: Chromium, page: Path) -> None:
    lines = {}
    for dark in (False, True):
        with browser.tab(dark=dark) as tab:
            tab.open(page)
            assert (brightness(tab.page, "body", "backgroundColor") < 0.2) is dark
            assert (brightness(tab.page, "body", "color") > 0.8) is dark
            assert (brightness(tab.page, ".picture .name", "fill") > 0.8) is dark
            lines[dark] = brightness(tab.page, ".picture .curve.original", "stroke")
            tab.page.emulate_media(media="print")
            assert brightness(tab.page, "body", "backgroundColor") == 1.0
            assert brightness(tab.page, ".picture .name", "fill") < 0.2
    assert lines[True] > lines[False] + 0.1


@pytest.mark.soak
def test_print_has_all_of_it(browser: Chromium, page: Path, tmp_path: Path) -> None:
    some = with_ids(finding(line=at, state=State.OPAQUE, action="do") for at in range(200))
    writers.write(Report("c", "1", findings=some), tmp_path / "some.html")
    with browser.tab() as tab:
        tab.open(tmp_path / "some.html")
        assert not tab.page.locator("#work li").last.is_visible()  # the first 20 are at once
        tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        tab.page.emulate_media(media="print")
        assert tab.page.locator("#work li").last.is_visible()
        assert not tab.page.locator(".jump").is_visible() and not tab.page.locator("#save").is_visible()
    with browser.tab() as tab:
        tab.open(page)
        folded = tab.page.locator("details:not([open])").count()
        assert folded and tab.page.pdf().startswith(b"%PDF")
        tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tab.page.locator("details:not([open])").count() == 0
        tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert tab.page.locator("details:not([open])").count() == folded


def test_400_pixels_are_wide_enough(browser: Chromium, page: Path) -> None:
    with browser.tab(400) as tab:
        tab.open(page)
        tab.page.evaluate(_OPEN_ALL)
        assert tab.page.evaluate("document.documentElement.scrollWidth") == 400
        boxes = [one.bounding_box() for one in tab.page.locator(".picture").all()]
        assert len(boxes) >= 4 and all(box["x"] >= 0 and box["x"] + box["width"] <= 400 for box in boxes)
        view = tab.page.locator(".picture").first.get_attribute("viewBox").split()[2]
        assert min(box["width"] for box in boxes) / float(view) * 10 >= 9  # letters of the smallest text, in pixels
