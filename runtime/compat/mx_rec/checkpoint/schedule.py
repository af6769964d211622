"""Several ranks must save at the same step, so hooks that save by seconds are refused."""

from __future__ import annotations

from runtime.compat.mx_rec.ranks import rank_ids
from runtime.compat.mx_rec.state import state_of

__all__ = ["check_period"]


def check_period(every_steps: int | None) -> None:
    """Check the period of a hook that saves checkpoints; it is None where the hook saves by seconds.

    Raises:
        RanksError: several ranks would save by time, and so at different steps.
    """
    if every_steps is None and state_of().lookups:
        rank_ids.refuse_several(
            "saving by seconds", "give RunConfig save_checkpoints_steps, MonitoredTrainingSession save_checkpoint_steps"
        )
