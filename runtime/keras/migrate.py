"""A model object of Keras with tables in place of its `Embedding` layers.

For models that a library's functions build, so that no source of the user's makes the layers. The layers are made again
from their configurations, as `clone_model` of Keras does it, and get the weights of the originals.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from runtime.keras.layer_state import complete, different, give_state
from runtime.keras.references import reached
from runtime.keras.replaceable import reason_to_stay, replacement

__all__ = ["migrate"]

_log = logging.getLogger("runtime")


def migrate(*models: Any, keep_rows: bool = True) -> Any:
    """Return functional or sequential models with a table in place of each trained `keras.layers.Embedding`.

    The other layers are made again, too, from their configurations, and get the weights of the originals; a layer or
    table that several of the models share stays shared. A table has the rows of the matrix; with `keep_rows=False` the
    matrix is not read, and a row begins when its id is first trained, as the layer's initializer makes it. The result
    is not compiled. Layers that cannot move stay stock layers, and the logger `runtime` says why.

    Returns:
        The model, or a tuple of as many models as were given.

    Raises:
        TypeError: something given is no model of Keras, or nothing is given.
        ValueError: a model is neither functional nor sequential, a layer cannot be made again, or none can move.
        RuntimeError: in a v1 graph or inside of a tf.distribute strategy.
    """
    keras = _keras_of(models)
    for model in models:
        _require_graph(keras, model)
    layers = _layers(keras, models)
    for layer in layers:
        _require_own_calls(layer)
    stay = _staying(keras, models, layers, keep_rows)
    moving = [one for one in layers if _is_stock(keras, one) and id(one) not in stay]
    if not moving:
        raise ValueError(f"migrate() found nothing to move: {'; '.join(stay.values()) or 'no Embedding layer'}")
    copies = _Copies(keras, moving, keep_rows)
    moved = tuple(copies.of(model) for model in models)
    copies.require_apart(moved)
    copies.give_weights()
    for reason in stay.values():
        _log.warning("runtime.keras.migrate: %s", reason)
    return moved if len(moved) > 1 else moved[0]


class _Copies:
    """The new layer for each layer, made once, so that models share what their originals share."""

    def __init__(self, keras: Any, moving: Sequence[Any], keep_rows: bool) -> None:
        self._keras, self._keep_rows = keras, keep_rows
        self._moving = {id(one) for one in moving}
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, layer: Any) -> Any:
        """Return the copy of a layer or model."""
        if id(layer) not in self._made:
            self._made[id(layer)] = (layer, self._copy(layer))
        return self._made[id(layer)][1]

    def _copy(self, layer: Any) -> Any:
        if id(layer) in self._moving:
            return replacement(self._keras, layer, self._keep_rows)
        if _is_graph(self._keras, layer):
            made = self._keras.models.clone_model(layer, clone_function=self.of)
            made._trainable = layer._trainable  # the property would set it for all layers inside
            return made
        if not isinstance(layer, self._keras.layers.Layer):  # an operation of Keras 3, which has no weights
            return layer
        if type(layer) is self._keras.layers.Lambda:  # a function and its closure need no form in a configuration
            base = self._keras.layers.Layer.get_config(layer)
            return type(layer)(layer.function, layer._output_shape, layer.mask, layer.arguments, **base)
        try:
            made = type(layer).from_config(layer.get_config())
        except (NotImplementedError, TypeError, ValueError) as error:
            raise ValueError(
                f"the layer `{layer.name}` ({type(layer).__name__}) cannot be made again from its configuration: give "
                f"it a get_config() with its arguments ({_first_line(error)})"
            ) from error
        for name in complete(self._keras, layer, made):
            _log.warning("runtime.keras.migrate: get_config() of `%s` lacks `%s`, which was copied", layer.name, name)
        return made

    def require_apart(self, moved: Sequence[Any]) -> None:
        """Raise ValueError if a layer holds another of the model, or a weight of one: copies would not share it."""
        pairs = [(old, new) for old, new in self._made.values() if old is not new]
        leaves = [(old, new) for old, new in pairs if not _is_graph(self._keras, old)]
        names = {id(weight): old.name for old, _ in leaves for weight in old.weights}
        names |= {id(old): old.name for old, _ in leaves}
        holders = [(one.name, _held(one), {id(one), *map(id, one.weights)}) for pair in leaves for one in pair]
        for holder, held, own in [*holders, ("an operation", list(_constants(self._keras, moved)), set())]:
            found = sorted(names[one] for one in reached(held) - own if one in names)
            if found:
                raise ValueError(
                    f"`{holder}` holds the layer `{found[0]}` of the model, or a weight of it, which a copy "
                    "would not share; call it in the graph, or convert the source of the model, migrate convert"
                )

    def give_weights(self) -> None:
        """Give each copy the weights and other state of its original."""
        for layer, made in self._made.values():
            if layer is not made and id(layer) not in self._moving and not _is_graph(self._keras, layer):
                self._give(layer, made)
            losses = [len(getattr(one, "_callable_losses", ())) for one in (layer, made)]
            if losses[0] != losses[1]:
                raise ValueError(f"`{layer.name}` has an add_loss() of its own, which a copy lacks: add it in a layer")

    def _give(self, layer: Any, made: Any) -> None:
        """Give a copy what its original has learned; raise ValueError if it is another layer."""
        found = different(self._keras, layer, made)
        if not found:
            try:
                give_state(self._keras, layer, made)
            except ValueError as error:
                found = _first_line(error)
        if found:
            raise ValueError(
                f"the layer `{layer.name}` ({type(layer).__name__}) is another when it is made again from its "
                f"configuration: let get_config() return all of its arguments ({found})"
            )


def _keras_of(models: Sequence[Any]) -> Any:
    """Return the module of Keras that the models are of."""
    if not models:
        raise TypeError("migrate() needs a model of Keras: got nothing")
    if not tf.executing_eagerly():
        raise RuntimeError("migrate() needs eager mode: leave out tf.compat.v1.disable_eager_execution()")
    if tf.distribute.has_strategy():
        raise RuntimeError("tables do not support tf.distribute strategies yet: call migrate() outside of the scope")
    for model in models:
        kinds = {one.__module__.partition(".")[0] for one in type(model).__mro__}
        if "tf_keras" in kinds:
            return importlib.import_module("tf_keras")
        if not isinstance(model, tf.keras.Model):
            raise TypeError(f"migrate() needs a model of Keras: got {type(model).__name__}")
    return tf.keras


def _is_stock(keras: Any, layer: Any) -> bool:
    return type(layer) is keras.layers.Embedding


def _is_graph(keras: Any, layer: Any) -> bool:
    """Return whether it is a model whose layers, and the calls of these, are known."""
    return isinstance(layer, keras.Sequential) or (isinstance(layer, keras.Model) and hasattr(layer, "_nodes_by_depth"))


#: Methods that are a model's own where they are set on the object.
_METHODS = ("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics", "call")


def _require_graph(keras: Any, model: Any) -> None:
    name = f"the model `{model.name}` ({type(model).__name__})"
    if not _is_graph(keras, model):
        raise ValueError(
            f"{name} is neither functional nor sequential: convert the source of its class, migrate convert"
        )
    # clone_model would return one of the plain class, without these methods.
    own = not _is_library(type(model)) or any(_is_own(vars(model).get(method)) for method in _METHODS)
    if own:
        raise ValueError(
            f"{name} has methods of its own, which a copy would lack: convert the source of its class, migrate convert"
        )
    for inner in model.layers:
        if _is_graph(keras, inner):
            _require_graph(keras, inner)


def _require_own_calls(layer: Any) -> None:
    """Raise ValueError if a layer or one inside has another `call` than its class."""
    for one in layer._flatten_layers():
        # Keras 2 makes a layer of an operation by setting its `call`.
        if not type(one).__name__.endswith("OpLambda") and _is_own(vars(one).get("call")):
            raise ValueError(
                f"the layer `{one.name}` has a `call` of its own, which a copy would lack: make it a class"
            )


def _is_own(method: Any) -> bool:
    return method is not None and not _is_library(getattr(method, "__func__", method))


def _is_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in ("keras", "tf_keras")


def _layers(keras: Any, models: Iterable[Any]) -> list[Any]:
    """Return the layers that the models call, those of inner functional and sequential models among them, each once."""
    found: dict[int, Any] = {}
    for model in models:
        for layer in model.layers:
            for one in _layers(keras, [layer]) if _is_graph(keras, layer) else [layer]:
                found[id(one)] = one
    return list(found.values())


def _staying(keras: Any, models: Iterable[Any], layers: Sequence[Any], keep_rows: bool) -> dict[int, str]:
    """Return why layers stay, by `id`: a sentence that names the layer."""
    stay = {}
    others = [one for one in layers if not isinstance(one, keras.layers.Embedding)]
    elsewhere = reached([*map(_held, others), *_constants(keras, models)])
    for layer in layers:
        if _is_stock(keras, layer):
            reason = reason_to_stay(layer, keep_rows)
            if reason is None and not elsewhere.isdisjoint({id(layer), *map(id, layer.weights)}):
                reason = "another layer or operation uses the layer or its matrix"
        elif isinstance(layer, keras.layers.Embedding):
            reason = None if hasattr(layer, "shares_rows") else f"its class {type(layer).__name__} is not Keras' own"
        else:
            inner = [one.name for one in _inside(layer) if _is_stock(keras, one)]
            reason = f"it makes the layer `{inner[0]}` itself: convert its source" if inner else None
        if reason is not None:
            stay[id(layer)] = f"the layer `{layer.name}` stays: {reason}"
    return stay


def _inside(layer: Any) -> Iterable[Any]:
    return layer._flatten_layers(include_self=False)  # type: ignore[no-any-return]


def _held(layer: Any) -> list[Any]:
    """Return what a layer holds apart from its place in a graph, and its class."""
    return [*(value for name, value in vars(layer).items() if not name.endswith("bound_nodes")), type(layer)]


def _constants(keras: Any, models: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments of all calls in the graphs of the models."""
    for model in models:
        for nodes in getattr(model, "_nodes_by_depth", {}).values():
            for node in nodes:
                given = getattr(node, "arguments", None)
                yield (given.args, given.kwargs) if given is not None else (node.call_args, node.call_kwargs)
        yield from _constants(keras, [one for one in model.layers if _is_graph(keras, one)])


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
