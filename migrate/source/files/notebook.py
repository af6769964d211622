"""Notebooks: the code cells are analysed as one module, and its edits go back to the cells they belong to."""

from __future__ import annotations

import bisect
import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import parsed
from migrate.source.files.ipython_magics import WRITES, Masks
from migrate.source.files.notebook_json import Cell, code_cells, with_sources

SUFFIX = ".ipynb"
RULE = "notebook"
#: `%run file.py`, also without its end, and `%load file.py`, which becomes the text of the file when it is run.
RUN = re.compile(r"\s*%(?:run|load)\s+(?:-\w+\s+)*[\"']?(?:\.{0,2}/)*(?P<name>[\w./-]+)")
#: A line of code with a lookup function in it.
LOOKUP = re.compile(r"^[^#]*(embedding_lookup|\bgather\s*\(|\bEmbedding\s*\()")
Convert = Callable[[str, str], SourceResult]
Fail = Callable[[str, str, str, str], SourceResult]


@dataclass(frozen=True)
class CellChange:
    """One cell that a conversion edits."""

    path: str  #: `notebook.ipynb:cell ID`, as in findings
    before: str
    after: str


@dataclass(frozen=True)
class NotebookResult(SourceResult):
    """A converted notebook: `original` and `converted` are its code cells, one after another."""

    cells: tuple[CellChange, ...] = ()


def notebook_of(path: str) -> str:
    """Return the file in which a place of a report lies: the notebook of a cell."""
    return path.partition(f"{SUFFIX}:cell ")[0] + SUFFIX if f"{SUFFIX}:cell " in path else path


