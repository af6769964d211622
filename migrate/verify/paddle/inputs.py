"""Random weights and inputs that both sides get: functions of the seed, in numpy, well scaled.

A model's own initial values are often constants, with which all predictions and gradients are alike and prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from migrate.schema import InputSpec, Schema

Array = NDArray[Any]


@dataclass(frozen=True)
class Batch:
    """One batch: ids int64 [B, S], dense float32 [B, D], labels float32 [B, L]."""

    ids: Array
    dense: Array
    labels: Array


def random_batches(schema: Schema, count: int, rows: int, seed: int) -> list[Batch]:
    """Draw batches: dense features normalised, categories uniform, labels 0 or 1.

    The last category of every group of three or more is never drawn, so that there are rows which must not move.
    """
    rng = np.random.default_rng(seed)
    sizes = [feature.size - (feature.size > 2) for feature in schema.input.sparse]
    return [
        Batch(
            rng.integers(0, np.array(sizes, np.int64), (rows, len(sizes)), np.int64),
            rng.standard_normal((rows, schema.input.dense_size)).astype(np.float32),
            rng.integers(0, 2, (rows, len(schema.labels))).astype(np.float32),
        )
        for _ in range(count)
    ]


def raw_input(spec: InputSpec, batch: Batch) -> Array:
    """Return the model input [B, size] that the batch stands for: numbers in place, one-hot groups written out."""
    result = np.zeros((len(batch.ids), spec.size), np.float32)
    result[:, list(spec.dense_columns)] = batch.dense
    for place, feature in enumerate(spec.sparse):
        result[np.arange(len(batch.ids)), feature.start + batch.ids[:, place]] = 1.0
    return result


def random_weights(shapes: Mapping[str, tuple[int, ...]], spec: InputSpec, seed: int) -> dict[str, Array]:
    """Draw float32 weights, each a function of the seed and its name; activations stay near 1.

    A kernel over the raw input has only as many inputs as are not zero: the numbers and one per group.
    """
    active = spec.dense_size + len(spec.sparse)
    result = {}
    for name, shape in shapes.items():
        rng = np.random.default_rng([seed, crc32(name.encode())])
        if len(shape) < 2:
            values = rng.uniform(-0.5, 0.5, shape)
        else:
            inputs = active if shape[0] == spec.size else int(np.prod(shape[:-1]))
            values = rng.standard_normal(shape) / max(inputs, 1) ** 0.5
        result[name] = values.astype(np.float32)
    return result
