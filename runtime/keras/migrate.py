"""A model object of Keras with tables in place of its `Embedding` layers.

For models that a library's functions build, so that no source of the user's makes the layers. The layers are made again
from their configurations, as `clone_model` of Keras does it, and get the weights of the originals.
"""

from __future__ import annotations

import importlib
import logging
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.keras.layer_settings import complete, configuration, different
from runtime.keras.own_code import is_graph, require_graphs, require_own_calls
from runtime.keras.references import own_objects, reached
from runtime.keras.replaceable import reason_to_stay, replacement

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
    require_graphs(keras, models)
    layers = _layers(keras, models)
    for layer in layers:
        require_own_calls(layer)
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
        if is_graph(self._keras, layer):
            copy = self._cloned(layer)
            copy._trainable = layer._trainable  # the property would set it for all layers inside
            copy._dtype_policy = layer._dtype_policy  # decides whether compile() scales the loss
            return copy
        if not isinstance(layer, self._keras.layers.Layer):  # an operation of Keras 3, which has no weights
            return layer
        if type(layer) is self._keras.layers.Lambda:  # a function and its closure need no form in a configuration
            base = self._keras.layers.Layer.get_config(layer)
            return type(layer)(layer.function, layer._output_shape, layer.mask, layer.arguments, **base)
        try:
            with self._keras.utils.custom_object_scope(own_objects(layer)):
                copy = type(layer).from_config(configuration(layer))
        except (NotImplementedError, TypeError, ValueError) as error:
            raise ValueError(
                f"the layer `{layer.name}` ({type(layer).__name__}) cannot be created again from its configuration: "
                "give its class a get_config() with all arguments, and use functions with names, no lambda "
                f"({_first_line(error)})"
            ) from error
        for name in complete(self._keras, layer, copy):
            _log.warning("runtime.keras.migrate: get_config() of `%s` lacks `%s`, which was copied", layer.name, name)
        return copy

    def _cloned(self, model: Any) -> Any:
        compiled = getattr(model, "compiled", None)
        try:
            if compiled:  # Keras 3 would compile the copy, with functions that its configuration may not know
                model.compiled = False
            return self._keras.models.clone_model(model, self._inputs(model), clone_function=self.of)
        finally:
            if compiled:
                model.compiled = True

    def _inputs(self, model: Any) -> Any:
        """Return inputs as those of a model of Keras 3, whose clone_model forgets that they are optional or sparse."""
        if not hasattr(self._keras, "Variable") or isinstance(model, self._keras.Sequential):
            return None
        layers = [tensor._keras_history.operation for tensor in model.inputs]
        if not all(isinstance(layer, self._keras.layers.InputLayer) for layer in layers):
            return None
        return tf.nest.map_structure(
            lambda tensor: type(layers[0]).from_config(tensor._keras_history.operation.get_config()).output, model.input
        )

    def require_apart(self, moved: Sequence[Any]) -> None:
        """Raise ValueError if a layer holds another of the model, or a weight of one: copies would not share it."""
        pairs = [(old, new) for old, new in self._made.values() if old is not new]
        leaves = [(old, new) for old, new in pairs if not is_graph(self._keras, old)]
        names = {id(weight): old.name for old, _ in leaves for weight in old.weights}
        names |= {id(old): old.name for old, _ in leaves}
        holders = [(one.name, _held(one), {id(one), *map(id, one.weights)}) for pair in leaves for one in pair]
        for holder, held, own in [*holders, ("an operation", list(_constants(self._keras, moved)), set())]:
            shared = sorted(names[one] for one in reached(held) - own if one in names)
            if shared:
                raise ValueError(
                    f"`{holder}` holds the layer `{shared[0]}` of the model, or a weight of it, which a copy "
                    "would not share; call that layer in the model, or convert the source of the model by "
                    "`migrate convert`"
                )

    def give_weights(self) -> None:
        """Give each copy the weights and other state of its original."""
        for layer, copy in self._made.values():
            if layer is not copy and id(layer) not in self._moving and not is_graph(self._keras, layer):
                self._give(layer, copy)
            losses = [len(getattr(one, "_callable_losses", ())) for one in (layer, copy)]
            if losses[0] != losses[1]:
                raise ValueError(
                    f"`{layer.name}` got an add_loss() from outside, which a copy lacks: add the loss in a layer"
                )

    def _give(self, layer: Any, copy: Any) -> None:
        """Give a copy what its original has learned; raise ValueError if it is another layer."""
        _freeze_as(self._keras, layer, copy)
        difference = different(self._keras, layer, copy)
        if not difference:
            try:
                _give_state(self._keras, layer, copy)
            except ValueError as error:
                difference = _first_line(error)
        if not difference and len(layer.trainable_weights) != len(copy.trainable_weights):
            difference = "the copy trains other weights"
        if difference:
            raise ValueError(
                f"the layer `{layer.name}` ({type(layer).__name__}) differs when it is created again from its "
                f"configuration: let get_config() return all of its arguments ({difference})"
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


def _layers(keras: Any, models: Iterable[Any]) -> list[Any]:
    """Return the layers that the models call, those of inner functional and sequential models among them, each once."""
    layers: dict[int, Any] = {}
    for model in models:
        for layer in model.layers:
            for inner in _layers(keras, [layer]) if is_graph(keras, layer) else [layer]:
                layers[id(inner)] = inner
    return list(layers.values())


def _staying(keras: Any, models: Iterable[Any], layers: Sequence[Any], keep_rows: bool) -> dict[int, str]:
    """Return why layers stay, by `id`: a sentence that names the layer."""
    stay = {}
    others = [one for one in layers if not isinstance(one, keras.layers.Embedding)]
    elsewhere = reached([*map(_held, others), *_constants(keras, models)])
    for layer in layers:
        if _is_stock(keras, layer):
            reason = reason_to_stay(keras, layer, keep_rows)
            if reason is None and not elsewhere.isdisjoint({id(layer), *map(id, layer.weights)}):
                reason = "another layer or operation uses the layer or its matrix"
        elif isinstance(layer, keras.layers.Embedding):
            reason = None if hasattr(layer, "shares_rows") else f"its class {type(layer).__name__} is not Keras' own"
        else:
            inner = [one.name for one in _inside(layer) if _is_stock(keras, one)]
            reason = (
                f"it creates the layer `{inner[0]}` itself: convert its source by `migrate convert`" if inner else None
            )
        if reason is not None:
            stay[id(layer)] = f"the layer `{layer.name}` is left unchanged: {reason}"
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
                arguments = getattr(node, "arguments", None)
                yield (
                    (arguments.args, arguments.kwargs) if arguments is not None else (node.call_args, node.call_kwargs)
                )
        yield from _constants(keras, [one for one in model.layers if is_graph(keras, one)])


def _first_line(error: BaseException) -> str:
    return textwrap.shorten(next(iter(str(error).splitlines()), type(error).__name__), 300)


def _freeze_as(keras: Any, layer: Any, copy: Any) -> None:
    """Let `copy` and the layers inside train what `layer` trains; also decides the order of weights in Keras 2."""
    kind: Any = getattr(keras, "Variable", ())  # Keras 3 freezes variables, too
    for old, new in zip(layer._flatten_layers(), copy._flatten_layers(), strict=False):
        new._trainable = old._trainable  # the property would set it for all layers inside
        for weight, other in zip(old.weights, new.weights, strict=False):
            if isinstance(other, kind) and weight.trainable != other.trainable:
                other.trainable = weight.trainable


def _give_state(keras: Any, layer: Any, copy: Any) -> None:
    """Give `copy` the weights of `layer`, and what layers like `Normalization` and `StringLookup` hold beside them.

    Raises:
        ValueError: the layers have other weights.
    """
    base = keras.layers.Layer
    for old, new in zip(layer._flatten_layers(), copy._flatten_layers(), strict=True):
        kind = type(old)
        # Keras saves files by these methods; a layer that has its own does more than to assign weights.
        if getattr(kind, "load_own_variables", None) is not getattr(base, "load_own_variables", None):
            store: dict[str, Any] = {}
            old.save_own_variables(store)
            new.load_own_variables(store)
        if getattr(kind, "load_assets", None) is not getattr(base, "load_assets", None):
            with tempfile.TemporaryDirectory() as folder:
                old.save_assets(folder)
                if any(Path(folder).iterdir()):
                    new.load_assets(folder)
    # After them: a layer with LoRA saves the product of its factors, not these.
    copy.set_weights(layer.get_weights())
    for old, new in zip(layer._flatten_layers(), copy._flatten_layers(), strict=True):
        for variable, other in zip(_variables(keras, old), _variables(keras, new), strict=False):
            if variable is not other and variable.shape == other.shape and variable.dtype == other.dtype:
                other.assign(variable)


def _variables(keras: Any, layer: Any) -> Iterator[Any]:
    """Yield variables that are no weights: the state of a seed, of an RNN, and variables that no Keras tracks."""
    kinds = (tf.Variable, getattr(keras, "Variable", tf.Variable))
    weights = {id(one) for one in layer.weights}
    held = [getattr(layer, "variables", ()), *(value for _, value in sorted(vars(layer).items()))]
    for value in held:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, kinds) and id(item) not in weights:
                yield item
