"""What a rewrite changes around one table, as boxes of ops and arrows; needs no TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass

KEPT, REMOVED, ADDED = "kept", "removed", "added"


@dataclass(frozen=True)
class Box:
    """An op, or several ops with the same role; `type` and `source` are those of the first."""

    ops: tuple[str, ...]
    type: str
    state: str  #: `kept`, `removed` (no longer run) or `added`
    source: str = ""


@dataclass(frozen=True)
class Arrow:
    """An edge between two boxes, given by their indices."""

    start: int
    end: int
    state: str
    control: bool = False


@dataclass(frozen=True)
class Region:
    """The ops of one table and their neighbours, before and after the rewrite."""

    table: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def ops(self, state: str) -> tuple[str, ...]:
        """Return all ops with this state."""
        return tuple(op for box in self.boxes if box.state == state for op in box.ops)
