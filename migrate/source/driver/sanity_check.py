"""The last check of a conversion: code outside the edited lines must not change its meaning."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from migrate.source.syntax.blocks import BLOCKS, Part, blocks, first_line

LINE_END = re.compile(r"\r\n|\r|\n")


def check_unchanged(original: ast.Module, before: str, converted: ast.Module, after: str) -> None:
    """Raise ValueError if a statement on unedited lines differs, or is in another block, in the converted file.

    An edit can affect other lines by an unclosed string or bracket, a changed indentation or a moved `else`.
    """
    places = unchanged_lines(split_lines(before), split_lines(after))
    by_place = {_place(node): (node, around) for node, around in _parts(converted)}
    for node, around in _parts(original):
        start, column = _place(node)
        line = places.get(start)
        if line is None or any(places.get(start + at) != line + at for at in range(_height(node))):
            continue
        there = by_place.get((line, column))
        if there is None or there[1] != around or _meaning(there[0]) != _meaning(node):
            raise ValueError(f"the statement in line {start} changed although it was not edited")


def _place(node: Part) -> tuple[int, int]:
    """Return line (from 1) and column of the first character; for a `case`, of its pattern."""
    start = node.pattern if isinstance(node, ast.match_case) else node
    return first_line(node), start.col_offset


def _height(node: Part) -> int:
    """Return the number of lines of a statement, or of the head of a compound one, to whose end lines may be added."""
    inner = [first_line(part) for _, block in blocks(node) for part in block]
    end = None if isinstance(node, ast.match_case) else node.end_lineno
    last = min(inner) - 1 if inner else end or first_line(node)
    return max(last - first_line(node) + 1, 1)


def _meaning(node: Part) -> list[str]:
    """Return a statement's fields without nested statements, and for a simple one the column where it ends."""
    end = "" if isinstance(node, ast.match_case) or any(blocks(node)) else f"{node.end_col_offset}"
    parts = [(name, value) for name, value in ast.iter_fields(node) if name not in BLOCKS]
    return [type(node).__name__, end, *(f"{name}={_dump(value)}" for name, value in parts)]


def _dump(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(ast.dump(part) if isinstance(part, ast.AST) else repr(part) for part in values)


def split_lines(text: str) -> list[str]:
    """Split a text into lines as Python's tokenizer does, for which a form feed is no line end."""
    return LINE_END.split(text)


def unchanged_lines(before: list[str], after: list[str]) -> dict[int, int]:
    """Return old line -> new line, both from 1, of the unchanged lines."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    matcher = difflib.SequenceMatcher(None, before[head : len(before) - tail], after[head : len(after) - tail])
    unchanged = {line + 1: line + 1 for line in range(head)}
    for a, b, size in matcher.get_matching_blocks():
        unchanged |= {head + a + at + 1: head + b + at + 1 for at in range(size)}
    return unchanged | {len(before) - at: len(after) - at for at in range(tail)}


def _parts(module: ast.Module) -> Iterator[tuple[Part, tuple[str, ...]]]:
    """Yield every statement and `case` with the blocks around it, e.g. `("ClassDef.body", "If.orelse")`."""
    stack: list[tuple[ast.AST, tuple[str, ...]]] = [(module, ())]
    while stack:
        node, around = stack.pop()
        for name, block in blocks(node):
            inside = (*around, f"{type(node).__name__}.{name}")
            for part in block:
                yield part, inside
                stack.append((part, inside))
