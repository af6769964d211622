"""Replicas of TensorFlow's strategies have copies of variables, but not of tables."""

from __future__ import annotations

import tensorflow as tf

_REMEDY = "leave the strategy out; to train on several devices, start one process for each (runtime.ranks)"


def refuse_replicas(variable: str) -> None:
    """Do nothing outside of replicas, and with a strategy of one device; `variable` is what an error begins with.

    Raises:
        RuntimeError: in a replica of a strategy that has a copy of each variable for each replica.
    """
    strategy = tf.distribute.get_strategy()
    if not tf.distribute.has_strategy() or isinstance(strategy, tf.distribute.OneDeviceStrategy):
        return
    if not tf.distribute.in_cross_replica_context():
        raise RuntimeError(
            f"{variable} is used in a replica of {type(strategy).__name__}, which has no copies of it: {_REMEDY}"
        )


def refuse_copies(optimizer: str) -> None:
    """Do nothing in v1 graphs of one replica, also where variables are on parameter servers.

    Raises:
        RuntimeError: in a strategy that has several replicas of this process' graph, or that trains eagerly.
    """
    if not tf.distribute.has_strategy():
        return
    strategy = tf.distribute.get_strategy()
    if tf.compat.v1.executing_eagerly_outside_functions() or strategy.num_replicas_in_sync > 1:
        raise RuntimeError(f"{optimizer} does not train tables in {type(strategy).__name__}: {_REMEDY}")
