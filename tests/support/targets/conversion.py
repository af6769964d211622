"""Converts for another SDK, with its switches."""

from __future__ import annotations

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.targets import check_switches
from migrate.targets.switches import read_switches


def convert(text: str, target: str, assume: bool = False, **switches: object) -> SourceResult:
    """Convert with all the production checks; switches are given by their names with `_`."""
    asked = read_switches({name.replace("_", "-"): value for name, value in switches.items()})
    check_switches(target, asked)
    options = Options(target=target, switches=asked, assume=assume)
    result = convert_text("model.py", text, options, {})
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    return result
