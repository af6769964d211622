"""The settings of a verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Settings chosen by the user; with the defaults, the examples take seconds."""

    steps: int = 10  #: number of optimizer steps, each on another batch if the source has enough
    batches: int = 3  #: number of batches for which outputs, loss and gradients are compared
    batch_size: int = 32  #: rows per batch, for Paddle models, whose inputs are generated here
    seed: int = 1  #: seed of random weights and inputs
    changed: Mapping[str, Any] = field(default_factory=dict)  #: values of a folder's config.yaml instead of its own
    ids: int | None = None  #: the ids of a folder's batches are taken modulo this number
    arguments: tuple[str, ...] = ()  #: what both TensorFlow programs get on their command line

    @property
    def drawn(self) -> int:
        """The number of different batches that are needed."""
        return max(self.steps, self.batches)
