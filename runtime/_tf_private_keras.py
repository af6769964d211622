"""Private names of Keras; tests/runtime/test_private_names.py guards each."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["arrays", "export_archive"]


def arrays(keras: Any) -> Any:
    """Return the module of Keras 3 with what `keras.ops` compute of arrays."""
    return importlib.import_module("keras.src.backend").numpy


def export_archive(keras: Any) -> Any:
    """Return the class by which Keras 2 writes SavedModels with `Model.export`, None for a Keras without it."""
    package = keras.Model.__module__.partition(".")[0]
    try:
        return importlib.import_module(f"{package}.src.export.export_lib").ExportArchive
    except ImportError:
        return None
