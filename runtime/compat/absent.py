"""What a façade's module says of names that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

__all__ = ["lacking"]


def lacking(
    module: str, facade: str, remedy: str = "use its counterpart in tf.compat.v1, or leave it out"
) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module of a façade, which only has the names that programs of its kind use."""

    def get(name: str) -> NoReturn:
        advice = "" if name.startswith("__") else f": {remedy}"
        raise AttributeError(f"{module}.{name} is not supported by {facade}{advice}")

    return get
