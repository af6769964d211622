"""What a layer cannot be made of, or called with, is one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn

X, IMAGES = np.ones([2, 5, 8], np.float32), np.ones([2, 4, 5, 5], np.float32)
ACTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.Embedding(2, 2, 2), "padding_idx=2: give one of -2 to 1"),
    (lambda: nn.Dropout(1.5)(X), "p=1.5: give a probability"),
    (lambda: nn.MultiHeadAttention(8, 3), "multiple of the heads"),
    (lambda: nn.TransformerEncoderLayer(8, 2, 4, activation="sharp"), "'sharp'"),
    (lambda: nn.Conv1D(4, 6, 3, groups=3), "divisible"),
    (lambda: nn.Conv2D(4, 6, 3, data_format="NCL")(IMAGES), "NCHW or NHWC"),
    (lambda: nn.MaxPool1D(2)(IMAGES), "3 dimensions"),
    (lambda: nn.BatchNorm1D(3)(IMAGES), "2 or 3 dimensions"),
    (lambda: nn.LayerNorm(4)(X), r"over last dimensions of the sizes \[4\]"),
    (lambda: nn.GRU(2, 3, direction="back"), "direction='back'"),
    (lambda: nn.BCELoss(reduction="batchmean"), "give one of sum, mean, none"),
    (lambda: nn.TableRules(admission=-1), "admission"),
    (lambda: nn.functional.concat([tf.zeros([1, 2])] * 2, 2), "axis 2 is not one of a tensor of 2 dimensions"),
    (lambda: nn.static.nn.sequence_pool(tf.zeros([2, 3]), "sum"), "which has no sequences"),
]


@pytest.mark.parametrize(("act", "words"), ACTS)
@pytest.mark.each_case
def test_bad_arguments(act: Callable[[], Any], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        act()
