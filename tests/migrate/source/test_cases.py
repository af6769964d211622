"""Case files (source, marker, expected): converted as they say, under several spellings of the same text."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from migrate.source.driver.convert_file import convert_bytes
from migrate.source.settings.options import Options
from tests.support.source.converting import converted

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
MARKER = "# output\n"


def read(path: Path) -> tuple[str, str, set[str]]:
    """Return source, expected text and flags of a case file."""
    text = path.read_text(encoding="utf-8")
    flags: set[str] = set()
    if text.startswith("# flags:"):
        head, _, text = text.partition("\n")
        flags = set(head.removeprefix("# flags:").split())
    source, _, expected = text.partition(MARKER)
    return source, expected, flags


each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


@each_case
def test_it_converts_as_stated(path: Path) -> None:
    source, expected, _ = read(path)
    assert converted(source).converted == expected


@each_case
def test_a_second_run_changes_nothing(path: Path) -> None:
    _, expected, _ = read(path)
    assert converted(expected).converted == expected


@each_case
def test_crlf_stays(path: Path) -> None:
    source, expected, _ = read(path)
    assert converted(source.replace("\n", "\r\n")).converted == expected.replace("\n", "\r\n")


@each_case
def test_bom_stays(path: Path) -> None:
    source, expected, _ = read(path)
    _, data = convert_bytes("m.py", codecs.BOM_UTF8 + source.encode(), Options(), {})
    assert data == codecs.BOM_UTF8 + expected.encode()


@each_case
def test_tabs_stay(path: Path) -> None:
    source, expected, flags = read(path)
    if "no-tabs" in flags:
        return
    result = converted(_tabbed(source)).converted
    assert [line.lstrip() for line in result.splitlines()] == [line.lstrip() for line in expected.splitlines()]
    kept = set(_tabbed(source).splitlines()) & set(_tabbed(expected).splitlines())
    assert kept <= set(result.splitlines())


def _tabbed(text: str) -> str:
    lines = []
    for line in text.splitlines(keepends=True):
        stripped = line.lstrip(" ")
        lines.append("\t" * ((len(line) - len(stripped)) // 4) + stripped)
    return "".join(lines)


@each_case
def test_no_line_end_at_the_end_of_the_file(path: Path) -> None:
    source, expected, _ = read(path)
    assert converted(source.rstrip("\n")).converted == expected.rstrip("\n")


def test_latin_1_stays() -> None:
    source, expected, _ = read(Path(__file__).parent / "cases" / "script.txt")
    source, expected = (text.replace("utf-8", "latin-1") for text in (source, expected))
    _, data = convert_bytes("m.py", source.encode("latin-1"), Options(), {})
    assert data == expected.encode("latin-1")
