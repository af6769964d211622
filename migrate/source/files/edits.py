"""Edits as data: replacements of spans of a text. Text outside the spans does not change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Edit:
    """Replace `text[start:end]`; an empty span is an insertion."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all edits applied; insertions at the same offset keep their order.

    Raises ValueError if two edits overlap.
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position:
            raise ValueError(f"two edits overlap at offset {edit.start}")
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def edited_file(text: str, edits: Iterable[Edit]) -> str:
    """Return a whole file with all edits applied; it ends with a line break only if the original did.

    Raises ValueError as `apply_edits`.
    """
    edited = apply_edits(text, edits)
    ends = "\r\n" if edited.endswith("\r\n") else edited[-1:]
    return edited.removesuffix(ends) if text and text[-1] not in "\r\n" and ends in ("\r\n", "\r", "\n") else edited
