"""Penalties of a loss as programs write them for variables, which also take tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.lookup.whole_table import idle_norms, whole_table_l1, whole_table_l2
from runtime.table.table import Table

#: What `tf.contrib.layers` calls the functions that its regularizers are.
_FUNCTIONS = {"l1": (1.0, 0.0), "l2": (0.0, 0.5), "sum_reg": (1.0, 1.0)}
#: What it makes of a scale of 0.
_NO_TERM = (lambda _: None).__code__


def l2_loss(value: Any, name: str | None = None) -> tf.Tensor:
    """Return `tf.nn.l2_loss(value)`; of a table the exact one over all rows, `whole_table_l2`.

    The rows of a table are those of the ids 0 to `device_vocabulary_size` - 1, as of the variable that it replaces, and
    those of further ids that it has.

    Raises:
        ValueError: the table cannot have such terms, see `whole_table_l2`.
    """
    if isinstance(value, Table):
        return whole_table_l2(value, size=value.device_vocabulary_size, name=name)
    return tf.nn.l2_loss(value, name=name)


def l1_norm(value: Any, name: str | None = None) -> tf.Tensor:
    """Return `tf.reduce_sum(tf.abs(value))`; of a table over all rows, as `l2_loss`."""
    if isinstance(value, Table):
        return whole_table_l1(value, size=value.device_vocabulary_size, name=name)
    return tf.reduce_sum(tf.abs(value), name=name)


def penalty(regularizer: Callable[[Any], Any], value: Any) -> Any:
    """Return `regularizer(value)`; of a table over all rows, as `l2_loss`.

    Raises:
        ValueError: the regularizer of a table is neither L1, L2 nor L1L2 of Keras or of `tf.contrib.layers`.
    """
    if not isinstance(value, Table) or _has_no_term(regularizer):
        return regularizer(value)
    l1, squares = _known(regularizer, value)
    total = tf.constant(0.0)
    if squares:
        total += 2 * squares * l2_loss(value)
    if l1:
        total += l1 * l1_norm(value)
    return total


def _has_no_term(regularizer: Any) -> bool:
    """True for a function that returns None, whatever it is given."""
    code = getattr(regularizer, "__code__", None)
    return code is not None and (code.co_code, code.co_consts) == (_NO_TERM.co_code, _NO_TERM.co_consts)


def _known(regularizer: Any, table: Table) -> tuple[float, float]:
    known = factors(regularizer)
    if known is None:
        raise ValueError(
            f"the table `{table.table_name}` supports L1, L2 and L1L2 of Keras and of tf.contrib.layers as "
            f"regularizers: got {regularizer!r}; apply it to looked_up_rows(table), the rows of the batch"
        )
    return known


def factors(regularizer: Any) -> tuple[float, float] | None:
    """Return the factors of the sum of absolute values and of the sum of squares in a regularizer.

    None: it is neither L1, L2 nor L1L2 of Keras, nor a function of `tf.contrib.layers`.
    """
    kind = type(regularizer).__name__
    if kind in ("L1", "L2", "L1L2"):
        return float(getattr(regularizer, "l1", 0.0)), float(getattr(regularizer, "l2", 0.0))
    if _has_no_term(regularizer):
        return 0.0, 0.0
    name = getattr(regularizer, "__name__", "")
    if kind != "function" or name not in _FUNCTIONS or not regularizer.__closure__:
        return None
    cells = (cell.cell_contents for cell in regularizer.__closure__)
    held = dict(zip(regularizer.__code__.co_freevars, cells, strict=True))
    if name == "sum_reg":
        parts = [factors(one) for one in held.get("regularizer_list", [])]
        known = [one for one in parts if one is not None]
        return (sum(one[0] for one in known), sum(one[1] for one in known)) if len(known) == len(parts) else None
    l1, squares = _FUNCTIONS[name]
    return (l1 * held["scale"], squares * held["scale"]) if "scale" in held else None


def regularized(table: Table, regularizer: Any) -> Table:
    """Add the penalty of a new table to the graph's regularization losses, as `get_variable(regularizer=...)` does.

    A table that is reused has its penalty already. `regularizer` is None for no penalty.

    Raises:
        ValueError: the table is eager, or see `penalty`.
    """
    if table.graph is None:
        raise ValueError(
            f"the table `{table.table_name}` is eager, and only graphs collect regularization losses: add "
            "penalty(...) to the loss"
        )
    if regularizer is None or _has_no_term(regularizer) or table.is_regularized:
        return table
    l1, squares = _known(regularizer, table)
    table.is_regularized = True
    with tf.init_scope(), tf.name_scope(f"{table.table_name}/Regularizer"):
        norms = idle_norms(table, table.device_vocabulary_size)  # no program need read the losses of its graph
        term = 2 * squares * norms[0] + l1 * norms[1]
        tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.REGULARIZATION_LOSSES, term)
    return table
