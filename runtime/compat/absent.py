"""What a façade's module says of names that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def lacking(
    module: str, facade: str, remedy: str = "use its counterpart in tf.compat.v1, or leave it out"
) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module of a façade, which only has the names that programs of its kind use."""

    def get(name: str) -> NoReturn:
        raise AttributeError(_sentence(f"{module}.{name}", facade, "" if name.startswith("__") else remedy))

    return get


class NoSuchModule:
    """The last finder of modules: says of a module of a façade's package, or of a name imported from it, what is so."""

    def __init__(self, package: str, facade: str, remedy: str) -> None:
        """Take the package, the façade's module name and what to do without the module."""
        self._begins, self._facade, self._remedy = f"{package}.", facade, remedy

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Find nothing.

        Raises:
            ModuleNotFoundError: the module is of the package. It has no `name`, else Python's own sentence takes its
                place where a name is imported from a module.
        """
        if name.startswith(self._begins):
            raise ModuleNotFoundError(_sentence(name, self._facade, self._remedy))


def _sentence(name: str, facade: str, remedy: str) -> str:
    return f"{name} is not supported by {facade}" + f": {remedy}" * bool(remedy)
