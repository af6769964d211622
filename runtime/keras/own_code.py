"""Code that a model or layer of Keras has beside its class, which a copy made from its configuration would lack."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any


def is_graph(keras: Any, layer: Any) -> bool:
    """Return whether it is a model whose layers, and the calls of these, are known."""
    return isinstance(layer, keras.Sequential) or (isinstance(layer, keras.Model) and hasattr(layer, "_nodes_by_depth"))


def is_operation(layer: Any) -> bool:
    """Return whether it is what Keras 2 makes of an operation: a layer whose `call` it sets, to a function."""
    return type(layer).__name__.endswith("OpLambda")


def require_graphs(keras: Any, models: Iterable[Any]) -> None:
    """Raise ValueError if a model, or one inside, is not functional or sequential, or has methods of its own."""
    for model in models:
        name = f"the model `{model.name}` ({type(model).__name__})"
        if not is_graph(keras, model):
            raise ValueError(
                f"{name} is neither functional nor sequential: convert the source of its class by `migrate convert`"
            )
        # clone_model would return one of the plain class, without these methods.
        if not _is_library(type(model)) or _replaced(model):
            raise ValueError(
                f"{name} has methods of its own, which a copy would lack: convert the source of its class by "
                "`migrate convert`"
            )
        require_graphs(keras, (inner for inner in model.layers if is_graph(keras, inner)))


def require_own_calls(layer: Any) -> None:
    """Raise ValueError if a layer or one inside has another method than its class."""
    for inner in layer._flatten_layers():
        replaced = [] if is_operation(inner) else _replaced(inner)
        if replaced:
            raise ValueError(
                f"the layer `{inner.name}` has a `{replaced[0]}` that was set on the object, which a copy "
                "would lack: write a class with that method"
            )


#: Where Keras 3 keeps what compile() was given, which a copy need not have.
_OF_COMPILE = {"loss"}


def _replaced(holder: Any) -> list[str]:
    """Return the methods that were set on the object, by code that is not of Keras."""
    replaced = []
    for name in sorted(vars(holder).keys() - _OF_COMPILE):
        value, stock = vars(holder)[name], inspect.getattr_static(type(holder), name, None)
        if (
            callable(stock)
            and callable(value)
            and not _is_library(_plain(value))
            and _plain(value) is not _plain(stock)
        ):
            replaced.append(name)
    return replaced


def _plain(method: Any) -> Any:
    """Return the function without wrappers: Keras 3 sets a `build` that wraps that of the class."""
    while True:
        inner = getattr(method, "__wrapped__", None) or getattr(method, "__func__", None)
        if inner is None:
            return method
        method = inner


def _is_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in ("keras", "tf_keras")
