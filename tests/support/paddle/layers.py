"""Many layers in one model, so that one graph compares all of them with Paddle's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from tests.support.paddle.twins import compare

#: A layer of `paddle.nn` or `runtime.nn`, and the number of the input that it gets.
Case = tuple[Callable[[Any], Any], int]


def compare_each(cases: Sequence[Case], *inputs: NDArray[Any], unknown: bool = True, training: bool = True) -> None:
    """Demand of each layer what `twins.compare` demands of one."""

    def made(of: Any) -> Any:
        class Each(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.each = of.LayerList([make(of) for make, _ in cases])

            def forward(self, *tensors: Any) -> Any:
                return [layer(one) for layer, one in zip(self.each, tensors, strict=True)]

        return Each()

    compare(made, *(inputs[number] for _, number in cases), unknown=unknown, training=training)
