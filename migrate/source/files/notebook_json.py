"""Finds the sources of a notebook's code cells in its JSON text, and replaces some of them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Layouts of `json`: indentation and separators, that of Jupyter first.
_LAYOUTS: tuple[tuple[int | str | None, tuple[str, str] | None], ...] = (
    (1, None), (2, None), (4, None), ("\t", None), (None, None), (None, (",", ":")),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One code cell."""

    name: str  #: its id, or its number among all cells if it has no id
    source: str
    index: int  #: its place among all cells


def code_cells(text: str) -> list[Cell]:
    """Return the code cells of a notebook in order.

    Raises ValueError for a text that is no notebook or has a format before 4.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise ValueError("it has no list of cells (for formats before 4, run `jupyter nbconvert --to notebook` first)")
    found = []
    for index, cell in enumerate(data["cells"]):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code" or "source" not in cell:
            continue
        source = cell["source"]
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise ValueError(f"the source of cell {index + 1} is not a string")
        found.append(Cell(str(cell.get("id") or index + 1), source, index))
    return found


def with_sources(text: str, cells: list[Cell], sources: Mapping[int, str]) -> str:
    """Return the text with the sources of some cells replaced.

    All else is as it was where the text is laid out as `json` does it, with any indentation; else it is laid out anew,
    as Jupyter does when it saves.
    """
    data = json.loads(text)
    form = _form(data, text.strip())
    for number, source in sources.items():
        cell = data["cells"][cells[number].index]
        lines = [line for line in re.split(r"(?<=\n)", source) if line]
        cell["source"] = lines if isinstance(cell["source"], list) else source
    return json.dumps(data, **form) + text[len(text.rstrip()) :]


def _form(data: Any, text: str) -> dict[str, Any]:
    """Return the options with which `json` writes the data as this text; those of Jupyter where there are none."""
    for (indent, separators), in_ascii in itertools.product(_LAYOUTS, (text.isascii(), False)):
        form: dict[str, Any] = {"indent": indent, "ensure_ascii": in_ascii, "separators": separators}
        if json.dumps(data, **form) == text:
            return form
    return {"indent": 1, "ensure_ascii": text.isascii()}
