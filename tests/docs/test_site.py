"""Pages that `make docs` makes of the code say all that the code has; MkDocs itself checks links and menus there."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
import yaml

from migrate.cli.main import COMMANDS, cli
from migrate.errors import MigrateError
from migrate.report import serialize, words
from migrate.report.model import State
from migrate.source.rules.catalogue import catalogue
from tests.support.documentation import api, commands, flowchart, offline, record, repository, rules
from tests.support.paths import ROOT
from tests.support.report_sample import report

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


def test_each_rule_has_a_page_that_the_list_links_to() -> None:
    pages, listed = dict(rules.pages()), rules.index()
    known = catalogue()
    assert {*pages} == {f"{rule.id}.md" for rule in known}
    assert all(f"(rules/{rule.id}.md)" in listed for rule in known)
    assert all(rule.title in pages[f"{rule.id}.md"] for rule in known)


@pytest.mark.parametrize("module", api.MODULES)
def test_each_exported_name_has_its_place(module: str) -> None:
    public = importlib.import_module(module)
    text = dict(api.pages())[f"{module}.md"]
    own = [name for name in public.__all__ if f"{module}.{name}" not in api.MODULES]
    assert re.findall(r"^::: (.*)$", text, re.MULTILINE) == [module, *(f"{module}.{name}" for name in own)]


def test_findings_are_told_by_the_words_of_reports() -> None:
    page = record.findings()
    assert all(f"{words.STATES[state]} (`{state.value}`)\n" in page for state in State)


def test_each_key_of_a_record_is_described() -> None:
    page = record.record()
    data = json.loads(serialize.to_json(report()))
    parts = ("inputs", "stages", "findings", "rules", "tables")
    keys = {*data} | {key for part in parts for one in data[part] for key in one}
    assert not {key for key in keys if f"`{key}`" not in page}


def test_errors_are_found_in_the_source() -> None:
    """A sentence that a command really ends with is among them."""
    with pytest.raises(MigrateError) as raised:
        cli.main(["report", "show", "no-such-file.json"], standalone_mode=False)
    sentences = [re.escape(one[1:-1]).replace("…", ".*") for one in rules.errors()]
    assert any(re.fullmatch(one, str(raised.value)[1:]) for one in sentences)
    assert rules.errors()[0] in rules.troubleshooting()


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


def test_a_link_to_nothing_stays_for_mkdocs_to_find() -> None:
    assert repository.with_links("a.md", "[x](b.md)", lambda _: False, lambda path, _: path) == "[x](b.md)"


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


CHART = """flowchart TB
  subgraph A["First <group>"]
    a1["model.py"] --> a2["facts: find → Table<br/>(rules)"]
    a2 --> a3["checks"]
    a3 -->|"fails: undo"| a1
  end
  subgraph B["Second"]
    b1["lookup"] --> b2["row"]
  end
  a3 -.->|"calls"| b1
"""


def test_a_flow_chart_becomes_a_drawing() -> None:
    page = flowchart.drawn(f"before\n\n```mermaid\n{CHART}```\n\nafter\n")
    assert "mermaid" not in page and page.startswith("before\n\n<div") and page.endswith("</div>\n\nafter\n")
    root = ElementTree.fromstring(page[page.index("<svg") : page.index("</div>")])
    texts = ["".join(one.itertext()) for one in root.iter("text")]
    lines = ["model.py", "facts: find → Table", "(rules)", "checks", "lookup", "row"]
    assert texts == ["First <group>", "Second", *lines, "fails: undo", "calls"]
    boxes = [one for one in root.iter("rect") if one.get("class") == "box"]
    tops = [float(one.get("y", "")) for one in boxes]
    assert tops == sorted(tops) and len(tops) == 5
    assert sum(one.get("class") == "head" for one in root.iter("path")) == 5
    assert sum(one.get("class") == "dashed" for one in root.iter("path")) == 1


def test_arrows_beside_each_other_have_lanes_of_their_own() -> None:
    text = (
        'flowchart TB\nsubgraph A["A"]\na["a"] --> b["b"]\nb --> c["c"]\nc --> d["d"]\na --> c\nb --> d\na --> d\nend'
    )
    drawing = flowchart.svg(flowchart.parsed(text))
    sides = re.findall(r"H([0-9.]+)V", drawing)
    assert len(sides) == 3 and len(set(sides)) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [("flowchart LR\n", "'flowchart LR' is not understood"), ("flowchart TB\na --> b\n", "box 'a' has no text")],
)
def test_a_flow_chart_that_is_not_understood_fails(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        flowchart.parsed(text)


def test_all_flow_charts_of_the_repository_are_drawn() -> None:
    assert '<svg role="img"' in flowchart.drawn((ROOT / "ARCHITECTURE.md").read_text())
