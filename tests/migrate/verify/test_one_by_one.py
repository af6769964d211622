"""A program that takes samples one by one may rely on a batch of 1; the proof and the training give it that size."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from migrate.verify.paddle.trainer import converted
from runtime.nn.training.data import pipeline

SAMPLES = [(np.zeros([3], np.float32), 1), (np.ones([3], np.float32), 0)]


@pytest.mark.parametrize(("size", "first"), [(1, 1), (2, None)])
def test_training(size: int, first: int | None) -> None:
    rows, labels = pipeline(SAMPLES, size, drop_last=True).element_spec
    assert rows.shape.as_list() == [first, 3] and labels.shape.as_list() == [first]


@pytest.mark.paddle
@pytest.mark.parametrize(("one_by_one", "first"), [(True, 1), (False, None)])
def test_proof(one_by_one: bool, first: int | None) -> None:
    with tf.Graph().as_default():
        [rows] = converted._placeholders([[np.zeros([1, 3])], [np.ones([1, 3])]], one_by_one)
    assert rows.shape.as_list() == [first, 3]
