"""Paddle's eager programs on stock TensorFlow: `python -m runtime.compat.paddle train.py`, or `install()` first."""

from __future__ import annotations

from runtime.compat.paddle.installing import InstalledOtherwise, install, uninstall

__all__ = ["InstalledOtherwise", "install", "uninstall"]
