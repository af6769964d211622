"""Pages that `make docs` makes of the code say all that the code has; MkDocs itself checks links and menus there."""

from __future__ import annotations

import importlib
import re

import click
import pytest

from migrate.cli.main import COMMANDS, cli
from tests.support.documentation import api, commands


def test_each_command_has_a_page_with_all_its_options() -> None:
    pages = dict(commands.pages())
    assert {*pages} == {"index.md", *(f"{name}.md" for name in COMMANDS)}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        inner = [*command.commands.values()] if isinstance(command, click.Group) else []
        options = [option for one in (command, *inner) for param in one.params for option in param.opts]
        missing = [one for one in options if one.startswith("-") and one not in pages[f"{name}.md"]]
        assert not missing, f"migrate {name}: {missing}"
        assert all(f"## migrate {name} {one.name}\n" in pages[f"{name}.md"] for one in inner)


@pytest.mark.parametrize("module", api.MODULES)
def test_each_exported_name_has_its_place(module: str) -> None:
    public = importlib.import_module(module)
    text = dict(api.pages())[f"{module}.md"]
    own = [name for name in public.__all__ if f"{module}.{name}" not in api.MODULES]
    shown = re.findall(r"^::: (.*)$", text, re.MULTILINE)
    assert shown[0] == module
    assert sorted(shown[1:]) == sorted(f"{module}.{name}" for name in own)
