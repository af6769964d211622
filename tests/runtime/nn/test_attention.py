"""Attention and encoders beside Paddle's, with masks and with equal choices of what is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn import masks
from tests.support.paddle.twins import compare

pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(9)
X = RANDOM.normal(size=(2, 5, 8)).astype(np.float32)
KEYS = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
VALUES = RANDOM.normal(size=(2, 3, 6)).astype(np.float32)
LOWER = np.tril(np.ones((5, 5)))
MASKS: list[Any] = [
    LOWER.astype(bool),
    LOWER.astype(np.int64),
    RANDOM.normal(size=(2, 1, 5, 5)).astype(np.float32),
    RANDOM.normal(size=(5, 5)),
]


def test_attention() -> None:
    def made(of: Any) -> Any:
        class Model(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.own = of.MultiHeadAttention(8, 2)
                self.other = of.MultiHeadAttention(8, 4, 0.0, 4, 6, True, bias_attr=False)

            def forward(self, x: Any, keys: Any, values: Any, *given: Any) -> Any:
                outs = [self.own(x), self.own(x, x, x), self.other(x, keys, values)]
                return outs + [self.own(x, attn_mask=mask) for mask in given]

        return Model()

    compare(made, X, KEYS, VALUES, *MASKS, unknown=False, scale=0.3)


def encoders(of: Any) -> Any:
    """Layers of all kinds, one after the other: their inputs and outputs are alike."""
    attr = (paddle if of is paddle.nn else nn).ParamAttr

    class Model(of.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            layer = of.TransformerEncoderLayer
            self.plain = layer(8, 2, 6)
            self.before = layer(8, 4, 6, 0.0, "gelu", normalize_before=True, bias_attr=False)
            self.named = layer(8, 1, 3, 0.3, weight_attr=[None, attr(initializer=of.initializer.Constant(0.1))])
            self.stack = of.TransformerEncoder(layer(8, 2, 4, 0.2, "tanh", 0.1, 0.5), 2, of.LayerNorm(8))

        def forward(self, x: Any, mask: Any) -> Any:
            return self.stack(self.named(self.before(self.plain(x, mask))), mask), self.plain(x)

    return Model()


def test_encoders() -> None:
    compare(encoders, X, MASKS[0], unknown=False, training=False, scale=0.3)


@pytest.mark.soak
def test_what_is_dropped_while_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second element, in both frameworks: the dropouts of a layer are in the same places."""

    def dropout(x: Any, p: Any = 0.5, axis: Any = None, training: bool = True, mode: str = "", name: Any = None) -> Any:
        if not training or not p:
            return x
        kept = np.arange(np.prod(x.shape)).reshape(x.shape) % 2
        return x * paddle.to_tensor((kept / (1 - p)).astype(np.float32))

    def each_second(shape: tf.Tensor, p: float) -> tf.Tensor:
        return tf.reshape(tf.equal(tf.range(tf.reduce_prod(shape)) % 2, 1), shape)

    monkeypatch.setattr(paddle.nn.functional, "dropout", dropout)
    with masks.drawn_by(each_second):
        compare(encoders, X, MASKS[2], scale=0.3)


def test_a_name_becomes_two() -> None:
    with tf.Graph().as_default():
        layer = nn.TransformerEncoderLayer(4, 2, 4, weight_attr=nn.ParamAttr(name="w", learning_rate=0.5))
        assert layer.self_attn.q_proj.weight.name == "w_0"
        assert layer.linear2.weight.name == "w_1"
        assert layer.linear2.weight.attr.learning_rate == 0.5


def test_cosines() -> None:
    def made(of: Any) -> Any:
        return of.CosineSimilarity(axis=-1, eps=1e-6)

    compare(made, X, RANDOM.normal(size=(2, 5, 8)).astype(np.float32))