def cell_at(path: str, data: bytes, name: str) -> tuple[str, int] | None:
    """Return a cell's source and the line of `original` before its first, or None when no code cell has this name."""
    module = _Module(path, code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8")))
    index = next((index for index, cell in enumerate(module.cells) if cell.name == name), None)
    return None if index is None else (module.cells[index].source, module.starts[index])


def module_of(path: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a notebook as a module, as it is converted, and the modules that its cells run as a whole.

    Both are empty for what is no notebook, or has a cell that is no Python.
    """
    try:
        module = _Module(path, code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8")))
    except (ValueError, RecursionError):
        return "", ()
    run = [match["name"] for line in module.masks.lines.values() if (match := RUN.match(line))]
    found = tuple(name.removesuffix(".py").replace("/", ".") for name in run)
    return ("", ()) if module.problem() else (module.text, found)


def check_result(path: str, data: bytes, result: SourceResult) -> None:
    """Raise ValueError when the conversion of a notebook's module cannot go back to its cells."""
    module = _Module(path, code_cells(data.removeprefix(codecs.BOM_UTF8).decode("utf-8")))
    module.split(result.converted)
    module.check_magics(result)


def convert_notebook(path: str, data: bytes, convert: Convert, failed: Fail) -> tuple[SourceResult, bytes]:
    """Return the result of a notebook and the bytes to write; `convert` converts a module's text."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(bom) :].decode("utf-8")
        cells = code_cells(text)
    except (ValueError, RecursionError) as error:
        return failed(path, "", f"it is no notebook: {str(error) or 'nested too deeply'}", "repair it"), data
    module = _Module(path, cells)
    problem = module.problem()
    if problem is not None:
        return replace(failed(path, module.text, "", ""), findings=with_ids([problem])), data
    result = convert(path, module.text)
    result = replace(result, findings=with_ids([*result.findings, *module.written()]))
    if result.kind == "paddle":
        message = "a Paddle model in a notebook is not converted"
        return failed(path, module.text, message, "export it: jupyter nbconvert --to script"), data
    try:
        return _mapped(result, module, text, bom, data)
    except ValueError as error:
        return failed(path, module.text, str(error), "move that line to a cell of its own; it is left as it is"), data


def _mapped(result: SourceResult, module: _Module, text: str, bom: bytes, data: bytes) -> tuple[SourceResult, bytes]:
    found = NotebookResult(
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
        return found, data
    sources = module.split(result.converted)
    module.check_magics(result)
    changed = {i: source for i, source in enumerate(sources) if source != module.cells[i].source}
    changes = tuple(CellChange(module.name(i), module.cells[i].source, source) for i, source in changed.items())
    return replace(found, cells=changes), bom + with_sources(text, module.cells, changed).encode()


class _Module:
    """The code cells as one text: before each a comment that no cell contains."""

    def __init__(self, path: str, cells: list[Cell]) -> None:
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
        """Return how findings name a cell."""
        return f"{self.path}:cell {self.cells[index].name}"

    def place(self, location: Location) -> Location:
        """Return a place in the text as one in a cell."""
        index = max(0, min(bisect.bisect_right(self.starts, location.line) - 1, len(self.cells) - 1))
        if not self.cells or location.line == 0 or location.path != self.path:
            return location
        first = max(1, location.line - self.starts[index])
        return replace(location, path=self.name(index), line=first, end_line=first + location.end_line - location.line)

    def placed(self, finding: Finding) -> Finding:
        """Return a finding with its places as those in cells."""
        steps = tuple(replace(step, location=self.place(step.location)) for step in finding.steps)
        return replace(finding, location=self.place(finding.location), steps=steps)

    def problem(self) -> Finding | None:
        """Return a finding for the first cell that is no Python by itself."""
        for index, part in enumerate(self.parts):
            message = "" if _is_indented(part) else parsed(part or "")[1]
            if message:
                location = Location(self.name(index), 1, 1)
                action = "repair the cell; the notebook is left as it is"
                return Finding(RULE, "file", State.FAILED, location, message, action=action)
        return None

    def written(self) -> Iterator[Finding]:
        """Yield a finding for each cell that is written to a file and names lookups, which are not seen here."""
        for index, cell in enumerate(self.cells):
            head = WRITES.match(cell.source) if self.parts[index] is None else None
            lines = [number for number, line in enumerate(cell.source.split("\n"), 1) if LOOKUP.search(line)]
            if head is not None and lines:
                yield Finding(
                    RULE,
                    "lookup",
                    State.OPAQUE,
                    Location(self.name(index), lines[0], lines[-1]),
                    f"`{head[0].strip()}` writes a program that looks rows up",
                    "it is no code of the notebook, so it is not judged with it",
                    "write the file, and give it to this command",
                )

    def split(self, text: str) -> list[str]:
        """Return the sources of the cells from the converted text; raises ValueError when they cannot be told apart."""
        pattern = "|".join(f"^{re.escape(head)}\n" for head in self.heads)
        before, *parts = re.split(pattern, text, flags=re.MULTILINE)
        if len(parts) != len(self.cells) or not all(part.endswith("\n") for part in parts):
            raise ValueError("an edit goes beyond its cell")
        parts[0] = before + parts[0]
        sources = self.masks.restore_all([part[:-1] for part in parts])
        for index, cell in enumerate(self.cells):
            if self.parts[index] is None:
                if sources[index]:
                    raise ValueError("an edit goes into a cell of another language")
                sources[index] = cell.source
        return sources

    def check_magics(self, result: SourceResult) -> None:
        """Raise ValueError when a command that is not analysed names a table that moves."""
        lines = result.original.split("\n")
        made = [lines[table.location.line - 1] for table in result.tables if table.verdict is State.APPLIED]
        names = {match[1] for line in made if (match := re.match(r"\s*(?:self\.)?(\w+)", line))}
        for line in self.masks.lines.values():
            if names & set(_words(line)):
                raise ValueError(f"`{line.strip()}` uses a table and is not Python")


def _is_indented(part: str | None) -> bool:
    """True for a cell that is indented as a whole, which Jupyter runs as if it were not."""
    if part is None or part[:1] not in {" ", "\t"}:
        return False
    return bool(parsed(part)[1]) and not parsed(f"if 1:\n{part}")[1]


def _words(line: str) -> list[str]:
    """Return the names a command may use: of a `%magic` all, of a shell command `$name` and `{name}`, of `?` none."""
    if "?" in line:
        return []
    percent, shell = line.find("%"), line.find("!")
    return re.findall(r"[${]\s*(\w+)" if shell >= 0 and not 0 <= percent < shell else r"\w+", line)
