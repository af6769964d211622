"""Names of TensorFlow 1, of `tf.contrib`, and of old versions of Python and NumPy, that public programs call."""

from __future__ import annotations

import collections
import collections.abc
import importlib.util
import sys
import time
import types
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.public_programs.stand_ins import contrib

__all__ = ["of_python", "of_tensorflow"]

v1 = tf.compat.v1


def of_python() -> None:
    """Give back what Python and NumPy have dropped."""
    for name, kind in {"int": int, "float": float, "bool": bool, "object": object, "str": str}.items():
        if name not in vars(np):
            setattr(np, name, kind)
    for name in ("Iterable", "Mapping", "Sequence", "Iterator", "Callable", "Hashable", "MutableMapping"):
        setattr(collections, name, getattr(collections.abc, name))
    time.clock = time.perf_counter  # type: ignore[attr-defined]
    for name in _ABSENT:
        if importlib.util.find_spec(name.split(".")[0]) is None:
            sys.modules[name] = _Absent(name)


#: Packages that programs import for pictures, logs or a search that the first steps do not reach.
_ABSENT = (
    "matplotlib",
    "matplotlib.pyplot",
    "tensorboardX",
    "faiss",
    "networkx",
    "ipdb",
    "seaborn",
    "future",
    "psutil",
    "yellowfin",
    "tensorflow_probability",
    "kafka",
    "oss2",
    "eas_prediction",
    "retrying",
)


class _Absent(types.ModuleType):
    """A module that is not installed: each name of it is a function that does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return self


def of_tensorflow(seed: int) -> None:
    """Let `import tensorflow` give TensorFlow 1 with `tf.contrib`, whose graphs are all seeded."""
    from tensorflow.python.framework import ops

    v1.disable_v2_behavior()
    v1.logging.set_verbosity(v1.logging.ERROR)
    initialize = ops.Graph.__init__

    def seeded(graph: Any, *given: Any, **named: Any) -> None:
        initialize(graph, *given, **named)
        if not getattr(graph, "building_function", False):
            graph._seed = seed

    ops.Graph.__init__ = seeded
    v1.get_default_graph()._seed = seed

    def set_seed(given: int | None = None) -> None:
        v1.get_default_graph()._seed = seed if given is None else given

    v1.set_random_seed = v1.random.set_random_seed = set_seed
    v1.sub, v1.mul, v1.neg, v1.pack = v1.subtract, v1.multiply, v1.negative, v1.stack
    v1.contrib = contrib.module()
    _private_names()
    sys.modules["tensorflow"] = v1
    for name, module in _modules("tensorflow.contrib", v1.contrib):
        sys.modules[name] = module
    sys.modules["tensorflow.nn"], sys.modules["tensorflow.nn.rnn_cell"] = v1.nn, v1.nn.rnn_cell
    sys.modules["tensorflow.python.ops.rnn_cell"] = v1.nn.rnn_cell
    sys.modules["tensorflow.contrib.layers.python.layers"] = v1.contrib.layers
    v1.nn.softmax_cross_entropy_with_logits = v1.nn.softmax_cross_entropy_with_logits_v2


def _private_names() -> None:
    """Give back names of TensorFlow's own modules, which copies of its code call."""
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import array_ops, control_flow_ops, variable_scope
    from tensorflow.python.util import nest

    nest.is_sequence = nest.is_nested
    ops.Tensor, ops.IndexedSlices = tf.Tensor, tf.IndexedSlices
    array_ops.stack, array_ops.unstack = tf.stack, tf.unstack
    control_flow_ops.cond, control_flow_ops.while_loop = v1.cond, v1.while_loop
    variable_scope.variable = v1.Variable


def _modules(name: str, module: types.ModuleType) -> list[tuple[str, types.ModuleType]]:
    """Return the module and its own parts; what it takes from TensorFlow is no part of it."""
    parts = [(part, one) for part, one in vars(module).items() if isinstance(one, types.ModuleType)]
    own = [(part, one) for part, one in parts if one is not module and one.__name__.startswith("tensorflow.contrib.")]
    return [(name, module), *(pair for part, one in own for pair in _modules(f"{name}.{part}", one))]
