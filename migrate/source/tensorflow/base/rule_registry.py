"""Loads all rules of the TensorFlow front end, and the general ones, into the registry.

Rules import the modules of this package to read sources; to avoid a cycle, those modules must not import this one.
"""

from __future__ import annotations

from migrate.source.rules import load, rules

__all__ = ["rules"]

load("migrate.source.tensorflow.rules")
load("migrate.source.rules.general")
