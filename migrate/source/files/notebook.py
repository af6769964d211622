"""Converts notebooks: the code cells are analysed as one module, and the edits are applied to the cells."""

from __future__ import annotations

import bisect
import codecs
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import parsed
from migrate.source.files.ipython_magics import WRITES, Masks

SUFFIX = ".ipynb"
RULE = "notebook"
AS_IT_IS = "paddle-program"  #: the rule of Paddle programs that keep their code
#: `%run file.py` (`.py` is optional) and `%load file.py`, which replaces the cell by the file when it runs.
RUN = re.compile(r"\s*%(?:run|load)\s+(?:-\w+\s+)*[\"']?(?:\.{0,2}/)*(?P<name>[\w./-]+)")
#: A line of code that contains a lookup function.
LOOKUP = re.compile(r"^[^#]*(embedding_lookup|\bgather\s*\(|\bEmbedding\s*\()")
Convert = Callable[[str, str], SourceResult]
Fail = Callable[[str, str, str, str], SourceResult]
#: Layouts of `json`: indentation and separators, that of Jupyter first.
_LAYOUTS: tuple[tuple[int | str | None, tuple[str, str] | None], ...] = (
    (1, None), (2, None), (4, None), ("\t", None), (None, None), (None, (",", ":")),
)  # fmt: skip


@dataclass(frozen=True)
class CellChange:
    """One cell that a conversion edits."""

    path: str  #: `notebook.ipynb:cell ID`, as in findings
    before: str
    after: str


@dataclass(frozen=True)
class NotebookResult(SourceResult):
    """A converted notebook; `original` and `converted` are the concatenated code cells."""

    cells: tuple[CellChange, ...] = ()


def notebook_of(path: str) -> str:
    """Return the file of a path in a report, which may name a cell of a notebook."""
    return path.partition(f"{SUFFIX}:cell ")[0] + SUFFIX if f"{SUFFIX}:cell " in path else path


def cell_at(data: bytes, name: str) -> str | None:
    """Return the source of a code cell; None for an unknown name."""
    cells = _code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    return next((cell.source for cell in cells if cell.name == name), None)


