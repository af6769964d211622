"""Writes the line that lets a program rewrite its graphs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

_FRAMEWORKS = frozenset({"tensorflow", "tensorflow_estimator", "keras", "tf_keras"})
_CALL = "{name}.install(tables=[{tables}])"
_WIDTH = 120


def with_install(text: str, tables: Sequence[str], modules: Collection[str]) -> tuple[str, int, str]:
    """Return a program's text with the call, the line of the call, and what was inserted.

    It stands behind the first import of TensorFlow; else before the first import of one of `modules`, those of the
    program; else behind what must come first in a file. The process then has what its first lines set for TensorFlow.
    """
    module = ast.parse(text)
    bound = {getattr(node, word, None) for node in ast.walk(module) for word in ("id", "name", "asname", "arg")}
    name = "rewriter" if "rewriter" not in bound | set(modules) else "graph_rewriter"
    imported = "import rewriter" + (f" as {name}" if name != "rewriter" else "")
    lines = text.splitlines(keepends=True)
    end = next((one[len(one.rstrip("\r\n")) :] for one in lines if one.rstrip("\r\n") != one), "\n")
    new = [imported, *_call(name, tables)]
    at = _place(module.body, modules)
    if at and not lines[at - 1].endswith(end):
        lines[at - 1] += end
    lines[at:at] = [line + end for line in new]
    return "".join(lines), at + 2, "\n".join(new)


def _call(name: str, tables: Sequence[str]) -> list[str]:
    texts = ['"' + ast.unparse(ast.Constant(one))[1:-1] + '"' for one in tables]
    line = _CALL.format(name=name, tables=", ".join(texts))
    if len(line) <= _WIDTH:
        return [line]
    return [f"{name}.install(", "    tables=[", *(f"        {one}," for one in texts), "    ]", ")"]


def _place(body: Sequence[ast.stmt], modules: Collection[str]) -> int:
    """Return the number of lines before the call."""
    framework = next((one for one in body if _imports(one, _FRAMEWORKS)), None)
    if framework is not None:
        return max(one.end_lineno or 0 for one in body if one.lineno <= (framework.end_lineno or 0))
    first = sum(1 for one in body[:1] if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    while first < len(body) and _imports(body[first], {"__future__"}):
        first += 1
    own = next((one for one in body[first:] if _imports(one, modules)), body[first] if first < len(body) else None)
    if own is None:
        return max((one.end_lineno or 0 for one in body), default=0)
    decorated = min([own.lineno, *(one.lineno for one in getattr(own, "decorator_list", ()))])
    return decorated - 1


def _imports(statement: ast.stmt, modules: Collection[str]) -> bool:
    """Whether a statement imports one of these modules, also in a `try`."""
    if isinstance(statement, ast.Try):
        parts = (statement.body, *(handler.body for handler in statement.handlers))
        return any(_imports(one, modules) for part in parts for one in part)
    if isinstance(statement, ast.Import):
        return any(one.name.partition(".")[0] in modules for one in statement.names)
    if isinstance(statement, ast.ImportFrom):
        names = [statement.module] if statement.module else [one.name for one in statement.names]
        return bool(statement.level) or any(name.partition(".")[0] in modules for name in names)
    return False
