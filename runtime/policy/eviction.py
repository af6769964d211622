"""Eviction: by age in seconds or steps, by norm, and a hook that evicts during training."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, native, ranks
from runtime.policy.admission import time_scalar
from runtime.table.create import tables
from runtime.table.table import Table


@_tf_private.as_written
def evict_by_age(table: Table, age: Any = None, now: Any = None) -> tf.Tensor:
    """Delete the keys of `table` that were last seen `age` or longer before `now`; return the number of deleted rows.

    Rows are deleted with their slots and counters, and a key that occurs again starts afresh. Rows that no training
    lookup has seen since they were restored count as seen at the first eviction.

    Args:
        table: a table whose training lookups have a timestamp.
        age: in the timestamp's unit; default: the `eviction_threshold` of the table's lookups.
        now: default: the newest timestamp of the table.

    Raises:
        ValueError: an argument is not an integer scalar, or there is neither `age` nor an `eviction_threshold`.
    """
    _validation.kind("table", table, Table, "a table created by create_table")
    if age is None:
        age = None if table.admission is None else table.admission.eviction_threshold
    if age is None:
        raise ValueError(f"the table `{table.table_name}` has no eviction_threshold: give evict_by_age an `age`")

    def evict(part: Table) -> tf.Tensor:
        present = tf.zeros([0], tf.int64) if now is None else tf.reshape(time_scalar(now), [1])
        return native.ops().rec_evict_unseen(part.handle, time_scalar(age), present)

    return _total(table.in_parts("evict", evict))


def evict_by_step(table: Table, steps_to_live: int, global_step: Any = None) -> tf.Tensor:
    """Delete the keys last seen more than `steps_to_live` steps before `global_step` (DeepRec's GlobalStepEvict).

    The timestamp of the training lookups must be the global step. Returns the number of deleted rows.

    Raises:
        ValueError: an argument is not an integer scalar.
    """
    _validation.integer("steps_to_live", steps_to_live, 0)
    return evict_by_age(table, steps_to_live + 1, global_step)


@_tf_private.as_written
def evict_by_norm(table: Table, l2_weight_threshold: float) -> tf.Tensor:
    """Delete the rows with a half squared norm, 0.5 · Σ v², below the threshold (DeepRec's L2WeightEvict).

    Returns the number of deleted rows.

    Raises:
        ValueError: the threshold is not a number, or is negative, or the table is cut by columns.
    """
    _validation.kind("table", table, Table, "a table created by create_table")
    table.require_whole_rows("evict_by_norm")
    _validation.real("l2_weight_threshold", l2_weight_threshold, 0, 3.4e38, whole=True)

    def evict(part: Table) -> tf.Tensor:
        return native.ops().rec_evict_light(part.handle, tf.constant(l2_weight_threshold, tf.float32))

    return _total(table.in_parts("evict", evict))


def _total(counts: list[tf.Tensor]) -> tf.Tensor:
    return counts[0] if len(counts) == 1 else tf.add_n(counts)


class EvictHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Evicts old keys during training from every table of the graph that has an `eviction_threshold`.

    It evicts after a run if `evict_time_interval` seconds have passed since the last time, or if the global step has
    passed a multiple of `evict_step_interval`. The global step is fetched with the run; only near a multiple it is read
    once more. With several ranks, each evicts the rows that it holds; replicated tables are evicted by steps only,
    because clocks differ between ranks and copies must not.
    """

    def __init__(
        self, evict_enable: bool = False, evict_time_interval: int = 86400, evict_step_interval: int | None = None
    ) -> None:
        """Take intervals in seconds and steps, ints in [1, 2**31 - 1]; without `evict_enable` the hook does nothing.

        Raises:
            ValueError: an argument has a wrong type or range.
        """
        self._enabled = _validation.boolean("evict_enable", evict_enable)
        self._seconds = _validation.integer("evict_time_interval", evict_time_interval, 1)
        self._steps = (
            None if evict_step_interval is None else _validation.integer("evict_step_interval", evict_step_interval, 1)
        )
        self._by_time: list[tf.Tensor] = []
        self._by_step: list[tf.Tensor] = []
        self._global_step: Any = None
        self._started = 0.0
        self._last_step: int | None = None

    def begin(self) -> None:
        """Add the ops to the graph.

        Raises:
            RuntimeError: there is a step interval, but no global step.
            RanksError: there is no step interval, and several ranks have copies of a table with eviction.
        """
        if not self._enabled:
            return
        evicting = [table for table in tables() if table.admission and table.admission.eviction_threshold is not None]
        copied = [table.placement == "replicated" and ranks.size() > 1 for table in evicting]
        if any(copied) and self._steps is None:
            raise ranks.RanksError(
                f"EvictHook evicts the table `{evicting[copied.index(True)].table_name}` by time, so its copies on "
                f"{ranks.size()} ranks would differ: give it an evict_step_interval"
            )
        self._by_step = [evict_by_age(table) for table in evicting]
        self._by_time = [op for op, on_all in zip(self._by_step, copied, strict=True) if not on_all]
        if not evicting:
            tf.compat.v1.logging.warning("EvictHook has no effect: no table's lookups have an eviction_threshold")
        if self._steps is None:
            return
        self._global_step = tf.compat.v1.train.get_global_step()
        if self._global_step is None:
            raise RuntimeError(
                "EvictHook has an evict_step_interval, but the graph has no global step: create one with "
                "tf.compat.v1.train.get_or_create_global_step()"
            )

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Start the clock, and treat the step of a restored model as already handled."""
        self._started = time.monotonic()
        self._last_step = None if self._global_step is None else int(session.run(self._global_step))

    def before_run(self, run_context: Any) -> Any:
        """Fetch the global step with the run."""
        if not self._by_step or self._global_step is None:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Evict if it is time."""
        if not self._by_step:
            return
        due = self._by_time if time.monotonic() - self._started > self._seconds else []
        if self._global_step is not None and self._passed(int(run_values.results), run_context.session):
            due = self._by_step
        if due:
            run_context.session.run(due)
            self._started = time.monotonic()

    def _passed(self, fetched: int, session: Any) -> bool:
        """Whether a multiple was passed; the fetched step may lag behind the run, so read it again near a multiple."""
        assert self._steps is not None
        assert self._last_step is not None
        marks = self._last_step // self._steps
        if (fetched + 1) // self._steps == marks:
            return False
        step = int(session.run(self._global_step))
        if step // self._steps == marks:
            return False
        self._last_step = step
        return True
