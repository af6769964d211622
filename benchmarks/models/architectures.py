"""DLRM, Wide & Deep and DIN with the layer sizes of their papers and public implementations, and a plain tower.

Each `Model` is built into the current graph, in plain TensorFlow 1, and says nothing of tables: the rewriter moves what
it can. How a model looks ids up is an argument, so that it can also be built without its embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from numpy.typing import NDArray

from benchmarks.common import ZIPF_EXPONENT

#: Of a name, a number of keys, a width and ids of any shape: rows [..., width].
LookUp = Callable[[str, int, int, tf.Tensor], tf.Tensor]
#: What a step is fed: names of placeholders and their values.
Batch = dict[str, NDArray[Any]]

FIELDS, NUMBERS = 26, 13  # of Criteo
GOODS, CATEGORIES = 63_001, 801  # of Amazon Electronics, which DIN's authors use
CLICKED = 0.25


@dataclass(frozen=True)
class Sizes:
    """Samples of a batch, keys of each table of Criteo's fields, width of a row, length of DIN's sequences."""

    samples: int
    keys: int
    dim: int
    length: int


@dataclass(frozen=True)
class Model:
    """How batches of a model are drawn, and how its loss is built from placeholders of their names."""

    name: str
    draw: Callable[[np.random.Generator, Sizes], Batch]
    loss: Callable[[dict[str, tf.Tensor], Sizes, LookUp], tf.Tensor]
    #: The names that hold ids.
    ids: tuple[str, ...]


def layers(inputs: tf.Tensor, widths: Sequence[int], name: str, last: Any = tf.nn.relu) -> tf.Tensor:
    """Dense layers [..., widths[-1]], ReLU between them and `last` after them."""
    for number, width in enumerate(widths):
        weights = tf.get_variable(f"{name}{number}/kernel", [inputs.shape[-1], width])
        bias = tf.get_variable(f"{name}{number}/bias", [width], initializer=tf.zeros_initializer())
        inputs = tf.tensordot(inputs, weights, 1) + bias if inputs.shape.rank > 2 else inputs @ weights + bias
        activation = last if number == len(widths) - 1 else tf.nn.relu
        inputs = inputs if activation is None else activation(inputs)
    return inputs


def clicked(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The mean cross entropy of logits [samples, 1]."""
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=tf.squeeze(logits, 1)))


def criteo(random: np.random.Generator, sizes: Sizes) -> Batch:
    """Criteo's 13 numbers and 26 ids of a sample, the ids zipf."""
    return {
        "ids": random.zipf(ZIPF_EXPONENT, (sizes.samples, FIELDS)) % sizes.keys,
        "numbers": random.random((sizes.samples, NUMBERS), np.float32),
        "labels": (random.random(sizes.samples) < CLICKED).astype(np.float32),
    }


def dlrm(batch: dict[str, tf.Tensor], sizes: Sizes, look_up: LookUp) -> tf.Tensor:
    """Bottom 512-256-dim, dot products of all pairs, top 512-256-1."""
    bottom = layers(batch["numbers"], [512, 256, sizes.dim], "bottom")
    ids = tf.unstack(batch["ids"], axis=1)
    rows = [look_up(f"table{number}", sizes.keys, sizes.dim, one) for number, one in enumerate(ids)]
    vectors = tf.stack([bottom, *rows], 1)
    pairs = tf.matmul(vectors, vectors, transpose_b=True)
    below = np.flatnonzero(np.tril(np.ones([FIELDS + 1, FIELDS + 1]), -1))
    products = tf.gather(tf.reshape(pairs, [sizes.samples, (FIELDS + 1) ** 2]), below, axis=1)
    return clicked(layers(tf.concat([bottom, products], 1), [512, 256, 1], "top", None), batch["labels"])


def wide_and_deep(batch: dict[str, tf.Tensor], sizes: Sizes, look_up: LookUp) -> tf.Tensor:
    """A weight for each id beside layers 1024-512-256-1 over rows and numbers."""
    ids = tf.unstack(batch["ids"], axis=1)
    wide = tf.add_n([look_up(f"wide{number}", sizes.keys, 1, one) for number, one in enumerate(ids)])
    rows = [look_up(f"deep{number}", sizes.keys, sizes.dim, one) for number, one in enumerate(ids)]
    deep = layers(tf.concat([*rows, batch["numbers"]], 1), [1024, 512, 256, 1], "layer", None)
    return clicked(wide + deep, batch["labels"])


def tower(batch: dict[str, tf.Tensor], sizes: Sizes, look_up: LookUp) -> tf.Tensor:
    """Layers 256-128-1 over the rows of a table for each field, and the numbers."""
    ids = tf.unstack(batch["ids"], axis=1)
    rows = [look_up(f"table{number}", sizes.keys, sizes.dim, one) for number, one in enumerate(ids)]
    return clicked(layers(tf.concat([*rows, batch["numbers"]], 1), [256, 128, 1], "layer", None), batch["labels"])


def purchases(random: np.random.Generator, sizes: Sizes) -> Batch:
    """A good with its category, and those of a history of half to all of the sequence's length."""
    lengths = random.integers(sizes.length // 2, sizes.length + 1, sizes.samples)
    shape = (sizes.samples, sizes.length)
    return {
        "good": random.zipf(ZIPF_EXPONENT, sizes.samples) % GOODS,
        "category": random.zipf(ZIPF_EXPONENT, sizes.samples) % CATEGORIES,
        "goods": random.zipf(ZIPF_EXPONENT, shape) % GOODS,
        "categories": random.zipf(ZIPF_EXPONENT, shape) % CATEGORIES,
        "present": (np.arange(sizes.length) < lengths[:, np.newaxis]).astype(np.float32),
        "labels": (random.random(sizes.samples) < CLICKED).astype(np.float32),
    }


def din(batch: dict[str, tf.Tensor], sizes: Sizes, look_up: LookUp) -> tf.Tensor:
    """Attention 80-40-1 of the candidate to each item of the history, then layers 200-80-1."""

    def items(good: str, category: str) -> tf.Tensor:
        goods = look_up("goods", GOODS, sizes.dim, batch[good])
        return tf.concat([goods, look_up("categories", CATEGORIES, sizes.dim, batch[category])], -1)

    history, candidate = items("goods", "categories"), items("good", "category")
    query = tf.tile(candidate[:, tf.newaxis], [1, sizes.length, 1])
    seen = tf.concat([query, history, query - history, query * history], -1)
    scores = tf.squeeze(layers(seen, [80, 40, 1], "attention", None), 2) / float(np.sqrt(2 * sizes.dim))
    weights = tf.nn.softmax(scores - 1e9 * (1 - batch["present"]))
    interest = tf.reduce_sum(history * weights[:, :, tf.newaxis], 1)
    features = tf.concat([interest, candidate, interest * candidate], 1)
    return clicked(layers(features, [200, 80, 1], "layer", None), batch["labels"])


MODELS = {
    "tower": Model("26 tables, 256-128", criteo, tower, ("ids",)),
    "dlrm": Model("DLRM", criteo, dlrm, ("ids",)),
    "wide-deep": Model("Wide & Deep", criteo, wide_and_deep, ("ids",)),
    "din": Model("DIN", purchases, din, ("good", "category", "goods", "categories")),
}
