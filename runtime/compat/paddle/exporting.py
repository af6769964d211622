"""`paddle.jit.save` and `paddle.jit.load`: a network as a SavedModel, with its tables and weights."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.compat.paddle import functions, recording
from runtime.compat.paddle.tensor import plain, wrapped
from runtime.nn.layer import Layer
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

__all__ = ["InputSpec", "load", "save", "to_static"]

_EXAMPLE = "such as [paddle.static.InputSpec([None, 39], 'int64', 'ids')]"
_SPEC = "_input_spec"
#: What TensorFlow says of a variable that is no part of what is exported, and of one that exists in the call alone.
_NOT_OWNED = ("untracked", "variables which have been deleted")


class InputSpec:
    """Shape, dtype and name of an input; the shape has None or -1 for a size that varies."""

    def __init__(
        self, shape: Sequence[Any], dtype: str = "float32", name: str | None = None, stop_gradient: bool = False
    ):
        """Keep the arguments."""
        self.shape, self.dtype, self.name, self.stop_gradient = tuple(shape), dtype, name, stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        """Return the spec of what is like a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.name)


def to_static(function: Any = None, input_spec: Any = None, **configs: Any) -> Any:
    """Return a network or a function as it is: programs run eagerly; `save` exports it with `input_spec`."""
    del configs

    def decorated(network: Any) -> Any:
        if input_spec is not None:
            setattr(getattr(network, "__self__", network), _SPEC, input_spec)
        return network

    return decorated if function is None else decorated(function)


def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Write a network, as it evaluates, as a SavedModel in the folder `path`; its weights keep their training.

    The signature has the names of the specs, or else of the arguments of `forward`. Its results are the keys of a
    dictionary that `forward` returns, or else `output_0` and so on.

    Args:
        layer: the network.
        path: a folder to be written.
        input_spec: a list of `InputSpec`s or tensors; None: those that `to_static` got.
        configs: without effect.

    Raises:
        TypeError: `layer` is not a network.
        ValueError: there are no specs, or `forward` needs the elements of a tensor, which a graph does not have.
    """
    del configs
    if not isinstance(layer, Layer):
        raise TypeError(
            f"paddle.jit.save got a {type(layer).__name__}, which holds no weights: give the paddle.nn.Layer that "
            "computes it"
        )
    specs = next((spec for spec in (input_spec, *_decorated(layer)) if spec is not None), None)
    if specs is None:
        raise ValueError(f"paddle.jit.save got no input_spec for {type(layer).__name__}: give it, {_EXAMPLE}")
    modes = [(inner, inner.training) for inner in layer.sublayers(include_self=True)]
    layer.eval()
    try:
        with recording.stopped():
            exported = _Exported(layer, specs)
            tf.saved_model.save(exported, str(path), signatures=exported.serve)
    except (NotImplementedError, tf.errors.OperatorNotAllowedInGraphError) as error:
        raise ValueError(f"{_place(error)}: paddle.jit.save cannot export this: {functions.NO_ELEMENTS}") from error
    except AssertionError as error:
        if not any(words in str(error) for words in _NOT_OWNED):
            raise
        raise ValueError(
            f"paddle.jit.save cannot export {type(layer).__name__}, because it uses a layer or weight that it does not "
            f"own, {_not_owned(layer)}: create it in `__init__` as an attribute of the network, and several in a "
            "paddle.nn.LayerList or paddle.nn.ParameterList"
        ) from error
    finally:
        for inner, training in modes:
            inner.training = training


def _decorated(layer: Layer) -> list[Any]:
    """Return the specs that `to_static` gave a layer, or its `forward`."""
    return [getattr(part, _SPEC, None) for part in (layer, layer.forward)]


def _not_owned(layer: Layer) -> str:
    """Return what holds a layer or weight that is none of the network's, as far as a search of its parts shows it."""
    owned = {id(part) for part in [*layer.sublayers(include_self=True), *layer.state_dict().values()]}
    for inner in layer.sublayers(include_self=True):
        owner = type(inner).__name__
        names = {f"{name}` of {owner}": value for name, value in vars(inner).items()}
        names |= {f"{name}` outside of {owner}": value for name, value in _outside(type(inner).forward).items()}
        for name, value in names.items():
            if any(id(part) not in owned for part in _layers_and_weights(value)):
                return f"`{name}"
    return "such as one in a plain list, or one that `forward` creates"


