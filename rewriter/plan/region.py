"""What a rewrite does around one table, as data that needs no TensorFlow: boxes of ops, and arrows between them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ADDED", "KEPT", "REMOVED", "Arrow", "Box", "Region"]

KEPT, REMOVED, ADDED = "kept", "removed", "added"


@dataclass(frozen=True)
class Box:
    """An op, or several that play one part; `type` and `source` are those of the first."""

    ops: tuple[str, ...]
    type: str
    state: str  #: `kept`, `removed` (nothing runs it any more) or `added`
    source: str = ""


@dataclass(frozen=True)
class Arrow:
    """An edge between two boxes, by their numbers; a control edge if `control`."""

    start: int
    end: int
    state: str
    control: bool = False


@dataclass(frozen=True)
class Region:
    """The ops of one table and those next to them, before and after."""

    table: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def ops(self, state: str) -> tuple[str, ...]:
        """Return all ops of a state."""
        return tuple(op for box in self.boxes if box.state == state for op in box.ops)
