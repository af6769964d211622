"""Notes what `get_variable` is given, by the call and by the scopes around it: no op tells whose value it has."""

from __future__ import annotations

from typing import Any

from .patching import wrap
from .state import Asked, Notes, unharmed

#: Arguments that change a variable, or what is done with it.
_OPTIONS = ("regularizer", "custom_getter", "constraint", "partitioner", "caching_device")


def install(notes: Notes) -> None:
    """Have TensorFlow, which is imported, tell of them."""
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import variable_scope

    def asked(original: Any, store: Any, name: Any, *arguments: Any, **settings: Any) -> Any:
        with unharmed(notes):
            given = tuple(one for one in _OPTIONS if settings.get(one) is not None)
            key = id(ops.get_default_graph()), str(name)
            # The first call makes the variable, later ones reuse it.
            notes.asked.setdefault(key, Asked(_class(settings.get("initializer")), given))
        return original(store, name, *arguments, **settings)

    wrap(variable_scope._VariableStore, "get_variable", asked)


def _class(given: Any) -> str:
    """Return the class of an initializer; of a function, that of functions."""
    kind = given if isinstance(given, type) else type(given)
    return f"{kind.__module__}.{kind.__qualname__}"
