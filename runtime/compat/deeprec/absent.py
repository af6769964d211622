"""What a module of DeepRec's says of names that it does not have here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

__all__ = ["lacking"]


def lacking(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module that only has the names that programs for EmbeddingVariables use."""

    def get(name: str) -> NoReturn:
        advice = "" if name.startswith("__") else ": use its counterpart in tf.compat.v1, or leave it out"
        raise AttributeError(f"{module}.{name} is not supported by runtime.compat.deeprec{advice}")

    return get
