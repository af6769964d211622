"""What the user asked for, as far as a frontend needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from migrate.schema import Schema


@dataclass(frozen=True)
class Options:
    """Settings of one conversion."""

    schema: Schema | None = None  #: the feature schema, needed by Paddle sources
    target: str = "runtime"  #: which SDK the emitted code calls
    assume: bool = False  #: also apply edits that hold only under a stated assumption
