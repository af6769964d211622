"""Random inputs for both programs, which depend only on the seed. Pure numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """Generate batches: dense features from a standard normal distribution, categories uniform, labels 0 or 1.

    The last category of groups with at least three is never used, so that some rows must not change.
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
    """Return the model input [B, size] of a batch: dense features and one-hot groups."""
    result = np.zeros((len(batch.ids), spec.size), np.float32)
    result[:, list(spec.dense_columns)] = batch.dense
    for place, feature in enumerate(spec.sparse):
        result[np.arange(len(batch.ids)), feature.start + batch.ids[:, place]] = 1.0
    return result
