"""Extends TensorFlow's warm starts by scope or pattern to tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from runtime import _tf_private_estimator, _tf_private_savers
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.row_layout import columns_of, read_column
from runtime.checkpoint.warm_start_rows import Vocabulary, is_replaced, start_by_vocabulary, start_from_variable
from runtime.table.anchor import GraphAnchor, no_variable
from runtime.table.create import tables
from runtime.table.table import Table


def _with_tables(path: Any, assignment_map: Any) -> list[tuple[str, Any]]:
    """Return the pairs of `init_from_checkpoint`, with names and scopes resolved to tables."""
    pairs = list(assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map)
    known = _known()
    shown = dict(tf.train.list_variables(path))  # `rewriter.install` shows variables in the place of tables
    shapes = Bundle(path).shapes
    resolved: list[tuple[str, Any]] = []
    for tensor, target in pairs:
        anchors = known[target].variables if isinstance(target, str) and target in known else _as_list(target)
        if all(isinstance(anchor, GraphAnchor) for anchor in anchors):
            resolved += [(_rows_of(tensor, anchor, shapes), anchor) for anchor in anchors]
        elif f"{tensor}-keys" in shapes and shown.get(tensor, [1])[:1] in ([], [0]):
            raise CheckpointError(f"{path}: {no_variable(tensor)}, before the warm start")
        else:
            resolved.append((tensor, target))
    asked = {target.table.whole.table_name for _, target in resolved if isinstance(target, GraphAnchor)}
    for tensor, target in pairs:
        if isinstance(target, str) and target not in known and tensor.endswith("/"):
            for table in known.values():
                source = _source(table, tensor, target.rpartition("/")[0])
                if source is not None and table.is_save and table.table_name not in asked:
                    asked.add(table.table_name)
                    for anchor in table.variables if _is_there(table, source, path, shapes) else ():
                        anchor.with_slots = True
                        resolved.append((source, anchor))
    return [(tensor, target) for tensor, target in resolved if not _started(path, tensor, target, shapes)]


def _known() -> dict[str, Table]:
    """Return the tables of the graph by their names, those on several servers as one."""
    wholes = dict.fromkeys(table.whole for table in tables())
    return {table.table_name: table for table in wholes if all(isinstance(one, GraphAnchor) for one in table.variables)}


def _as_list(target: Any) -> list[Any]:
    return target if isinstance(target, list) and target else [target]


def _started(path: Any, tensor: str, target: Any, shapes: Mapping[str, Any]) -> bool:
    """Warm-start a table from one that replaced a variable, or one that replaced a variable from a variable.

    TensorFlow would compare shapes with those of markers and anchors.
    """
    if not isinstance(target, GraphAnchor):
        return False
    if is_replaced(tensor, shapes):
        target.start_from(Bundle(path).path, tensor)
    elif target.stands_for is not None and tensor in shapes and f"{tensor}-keys" not in shapes:
        start_from_variable(target, path, tensor, shapes)
    else:
        return False
    target.with_slots = target.stands_for is None
    return True


def _by_vocabulary(variables: Any, path: Any, name: str | None, vocabulary: Mapping[str, Any]) -> bool:
    """Warm-start a table whose ids a vocabulary numbers again."""
    shapes = dict(tf.train.list_variables(path))
    return start_by_vocabulary(list(variables), str(path), name, Vocabulary(**vocabulary), shapes)


def _rows_of(tensor: str, anchor: GraphAnchor, shapes: Mapping[str, Any]) -> str:
    tensor, table = tensor.removesuffix(":0"), anchor.table.whole
    if tensor == anchor.op.name:
        tensor = table.table_name
    if anchor.stands_for is None and anchor.table.is_save and tensor in shapes and f"{tensor}-keys" not in shapes:
        raise CheckpointError(
            f"`{tensor}` of the checkpoint is an ordinary variable, not a table: leave it out of this warm start and "
            f"fill the table `{table.table_name}` with runtime.checkpoint.warm_start(table, path)"
        )
    return tensor


def _source(table: Table, tensor: str, scope: str) -> str | None:
    """Return the table's name in the checkpoint; None if neither its name nor where it was created is in `scope`."""
    name, scope_of_table = table.table_name, table.variables[0].made_in
    if not scope or name.startswith(scope + "/"):
        inner = name.removeprefix(scope).removeprefix("/")
        return inner if tensor == "/" else tensor + inner
    return name if f"{scope_of_table}/".startswith(scope + "/") else None


def _is_there(table: Table, source: str, path: Any, shapes: Mapping[str, Any]) -> bool:
    if f"{source}-keys" in shapes:
        return True
    warnings.warn(
        f"the warm start from {path} leaves out the table `{table.table_name}`, because it has no rows named "
        f"`{source}`: name it, as {{name: table.variable}}, or fill it with runtime.checkpoint.warm_start",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


def _listed(variables: Any, grouped: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """List tables under their own names, and add those that match patterns of WarmStartSettings."""
    named = variables is None or isinstance(variables, str)
    patterns = [variables or ".*"] if named else [one for one in variables if isinstance(one, str)]
    listed = [one for group in grouped.values() for one in group if isinstance(one, GraphAnchor)]
    groups = {name: group for name, group in grouped.items() if not isinstance(group[0], GraphAnchor)}
    for name, table in _known().items():
        matched = table.is_save and any(re.match(pattern, f"{name}:0") for pattern in patterns)
        if matched or any(one.table.whole is table for one in listed):
            groups.setdefault(name, table.variables)
            for anchor in table.variables:
                _choose_slots(anchor, [] if named else patterns)
    return groups


def _name_of(variables: list[Any]) -> str | None:
    """Return the name of the table whose shards these variables stand for; None for other variables."""
    anchors = all(isinstance(one, GraphAnchor) for one in variables)
    return variables[0].table.whole.table_name if anchors else None


def _choose_slots(anchor: GraphAnchor, patterns: list[str]) -> None:
    """Let a table that replaced a variable take slots where patterns name the variable's, too, as those of a list do.

    A single pattern only names trainable variables, which slots are not.
    """
    if anchor.stands_for is not None:
        slots = [f"{name}:0" for name in anchor.stands_for.slots]
        anchor.with_slots = bool(slots) and all(any(re.match(one, slot) for one in patterns) for slot in slots)


def rows_or_tensor(reader: Any, name: str) -> Any:
    """Return a tensor of a checkpoint; for a table that replaced a variable, its rows in the order of their ids.

    Raises:
        CheckpointError: the table's ids are not 0, 1, 2, …
    """
    shapes = reader.get_variable_to_shape_map()
    column = columns_of(shapes, reader.get_tensor).get(name) if is_replaced(name, shapes) else None
    return reader.get_tensor(name) if column is None else read_column(name, column, reader.get_tensor)


_tf_private_estimator.extend_load_variable(rows_or_tensor)
_tf_private_savers.extend_warm_starts(_with_tables, _listed, _by_vocabulary, _name_of)
