"""Several training steps in one `session.run`, which the hardware does in a loop of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.state import GraphState, state_of


def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> tf.Operation:
    """Return an op that trains `iterations_per_loop` steps in one run; other fetches belong to the last step.

    Raises:
        ValueError: it is not an int of 1 or more.
    """
    count = _validation.integer("iterations_per_loop", iterations_per_loop, 1)
    first: Any = tf.nest.flatten(train_op)[0]
    with first.graph.as_default(), tf.control_dependencies(tf.nest.flatten(train_op)):
        looping = tf.no_op(name="iterations_per_loop")
    state_of(first.graph).loops[looping.name] = (train_op, count)
    return looping


class IterationPerLoop:
    """The two calls by which older programs set the number of steps."""

    def __init__(self) -> None:
        """Start without an op."""
        self._looping: tf.Operation | None = None

    def create_iteration_per_loop_var(self, train_op: Any) -> tf.Operation:
        """Return an op that trains as many steps per run as `load_iteration_per_loop_var` sets."""
        self._looping = set_iteration_per_loop(None, train_op)
        return self._looping

    def load_iteration_per_loop_var(self, sess: Any, iterations_per_loop: int = 1) -> None:
        """Set the number of steps.

        Raises:
            ValueError: it is not an int of 1 or more.
            RuntimeError: there is no op yet.
        """
        if self._looping is None:
            raise RuntimeError("load_iteration_per_loop_var needs the op of create_iteration_per_loop_var first")
        count = _validation.integer("iterations_per_loop", iterations_per_loop, 1)
        loops = state_of(self._looping.graph).loops
        loops[self._looping.name] = (loops[self._looping.name][0], count)


def repeating(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return a session's `run` that first trains all steps but the last, then runs the fetches."""

    @functools.wraps(stock)
    def run(self: Any, fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
        state: GraphState | None = getattr(self.graph, "_recmigrate_mx_rec", None)
        if state is not None and state.loops:
            for name in {_name(one) for one in _leaves(fetches)} & set(state.loops):
                train_op, count = state.loops[name]
                for _ in range(count - 1):
                    stock(self, train_op, feed_dict)
        return stock(self, fetches, feed_dict, *args, **kwargs)

    return run


def _leaves(fetches: Any) -> Iterator[Any]:
    """Yield the fetches; tf.nest would sort keys, which is impossible for those of a session with hooks."""
    if isinstance(fetches, (list, tuple)):
        for fetch in fetches:
            yield from _leaves(fetch)
    elif isinstance(fetches, Mapping):
        yield from _leaves(list(fetches.values()))
    else:
        yield fetches


def _name(fetch: Any) -> str:
    if isinstance(fetch, (str, bytes)):
        return str(tf.compat.as_str(fetch))
    return str(getattr(fetch, "name", "")) if isinstance(fetch, tf.Operation) else ""
