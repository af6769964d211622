"""Writes the line that lets a program rewrite its graphs."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Collection, Iterator, Sequence

_FRAMEWORKS = frozenset({"tensorflow", "tensorflow_estimator", "keras", "tf_keras"})
_WIDTH = 120


def with_install(text: str, tables: Sequence[str], modules: Collection[str]) -> tuple[str, int, str]:
    """Return a program's text with the call, the number of lines above it, and what was inserted.

    It stands behind the first import of TensorFlow; else before the first import of one of `modules`, those of the
    program; else behind what must come first in a file. TensorFlow then has what the first lines set for it.
    """
    module = ast.parse(text)
    used = {getattr(node, word, None) for node in ast.walk(module) for word in ("id", "name", "asname", "arg")}
    name = "rewriter" if "rewriter" not in used | set(modules) else "graph_rewriter"
    imported = "import rewriter" if name == "rewriter" else f"import rewriter as {name}"
    names = [json.dumps(one, ensure_ascii=False) for one in tables]
    call = f"{name}.install(tables=[{', '.join(names)}])"
    if len(call) > _WIDTH:
        call = "\n    ".join([f"{name}.install(tables=[", *(f"{one}," for one in names)]) + "\n])"
    lines = list(io.StringIO(text, newline=""))  # as Python counts them
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    above = _place(module.body, modules)
    if above and not lines[above - 1].endswith(("\r", "\n")):
        lines[above - 1] += end
    lines.insert(above, f"{imported}\n{call}\n".replace("\n", end))
    return "".join(lines), above, f"{imported}\n{call}"


def _place(body: Sequence[ast.stmt], modules: Collection[str]) -> int:
    """Return the number of lines above the call."""
    framework = next((one for one in body if not _FRAMEWORKS.isdisjoint(_imported(one))), None)
    if framework is not None:
        return max(one.end_lineno or 0 for one in body if one.lineno <= (framework.end_lineno or 0))
    first = int(bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))
    while first < len(body) and "__future__" in _imported(body[first]):
        first += 1
    own = (number for number, one in enumerate(body) if not set(modules).isdisjoint(_imported(one)))
    at = max(first, next(own, first))
    return (body[at - 1].end_lineno or 0) if at else body[0].lineno - 1 if body else 0


def _imported(statement: ast.stmt) -> Iterator[str]:
    """Yield parts of the names of what a statement imports, also in a `try`."""
    if isinstance(statement, ast.Try):
        for one in (*statement.body, *(one for handler in statement.handlers for one in handler.body)):
            yield from _imported(one)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        whole = statement.module if isinstance(statement, ast.ImportFrom) else ""
        for name in [whole] if whole else [one.name for one in statement.names]:
            yield from name.split(".")
