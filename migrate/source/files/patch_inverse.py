"""Applies the inverse of a unified diff, exactly or to a text that was changed elsewhere since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_RANGE = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class RegionChanged(Exception):
    """Text that the conversion wrote was changed or is missing."""


@dataclass(frozen=True)
class _Hunk:
    start: int  #: line of the converted text, from 0
    new: list[str]
    old: list[str]

    def core(self) -> _Hunk:
        """Return the hunk without its context lines."""
        shorter = min(len(self.new), len(self.old))
        first = next((n for n in range(shorter) if self.new[n] != self.old[n]), shorter)
        most = shorter - first
        last = next((n for n in range(most) if self.new[-1 - n] != self.old[-1 - n]), most)
        ends = len(self.new) - last, len(self.old) - last
        return _Hunk(self.start + first, self.new[first : ends[0]], self.old[first : ends[1]])


def undo(text: str, diff: str, *, merge: bool = False) -> str:
    """Return the text before the conversion; with `merge`, later changes elsewhere in the text are kept.

    Raises RegionChanged if text that the conversion wrote was changed since.
    """
    lines, result, position = _lines(text), list[str](), 0
    for hunk in _hunks(_lines(diff)):
        found = _find(lines, hunk, position) if merge else hunk
        if found is None or lines[found.start : found.start + len(found.new)] != found.new or found.start < position:
            raise RegionChanged("".join(hunk.core().new or hunk.new))
        result += [*lines[position : found.start], *found.old]
        position = found.start + len(found.new)
    return "".join([*result, *lines[position:]])


def _find(lines: Sequence[str], hunk: _Hunk, position: int) -> _Hunk | None:
    """Return the hunk at the only position where it matches, with its context lines or else without them."""
    for wanted in (hunk, hunk.core()):
        size = len(wanted.new)
        places = [n for n in range(position, len(lines) - size + 1) if list(lines[n : n + size]) == wanted.new]
        if size and len(places) == 1:
            return _Hunk(places[0], wanted.new, wanted.old)
    return None


def _hunks(lines: list[str]) -> Iterator[_Hunk]:
    position = 2  # after the two header lines
    while position < len(lines):
        match = _RANGE.match(lines[position])
        if match is None:
            raise RegionChanged(lines[position])
        olds, news = int(match[1] or 1), int(match[3] or 1)
        hunk = _Hunk(int(match[2]) - (1 if news else 0), [], [])
        position += 1
        while position < len(lines) and (len(hunk.old) < olds or len(hunk.new) < news):
            position += _add(hunk, lines, position)
        yield hunk


def _add(hunk: _Hunk, lines: list[str], position: int) -> int:
    """Add a line of a diff to the hunk; return how many lines of the diff were consumed."""
    mark, text = lines[position][0], lines[position][1:]
    unended = lines[position + 1 : position + 2] == ["\\ No newline at end of file\n"]
    if unended:
        text = text.removesuffix("\n")
    if mark in " -":
        hunk.old.append(text)
    if mark in " +":
        hunk.new.append(text)
    return 2 if unended else 1


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as diffs are made."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
