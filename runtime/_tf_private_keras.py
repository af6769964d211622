"""Private names of Keras; tests/runtime/test_private_names.py guards each."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["arrays"]


def arrays(keras: Any) -> Any:
    """Return the module of Keras 3 with what `keras.ops` compute of arrays."""
    return importlib.import_module("keras.src.backend").numpy
