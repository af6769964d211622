"""Replaces what Paddle draws by chance: dropout's masks, and random tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F

from migrate.verify.paddle.trainer import common
from migrate.verify.paddle.trainer.common import Array, mask
from migrate.verify.replacing import replaced


class Chance:
    """Gives dropout its masks, and functions such as `paddle.rand` their numbers, by the number of the call."""

    def __init__(self) -> None:
        """Begin to count."""
        self.number = 0  #: of the next mask
        self.drawn = 0  #: of the next tensor

    @contextlib.contextmanager
    def replacing(self) -> Iterator[None]:
        """Count from 0, and replace Paddle's functions inside."""
        self.number = self.drawn = 0
        drawing: dict[str, Callable[..., Any]] = {
            "uniform": self._uniform,
            "rand": lambda shape, dtype=None, name=None: self._uniform(shape, dtype, 0.0, 1.0),
            "randn": self._randn,
            "standard_normal": self._randn,
            "normal": self._normal,
            "randint": self._randint,
            "randint_like": lambda x, low=0, high=None, dtype=None, name=None: self._randint(
                low, high, x.shape, dtype or x.dtype
            ),
            "randperm": lambda n, dtype="int64", name=None: self._tensor(common.permutation, int(n)).astype(dtype),
            "multinomial": self._multinomial,
            "bernoulli": lambda x, name=None: (self._uniform(x.shape, "float32", 0.0, 1.0).astype(x.dtype) < x).astype(
                x.dtype
            ),
        }
        dropouts = [(owner, "dropout", self._dropout) for owner in (F, paddle.nn.functional.common)]
        functions = [(paddle, name, function) for name, function in drawing.items()]
        with replaced(*dropouts, *functions, (paddle.Tensor, "multinomial", drawing["multinomial"])):
            yield

    def _dropout(
        self,
        x: Any,
        p: float = 0.5,
        axis: Any = None,
        training: bool = True,
        mode: str = "upscale_in_train",
        name: Any = None,
    ) -> Any:
        if not 0 <= p <= 1:  # as Paddle does
            raise ValueError(f"dropout got p={p}: give a probability from 0 to 1")
        if p == 0 or (mode == "upscale_in_train" and not training):
            return x
        if not training:
            return x * (1 - p)
        if p == 1:
            return x * 0.0
        axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
        shape = tuple(size if axes is None or i in axes else 1 for i, size in enumerate(x.shape))
        kept = paddle.to_tensor(mask(self.number, shape, p).astype(str(x.dtype).rpartition(".")[2]))
        self.number += 1
        return x * kept * (1 / (1 - p) if mode == "upscale_in_train" else 1.0)

    def _tensor(self, draw: Callable[..., Array], *arguments: Any) -> Any:
        """Return what a function draws for the number of this call; floats are those of float32 in float64, too."""
        self.drawn += 1
        drawn = draw(self.drawn - 1, *arguments)
        return paddle.to_tensor(drawn.astype(np.float32) if drawn.dtype.kind == "f" else drawn)

    def _uniform(
        self, shape: Any, dtype: Any = None, min: Any = -1.0, max: Any = 1.0, seed: int = 0, name: Any = None
    ) -> Any:
        drawn = self._tensor(common.uniform, _sizes(shape)).astype(dtype or paddle.get_default_dtype())
        return min + (max - min) * drawn

    def _randn(self, shape: Any, dtype: Any = None, name: Any = None) -> Any:
        return self._tensor(common.normal, _sizes(shape)).astype(dtype or paddle.get_default_dtype())

    def _normal(self, mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: Any = None) -> Any:
        for parameter in (mean, std):
            if isinstance(parameter, paddle.Tensor):
                return mean + std * self._randn(parameter.shape, parameter.dtype)
        return mean + std * self._randn([1] if shape is None else shape)

    def _randint(self, low: Any = 0, high: Any = None, shape: Any = (1,), dtype: Any = None, name: Any = None) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return self._tensor(common.integers, _sizes(shape), low, high).astype(dtype or "int64")

    def _multinomial(self, x: Any, num_samples: int = 1, replacement: bool = False, name: Any = None) -> Any:
        weights = x.numpy()
        rows = weights[None] if weights.ndim == 1 else weights
        drawn = self._tensor(common.choices, rows, num_samples, replacement).astype("int64")
        return drawn[0] if weights.ndim == 1 else drawn


def _sizes(shape: Any) -> list[int]:
    values = shape.numpy().reshape(-1) if isinstance(shape, paddle.Tensor) else np.atleast_1d(shape)
    return [int(size) for size in values]
