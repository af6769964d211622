"""The documentation site in a browser, as `make docs` has built it: accessibility, no other host, 400 pixels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.browser import Chromium, chromium, needs_browser
from tests.support.paths import ROOT

SITE = ROOT / "build" / "site"
#: A page of each kind (links, code, made of the code, a drawing, a wide table), the window's width, whether it is dark.
PAGES = (
    ("index.html", 400, True),
    ("command-line.html", 1280, False),
    ("reference/findings.html", 400, False),
    ("repository/ARCHITECTURE.html", 400, True),
    ("ranks.html", 400, False),
)

pytestmark = [
    pytest.mark.soak,
    needs_browser,
    pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make docs"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize(("name", "width", "dark"), PAGES, ids=[name for name, *_ in PAGES])
def test_a_page_is_readable_for_all(browser: Chromium, name: str, width: int, dark: bool) -> None:
    with browser.tab(width, dark=dark) as tab:
        tab.open(SITE / name)
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width
        assert [one for one in tab.requests if not one.startswith(("file:", "data:"))] == []
        assert tab.errors == []
        assert tab.violations() == []
