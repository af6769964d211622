"""Tables in variable scopes: the name and the initializer that `tf.get_variable` would use there."""

from __future__ import annotations

import hashlib
import re
import weakref
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.table.create import tables

#: For each graph: table name -> full name of the variable that it stands for.
_named: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
#: Options of a variable scope that a table does not support.
_FOREIGN = ("regularizer", "custom_getter", "constraint", "partitioner", "caching_device")
_LENGTH = 90


class NameTakenError(ValueError):
    """Another variable has the table of this name: two names differ only in what a table's name cannot hold."""


def scoped_name(name: str) -> str:
    """Return the name of a table that stands for `tf.compat.v1.get_variable(name)` in the open variable scope.

    It is the full name of that variable with `_` for `/`: another scope means another table, and reuse the same one.
    Use it as `create_table(name=scoped_name("item"), ...)` if the scope is unknown when the code is written.

    Raises:
        NameTakenError: the graph has a table of this name for another variable.
        ValueError: the scope has a dtype other than float32, or a regularizer, custom getter, constraint, partitioner
            or caching device, which a table does not support.
    """
    _validation.text("name", name, 1000)
    scope = tf.compat.v1.get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    for option in _FOREIGN:
        if getattr(scope, option) is not None:
            raise ValueError(
                f"the variable scope around the table `{full}` has a {option}, which tables do not support: open "
                "the scope without it, or keep the variable"
            )
    if tf.as_dtype(scope.dtype) != tf.float32:
        raise ValueError(f"the variable scope around the table `{full}` has dtype {scope.dtype}: use float32")
    return _claimed(full)


def unique_name(name: str) -> str:
    """Return the name of a table that stands for `tf.Variable(..., name=name)` created here; unique at every call.

    It is the full name of that variable: the name scope and the name, with `_` for `/`, and a number at the end if the
    graph already has such a table or operation.
    """
    _validation.text("name", name, 1000)
    scope = tf.compat.v1.get_default_graph().get_name_scope()
    full = f"{scope}/{name}" if scope else name
    with tf.init_scope():
        graph = tf.compat.v1.get_default_graph()
        claimed = _named.setdefault(graph, {})
        taken = {one.lower() for one in (*claimed, *(table.table_name for table in tables()))}
    number, free = 0, _table_name(full)
    while free.lower() in taken or _has_operation(graph, free):
        number += 1
        free = _table_name(f"{full}_{number}")
    claimed[free] = f"tf.Variable {full}"
    return free


def _has_operation(graph: tf.Graph, name: str) -> bool:
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def scoped_initializer() -> Any:
    """Return the initializer of a variable without one: that of the open variable scope, else Glorot's."""
    initializer = tf.compat.v1.get_variable_scope().initializer
    return tf.compat.v1.glorot_uniform_initializer() if initializer is None else initializer


def _table_name(full: str) -> str:
    table = re.sub(r"[^0-9A-Za-z_]", "_", full)
    if len(table) > _LENGTH:
        table = f"{table[: _LENGTH - 9]}_{hashlib.sha256(full.encode()).hexdigest()[:8]}"
    return table


def _claimed(full: str) -> str:
    table = _table_name(full)
    with tf.init_scope():
        claimed = _named.setdefault(tf.compat.v1.get_default_graph(), {})
        names = {one.table_name for one in tables()}
    if claimed.get(table, "" if table in names else full) != full:
        raise NameTakenError(
            f"the table of the variable `{full}` would have the name `{table}`, which is already that of "
            f"{f'`{claimed[table]}`' if table in claimed else 'another variable'}: give one of them another name"
        )
    claimed[table] = full
    return table
