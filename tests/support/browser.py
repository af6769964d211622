"""A real browser for tests of pages: Debian's Chromium, driven by Playwright, and axe-core for accessibility.

Nothing else needs them: `make .venv/.browser` adds Playwright and axe, `apt-get install chromium` the browser. Where
one is missing, the tests are skipped and say which.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: The browser's program; None where there is none.
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
_PACKAGES = ("playwright", "axe_playwright_python")
_MISSING = next((name for name in _PACKAGES if importlib.util.find_spec(name) is None), "")

needs_browser = pytest.mark.skipif(
    BROWSER is None or bool(_MISSING),
    reason="no Chromium on the path: apt-get install chromium"
    if BROWSER is None
    else f"{_MISSING} is not installed: make .venv/.browser",
)
#: Milliseconds for one thing that the browser does, on a machine that does much else.
PATIENCE = 120_000


class Tab:
    """One page in a context of its own; what it asks a network for and what goes wrong in it is kept."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))

    def open(self, path: Path) -> None:
        """Load a file."""
        self.page.goto(path.as_uri())

    def violations(self) -> list[str]:
        """Return what axe-core finds that is serious or critical: rule, impact, element, what is wrong."""
        package = Path(str(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]))  # type: ignore
        self.page.evaluate((package / "axe.min.js").read_text())
        found = self.page.evaluate("axe.run()")["violations"]
        return [
            f"{one['id']} ({one['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for one in found
            if one["impact"] in {"serious", "critical"}
            for node in one["nodes"]
        ]


class Chromium:
    """A running browser."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @contextmanager
    def tab(self, width: int = 1280, *, dark: bool = False, scripts: bool = True) -> Iterator[Tab]:
        """Open an empty tab of this width; `scripts`: what a test evaluates may be long, as axe is."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", bypass_csp=scripts
        )
        try:
            yield Tab(context)
        finally:
            context.close()


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Start the browser, headless."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"], timeout=PATIENCE)
        try:
            yield Chromium(browser)
        finally:
            browser.close()
