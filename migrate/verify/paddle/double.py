"""What Paddle lacks in float64 (runs in the Paddle process of the float64 reference)."""

from __future__ import annotations

from typing import Any

import paddle
import paddle.nn.functional as F


def complete() -> None:
    """Give `F.log_loss`, which has a float32 kernel only, its own formula; call before the source is imported."""
    F.log_loss = log_loss
    paddle.nn.functional.log_loss = log_loss


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """Return -label log(input + epsilon) - (1 - label) log(1 - input + epsilon), as Paddle documents it."""
    return -label * paddle.log(input + epsilon) - (1.0 - label) * paddle.log(1.0 - input + epsilon)
