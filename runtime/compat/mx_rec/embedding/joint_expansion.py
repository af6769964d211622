"""Joins all training lookups of a table with dynamic expansion, so that it has one tensor of rows and one of addresses.

Programs train `tf.get_collection(ASCEND_SPARSE_LOOKUP_LOCAL_EMB)[0]`, which must cover all lookups of the table, and
read it before any optimizer computes gradients. So the first lookup of a table is built at once on a tensor of ids,
which each further lookup extends; each gets its part of the rows.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.compat.mx_rec.constants import INVALID
from runtime.compat.mx_rec.embedding.invalid_ids import rows_of
from runtime.compat.mx_rec.embedding.pending_lookups import Joint
from runtime.compat.mx_rec.state import GraphState

v1: Any = tf.compat.v1


def fits(table: Any, ids: tf.Tensor) -> bool:
    """Whether a training lookup can be joined: it is not inside a function, `tf.cond` or `tf.while_loop`."""
    return table.expands and ids.graph is table.graph and not _tf_private.in_control_flow(ids.op)


def joined(
    state: GraphState,
    table: Any,
    ids: tf.Tensor,
    config: dict[str, Any] | None,
    timed: Any,
    is_grad: bool,
    default: Any,
) -> tf.Tensor:
    """Return the rows of one more training lookup: float32 of shape ids.shape + [dim].

    `timed` are the thresholds, with the time of the batch.

    Raises:
        ValueError: the thresholds differ from those of earlier lookups.
    """
    joint = state.joint.get(table.table_name)
    if joint is not None and joint.config != config:
        raise ValueError(
            f"the lookups of the table `{table.table_name}` have different thresholds, {joint.config} and {config}: "
            "give all of them the same access_and_evict_config"
        )
    with tf.control_dependencies(None), tf.name_scope(f"{table.table_name}//joint/"):
        if joint is None or True in state.merged or _depends(ids, joint.rows):
            trained = table.is_grad
            joint = state.joint[table.table_name] = _begun(table, config, timed, default)
            table.is_grad = trained  # as its lookups say, not this internal one
        table.is_grad = bool(table.is_grad) or is_grad
        flat = tf.reshape(tf.cast(ids, tf.int64), [-1])
        # A separate identity op, whose input `_join` replaces when the next lookup is added.
        part = tf.identity(joint.rows)
        joint.parts.append((flat, default, part))
        _join(joint, table.dim)
        if default is not None and joint.default is None:
            part = tf.where(tf.equal(flat, INVALID)[:, None], tf.broadcast_to(default, tf.shape(part)), part)
        shaped = tf.reshape(part, tf.concat([tf.shape(ids), [table.dim]], 0))
    shaped.set_shape(ids.shape.concatenate([table.dim]))
    return shaped if is_grad else tf.stop_gradient(shaped)


def _begun(table: Any, config: dict[str, Any] | None, timed: Any, default: Any) -> Joint:
    ids = tf.identity(v1.placeholder(tf.int64, [None], name="no_lookup"), name="ids")
    defaults = None
    if config or default is not None:
        defaults = tf.identity(v1.placeholder(tf.float32, [None, table.dim], name="no_default"), name="defaults")
    rows = rows_of(
        table, ids, name="rows", modify_graph=True, access_and_evict_config=timed, serving_default_value=defaults
    )
    return Joint(config, ids, defaults, rows)


def _join(joint: Joint, dim: int) -> None:
    """Let the lookup read the ids of all parts, and give each part its rows."""
    flat = [ids for ids, _, _ in joint.parts]
    ids = flat[0] if len(flat) == 1 else tf.concat(flat, 0)
    # An input's static length cannot grow, and the static length of the result of `where` is unknown.
    each_id = tf.where(tf.equal(ids, ids))[:, 0]
    _tf_private.update_input(joint.ids.op, 0, tf.gather(ids, each_id))
    if joint.default is not None:
        zero = tf.zeros([], tf.float32)
        each = [tf.broadcast_to(zero if one is None else one, [tf.size(ids), dim]) for ids, one, _ in joint.parts]
        _tf_private.update_input(joint.default.op, 0, tf.gather(tf.concat(each, 0), each_id))
    rows = [joint.rows] if len(flat) == 1 else tf.split(joint.rows, [tf.size(ids) for ids in flat])
    for (_, _, part), of_part in zip(joint.parts, rows, strict=True):
        _tf_private.update_input(part.op, 0, of_part)


def _depends(tensor: tf.Tensor, source: tf.Tensor) -> bool:
    """Whether a tensor is computed from another one."""
    known, pending = set(), [tensor.op]
    while pending:
        op = pending.pop()
        if op is source.op:
            return True
        if op.name not in known:
            known.add(op.name)
            pending += [one.op for one in op.inputs]
    return False
