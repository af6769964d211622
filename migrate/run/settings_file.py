"""Reads the YAML file of `migrate run --settings`."""

from __future__ import annotations

import dataclasses
from typing import Any

from migrate.errors import MigrateError
from migrate.schema_file import Section, load_yaml, read_text
from rewriter.table_settings import checked_settings, require_provable

__all__ = ["read_settings"]


def read_settings(path: str, verify: int) -> dict[str, dict[str, Any]]:
    """Return the settings of tables by names of variables, or patterns, as plain data for `rewriter.install`.

    Raises:
        MigrateError: the file cannot be read, has an unknown key or a wrong value, or cannot be verified.
    """
    text = read_text(path, "the settings", "check the path given to --settings")
    file = Section(path, "", load_yaml(text, path), ("version", "tables"))
    if file.integer("version", 1) != 1:
        raise file.fail("version", "is not 1; this program reads version 1")
    tables = file.values.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise file.fail("tables", "is no mapping; give names of variables, or patterns in quotes, and their settings")
    try:
        checked = checked_settings(tables)
        require_provable(checked, verify)
    except ValueError as error:
        raise MigrateError(f"{path}: {error}") from error
    return {pattern: dataclasses.asdict(given) for pattern, given in checked.items()}
