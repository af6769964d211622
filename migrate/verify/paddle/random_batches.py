"""Draws batches where a model's reader does not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.schema import InputSpec, Schema
from migrate.schema_batch import BatchItem
from migrate.source.paddle.abstract.values import Tensor, Value, mapped

IDS = 10  #: ids are below this number, if nothing tells more
_VARYING = 5  #: a size that varies, but for the first


def drawn(items: Value, size: int, count: int, seed: int) -> list[Any]:
    """Return `count` batches of random arrays, in the lists and dicts of `items`.

    These are `inputs` of a schema, whose items may tell the range of their numbers; or the batch of the reader. `size`
    is the first size of each array, where it varies.
    """
    random = np.random.RandomState(seed)
    return [mapped(lambda item: _drawn(item, size, random), items) for _ in range(count)]


def _drawn(item: Value, size: int, random: np.random.RandomState) -> Any:
    assert isinstance(item, Tensor | BatchItem)
    sizes = (None,) if item.shape is None else item.shape
    shape = [known or (_VARYING if axis else size) for axis, known in enumerate(sizes)]
    floating = str(item.dtype).startswith("float")
    start, below = (item.start, item.below) if isinstance(item, BatchItem) else (0, None)
    if below is None:
        below = 1 if floating else 2 if item.dtype == "bool" else IDS
    if floating:
        return random.uniform(start, below, shape).astype(item.dtype)
    return random.randint(int(np.ceil(start)), int(np.ceil(below)), shape).astype(item.dtype)


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
