"""Where a Python file can be changed so that a test should see it: each change is one piece of text for another."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.support.paths import ROOT

#: What the sample is drawn from.
PACKAGES = ("migrate/source", "rewriter", "runtime")
_COMPARED = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "),
    ast.Is: (" is ", " is not "),
    ast.IsNot: (" is not ", " is "),
}
_COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
_JOINED = {ast.And: (" and ", " or "), ast.Or: (" or ", " and ")}


@dataclass(frozen=True, order=True)
class Mutant:
    """A change: in the line of `path` that reads `text`, at this column (from 0), `before` becomes `after`.

    Of several lines alike it is the one nearest to `line` (from 1), so that a sample outlives edits of other lines.
    """

    path: str
    line: int
    column: int
    before: str
    after: str
    text: str

    def applied(self, text: str) -> str:
        """Return the text of the file with the change.

        Raises:
            ValueError: the file has another text there: the sample is of another state of it.
        """
        lines = text.splitlines(keepends=True)
        number = self.found(text) - 1
        own = lines[number]
        at = len(own) - len(own.lstrip()) + self.column
        lines[number] = own[:at] + self.after + own[at + len(self.before) :]
        return "".join(lines)

    def found(self, text: str) -> int:
        """Return the number of the line, from 1.

        Raises:
            ValueError: no line of the file reads so any more.
        """
        alike = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == self.text]
        if not alike:
            raise ValueError(f"no line of {self.path} is `{self.text}`: draw the sample anew")
        return min(alike, key=lambda number: abs(number - self.line))


def sites(path: str) -> Iterator[Mutant]:
    """Yield every change of a file, those in annotations, docstrings and TYPE_CHECKING left out."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in _walk(ast.parse(text)):
        for first, last, before, after in _changes(node):
            start = _offset(lines, *first)
            found = text.find(before, start, _offset(lines, *last))
            if found >= 0:
                line = text.count("\n", 0, found) + 1
                own = lines[line - 1]
                column = found - text.rfind("\n", 0, found) - 1 - (len(own) - len(own.lstrip()))
                yield Mutant(path, line, column, before, after, own.strip())


def sample(count: int, seed: int) -> list[Mutant]:
    """Draw so many changes, at most one of a line, from all files alike by their number of sites."""
    paths = [str(p.relative_to(ROOT)) for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
    every = [mutant for path in paths for mutant in sites(path)]
    chosen: dict[tuple[str, int], Mutant] = {}
    for mutant in random.Random(seed).sample(every, len(every)):
        chosen.setdefault((mutant.path, mutant.line), mutant)
        if len(chosen) == count:
            break
    return sorted(chosen.values())


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


_Place = tuple[int, int]


def _changes(node: ast.AST) -> Iterator[tuple[_Place, _Place, str, str]]:
    """Yield the begin and the end of the text that a change is looked for in, and the change."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        before, after = _COMPARED[type(node.ops[0])]
        yield _end(node.left), _begin(node.comparators[0]), before, after
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        before, after = _COMPUTED[type(node.op)]
        yield _end(node.left), _begin(node.right), before, after
    elif isinstance(node, ast.BoolOp):
        before, after = _JOINED[type(node.op)]
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield _end(left), _begin(right), before, after
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _begin(node), _begin(node.operand), "not ", ""
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        after = str(not node.value if isinstance(node.value, bool) else node.value + 1)
        yield _begin(node), _end(node), ast.unparse(node), after
    elif isinstance(node, ast.Continue):
        yield _begin(node), _end(node), "continue", "break"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno == node.end_lineno:
        yield _begin(node), _end(node), ast.unparse(node), "pass"
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Attribute | ast.Call):
        yield _begin(node), _begin(node.value), "return ", "return None and "


def _begin(node: ast.stmt | ast.expr) -> _Place:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> _Place:
    return int(node.end_lineno or 0), int(node.end_col_offset or 0)


def _offset(lines: Sequence[str], line: int, column: int) -> int:
    """Return the place in the whole text; `column` counts bytes, as `ast` does."""
    return sum(len(one) for one in lines[: line - 1]) + len(lines[line - 1].encode()[:column].decode())


def read(path: Path) -> list[Mutant]:
    """Return the sample that a file lists."""
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return [Mutant(row[0], int(row[1]), int(row[2]), row[3], row[4], row[5]) for row in rows]


def write(mutants: Sequence[Mutant], path: Path) -> None:
    """Write a sample, one change a line."""
    lines = ["path\tline\tcolumn\tbefore\tafter\ttext"]
    lines += ["\t".join(map(str, astuple(one))) for one in mutants]
    path.write_text("\n".join(lines) + "\n")
