"""The tables of a converted module as one: a module for another SDK has a table for each initializer."""

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
from migrate.verify.tensorflow.initial import table_law, table_rows
from runtime import native
from runtime.optimizers.by_rule import update_by_rule

v1: Any = tf.compat.v1
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

    def law(self) -> str:
        """Return the initializers as one native text."""
        return ";".join(table_law(one) for one in self.tables)

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


def by_rule(pairs: Sequence[tuple[Any, Any]], kind: str, rate: float) -> list[tf.Operation]:
    """Return steps of Paddle's SGD, Adagrad or Adam on tables that no optimizer of the runtime takes (DeepRec's).

    Args:
        pairs: gradients and what they were taken of.
        kind: "sgd", "adagrad" or "adam".
        rate: the learning rate.
    """
    if kind == "sgd":
        return [update_by_rule(one.table, gradient, "sgd", [rate, 0.0], ()) for gradient, one in pairs]
    if kind == "adagrad":
        return [update_by_rule(one.table, gradient, "adagrad", [rate, 1e-6], (0.0,)) for gradient, one in pairs]
    betas, epsilon = (0.9, 0.999), 1e-5
    powers = [
        v1.get_variable(f"verify/table_power{i}", initializer=beta, trainable=False) for i, beta in enumerate(betas)
    ]
    share = tf.sqrt(1 - powers[1].value())
    hyper = [rate * share / (1 - powers[0].value()), *betas, epsilon, epsilon * share]
    updates = [update_by_rule(one.table, gradient, "adam_scaled", hyper, (0.0, 0.0)) for gradient, one in pairs]
    with tf.control_dependencies(updates):
        return [*updates, *(v1.assign(power, power * beta).op for power, beta in zip(powers, betas, strict=True))]


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
