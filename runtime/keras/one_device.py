"""A strategy of one replica: what a model with tables may be distributed by, and no other."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def one_device(strategy: Any) -> Any:
    """Return TensorFlow's default strategy in place of a `MirroredStrategy` of one replica: both compute the same.

    Call it before any scope is entered. A table is no variable that a strategy could make a copy of for each device.

    Raises:
        RuntimeError: the strategy has several replicas, or another one is in scope.
    """
    name, replicas = type(strategy).__name__, strategy.num_replicas_in_sync
    if replicas > 1:
        raise RuntimeError(
            f"{name} has {replicas} replicas, but tables are trained by one: make one device visible, as by "
            "CUDA_VISIBLE_DEVICES=0, or start one process for each device (runtime.ranks)"
        )
    if tf.distribute.has_strategy():
        raise RuntimeError(f"{name} is created inside of the scope of another strategy: create it before that scope")
    return tf.distribute.get_strategy()


def require_one_process(layer: str, allow_one_device: bool = False) -> None:
    """Raise RuntimeError inside of a tf.distribute strategy, but for a `OneDeviceStrategy` where that is allowed."""
    is_one_device = allow_one_device and isinstance(tf.distribute.get_strategy(), tf.distribute.OneDeviceStrategy)
    if tf.distribute.has_strategy() and not is_one_device:
        raise RuntimeError(
            f"the table of the layer `{layer}` does not support tf.distribute strategies: build, compile and "
            "fit the model outside of strategy.scope(); to train on several devices, start one process for "
            "each (runtime.ranks)"
        )
