"""Which parameters of a function its body never reads: what is given for them would be dropped without a word."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def unread(function: Callable[..., Any]) -> set[str]:
    """Return the parameters that nothing is done with but to check or delete them."""
    if inspect.unwrap(function).__code__.co_filename == "<string>":  # the constructor of a data class keeps them all
        return set()
    tree: Any = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    return unread_of(tree)


def unread_of(function: ast.FunctionDef) -> set[str]:
    """Return the same of a definition."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    given = {one.arg for one in every if one is not None} - {"self", "cls"}
    read = {
        node.id
        for statement in function.body
        if not _only_checks(statement)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    # `locals()` hands all of them on.
    return set() if "locals" in read else given - read


def _only_checks(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).startswith("_validation.")
