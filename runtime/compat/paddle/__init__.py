"""Paddle's eager programs on stock TensorFlow: `python -m runtime.compat.paddle train.py`, or `install()` first."""

from __future__ import annotations

from runtime.compat.paddle.installing import install, uninstall

__all__ = ["install", "uninstall"]
