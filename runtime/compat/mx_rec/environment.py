"""Rec SDK's environment variables, most of which have no meaning here."""

from __future__ import annotations

import os

__all__ = ["check", "log_level"]


def check() -> None:
    """Check that no variable asks for what would train other rows.

    Raises:
        ValueError: the tables are to count ids together.
    """
    if os.environ.get("USE_COMBINE_FAAE") == "1":
        raise ValueError("USE_COMBINE_FAAE=1 is not supported: unset it, so that each table counts its own ids")


def log_level() -> str:
    """Return the level of `mx_rec.util.log.logger`."""
    return os.environ.get("MXREC_LOG_LEVEL", "INFO")
