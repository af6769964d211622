"""What `install` was asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewriter.table_settings import TableSettings


@dataclass(frozen=True)
class Options:
    """The arguments of `install`, checked."""

    tables: Any
    verify: int
    report: Path | None
    every: int
    move_ids: bool
    prefetch: bool
    dry_run: bool
    settings: Mapping[str, TableSettings]
