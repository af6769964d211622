"""Finds the sources of a notebook's code cells in its JSON text, and replaces some of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)|[^\\]+", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Cell:
    """One code cell."""

    name: str  #: its id, or its number among all cells if it has no id
    source: str
    span: tuple[int, int]  #: offsets of the JSON value of the source


def code_cells(text: str) -> list[Cell]:
    """Return the code cells of a notebook in order.

    Raises ValueError for a text that is no notebook or has a format before 4.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise ValueError("it has no list of cells (for formats before 4, run `jupyter nbconvert --to notebook` first)")
    spans = {key: start for key, start, _ in _members(text, _skip(text, 0))}
    found = []
    for number, (start, _) in enumerate(_items(text, spans["cells"]), 1):
        cell = data["cells"][number - 1]
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise ValueError(f"the source of cell {number} is not a string")
        places = {key: (first, last) for key, first, last in _members(text, start)}
        if "source" in places:
            found.append(Cell(str(cell.get("id") or number), source, places["source"]))
    return found


def with_sources(text: str, cells: list[Cell], sources: Mapping[int, str]) -> str:
    """Return the text with the sources of some cells replaced; unchanged lines keep their JSON spelling.

    Raises ValueError if anything else would change.
    """
    parts, position = [], 0
    for index, cell in enumerate(cells):
        if index in sources:
            start, end = cell.span
            parts += [text[position:start], _source(text, cell, sources[index])]
            position = end
    result = "".join([*parts, text[position:]])
    again = code_cells(result)
    wanted = [sources.get(index, cell.source) for index, cell in enumerate(cells)]
    if [cell.source for cell in again] != wanted or _without_sources(result) != _without_sources(text):
        raise ValueError("the conversion would change the notebook outside its edited cells")
    return result


def _without_sources(text: str) -> Any:
    data = json.loads(text)
    for cell in data["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cell["source"] = type(cell.get("source")).__name__
    return json.dumps(data)


def _source(text: str, cell: Cell, source: str) -> str:
    """Return a new source as a JSON value, a string or a list like the old one."""
    start, end = cell.span
    lines = _LINE.findall(source)
    if text[start] == '"':
        pieces = _raw_lines(text[start + 1 : end - 1])
        return '"' + "".join(raw[1:-1] for raw in _spelled(text, pieces, lines)) + '"'
    items = list(_items(text, start))
    if not items:
        return json.dumps(lines, ensure_ascii=text.isascii())
    opening, closing = text[start + 1 : items[0][0]], text[items[-1][1] : end - 1]
    between = text[items[0][1] : items[1][0]] if len(items) > 1 else "," + (opening or " ")
    pieces = [(json.loads(text[first:last]), text[first:last]) for first, last in items]
    return "[" + opening + between.join(_spelled(text, pieces, lines)) + closing + "]"


def _raw_lines(inner: str) -> list[tuple[str, str]]:
    """Return (line, JSON spelling) of each line of a JSON string."""
    lines = [""]
    for token in _ESCAPE.findall(inner):
        lines[-1] += token
        if token in {"\\n", "\\u000a", "\\u000A"}:
            lines.append("")
    return [(json.loads(f'"{line}"'), f'"{line}"') for line in lines if line]


def _spelled(text: str, pieces: list[tuple[str, str]], lines: list[str]) -> list[str]:
    """Return the lines as JSON strings, with the old spelling for lines that existed before."""
    matcher = SequenceMatcher(None, [value for value, _ in pieces], lines, autojunk=False)
    found: list[str] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            found += [raw for _, raw in pieces[a:b]]
        else:
            found += [json.dumps(line, ensure_ascii=text.isascii()) for line in lines[c:d]]
    return found


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None, "also matches the empty string"
    return match.end()


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield (key, start, end) of each value of the object that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each value of the list that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
