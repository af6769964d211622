"""One rank that fits a Keras model with a table on its share of each batch, `keras_worker.py OUT`.

Writes what `fit` and two more steps of a `tf.function` made of it to OUT-<rank>.npz and the checkpoint OUT.ckpt, and
what was refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import runtime.keras
from runtime import ranks
from runtime.ranks import checkpoint

keras: Any = tf.keras
KEYS, DIM, BATCH, BATCHES, EPOCHS = 20, 3, 12, 4, 2


def data(rank: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples of one rank, an equal part of each batch: two ids each, some of them twice, and labels."""
    random = np.random.default_rng(1)
    ids, labels = random.integers(0, KEYS, (BATCHES * BATCH, 2)), random.random((BATCHES * BATCH, 1))
    ids, labels = (one.reshape(BATCHES, size, BATCH // size, -1)[:, rank] for one in (ids, labels.astype(np.float32)))
    return ids.reshape(-1, 2), labels.reshape(-1, 1)


def first_rows() -> np.ndarray:
    """The rows of the keys 0 … KEYS - 1."""
    return np.random.default_rng(2).normal(size=(KEYS, DIM)).astype(np.float32)


def model_of(rows: Callable[[Any], Any], rank: int) -> Any:
    """A dense layer, of other weights on each rank, on what `rows` makes of ids [n, 2]."""
    ids = keras.Input((2,), dtype="int64")
    first = keras.initializers.Constant(np.random.default_rng(3 + rank).normal(size=(2 * DIM, 1)))
    out = keras.layers.Dense(1, kernel_initializer=first)(keras.layers.Flatten()(rows(ids)))
    return keras.Model(ids, out)


def train(model: Any, optimizer: Any, rank: int, size: int, callbacks: list[Any]) -> dict[str, Any]:
    """Fit, and make two steps more; return the losses of the epochs, and the dense layer's weights."""
    ids, labels = data(rank, size)
    model.compile(optimizer, "mse", metrics=["mae"])
    options = {"batch_size": BATCH // size, "shuffle": False, "epochs": EPOCHS, "verbose": 0}
    history = model.fit(ids, labels, callbacks=callbacks, **options).history

    @tf.function
    def step(ids: tf.Tensor, labels: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(ids, training=True) - labels) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    for part in range(2):
        samples = slice(part * BATCH // size, (part + 1) * BATCH // size)
        step(tf.constant(ids[samples]), tf.constant(labels[samples]))
    kernel, bias = model.layers[-1].get_weights()
    return {"losses": history["loss"], "mae": history["mae"], "kernel": kernel, "bias": bias}


def stock() -> dict[str, Any]:
    """The same model in one process without tables, on whole batches; a matrix of rows takes a dense gradient."""
    matrix = keras.layers.Dense(DIM, use_bias=False, kernel_initializer=keras.initializers.Constant(first_rows()))
    one_hot = keras.layers.Lambda(lambda ids: tf.one_hot(ids, KEYS), output_shape=(2, KEYS))
    found = train(model_of(lambda ids: matrix(one_hot(ids)), 0), keras.optimizers.Adam(0.05), 0, 1, [])
    return found | {"rows": matrix.get_weights()[0]}


def _refusals(rank: int, size: int) -> list[str]:
    """What a fit of each rank for itself, clipping by one rank's rows, weights unbuilt, and a saved part say."""
    ids, labels = data(rank, size)
    adam = keras.optimizers.Adam
    distributed = runtime.keras.DistributedOptimizer
    table = runtime.keras.Embedding(KEYS, DIM)
    model = model_of(table, 0)
    said = []

    def refused(call: Callable[[], Any]) -> None:
        try:
            call()
            said.append("nothing")
        except ranks.RanksError as error:
            said.append(str(error))

    model.compile(adam(), "mse")
    refused(lambda: model.fit(ids, labels, verbose=0))
    model.compile(distributed(adam(global_clipnorm=1.0)), "mse", run_eagerly=True)
    refused(lambda: model.fit(ids, labels, verbose=0))
    callback = runtime.keras.BroadcastCallback()
    callback.set_model(keras.Sequential([keras.layers.Dense(1)]))
    refused(callback.on_train_begin)
    refused(lambda: table.save_own_variables({}))
    return said


def main(out: str) -> None:
    """Train as one of several ranks."""
    engine = ranks.start()
    table = runtime.keras.Embedding(KEYS, DIM, weights=[first_rows()])
    model = model_of(table, engine.rank)
    optimizer = runtime.keras.DistributedOptimizer(keras.optimizers.Adam(0.05))
    callbacks = [runtime.keras.BroadcastCallback(), runtime.keras.MetricAverageCallback()]
    found = train(model, optimizer, engine.rank, engine.size, callbacks)
    rows = table(tf.range(KEYS), training=False).numpy()
    checkpoint.save(tf.train.Checkpoint(model=model), f"{out}.ckpt")
    said = _refusals(engine.rank, engine.size)
    np.savez(f"{out}-{engine.rank}.npz", **found, rows=rows, engine=engine.name, said=said)


if __name__ == "__main__":
    main(sys.argv[1])
