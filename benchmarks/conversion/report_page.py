"""What a report of many findings costs in a browser: seconds of the page's own work, as it opens and for one filter.

python -m benchmarks.conversion.report_page [--findings 1000,10000] [--rounds 5]

Needs Chromium and Playwright (`make .venv/.browser`). Seconds on a processor, so that what else the machine does
matters less; medians. The sample report of the tests, with as many findings as asked for.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table
from migrate.report import writers
from migrate.report.model import State, with_ids
from tests.support.browser import Chromium, chromium
from tests.support.report_sample import finding, report

_STATES = (State.APPLIED, State.UNSUPPORTED, State.SUGGESTED, State.OPAQUE, State.NOTED)


def write(path: Path, count: int) -> None:
    """Write the report of `count` findings in 50 files."""
    findings = [
        finding(line=at, message=f"lookup {at}", path=f"m{at % 50}.py", before=f"x{at}", state=_STATES[at % 5])
        for at in range(count)
    ]
    writers.write(replace(report(), findings=with_ids(findings)), path)


def measure(browser: Chromium, path: Path) -> tuple[float, float]:
    """Return the seconds until the page is there, and those of showing one kind of finding."""
    with browser.tab() as tab:
        metrics = tab.page.context.new_cdp_session(tab.page)
        metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.open(path)
        opened = _spent(metrics)
        tab.page.locator(".number[data-bucket=opaque]").click()
        tab.page.locator("#status").inner_text()
        return opened, _spent(metrics) - opened


def _spent(metrics: Any) -> float:
    found = metrics.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in found if one["name"] == "TaskDuration")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--findings", default="1000,10000")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    counts = [int(one) for one in options.findings.split(",")]
    found: dict[int, list[tuple[float, float]]] = {count: [] for count in counts}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for count in counts:
            write(Path(folder) / f"{count}.html", count)
        for _ in range(options.rounds):
            for count in counts:
                found[count].append(measure(browser, Path(folder) / f"{count}.html"))
    rows = [[count, *(statistics.median(part) for part in zip(*found[count], strict=True))] for count in counts]
    print(markdown_table(["findings", "opens s", "filter s"], rows))


if __name__ == "__main__":
    main()
