"""The modules of Paddle: names, and what stands for them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import nn
from runtime.compat import absent
from runtime.compat.paddle import (
    exporting,
    files,
    functions,
    high_level,
    loading,
    optimizing,
    precision,
    recording,
    version_3,
)
from runtime.compat.paddle.tensor import Tensor, applied, plain
from runtime.compat.paddle.weights import gradient_of
from runtime.nn import functional, initializer, metric, optimizer, regularizer
from runtime.nn.layer import Layer
from runtime.nn.optimizer import lr
from runtime.nn.weights.weight import Weight
from runtime.ranks import rank as get_rank
from runtime.ranks import size as get_world_size

_FACADE = "runtime.compat.paddle"
REMEDY = "use what docs/paddle.md lists, or leave it out"
_OF_NN = ("activation", "class_loss", "convolution", "loss", "normalization", "pooling", "sequence")


def _functions(*modules: str) -> dict[str, Callable[..., Any]]:
    return {
        name: applied(getattr(functional, name))
        for module in modules
        for name in getattr(functional, module).__all__
        if name[0].islower() and name != "draw_with"
    }


def _nothing(*positional: Any, **named: Any) -> None:
    """Take any arguments; there is nothing to do."""


def _no(*positional: Any, **named: Any) -> bool:
    """Say no."""
    return False


def _seed(seed: int) -> None:
    tf.random.set_seed(seed)


class _NoGrad(contextlib.ContextDecorator):
    """`paddle.no_grad`: a block, or with or without parentheses a decorator."""

    pause = True

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        block = super().__new__(cls)
        return block(function) if callable(function) else block

    def __enter__(self) -> None:
        """Begin the block."""
        self._block = recording.stopped(self.pause)
        self._block.__enter__()

    def __exit__(self, *error: object) -> None:
        """End it."""
        self._block.__exit__(None, None, None)

    def _recreate_cm(self) -> Any:
        return type(self)()


class _EnableGrad(_NoGrad):
    """`paddle.enable_grad`."""

    pause = False


@contextlib.contextmanager
def _set_grad_enabled(mode: bool) -> Any:
    with recording.stopped(not mode):
        yield


def _grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    **named: Any,
) -> list[Any]:
    """Return the gradients of tensors with respect to others."""
    if create_graph:
        raise ValueError(
            "paddle.grad got create_graph=True, and gradients of gradients are not supported: leave it out"
        )
    targets = outputs if isinstance(outputs, list | tuple) else [outputs]
    factors = grad_outputs if isinstance(grad_outputs, list | tuple) else [grad_outputs] * len(targets)
    wanted = inputs if isinstance(inputs, list | tuple) else [inputs]
    gradients = recording.gradients(targets, plain(list(factors)), wanted)
    return [None if gradient is None else Tensor(tf.convert_to_tensor(gradient)) for gradient in gradients]


def _identity(function: Any = None, **named: Any) -> Any:
    """Return what is decorated as it is."""
    return (lambda decorated: decorated) if function is None else function


def _to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Return numbers, lists, arrays or tensors as a tensor of its own; with `stop_gradient=False` it gets gradients."""
    del place
    if isinstance(data, np.ndarray | np.generic | int | float):  # nothing of that is recorded
        tensor = Tensor(functional.tensors.tensor(data, dtype))
    else:
        with recording.stopped():
            tensor = Tensor(functional.to_tensor(plain(data), dtype))
    tensor.leaf = not stop_gradient
    return tensor


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor | Weight)


def _numel(x: Any, name: str | None = None) -> Tensor:
    return Tensor(tf.constant(int(np.prod([int(size) for size in x.shape])), tf.int64))


def _create_parameter(*positional: Any, **named: Any) -> Any:
    return nn.create_parameter(*positional, **named)


