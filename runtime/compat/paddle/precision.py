"""`paddle.amp` as it is on CPUs, where Paddle computes everything in float32 and scales no loss."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def auto_cast(
    enable: bool = True,
    custom_white_list: Any = None,
    custom_black_list: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    use_promote: bool = True,
) -> Iterator[None]:
    """Compute in float32 in the block, as Paddle does without a GPU.

    Raises:
        ValueError: the level or the dtype is another word.
    """
    if level not in ("O0", "OD", "O1", "O2") or dtype not in ("float16", "bfloat16"):
        raise ValueError(
            f"auto_cast got level={level!r}, dtype={dtype!r}: give O0, OD, O1 or O2, and float16, bfloat16"
        )
    yield


def decorate(models: Any, optimizers: Any = None, level: str = "O1", dtype: str = "float16", **named: Any) -> Any:
    """Return models and optimizers as they are.

    Raises:
        ValueError: the level is O2, which changes the weights.
    """
    if level == "O2":
        raise ValueError(
            "paddle.amp.decorate got level='O2', by which weights have two bytes, and this works on GPUs "
            "alone: give level='O1'"
        )
    return models if optimizers is None else (models, optimizers)


class GradScaler:
    """Scales losses by 1, and passes each step on, as Paddle's scaler does without a GPU."""

    def __init__(self, enable: bool = True, init_loss_scaling: float = 65536.0, *positional: Any, **named: Any) -> None:
        """Take the arguments of Paddle's; they have no effect."""
        self._scaling = init_loss_scaling

    def scale(self, var: Any) -> Any:
        """Return a loss as it is."""
        return var

    def unscale_(self, optimizer: Any) -> None:
        """Leave gradients as they are."""

    def step(self, optimizer: Any) -> None:
        """Make a step of an optimizer."""
        optimizer.step()

    def update(self) -> None:
        """Leave the scale."""

    def minimize(self, optimizer: Any, *positional: Any, **named: Any) -> Any:
        """Make a step of an optimizer."""
        return optimizer.minimize(*positional, **named)

    def is_enable(self) -> bool:
        """Say that losses are not scaled."""
        return False

    is_use_dynamic_loss_scaling = is_enable

    def get_init_loss_scaling(self) -> float:
        """Return the number that was given."""
        return self._scaling

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: a scaler without effect has no state."""
        return {}

    def load_state_dict(self, state_dict: Any) -> None:
        """Take what `state_dict` returned."""


#: The names of `paddle.amp`.
CONTENTS: dict[str, Any] = {
    "auto_cast": auto_cast,
    "amp_guard": auto_cast,
    "decorate": decorate,
    "GradScaler": GradScaler,
    "AmpScaler": GradScaler,
    "is_float16_supported": lambda device=None: False,
    "is_bfloat16_supported": lambda device=None: False,
}
