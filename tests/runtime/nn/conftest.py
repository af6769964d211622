"""Files with tests marked `paddle` are left out where it is not installed: it is not there with TensorFlow 2.21."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# TensorFlow has to be loaded before Paddle: the other way round the process dies (tests/migrate/source/paddle).
import tensorflow  # noqa: F401

_HAS_PADDLE = importlib.util.find_spec("paddle") is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave a file out; None lets others decide."""
    del config
    if _HAS_PADDLE or collection_path.suffix != ".py":
        return None
    return True if "mark.paddle" in collection_path.read_text(encoding="utf-8") else None
