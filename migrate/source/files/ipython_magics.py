"""IPython commands in cells: masked line by line so that a cell can be analysed as Python, and restored afterwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: `%name …`, `!command`, `?object`, `object?`, and `name = !command` or `name = %magic`
MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?:(?P<call>[%!?].*|[\w.\[\]'\"%*]+\?\??\s*)|(?P<target>[\w.,\s]+=\s*)[%!].*)$")
RUNS_CODE = re.compile(r"^[ \t]*%(?:time|timeit|prun|memit)[ \t]+(?P<code>[^-\s].*)$")
CELL = re.compile(r"\s*%%(?P<name>\w+)")
WRITES = re.compile(r"\s*%%(?:writefile|file)\b[^\n]*")
PYTHON_CELLS = {"time", "timeit", "capture", "prun", "memit"}  #: cell magics whose body is Python
_TOKEN = re.compile(
    r"#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|\\\r?\n|(?P<end>\n)|.",
    re.DOTALL,
)


@dataclass
class Masks:
    """The masked lines of one notebook."""

    mark: str  #: a comment that no cell contains
    lines: dict[str, str] = field(default_factory=dict)  #: masked line -> original line
    #: comment at the end of a line -> the text before its code
    prefixes: dict[str, str] = field(default_factory=dict)

    def mask(self, source: str) -> str | None:
        """Return the cell as Python with the same number of lines, or None for a cell of another language."""
        cell = CELL.match(source)
        if cell and cell["name"] not in PYTHON_CELLS:
            return None
        if _parses(source):
            return source
        lines = source.split("\n")
        for at, count in list(_magics(source)):
            lines[at : at + count] = self._masked(lines[at : at + count])
        return "\n".join(lines)

    def restore_all(self, texts: list[str]) -> list[str]:
        """Return the cells with all masked lines restored; raises ValueError if one was edited or lost."""
        pieces, seen = [], 0
        for text in texts:
            lines = text.split("\n")
            for at, line in enumerate(lines):
                comment = line[line.rfind(self.mark) :] if self.mark in line else ""
                if line in self.lines:
                    lines[at] = self.lines[line]
                elif comment in self.prefixes:
                    lines[at] = self.prefixes[comment] + line.removesuffix("  " + comment).lstrip()
                seen += lines[at] != line
            pieces.append("\n".join(lines))
        if seen != len(self.lines) + len(self.prefixes) or any(self.mark in text for text in pieces):
            raise ValueError("an edit would change a line with an IPython command")
        return pieces

    def _masked(self, lines: list[str]) -> list[str]:
        """Return the lines of one command as Python; the code after `%time` and the like is kept for analysis."""
        first = lines[0]
        runs = RUNS_CODE.match(first)
        if runs and len(lines) == 1 and _parses(runs["code"]):
            comment = f"{self.mark}{len(self.lines) + len(self.prefixes)}"
            self.prefixes[comment] = first[: runs.start("code")]
            return [f"{first[: len(first) - len(first.lstrip())]}{runs['code']}  {comment}"]
        match = MAGIC.match(first)
        assert match is not None, "called only for lines that match MAGIC"
        code = match["indent"] + (f"{match['target']}None" if match["target"] else "pass")
        return [self._line(code, first), *(self._line("", line) for line in lines[1:])]

    def _line(self, code: str, line: str) -> str:
        masked = f"{code}  {self.mark}{len(self.lines) + len(self.prefixes)}"
        self.lines[masked] = line
        return masked


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _magics(source: str) -> Iterator[tuple[int, int]]:
    """Yield (first line, number of lines) of IPython commands, without matches inside strings or brackets."""
    at, depth, line, fresh = 0, 0, 0, True
    while at < len(source):
        if fresh and MAGIC.match(_line_at(source, at)):
            count = 1
            while (text := _line_at(source, at)).endswith("\\") and at + len(text) < len(source):
                at, count = at + len(text) + 1, count + 1
            yield line, count
            at, line = at + len(text) + 1, line + count
            continue
        token = _TOKEN.match(source, at)
        assert token is not None, "the last alternative matches any character"
        at = token.end()
        depth = max(0, depth + bool(token["open"]) - bool(token["close"]))
        fresh = bool(token["end"]) and depth == 0
        line += token.group().count("\n")


def _line_at(source: str, at: int) -> str:
    end = source.find("\n", at)
    return source[at:] if end < 0 else source[at:end]
