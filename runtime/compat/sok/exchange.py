"""Fetches rows of SOK's variables, static and dynamic, from the ranks that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.static import SharedVariable
from runtime.lookup import id_checks
from runtime.lookup.grouped import grouped_rows
from runtime.ranks.fused_exchange import Request, handles_of
from runtime.ranks.fused_exchange import rows_of_all as exchanged
from runtime.ranks.messages import Bags
from runtime.table.replicas import refuse_replicas


def rows_of_all(
    variables: Sequence[Any],
    keys: Sequence[tf.Tensor],
    bags: Sequence[Bags | None] | None = None,
    *,
    filtered: bool = False,
    is_train: Any = True,
) -> list[tf.Tensor]:
    """Return for each variable the rows [n, dim] of its keys int64 [n], from the ranks that hold them.

    If a variable has bags, return their sums [bags, dim].

    Every rank must call it with the same variables in the same order. Gradients take the reverse path and are summed.

    Args:
        variables: of SOK.
        keys: for each variable.
        bags: for each variable; None if no variable has bags.
        filtered: DynamicVariables count their keys, and keys that occur for the first time read zeros.
        is_train: whether DynamicVariables create rows of new keys.

    Raises:
        RuntimeError: in a replica of a tf.distribute strategy.
    """
    for variable in variables:
        refuse_replicas(f"the variable of SOK `{variable.name}`")
    requests = [
        Request(
            ids,
            variable.placement,
            None,
            counted=filtered and isinstance(variable, DynamicVariable),
            dim=variable.shape[1],
            name=_name_on_all_ranks(variable),
            bags=own,
            handles=handles_of([variable.table] if isinstance(variable, DynamicVariable) else []),
        )
        for variable, ids, own in zip(variables, keys, bags or [None] * len(variables), strict=True)
    ]
    rows = exchanged(requests, lambda own: _local_rows(variables, own, filtered, is_train))
    return [tf.cast(found, variable.dtype) for found, variable in zip(rows, variables, strict=True)]


def _name_on_all_ranks(variable: Any) -> str:
    """Return the name if the program gave it; a numbered name may differ between ranks with variables of their own."""
    name = str(variable.name)
    return "" if name.startswith(("sok_static_Variable_", "sok_dynamic_Variable_")) else name


def _local_rows(variables: Sequence[Any], keys: list[tf.Tensor], filtered: bool, is_train: Any) -> list[tf.Tensor]:
    """Return the rows of keys that this rank holds; for DynamicVariables without counters from a single op."""
    grouped = [i for i, one in enumerate(variables) if isinstance(one, DynamicVariable) and not filtered]
    grouped = [i for i in grouped if not (variables[i].times and is_train is True)]
    rows_of_each: list[Any] = [None] * len(variables)
    if len(grouped) > 1:
        tables = [variables[i].table for i in grouped]
        for i, rows in zip(grouped, grouped_rows(tables, [keys[i] for i in grouped], is_train), strict=True):
            id_checks.with_gradient([variables[i].table], variables[i].trains)
            rows.set_shape([None, variables[i].table.dim])
            rows_of_each[i] = rows if variables[i].trains else tf.stop_gradient(rows)
    for i, (variable, own) in enumerate(zip(variables, keys, strict=True)):
        if rows_of_each[i] is None:
            rows_of_each[i] = _rows_of(variable, own, filtered, is_train)
    # The exchange between ranks only supports float32.
    return rows_of_each if ranks.size() == 1 else [tf.cast(rows, tf.float32) for rows in rows_of_each]


def _rows_of(variable: Any, keys: tf.Tensor, filtered: bool, is_train: Any) -> tf.Tensor:
    if not isinstance(variable, DynamicVariable):
        rows: tf.Tensor = variable.rows(keys)
        return rows
    return variable.filtered_rows(keys) if filtered else variable.rows(keys, is_train)


def check_variable(variable: Any) -> Any:
    """Check the variable of a lookup, and return it.

    Raises:
        TypeError: it is not a variable of SOK.
    """
    if not isinstance(variable, (SharedVariable, DynamicVariable)):
        raise TypeError(
            f"a lookup of SOK got a {type(variable).__name__}: give a sok.Variable or a sok.DynamicVariable (use "
            "runtime's own functions to look up its tables)"
        )
    return variable
