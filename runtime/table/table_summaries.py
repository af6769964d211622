"""Scalars of tables for TensorBoard: rows, admission, evictions, memory, and the hits of storage tiers."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from runtime import _validation, native
from runtime.table.create import tables
from runtime.table.status import status
from runtime.table.table import Table
from runtime.table.tier_summaries import tier_scalars


def table_summaries(step: Any = None) -> None:
    """Write the scalars of all tables made in eager mode to the default summary writer at `step`.

    They are those of `TableSummaryHook`. In a v1 graph that hook writes them.

    Raises:
        RuntimeError: it is called in a v1 graph.
    """
    if not tf.executing_eagerly():
        raise RuntimeError("table_summaries is for eager mode: in a graph give the session a runtime.TableSummaryHook")
    for tag, value in [*_measured(tables()).items(), *_counted(tables()).items()]:
        tf.summary.scalar(tag, value, step)


class TableSummaryHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Writes scalars of the tables of a training session: `<table>/rows`, `/waiting`, `/evicted`, `/bytes`, `/tiers/…`.

    `waiting` is the number of keys that are counted and not admitted yet, without those in a Bloom filter. `evicted`
    counts rows since the table was created. `bytes` are those of memory; `tiers` are those of `tier_summaries`. The
    values are read after a step, in a run of their own that changes nothing. With several ranks, each has its own rows:
    give each a folder of its own.
    """

    def __init__(self, output_dir: str | os.PathLike[str], every_steps: int = 100) -> None:
        """Write event files into `output_dir`, after the first step, then every so many steps, and at the end.

        Raises:
            ValueError: `every_steps` is not an integer above 0.
        """
        self._folder = os.fspath(output_dir)
        self._every = _validation.integer("every_steps", every_steps, 1)
        self._tables: list[Table] = []
        self._scalars: dict[str, tf.Tensor] = {}
        self._step: Any = None
        self._last: int | None = None

    def begin(self) -> None:
        """Add the ops that read the tables.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._tables, self._last = tables(), None
        self._step = tf.compat.v1.train.get_global_step()
        if self._step is None:
            raise RuntimeError("TableSummaryHook needs a global step: create one with get_or_create_global_step()")
        if not self._tables:
            tf.compat.v1.logging.warning(
                "TableSummaryHook has no effect, as the graph has no tables: list it after GraphModifierHook"
            )
        self._scalars = _measured(self._tables)

    def before_run(self, run_context: Any) -> Any:
        """Fetch the global step with the run."""
        return tf.compat.v1.train.SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Write, if it is time; the fetched step may lag behind the run by one."""
        if self._last is None or int(run_values.results) + 1 >= self._last + self._every:
            self._write(run_context.session, self._every)

    def end(self, session: Any) -> None:
        """Write what the last steps did."""
        self._write(session, 1)
        if self._tables:
            self._writer().flush()

    def _write(self, session: Any, after: int) -> None:
        """Write, if the last time is `after` steps ago."""
        step, values = session.run((self._step, self._scalars))
        if self._tables and (self._last is None or step >= self._last + after):
            self._last = int(step)
            values |= _counted(self._tables)
            scalars = [tf.compat.v1.Summary.Value(tag=tag, simple_value=float(one)) for tag, one in values.items()]
            self._writer().add_summary(tf.compat.v1.Summary(value=scalars), self._last)

    def _writer(self) -> Any:
        """Return the writer of the folder, which an Estimator shares that writes there."""
        return tf.compat.v1.summary.FileWriterCache.get(self._folder)


def _measured(of: list[Table]) -> dict[str, tf.Tensor]:
    """Return what ops tell of tables, by tag."""
    scalars = {}
    for table in of:
        with table.scope("summaries"), table.written():
            scalars[f"{table.table_name}/rows"] = native.ops().rec_table_size(table.handle)
            scalars[f"{table.table_name}/waiting"] = native.ops().rec_table_waiting(table.handle)
        scalars |= tier_scalars(table)
    return scalars


def _counted(of: list[Table]) -> dict[str, int]:
    """Return what `status()` tells of tables, by tag: of all sessions that have a table of this name."""
    live = status().tables
    named = {table.table_name: [one for one in live if one.name == table.table_name] for table in of}
    evicted = {f"{name}/evicted": sum(one.evicted for one in ones) for name, ones in named.items()}
    return evicted | {f"{name}/bytes": sum(one.bytes for one in ones) for name, ones in named.items()}
