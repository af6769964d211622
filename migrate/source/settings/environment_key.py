"""Properties of installed packages that affect a conversion, found without importing them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import metadata

PACKAGES = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos")


@cache
def has_keras_3() -> bool:
    """True if the installed TensorFlow has Keras 3, as from 2.16."""
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            return tuple(int(part) for part in metadata.version(package).split(".")[:2]) >= (2, 16)
    return False
