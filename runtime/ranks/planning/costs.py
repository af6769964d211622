"""What a step costs: seconds of exchanges, bytes, ids, rows and tables; defaults are measured."""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds that parts of a step take; `benchmarks.distributed.plan --fit` measures and prints them.

    The defaults are those of two processes on one machine of two cores, which share cores and memory with their
    messages: other machines, and a network, have others.

    Attributes:
        exchange: of an exchange between all ranks, however short.
        byte: of a byte that a rank sends.
        table: of a table in an exchange of several, beyond its ids.
        id: of an id of the batch of a rank, to find the distinct ones and to give each its row.
        row: of a row that a rank looks up and updates for itself or another rank; measured, it was no more than its
            values take.
        value: of a value of such a row.

    Raises:
        ValueError: one is below 0.
    """

    exchange: float = 370e-6
    byte: float = 5.3e-9
    table: float = 19e-6
    id: float = 88e-9
    row: float = 0.0
    value: float = 3.8e-9

    def __post_init__(self) -> None:
        if not all(one >= 0 for one in astuple(self)):
            raise ValueError(f"the costs {self} must be seconds, none below 0")
