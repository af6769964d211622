"""Explains why a Saver cannot restore a checkpoint: importing this adds the sentence that names the remedy.

One of the two has a table where the other has a variable. A checkpoint of the program before its conversion has no
rows of the tables, and one that a rewritten graph wrote has no variables in their place.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _tf_private_savers
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.rows import delta_names, part_names, table_names
from runtime.checkpoint.variable_names import full_names, own_variables, variables_by_name
from runtime.checkpoint.variables_from_tables import is_rewritten
from runtime.checkpoint.warm_start_rows import is_replaced
from runtime.table.anchor import GraphAnchor, no_variable
from runtime.table.clusters.servers import ROWS


def _explain(graph: tf.Graph | None, items: Sequence[Any], path: str, message: str) -> str | None:
    """Return why a Saver of these items cannot restore a checkpoint, if tables are the reason; else None."""
    try:
        bundle = Bundle(path)
    except CheckpointError:
        return None
    # A table that replaced a variable reads it, too.
    read = [item.table.whole for item in items if isinstance(item, GraphAnchor) and item.reader is None]
    missing = {table.table_name: table.dim for table in read if table.is_save and not _has(bundle, table.table_name)}
    # What TensorFlow lacks may be another variable: an EmbeddingVariable's rows have other parts than a table's.
    if any(f"{table}{part}" in message for table in missing for part in ROWS) and not delta_names(bundle):
        return _without_tables(bundle, missing)
    for names in re.findall(r"tensor_name = (\S+);|Key (\S+) not found", message):
        for table in table_names(bundle):
            if is_replaced(table, bundle.shapes) and f"{''.join(names)}/".startswith(f"{table}/"):
                return f"{path}: {_stays(table) if is_rewritten(graph) else no_variable(table)}"
    return None


def _has(bundle: Bundle, table: str) -> bool:
    try:
        return bool(part_names(bundle, table))
    except CheckpointError:
        return False


def _without_tables(bundle: Bundle, missing: dict[str, int]) -> str:
    """Return what to do with a checkpoint that has no rows of these tables, given with their dims."""
    objects = full_names(bundle)
    names = list(objects) or own_variables(bundle)
    shapes = {name: bundle.shapes[objects.get(name, name)] for name in names}
    named = variables_by_name(missing, {name: math.prod(shape[1:]) for name, shape in shapes.items() if shape})
    table = next(iter(named or missing))
    lacks = f"`{table}`" + (f" nor {len(missing) - 1} more" if len(missing) > 1 else "")
    if not named:
        known = ", ".join(table_names(bundle))
        return (
            f"{bundle.path}: has no rows of the table {lacks}, {f'but of {known}' if known else 'nor of any other'}, "
            "and no variable of that name; give a checkpoint of this program, or an empty folder to begin anew"
        )
    before = (
        f"{bundle.path}: has the variable `{named[table][0]}`, and not the table {lacks}, as the program wrote it "
        "before its conversion; "
    )
    if _tf_private.OBJECT_GRAPH_KEY in bundle:
        return f"{before}fill each table with runtime.checkpoint.warm_start(table, path, variable_name)"
    command = shlex.join(["migrate", "checkpoint", bundle.path, "--report", "convert.json"])
    return (
        f"{before}give an empty folder to begin anew, or the one that `{command}` writes by the report of "
        "`migrate convert`"
    )


def _stays(name: str) -> str:
    """Return the remedy for a variable that a rewrite of this graph did not replace."""
    return (
        f"`{name}` is a table in the checkpoint, but still a variable in this graph after its rewrite: the rewrite's "
        "plan says why; train without that table, by GraphModifierHook(tables=[...]) with the others, or evaluate "
        "and predict in a graph that does not train it"
    )


_tf_private_savers.explain_restores(_explain)
