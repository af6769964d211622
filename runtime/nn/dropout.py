"""Layers that set elements to zero at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.layer import Layer
from runtime.nn.masks import dropout


class Dropout(Layer):
    """`masks.dropout` while `training` is True, when the graph is built."""

    def __init__(
        self,
        p: float = 0.5,
        axis: int | Sequence[int] | None = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `masks.dropout`."""
        super().__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with elements set to zero."""
        return dropout(input, self.p, self.axis, self.training, self.mode)


class Dropout2D(Layer):
    """Drops whole channels of images [batch, channel, height, width], or with the channel last."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        """Keep the arguments.

        Raises:
            ValueError: the layout is neither NCHW nor NHWC.
        """
        super().__init__()
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError(f"Dropout2D got data_format={data_format!r}: give NCHW or NHWC")
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with channels set to zero."""
        return dropout(input, self.p, [0, self.data_format.index("C")], self.training)
