"""Made-up models to plan placements for: groups of tables that are alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """So many tables of one kind, looked up by so many ids of each sample; `pooled` sums them."""

    name: str
    tables: int
    rows: int
    dim: int
    ids: int = 1
    pooled: bool = False
    law: str = "uniform"

    def names(self) -> list[str]:
        """Return the names of its tables."""
        return [f"{self.name}{i}" for i in range(self.tables)]


SETTINGS: dict[str, tuple[Group, ...]] = {
    "single ids": (Group("small", 6, 500, 16), Group("large", 6, 200_000, 16)),
    "bags": (Group("bag", 4, 200_000, 32, 20, pooled=True), Group("one", 4, 20_000, 16)),
    "wide bags": (Group("bag", 2, 50_000, 64, 30, pooled=True), Group("other", 2, 50_000, 64, 30, pooled=True)),
    "many small": (Group("tiny", 30, 64, 8), Group("hot", 4, 100_000, 16, law="zipf")),
    "uneven": (Group("huge", 1, 100_000, 64, 40, pooled=True), Group("little", 5, 10_000, 8, 2)),
}