def _outside(forward: Any) -> dict[str, Any]:
    """Return the variables of functions and files around a method that it uses."""
    try:
        around = inspect.getclosurevars(inspect.unwrap(forward))
    except (TypeError, ValueError):  # no function of Python, or a name that is not set yet
        return {}
    return {**around.globals, **around.nonlocals}


def _layers_and_weights(value: Any) -> Iterator[Layer | Weight]:
    if isinstance(value, Layer | Weight):
        yield value
    elif isinstance(value, Mapping):
        yield from _layers_and_weights(list(value.values()))
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _layers_and_weights(part)


def _place(error: BaseException) -> str:
    """Return file and line of the program's own code where an error began."""
    own = str(Path(__file__).parents[2])
    frames = traceback.extract_tb(error.__traceback__)
    frame = next(
        line for line in reversed(frames) if not line.filename.startswith(own) and "site-packages" not in line.filename
    )
    return f"{frame.filename}:{frame.lineno}"


class _Exported(tf.Module):  # type: ignore[misc]
    """A network, and the tables and variables that it reads."""

    def __init__(self, layer: Layer, specs: Any) -> None:
        super().__init__()
        self._weights = [_stored(weight) for weight in layer.state_dict().values()]
        names = iter([*inspect.signature(layer.forward).parameters, *(f"input_{number}" for number in range(99))])
        flat = [_tensor_spec(spec, next(names)) for spec in tf.nest.flatten(specs)]

        def computed(*tensors: tf.Tensor) -> Any:
            return plain(layer(*wrapped(tf.nest.pack_sequence_as(specs, tensors))))

        def named(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
            results = computed(*tensors)
            if isinstance(results, Mapping):
                return {str(name): result for name, result in results.items()}
            return {f"output_{place}": result for place, result in enumerate(tf.nest.flatten(results))}

        self.computed = _graph(computed, flat)
        self.serve = _graph(named, flat)


def _graph(function: Callable[..., Any], specs: Sequence[tf.TensorSpec]) -> Any:
    return tf.function(function, input_signature=specs, autograph=False)


def _stored(weight: Weight) -> Any:
    """Return what a SavedModel keeps of a weight, which is created here if it was not used yet."""
    return weight.table if isinstance(weight, TableWeight) else weight.variable


def _tensor_spec(spec: Any, argument: str) -> tf.TensorSpec:
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        raise TypeError(f"paddle.jit.save got {spec!r} in input_spec: give an InputSpec or a tensor, {_EXAMPLE}")
    shape = [None if size in (None, -1) else int(size) for size in spec.shape]
    return tf.TensorSpec(shape, spec.dtype, getattr(spec, "name", "") or argument)


class _Loaded(Layer):
    """What `paddle.jit.load` returns."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._model = tf.saved_model.load(folder)

    def forward(self, *inputs: Any) -> Any:
        """Compute what the network did when it was saved."""
        with recording.stopped():
            return wrapped(self._model.computed(*tf.nest.flatten(plain(inputs))))


def load(path: str, **configs: Any) -> Layer:
    """Return what `save` wrote, as a layer that is called; it is not trained.

    Raises:
        ValueError: there is no such folder.
    """
    del configs
    if not tf.saved_model.contains_saved_model(str(path)):
        raise ValueError(f"{path}: there is no model that paddle.jit.save of the façade wrote; give its folder")
    return _Loaded(str(path))
