"""Versions and platform of a run, to reproduce it; no host name, time or path."""

from __future__ import annotations

import platform
from importlib import metadata

_PACKAGES = ("tensorflow", "tensorflow-cpu", "paddlepaddle", "numpy", "libcst")


def collect() -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs: Python, platform and the installed packages that affect results."""
    facts = [("python", platform.python_version()), ("platform", f"{platform.system()} {platform.machine()}")]
    for package in _PACKAGES:
        try:
            facts.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(facts)
