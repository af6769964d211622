"""`sok.incremental_model_dump`: the rows that were looked up since a given time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native, ranks
from runtime.compat.sok.dynamic import DynamicVariable


def incremental_model_dump(
    sok_vars: Any, time_threshold: Any, sess: Any = None
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float32]]]:
    """Return for each variable the keys int64 [n] that any rank looked up for training since then, and their rows.

    Times have a resolution of one second, so keys of the same second are included.

    Args:
        sok_vars: DynamicVariables created with `var_type="hybrid"`, one or a list.
        time_threshold: a `datetime` for all, or one for each; without a time zone it is local time.
        sess: in a v1 graph, the session.

    Raises:
        TypeError: a variable is of another kind, or a threshold is not a `datetime`.
        ValueError: the number of thresholds is wrong, or there is no session in a v1 graph.
    """
    variables = list(sok_vars) if isinstance(sok_vars, (list, tuple)) else [sok_vars]
    for variable in variables:
        if not isinstance(variable, DynamicVariable) or not variable.times:
            raise TypeError(
                "incremental_model_dump needs DynamicVariables that note times: make them with var_type='hybrid', got "
                f"{getattr(variable, 'name', type(variable).__name__)}"
            )
    moments = _moments(time_threshold, len(variables))
    if sess is None and not tf.executing_eagerly():
        raise ValueError("incremental_model_dump in a v1 graph needs the session: give it as `sess`")
    changed: Any = [_changed(one, since) for one, since in zip(variables, moments, strict=True)]
    if sess is not None:
        changed = sess.run(changed)
    return [np.asarray(keys) for keys, _ in changed], [np.asarray(rows) for _, rows in changed]


def _moments(thresholds: Any, count: int) -> Sequence[int]:
    moments = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    if not all(isinstance(one, datetime) for one in moments):
        raise TypeError(f"`time_threshold` must be a datetime or a list of them: got {thresholds!r}")
    if len(moments) not in (1, count):
        raise ValueError(f"`time_threshold` has {len(moments)} times for {count} variables: give one, or one for each")
    return [int(one.timestamp()) for one in (moments if len(moments) == count else moments * count)]


def _changed(variable: Any, since: int) -> tuple[tf.Tensor, tf.Tensor]:
    table = variable.table
    keys, rows, *_ = table.snapshot()
    with table.scope("times"):
        _, times = native.ops().rec_sightings(table.handle, keys)
    kept = times >= since
    engine = ranks.current()
    return engine.all_gather(tf.boolean_mask(keys, kept))[0], engine.all_gather(tf.boolean_mask(rows, kept))[0]
