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


def documentation() -> str:
    """Return the address of the documentation that the installed package names; empty if it names none."""
    try:
        urls = metadata.metadata("recmigrate").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    pairs = [url.partition(",") for url in urls]
    return next((url.strip() for label, _, url in pairs if label.strip().lower() == "documentation"), "")
