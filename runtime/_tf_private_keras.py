"""Private names of Keras; tests/runtime/keras/test_private_names_of_eager_code.py guards each."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any


def arrays(keras: Any) -> Any:
    """Return the module of Keras 3 with what `keras.ops` compute of arrays."""
    return importlib.import_module("keras.src.backend").numpy


#: Where versions of Keras have the class that writes SavedModels.
_ARCHIVES = (
    ("saved_model_export_archive", "SavedModelExportArchive"),
    ("saved_model", "ExportArchive"),
    ("export_lib", "ExportArchive"),
)


def export_archive(keras: Any) -> Any:
    """Return the class by which `Model.export` writes SavedModels."""
    package = keras.Model.__module__.partition(".")[0]
    for module, name in _ARCHIVES:
        with contextlib.suppress(ImportError):
            archive = getattr(importlib.import_module(f"{package}.src.export.{module}"), name, None)
            if hasattr(archive, "_filter_and_track_resources"):
                return archive
    raise ImportError(f"{package} has no class that exports SavedModels")
