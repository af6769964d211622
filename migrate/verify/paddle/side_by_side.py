"""The tables of a converted module as one, because other SDKs have one for each initializer; and what steps take."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.verify.tensorflow.initial import table_distribution, table_rows
from runtime import native
from runtime.nn.weights.parameter import Parameter
from runtime.nn.weights.table_weight import TableWeight

#: Module that converted code imports -> the façade of the runtime that has it.
_FACADES = {"mx_rec": "mx_rec", "sparse_operation_kit": "sok"}


class Tables:
    """Tables whose rows stand side by side, in the order of their columns."""

    def __init__(self, made: Sequence[Any]) -> None:
        """Take tables of the runtime, or what a façade gives for one."""
        self.tables = [getattr(one, "table", one) for one in made]
        self.name = self.tables[0].table_name

    @property
    def dim(self) -> int:
        """The columns of all tables."""
        return sum(int(one.dim) for one in self.tables)

    @property
    def anchors(self) -> list[Any]:
        """What gradients of the tables are taken of."""
        return [one.variable for one in self.tables]

    @property
    def counted(self) -> bool:
        """Whether updates create rows and count, as DeepRec's do, so that optimizers of the runtime take none."""
        return any(one.reads_each_step for one in self.tables)

    def distribution(self) -> str:
        """Return the initializers as one native text."""
        return ";".join(table_distribution(one) for one in self.tables)

    def rows(self, keys: NDArray[Any]) -> tf.Tensor:
        """Return the current rows of keys, or what they begin with, [n, dim]; nothing is inserted."""
        return tf.concat([table_rows(one, keys) for one in self.tables], axis=1)

    def import_rows(self, keys: NDArray[Any], values: tf.Tensor) -> tf.Operation:
        """Return the op that sets the rows [n, dim] of keys, in tables that are empty before."""
        parts = tf.split(values, [int(one.dim) for one in self.tables], axis=1)
        # The init op of a counted table keeps its rows and slots where it runs again.
        emptied = [native.ops().rec_table_reset(one.created) for one in self.tables] if self.counted else []
        with tf.control_dependencies(emptied):
            return tf.group(*(one.import_rows(keys, part) for one, part in zip(self.tables, parts, strict=True)))

    def snapshot(self) -> tuple[list[tf.Tensor], list[tf.Tensor], tf.Tensor]:
        """Return keys and values of each table, and the width of all slots of a row."""
        found = [one.snapshot() for one in self.tables]
        slots = tf.add_n([tf.shape(one[2])[1] for one in found])
        return [one[0] for one in found], [one[1] for one in found], slots


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