def _clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients that weights hold so that their norm together is at most `max_norm`; return what it was."""
    del error_if_nonfinite
    weights = [
        weight
        for weight in ([parameters] if isinstance(parameters, Weight) else parameters)
        if weight.accumulated is not None
    ]
    dense = [gradient_of(weight).value for weight in weights]
    if not dense:
        return Tensor(tf.constant(0.0))
    norms = tf.stack([tf.norm(gradient, norm_type) for gradient in dense])
    total = tf.norm(norms, norm_type)
    factor = tf.minimum(1.0, max_norm / (total + 1e-6))
    for weight in weights:
        gradient = weight.accumulated
        if isinstance(gradient, tf.IndexedSlices):
            weight.accumulated = tf.IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
        else:
            weight.accumulated = gradient * factor
    return Tensor(total)


def _clip_grad_value(parameters: Any, clip_value: float) -> None:
    for weight in [parameters] if isinstance(parameters, Weight) else parameters:
        if weight.accumulated is not None:
            weight.accumulated = tf.clip_by_value(gradient_of(weight).value, -clip_value, clip_value)


_DTYPES = {
    name: tf.as_dtype(name)
    for name in (
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "float32", "float64", "bfloat16", "complex64"),
    )
}
_TOP_FUNCTIONS = _functions(
    *("comparison", "creation", "drawing", "elementwise", "indexing", "joining", "matrix", "reduction", "scaling"),
    *("shaping", "unary"),
) | {name: applied(function) for name, function in functions.METHODS.items()}
_TOP_FUNCTIONS |= {name: _TOP_FUNCTIONS[other] for name, other in version_3.NAMES.items()}
_SCHEDULERS = {
    name: value for name, value in vars(lr).items() if isinstance(value, type) and issubclass(value, lr.LRScheduler)
}
_LAYERS = {
    name: value for name in nn.__all__ if isinstance(value := getattr(nn, name), type) and issubclass(value, Layer)
}
_NN_FUNCTIONS = _functions(*_OF_NN, "indexing", "elementwise", "matrix", "unary")
_CLIPS = {name: getattr(nn, name) for name in ("ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue")}
_DEVICE = {
    "set_device": lambda device: device,
    "get_device": lambda: "cpu",
    "is_compiled_with_cuda": _no,
    "is_compiled_with_xpu": _no,
    "is_compiled_with_npu": _no,
    "is_compiled_with_ipu": _no,
    "is_compiled_with_rocm": _no,
    "is_compiled_with_mkldnn": _no,
    "is_compiled_with_custom_device": _no,
}
_RANKS = {"get_rank": get_rank, "get_world_size": get_world_size, "init_parallel_env": _nothing}

_MODULES: dict[str, dict[str, Any]] = {
    "": {
        **_TOP_FUNCTIONS,
        **functions.TOP,
        **_DTYPES,
        **_DEVICE,
        "logit": applied(functional.logit),
        "sigmoid": applied(functional.sigmoid),
        "tanh": applied(functional.tanh),
        "Tensor": Tensor,
        "to_tensor": _to_tensor,
        "Model": high_level.Model,
        "DataParallel": lambda layers, *positional, **named: layers,
        "ParamAttr": nn.ParamAttr,
        "CPUPlace": lambda: "Place(cpu)",
        "CUDAPlace": lambda number=0: "Place(cpu)",
        "numel": _numel,
        "create_parameter": _create_parameter,
        "no_grad": _NoGrad,
        "enable_grad": _EnableGrad,
        "set_grad_enabled": _set_grad_enabled,
        "is_grad_enabled": recording.recording,
        "grad": _grad,
        "is_tensor": _is_tensor,
        "seed": _seed,
        "manual_seed": _seed,
        "save": files.save,
        "load": files.load,
        "summary": high_level.summary,
        "disable_static": _nothing,
        "in_dynamic_mode": lambda: True,
        "set_printoptions": _nothing,
        "set_flags": _nothing,
        "get_default_dtype": lambda: "float32",
        "__version__": "2.6.2",
    },
    "nn": {**_LAYERS, **_CLIPS, "ParamAttr": nn.ParamAttr},
    "nn.functional": _NN_FUNCTIONS,
    # Files of Paddle that programs name.
    **{f"nn.functional.{file}": _NN_FUNCTIONS for file in ("activation", "common", "conv", "input", "loss", "norm")},
    **{f"nn.layer.{file}": _LAYERS for file in ("activation", "common", "container", "conv", "loss", "norm", "rnn")},
    "nn.layer.transformer": _LAYERS,
    "nn.layer.layers": _LAYERS,
    "nn.loss": _LAYERS,
    "amp": precision.CONTENTS,
    "nn.initializer": {name: getattr(initializer, name) for name in dir(initializer) if name[0].isupper()},
    "nn.utils": {"clip_grad_norm_": _clip_grad_norm, "clip_grad_value_": _clip_grad_value},
    "nn.layer": dict(_LAYERS),
    "optimizer": {name: getattr(optimizer, name) for name in optimizer.__all__ if name != "lr"},
    "optimizer.lr": {**_SCHEDULERS, "ReduceOnPlateau": optimizing.ReduceOnPlateau},
    "regularizer": {"L1Decay": regularizer.L1Decay, "L2Decay": regularizer.L2Decay},
    "metric": {
        **{name: getattr(metric, name) for name in ("Accuracy", "Auc", "Metric", "Precision", "Recall")},
        "accuracy": high_level.accuracy,
    },
    "io": loading.CONTENTS,
    "callbacks": high_level.CALLBACKS,
    "compat": {name: applied(function) for name, function in version_3.COMPAT.items()},
    "device": {**_DEVICE, "get_available_device": lambda: ["cpu"]},
    "distributed": _RANKS,
    "framework": {"ParamAttr": nn.ParamAttr, "random": random, "seed": _seed},
    "jit": {
        **{name: getattr(exporting, name) for name in ("to_static", "save", "load")},
        "not_to_static": _identity,
    },
    "static": {"InputSpec": exporting.InputSpec},
    "tensor": dict(_TOP_FUNCTIONS),
    "fluid": {},
}


def _module(name: str) -> str:
    return f"paddle.{name}" if name else "paddle"


#: Full name of a module -> its names.
CONTENTS = {
    _module(name): {**contents, "__getattr__": absent.lacking(_module(name), _FACADE, REMEDY)}
    for name, contents in _MODULES.items()
}
