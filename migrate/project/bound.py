"""Checks the text of a model for names that its conversion no longer binds."""

from __future__ import annotations

from pathlib import Path

from migrate.errors import MigrateError
from migrate.source.syntax.unbound_names import check_names


def check_bound(source: Path, before: str, after: str) -> None:
    """Raise MigrateError if the text that is made of a model's file reads a name that it lost."""
    try:
        check_names(before, after)
    except ValueError as error:
        raise MigrateError(f"{source}: {error}; report this as a bug") from error
