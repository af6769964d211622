"""Pages that `make docs` makes of the code say all that the code has; MkDocs itself checks links and menus there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from migrate.cli.main import COMMANDS, cli
from tests.support.documentation import api, commands, offline, repository
from tests.support.paths import ROOT

DOCS = ROOT / "docs"


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
    assert re.findall(r"^::: (.*)$", text, re.MULTILINE) == [module, *(f"{module}.{name}" for name in own)]


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("a.md", "[x](b.md#c)", "[x](b.md#c)"),
        ("a.md", "[x](../benchmarks/RESULTS.md#c)", "[x](repository/benchmarks/RESULTS.md#c)"),
        ("decisions/1.md", "[x](../../tests/a.py)", "[x](../repository/tests/a.py.txt)"),
        ("repository/README.md", "[x](docs/a.md)", "[x](../a.md)"),
        ("repository/benchmarks/README.md", "[x](RESULTS.md)", "[x](RESULTS.md)"),
        ("a.md", "[x](https://a.b/c) [y](#z)", "[x](https://a.b/c) [y](#z)"),
        ("a.md", "```sh\n[x](../README.md)\n```\n", "```sh\n[x](../README.md)\n```\n"),
        ("a.md", "[x](rules.md#tf-gather)", "[x](rules/tf-gather.md)"),
    ],
)
def test_links_are_those_of_the_site(page: str, text: str, expected: str) -> None:
    def renamed(path: str, anchor: str) -> str:
        return f"rules/{anchor[1:]}.md" if path == "rules.md" else path + anchor

    assert repository.with_links(page, text, lambda _: True, renamed) == expected


def test_linked_files_are_found_by_way_of_others(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("[x](../ONE.md) [y](../missing.md) [z](b.md)\n~~~\n[no](../no.py)\n~~~\n")
    (tmp_path / "ONE.md").write_text("[x](two.py)")
    for name in ("two.py", "no.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "three.py").write_text("")
    made = {"c.md": "[x](../three.py)"}
    assert repository.linked(tmp_path, ["a.md"], made) == ["ONE.md", "three.py", "two.py"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<script src="https://a.b/c.js">', ["https://a.b/c.js"]),
        ("<link rel=stylesheet href=//a.b/c.css>", ["//a.b/c.css"]),
        ("@import url(https://a.b/font.css)", ["https://a.b/font.css"]),
        ('<a href="https://a.b/">', []),
        ('<link rel="canonical" href="https://a.b/">', []),
        ('<img src="a.png">', []),
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(text: str, expected: list[str]) -> None:
    assert offline.foreign(text) == expected


def test_each_page_is_in_the_menu() -> None:
    """As `make docs` demands; a page for users that nobody finds is none."""
    menu = set(_entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    pages = {page.relative_to(DOCS) for page in DOCS.rglob("*.md")}
    lost = [page.as_posix() for page in pages if not {page.as_posix(), f"{page.parent.as_posix()}/*"} & menu]
    assert not lost, f"put these into `nav` of mkdocs.yml: {lost}"


def _entries(menu: Any) -> Iterator[str]:
    if isinstance(menu, str):
        yield menu
        return
    for inner in menu.values() if isinstance(menu, dict) else menu:
        yield from _entries(inner)
