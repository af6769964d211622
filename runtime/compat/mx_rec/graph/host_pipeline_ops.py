"""The ops of Rec SDK's own library: thresholds, timestamps, the end of the data."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import runtime
from runtime import _validation
from runtime.compat.mx_rec.environment import combines_counters
from runtime.table.create import tables


class PipelineOps:
    """The result of `import_host_pipeline_ops`."""

    def __init__(self, library: str) -> None:
        """Take the name that was given for the library."""
        self.library = library

    def set_threshold(self, input: Any, emb_name: str = "", ids_name: str = "", name: str | None = None) -> tf.Tensor:
        """Return an int32 scalar; evaluating it replaces the threshold of the lookups of the table `emb_name`.

        0 stops counting. Without a name, all tables that count are changed; an unknown name has no effect.

        Raises:
            ValueError: the name is not a str, or tables count together (`USE_COMBINE_FAAE`).
        """
        _validation.kind("emb_name", emb_name, str, "a str")
        if combines_counters():
            raise ValueError("set_threshold cannot be used with USE_COMBINE_FAAE=1: unset it, or keep the thresholds")
        threshold = tf.cast(tf.convert_to_tensor(input), tf.int32)
        known = [table for table in tables() if emb_name in ("", table.table_name) and table.admission is not None]
        if emb_name and not known:
            tf.compat.v1.logging.warning("set_threshold has no effect: no table `%s` counts its ids", emb_name)
        with tf.control_dependencies([runtime.set_threshold(table, threshold) for table in known]):
            return tf.identity(threshold, name=name or "set_threshold")

    def return_timestamp(self, input: Any, name: str | None = None) -> tf.Tensor:
        """Return the time in seconds as an int64 scalar, once `input` is computed."""
        with tf.control_dependencies([tf.convert_to_tensor(input)]):
            return tf.cast(tf.timestamp(), tf.int64, name=name)

    def clear_channel(self, channel_id: int, name: str | None = None) -> tf.Operation:
        """Return an op that does nothing: there is no channel with ids of an earlier batch.

        Raises:
            ValueError: the channel is neither 0 nor 1.
        """
        _validation.option("channel_id", channel_id, (0, 1))
        return tf.no_op(name=name or "clear_channel")


def import_host_pipeline_ops(so_pkg_name: str = "libasc_ops.so") -> PipelineOps:
    """Return the ops.

    Raises:
        ValueError: the library's name is no str.
    """
    return PipelineOps(_validation.text("so_pkg_name", so_pkg_name))


def eos_map(dataset: Any, librec: Any, channel_id: int, max_train_steps: int = -1, max_eval_steps: int = -1) -> Any:
    """Return the dataset unchanged: its end need not be announced here.

    Raises:
        ValueError: the channel is neither 0 nor 1, or steps have a wrong type.
    """
    del librec
    _validation.option("channel_id", channel_id, (0, 1))
    _validation.integer("max_train_steps", max_train_steps, -1)
    _validation.integer("max_eval_steps", max_eval_steps, -1)
    return dataset
