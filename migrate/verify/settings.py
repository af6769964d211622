"""How much a verification runs, and from which seed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Choices of the user; the defaults prove the examples in seconds."""

    steps: int = 10  #: optimizer steps, each on a batch of its own where the source has as many
    batches: int = 3  #: batches on which outputs, loss and gradients are compared
    batch_size: int = 32  #: rows of a batch; only where the inputs are drawn here (Paddle), scripts have their own
    seed: int = 1  #: decides weights and inputs

    @property
    def drawn(self) -> int:
        """How many different batches are needed."""
        return max(self.steps, self.batches)
