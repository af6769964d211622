"""What a page lists, an item for each line: rows of tables, and entries of lists, which go over several lines."""

from __future__ import annotations


def items(text: str) -> list[str]:
    """Return rows of tables and entries of lists, each with single blanks."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(("- ", "|")):
            found.append(line)
        elif line.startswith("  ") and found and found[-1].startswith("- "):
            found[-1] += f" {line.strip()}"
        else:
            found.append("")  # what follows is no part of the entry
    return [one for one in found if one]
