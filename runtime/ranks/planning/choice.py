"""What a plan says of one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """What was chosen for a table.

    Attributes:
        placement: as `create_table` takes it.
        sent_bytes: what it adds to the bytes that the busiest rank sends in a step.
        memory_bytes: what it takes on the rank that holds most of it.
        others: of each other kind, the best placement, the seconds that a step would take more, and the bytes by which
            the memory of a rank would be exceeded.
    """

    placement: str
    sent_bytes: float
    memory_bytes: float
    others: tuple[tuple[str, float, float], ...]
