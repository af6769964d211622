"""A small model as people write it in TensorFlow 1, and what it is fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

v1 = tf.compat.v1
ROWS, DIM, FIELDS, BATCH = 300, 4, 5, 32

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adam": lambda: v1.train.AdamOptimizer(0.01),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
    "rmsprop_centered": lambda: v1.train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
    "adadelta": lambda: v1.train.AdadeltaOptimizer(1.0),
}


def build(optimizer: str = "adagrad", use_resource: bool = True) -> tuple[Any, Any, Any, Any]:
    """Build the model in the current graph; return ids, labels, loss and train op."""
    v1.set_random_seed(3)
    ids = v1.placeholder(tf.int64, [None, FIELDS], "ids")
    labels = v1.placeholder(tf.float32, [None, 1], "labels")
    starts = v1.random_normal_initializer(stddev=0.1)
    with v1.variable_scope("model", use_resource=use_resource):
        table = v1.get_variable("user", [ROWS, DIM], initializer=starts)
        weights = v1.get_variable("weights", [FIELDS * DIM, 1], initializer=starts)
    hidden = tf.tanh(tf.reshape(v1.nn.embedding_lookup(table, ids), [-1, FIELDS * DIM]))
    loss = tf.reduce_mean(tf.square(hidden @ weights - labels))
    return ids, labels, loss, OPTIMIZERS[optimizer]().minimize(loss, v1.train.get_or_create_global_step())


def batches(steps: int) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return ids with many duplicates, of which some rows are seldom met, and labels."""
    random = np.random.default_rng(0)
    return [
        ((ROWS * random.random((BATCH, FIELDS)) ** 3).astype(np.int64), random.normal(size=(BATCH, 1)))
        for _ in range(steps)
    ]
