"""Facts of the run that a reader needs to reproduce it: versions and platform, no host name, no clock, no path."""

from __future__ import annotations

import platform
from importlib import metadata

_PACKAGES = ("tensorflow", "tensorflow-cpu", "paddlepaddle", "numpy", "libcst")


def collect() -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs: Python, platform and the installed packages that decide a result."""
    facts = [("python", platform.python_version()), ("platform", f"{platform.system()} {platform.machine()}")]
    for package in _PACKAGES:
        try:
            facts.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(facts)
