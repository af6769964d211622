"""Every argument that the runtime's public functions take is read: what would be dropped is named here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import runtime.optimizers
from tests.support.runtime.unread import unread

_MODULES = (
    "runtime",
    "runtime.checkpoint",
    "runtime.feature_column",
    "runtime.keras",
    "runtime.optimizers",
    "runtime.ranks",
    "runtime.ranks.checkpoint",
    *(
        f"runtime.optimizers.{one.name}"
        for one in pkgutil.iter_modules(runtime.optimizers.__path__)
        if one.name[0] != "_"
    ),
)
#: What TensorFlow and Keras give to all hooks, callbacks and layers.
_GIVEN = {"coord", "run_context", "logs", "epoch", "input_shape", "mask", "training"}
#: Abstract methods, and the engine of one rank alone, which sends nothing.
_OF_OTHERS = ("Engine.",)
#: Their documentation says that they are accepted: an arrangement of a variable that no table has.
_ACCEPTED = {
    f"{function}({argument})"
    for function in ("embedding_lookup_sparse", "safe_embedding_lookup_sparse")
    for argument in ("allow_fast_lookup", "partition_strategy")
} | {"AdagradDecayOptimizer.table_form(variable)"}


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in map(importlib.import_module, _MODULES):
        for name in getattr(module, "__all__", ()):
            one = getattr(module, name)
            if inspect.isfunction(one):
                yield name, one
            for method, function in vars(one).items() if inspect.isclass(one) else ():
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    yield f"{name}.{method}", function


def test_no_argument_is_dropped_without_a_word() -> None:
    written = {
        (name, function)
        for name, function in _functions()
        if function.__code__.co_filename != "<string>"  # the constructors of dataclasses keep all that they get
    }
    assert len(written) > 100
    dropped = {
        f"{name}({argument})"
        for name, function in written
        if function.__module__.startswith("runtime") and not name.startswith(_OF_OTHERS)
        for argument in unread(function) - _GIVEN
    }
    assert dropped == _ACCEPTED
