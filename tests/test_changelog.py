"""CHANGELOG.md has the form of Keep a Changelog, an entry a line, and the version is that of its first release."""

from __future__ import annotations

import re

import migrate
from tests.support.paths import ROOT

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
LONGEST = 160
TWO_SCREENS = 100
LINES = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()


def test_a_release_has_its_version_and_its_date() -> None:
    """The first one may be unreleased."""
    first, *others = [line for line in LINES if line.startswith("## ")]
    dated = re.compile(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")
    assert dated.fullmatch(first.replace("unreleased", "2000-01-01"))
    assert [line for line in others if not dated.fullmatch(line)] == []


def test_the_version_is_that_of_the_first_release() -> None:
    """Before its release it is a development version, so that nobody takes it for the release before."""
    version, _, state = next(line for line in LINES if line.startswith("## "))[len("## [") :].partition("] - ")
    assert migrate.__version__ == (f"{version}.dev0" if state == "unreleased" else version)


def test_an_entry_is_a_line_below_what_kind_it_is() -> None:
    kinds = [line.removeprefix("### ") for line in LINES if line.startswith("### ")]
    assert [kind for kind in kinds if kind not in KINDS] == []
    entries = LINES[next(number for number, line in enumerate(LINES) if line.startswith("## ")) :]
    assert [line for line in entries if line and not line.startswith(("- ", "## ", "### ", "#### "))] == []
    assert [line for line in entries if len(line) > LONGEST] == []


def test_a_release_is_read_on_two_screens() -> None:
    """What else there is to say of a change stands in the pages; why it was made, in the decisions."""
    heads = [number for number, line in enumerate(LINES) if line.startswith("## ")]
    releases = zip(heads, [*heads[1:], len(LINES)], strict=True)
    assert [LINES[begin] for begin, end in releases if end - begin > TWO_SCREENS] == []
