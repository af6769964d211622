"""The rules of TensorFlow, and those about any file, for those who ask them: importing this registers all.

They read sources by modules of this package, so none of those modules may import this one.
"""

from __future__ import annotations

from migrate.source.rules import load, rules

__all__ = ["rules"]

load("migrate.source.tensorflow.rules")
load("migrate.source.rules.general")