def module_of(path: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a notebook as one module, and the names of the modules that its cells run with `%run`.

    Both are empty if the data is no notebook or a cell is not valid Python.
    """
    try:
        module = _Module(path, _code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8")))
    except (ValueError, RecursionError):
        return "", ()
    run = [match["name"] for line in module.masks.lines.values() if (match := RUN.match(line))]
    names = tuple(name.removesuffix(".py").replace("/", ".") for name in run)
    return ("", ()) if module.problem() else (module.text, names)


def check_result(path: str, data: bytes, result: SourceResult) -> None:
    """Raise ValueError if the edits of a notebook's module cannot be applied to its cells."""
    module = _Module(path, _code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8")))
    module.split(result.converted)
    module.check_magics(result)


def convert_notebook(path: str, data: bytes, convert: Convert, failed: Fail) -> tuple[SourceResult, bytes]:
    """Return the result of a notebook and the bytes to write; `convert` converts the text of a module."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(bom) :].decode("utf-8")
        cells = _code_cells(text)
    except (ValueError, RecursionError) as error:
        return failed(
            path, "", f"the file is no valid notebook: {str(error) or 'nested too deeply'}", "correct it"
        ), data
    module = _Module(path, cells)
    problem = module.problem()
    if problem is not None:
        return replace(failed(path, module.text, "", ""), findings=with_ids([problem])), data
    result = convert(path, module.text)
    result = replace(result, findings=with_ids([*result.findings, *module.written()]))
    if result.kind == "paddle" and result.changed and not any(f.rule == AS_IT_IS for f in result.findings):
        message = "a Paddle model in a notebook is not converted by a schema"
        return failed(path, module.text, message, "export it with `jupyter nbconvert --to script`"), data
    try:
        return _mapped(result, module, text, bom, data)
    except ValueError as error:
        return failed(path, module.text, str(error), "move that line to a cell of its own"), data


def _mapped(result: SourceResult, module: _Module, text: str, bom: bytes, data: bytes) -> tuple[SourceResult, bytes]:
    mapped = NotebookResult(
        module.path,
        result.kind,
        result.original,
        result.converted,
        with_ids(module.placed(finding) for finding in result.findings),
        tuple(
            replace(table, location=module.place(table.location), lookups=tuple(map(module.place, table.lookups)))
            for table in result.tables
        ),
    )
    if not result.changed:
        return mapped, data
    sources = module.split(result.converted)
    module.check_magics(result)
    changed = {i: source for i, source in enumerate(sources) if source != module.cells[i].source}
    changes = tuple(CellChange(module.name(i), module.cells[i].source, source) for i, source in changed.items())
    return replace(mapped, cells=changes), bom + _with_sources(text, module.cells, changed).encode()


class _Module:
    """The code cells as one text, separated by comments that no cell contains."""

    def __init__(self, path: str, cells: list[_Cell]) -> None:
        self.path = path
        self.cells = cells
        everything = "\n".join(cell.source for cell in cells)
        mark = "# %%"
        while mark in everything or mark.replace("%%", "magic") in everything:
            mark += "%"
        self.mark = mark
        self.masks = Masks(mark.replace("%%", "magic") + " ")
        self.parts = [self.masks.mask(cell.source) for cell in cells]
        opens = ["if 1:  " if _is_indented(part) else "" for part in self.parts]
        heads = [f"{opens[number]}{mark} cell {cell.name} ({number})" for number, cell in enumerate(cells)]
        self.heads = heads
        self.text = "".join(f"{head}\n{part or ''}\n" for head, part in zip(heads, self.parts, strict=True))
        self.starts = [1]
        for part in self.parts:
            self.starts.append(self.starts[-1] + 2 + (part or "").count("\n"))

    def name(self, index: int) -> str:
        """Return the path of a cell in findings."""
        return f"{self.path}:cell {self.cells[index].name}"

    def place(self, location: Location) -> Location:
        """Convert a location in the text to one in a cell."""
        index = min(bisect.bisect_right(self.starts, location.line) - 1, len(self.cells) - 1)
        if not self.cells or location.line == 0 or location.path != self.path:
            return location
        first = max(1, location.line - self.starts[index])
        return replace(location, path=self.name(index), line=first, end_line=first + location.end_line - location.line)

    def placed(self, finding: Finding) -> Finding:
        """Return a finding with its places as those in cells."""
        steps = tuple(replace(step, location=self.place(step.location)) for step in finding.steps)
        return replace(finding, location=self.place(finding.location), steps=steps)

    def problem(self) -> Finding | None:
        """Return a finding for the first cell that is not valid Python, or None."""
        for index, part in enumerate(self.parts):
            _, message, line = (None, "", 1) if _is_indented(part) else parsed(part or "")
            if message:
                location = Location(self.name(index), line, line)
                action = "correct the cell; until then the notebook is left unchanged"
                return Finding(RULE, "file", State.FAILED, location, message, action=action)
        return None

    def written(self) -> Iterator[Finding]:
        """Yield a finding for each cell that writes a file with lookups, which are not analysed with the notebook."""
        for index, cell in enumerate(self.cells):
            head = WRITES.match(cell.source) if self.parts[index] is None else None
            lines = [number for number, line in enumerate(cell.source.split("\n"), 1) if LOOKUP.search(line)]
            if head is not None and lines:
                yield Finding(
                    RULE,
                    "lookup",
                    State.OPAQUE,
                    Location(self.name(index), lines[0], lines[-1]),
                    f"`{head[0].strip()}` writes a program with embedding lookups",
                    "its text is not code of the notebook, so it is not analysed",
                    "write the file, and convert that",
                )

    def split(self, text: str) -> list[str]:
        """Split the converted text into the sources of the cells; raises ValueError if an edit removed a separator."""
        pattern = "|".join(f"^{re.escape(head)}\n" for head in self.heads)
        before, *parts = re.split(pattern, text, flags=re.MULTILINE)
        if len(parts) != len(self.cells) or not all(part.endswith("\n") for part in parts):
            raise ValueError("an edit would cross the border of a cell")
        parts[0] = before + parts[0]
        sources = self.masks.restore_all([part[:-1] for part in parts])
        for index, cell in enumerate(self.cells):
            if self.parts[index] is None:
                if sources[index]:
                    raise ValueError("an edit would change a cell of another language")
                sources[index] = cell.source
        return sources

    def check_magics(self, result: SourceResult) -> None:
        """Raise ValueError if an IPython command, which is not analysed, names a converted table."""
        lines = result.original.split("\n")
        creations = [lines[table.location.line - 1] for table in result.tables if table.verdict is State.APPLIED]
        names = {match[1] for line in creations if (match := re.match(r"\s*(?:self\.)?(\w+)", line))}
        for line in self.masks.lines.values():
            if names & set(_words(line)):
                raise ValueError(f"`{line.strip()}` uses a converted table, but is not Python")


def _is_indented(part: str | None) -> bool:
    """True for a cell that is indented as a whole; Jupyter ignores this indentation."""
    if part is None or part[:1] not in {" ", "\t"}:
        return False
    return bool(parsed(part)[1]) and not parsed(f"if 1:\n{part}")[1]


def _words(line: str) -> list[str]:
    """Return the names that a command may use: all of a `%magic`, `$x` and `{x}` of a shell command, none of `?`."""
    if "?" in line:
        return []
    percent, shell = line.find("%"), line.find("!")
    return re.findall(r"[${]\s*(\w+)" if shell >= 0 and not 0 <= percent < shell else r"\w+", line)


@dataclass(frozen=True)
class _Cell:
    """One code cell."""

    name: str  #: its id, or its number among all cells if it has no id
    source: str
    index: int  #: its place among all cells


def _code_cells(text: str) -> list[_Cell]:
    """Return the code cells of a notebook in order.

    Raises ValueError for a text that is no notebook or has a format before 4.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise ValueError("it has no list of cells (for formats before 4, run `jupyter nbconvert --to notebook` first)")
    cells = []
    for index, cell in enumerate(data["cells"]):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code" or "source" not in cell:
            continue
        source = cell["source"]
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise ValueError(f"the source of cell {index + 1} is not a string")
        cells.append(_Cell(str(cell.get("id") or index + 1), source, index))
    return cells


def _with_sources(text: str, cells: list[_Cell], sources: Mapping[int, str]) -> str:
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
