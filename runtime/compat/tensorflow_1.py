"""The module that programs for TensorFlow 1 import as `tensorflow`: `tf.compat.v1`, with names that only `tf` has."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

import runtime

#: Parts that no such program needs and that are slow to import.
_LEFT_OUT = ("keras",)


class _TensorFlow1(ModuleType):
    """Has each name with its meaning in TensorFlow 1, and also names that only TensorFlow 2 has."""

    def __getattr__(self, name: str) -> Any:
        for module in (tf.compat.v1, tf):
            try:
                return getattr(module, name)
            except AttributeError:
                continue
        raise AttributeError(f"module 'tensorflow' has no attribute {name!r}, neither in version 1 nor in version 2")

    def __dir__(self) -> list[str]:
        return sorted({*dir(tf.compat.v1), *dir(tf)})


class _Others(MetaPathFinder, Loader):
    """Finds packages that another façade makes: it is installed when a program first imports one of them.

    Its own modules import TensorFlow 2.
    """

    def __init__(self, facades: Mapping[str, str], stock: Mapping[str, ModuleType | None]) -> None:
        self._facades, self._stock = facades, stock
        self.installed: dict[str, Any] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        del path, target
        facade = self._facades.get(name)
        if facade is None or facade in self.installed:
            return None
        with _put(self._stock):
            self.installed[facade] = importlib.import_module(f"runtime.compat.{facade}")
            self.installed[facade].install()
        return ModuleSpec(name, self, is_package=True) if name in sys.modules else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as the façade made it."""


@contextlib.contextmanager
def _put(modules: Mapping[str, ModuleType | None]) -> Iterator[dict[str, ModuleType | None]]:
    """Put these modules under their names for a while, and give those that were there; None: there is none."""
    before = {name: sys.modules.get(name) for name in modules}
    _set(modules)
    try:
        yield before
    finally:
        _set(before)


def _set(modules: Mapping[str, ModuleType | None]) -> None:
    for name, module in modules.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module


@contextlib.contextmanager
def served(facade: str, others: Mapping[str, str] | None = None) -> Iterator[ModuleType]:
    """Let `import tensorflow` return this module; modules that were imported before keep TensorFlow 2.

    So the whole runtime is imported first, except other façades, and tf.estimator, if TensorFlow has it. `others` are
    packages and the façade that makes each, where nothing else does.
    """
    top = Path(runtime.__file__).parent
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top).with_suffix("").parts
        other = parts[0] == "compat" and len(parts) > 2 and parts[1] != facade
        if parts[0] not in _LEFT_OUT and not other and parts[-1] not in ("__init__", "__main__"):
            importlib.import_module(".".join(("runtime", *parts)))
    with contextlib.suppress(AttributeError, ImportError):
        _ = tf.compat.v1.estimator.Estimator
    shim = _TensorFlow1("tensorflow", tf.__doc__)
    for name in ("__path__", "__file__", "__spec__", "__version__"):
        setattr(shim, name, getattr(tf, name))
    shim.compat = tf.compat  # type: ignore[attr-defined]  # for `import tensorflow.compat.v1 as tf`; v1's own differs
    # TensorFlow 2.21 would import new modules for these names, without what a façade added to them.
    served_as = {"tensorflow": shim, "tensorflow.compat": tf.compat, "tensorflow.compat.v1": tf.compat.v1}
    stock_getter = tf.compat.v1.get_variable
    tf.compat.v1.get_variable = _with_whole_sizes(stock_getter)
    with _put(served_as) as stock:
        finder = _Others(others or {}, stock)
        sys.meta_path.append(finder)
        try:
            yield shim
        finally:
            sys.meta_path.remove(finder)
            for other_facade in finder.installed.values():
                other_facade.uninstall()
            tf.compat.v1.get_variable = stock_getter


def _with_whole_sizes(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return `get_variable` for shapes as `[n / 2, dim]`, whose whole floats are sizes in TensorFlow 1."""

    @functools.wraps(stock)
    def get_variable(name: str, shape: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(shape, (list, tuple)):
            shape = [int(size) if isinstance(size, float) and size.is_integer() else size for size in shape]
        return stock(name, shape, *args, **kwargs)

    return get_variable
