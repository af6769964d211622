"""Random numbers that a branch of a graph draws, as the dropout of a training flag: the same in both programs.

What is inside of a branch can be neither fetched nor fed. So a branch draws from a seed that is made outside of it, by
an op that is fed like all others that yield random values (runs in a TensorFlow process).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import tensorflow as tf
from tensorflow.python.framework import random_seed
from tensorflow.python.ops import gen_random_ops, gen_stateless_random_ops, gen_stateless_random_ops_v2

from migrate.verify.replacing import around
from runtime import _tf_private

_BITS = 24  #: of the fraction of a float32: such a number is the same in float64


@contextlib.contextmanager
def drawing_alike() -> Iterator[None]:
    """Let uniform random numbers of branches come from seeds that can be fed, while the block runs."""
    by_seed = _by_seed(gen_random_ops.random_uniform, WeakKeyDictionary())
    with mock.patch.object(gen_random_ops, "random_uniform", by_seed):
        yield


@contextlib.contextmanager
def seeded_by_number() -> Iterator[None]:
    """Let ops of a function draw by their number among those that draw, while the block runs; stock counts all ops."""
    stock, numbers = random_seed.get_seed, WeakKeyDictionary[Any, int]()

    def get_seed(op_seed: Any) -> Any:
        if op_seed is None and not tf.executing_eagerly():
            graph: Any = tf.compat.v1.get_default_graph()
            op_seed = numbers[graph] = numbers.get(graph, 0) + 1
        return stock(op_seed)

    with mock.patch.object(random_seed, "get_seed", get_seed):
        yield


@contextlib.contextmanager
def drawing_float32() -> Iterator[None]:
    """Let random numbers of float64 be those of float32, such as masks of dropout, while the block runs."""
    with around(*((owner, name, _narrow) for owner, names in _DRAWS.items() for name in names)):
        yield


_DRAWS = {
    gen_random_ops: ("random_uniform", "random_standard_normal", "truncated_normal"),
    gen_stateless_random_ops: ("stateless_random_uniform", "stateless_random_normal", "stateless_truncated_normal"),
    gen_stateless_random_ops_v2: (
        "stateless_random_uniform_v2",
        "stateless_random_normal_v2",
        "stateless_truncated_normal_v2",
    ),
}


def _narrow(stock: Callable[..., Any], *args: Any, **named: Any) -> Any:
    call = inspect.signature(stock).bind(*args, **named)
    wide = call.arguments.get("dtype") == tf.float64
    call.arguments |= {"dtype": tf.float32} if wide else {}
    drawn = stock(*call.args, **call.kwargs)
    return tf.cast(drawn, tf.float64) if wide else drawn


def _by_seed(stock: Callable[..., Any], numbers: WeakKeyDictionary[Any, int]) -> Callable[..., Any]:
    def random_uniform(shape: Any, dtype: Any, *rest: Any, **named: Any) -> Any:
        root = None if tf.executing_eagerly() else _graph_of_branch()
        if root is None or tf.as_dtype(dtype) not in (tf.float32, tf.float64):
            return stock(shape, dtype, *rest, **named)
        number = numbers[root] = numbers.get(root, 0) + 1
        with root.as_default(), tf.control_dependencies(None):
            seed = tf.raw_ops.RandomUniformInt(
                shape=[2], minval=0, maxval=tf.int32.max, seed=1, seed2=number, name=f"migrate_seed_{number}/"
            )
        whole = tf.random.stateless_uniform(shape, seed, 0, 1 << _BITS, tf.int32)
        return tf.cast(whole, dtype) * tf.constant(2.0**-_BITS, dtype)

    return random_uniform


def _graph_of_branch() -> Any:
    """Return the graph whose branch is being built, or None: there is none, or it is in a loop or another function."""
    graph: Any = tf.compat.v1.get_default_graph()
    if not _tf_private.may_run_or_not(graph):
        return None
    while graph is not None and _tf_private.may_run_or_not(graph) and hasattr(graph, "outer_graph"):
        if _tf_private.in_loop(graph):
            return None
        graph = graph.outer_graph
    return None if hasattr(graph, "outer_graph") or _tf_private.in_loop(graph) else graph
