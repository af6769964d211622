"""docs/command-line.md: its commands can be parsed, its files read, and its tables are those of the code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
import yaml

from migrate.cli.main import cli
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
FILES = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]


def strings(data: Any) -> Iterator[str]:
    """Yield every text in a YAML document."""
    if isinstance(data, str):
        yield data
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from strings(item)


def lines() -> list[str]:
    """Return each command of the page."""
    told = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
    told += [line.strip() for file in FILES for text in strings(file) for line in text.splitlines()]
    told += re.findall(r"`(migrate (?:completion|rules) [^`]*)`", PAGE)
    return [line for line in told if line.startswith("migrate ")]


@pytest.mark.parametrize("line", lines())
def test_a_command_can_be_parsed(line: str) -> None:
    words = shlex.split(re.split(r" (?:>>?|\\?\|) ", line)[0], comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, line
        command, words = found, words[1:]
    command.make_context("migrate", words)
