"""One number for one thing: README and CHANGELOG tell what the pages that count it tell."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT


def _text(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("page", "counted", "said"),
    [
        (
            "docs/compat/run.md",
            r"(\d+) programs of (\d+) repositories; (\d+) of (\d+) variables that are looked up are tables",
            {
                "README.md": "[{0} public programs](docs/compat/run.md): {2} of {3} looked-up variables are tables",
                "CHANGELOG.md": "`docs/compat/run.md`: {0} public programs of {1} repositories under `migrate run`",
            },
        ),
        (
            "benchmarks/RESULTS.md",
            r"In the other (\d+) repositories (\d+) of (\d+) tables convert at once, (\d+) after a decision",
            {"README.md": "of {2} tables in {0} public repositories {1} convert at once, {3} after a decision"},
        ),
    ],
    ids=["programs", "tables by source"],
)
def test_what_a_page_counts_is_told_elsewhere(page: str, counted: str, said: dict[str, str]) -> None:
    found = re.search(counted, _text(page))
    assert found is not None, page
    for other, words in said.items():
        assert words.format(*found.groups()) in _text(other), other
