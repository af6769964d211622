"""Rec SDK (`mx_rec`) on stock TensorFlow: `install()`, or `python -m runtime.compat.mx_rec script.py …`."""

from __future__ import annotations

from runtime.compat.mx_rec.checkpoint.table_files import load_rows, restore_table, save_rows
from runtime.compat.mx_rec.installing import install, uninstall

__all__ = ["install", "load_rows", "restore_table", "save_rows", "uninstall"]
