"""What a converted module of another SDK calls, and what steps of the runtime take of its model."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from runtime.nn.weights.parameter import Parameter
from runtime.nn.weights.table_weight import TableWeight

#: Module that converted code imports -> the façade of the runtime that has it.
_FACADES = {"mx_rec": "mx_rec", "sparse_operation_kit": "sok"}


class Dense(Parameter):
    """A variable, as an optimizer of `runtime.nn` takes it."""

    def __init__(self, variable: Any) -> None:
        """Take the variable."""
        super().__init__(variable.shape.as_list(), None, variable.dtype.base_dtype)
        self._variable = variable


class Rows(TableWeight):
    """A table, as an optimizer of `runtime.nn` takes it."""

    def __init__(self, table: Any) -> None:
        """Take the table."""
        super().__init__([1, table.dim], None)
        self._table = table


@contextlib.contextmanager
def facade(path: str) -> Iterator[None]:
    """Let a converted module find the SDK that it calls, as the runtime has it."""
    name = _facade_of(path)
    if not name:
        yield
        return
    package = importlib.import_module(f"runtime.compat.{name}")
    package.install()
    try:
        if name == "mx_rec":
            importlib.import_module("mx_rec.util.initialize").init(use_dynamic=True)
        yield
    finally:
        package.uninstall()


def _facade_of(path: str) -> str:
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise MigrateError(f"{path}: cannot be read ({error}); give the converted file") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "get_embedding_variable":
            return "deeprec"
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [item.name for item in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            if found := _FACADES.get(module.partition(".")[0]):
                return found
    return ""
