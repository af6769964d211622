"""Batches of rows that lie in tensors are those that the samples make, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat.paddle.loading import DataLoader, Subset, TensorDataset, default_collate_fn
from runtime.compat.paddle.tensor import Tensor

IDS, LABELS = np.arange(14).reshape(7, 2), np.linspace(0, 1, 7, dtype=np.float32)
DATA = TensorDataset([Tensor(tf.constant(IDS)), LABELS])


class Doubled(TensorDataset):
    """Rows of its own."""

    def __getitem__(self, index: int) -> Any:
        return tuple(2 * part for part in super().__getitem__(index))


def arrays(batches: Any) -> list[list[Any]]:
    assert all(isinstance(part, Tensor) for batch in batches for part in batch)
    return [[part._value.numpy() for part in batch] for batch in batches]


@pytest.mark.parametrize("dataset", [DATA, Subset(DATA, [6, 0, 3, 3]), Doubled(DATA.tensors)])
@pytest.mark.parametrize("collate", [None, default_collate_fn, lambda batch: default_collate_fn(batch)])
@pytest.mark.each_case
def test_batches_are_those_of_single_samples(dataset: Any, collate: Callable[[Any], Any] | None) -> None:
    made = arrays(list(DataLoader(dataset, batch_size=3, collate_fn=collate)))
    samples = [dataset[number] for number in range(len(dataset))]
    for batch, first in zip(made, range(0, len(samples), 3), strict=True):
        for part, rows in zip(batch, zip(*samples[first : first + 3], strict=True), strict=True):
            expected = np.stack([np.asarray(row._value if isinstance(row, Tensor) else row) for row in rows])
            assert part.dtype == expected.dtype
            np.testing.assert_array_equal(part, expected)
