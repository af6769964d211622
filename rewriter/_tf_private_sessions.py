"""The private names of TensorFlow by which `rewriter.install` sees sessions before they run; a test guards each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import convert_to_constants, ops
from tensorflow.python.ops import gradients_util, resource_variable_ops
from tensorflow.python.training import monitored_session, py_checkpoint_reader
from tensorflow.python.training.saving import saveable_object_util

__all__ = ["Watcher", "elements_of", "is_function_body", "watch_sessions"]

#: Methods by which a session runs a graph, or prepares to; the first argument is what is fetched.
_STARTS = ("run", "partial_run_setup", "make_callable")


class Watcher:
    """What `watch_sessions` calls."""

    def before_finalize(self, graph: tf.Graph) -> None:
        """The graph is complete, and no session has begun yet."""

    def before_run(self, graph: tf.Graph, fetches: Any) -> None:
        """A session is about to run this graph, maybe for the first time."""

    def fetched(self, graph: tf.Graph, element: Any) -> Any:
        """Return what a session fetches in the place of a tensor or op of the graph."""
        return element

    def sources(self, tensor: Any) -> list[Any]:
        """Return what gradients are computed of in the place of a tensor; their results go to `gradient`."""
        return [tensor]

    def gradient(self, tensor: Any, found: list[Any]) -> Any:
        """Return the gradient of a tensor, given those of its sources."""
        return found[0]

    def frozen(self, graph: tf.Graph, definition: Any) -> Any:
        """Return the GraphDef whose variables become constants, in the place of that of a session's graph."""
        return definition

    def tensor_of(self, reader: Any, name: str, read: Callable[[str], Any]) -> Any:
        """Return a tensor of a checkpoint, which `read(name)` gives as it is there."""
        return read(name)

    def shapes_of(self, shapes: dict[str, list[int]]) -> dict[str, list[int]]:
        """Return the shapes of the tensors of a checkpoint, given those that are there."""
        return shapes

    def saves(self, variable: tf.Variable) -> bool:
        """Whether a new Saver takes what `saveable` returns in the place of a variable."""
        return False

    def saveable(self, variable: tf.Variable, name: str) -> Any:
        """Return what a new Saver saves and restores as `name` in the place of a variable."""
        return variable

    def before_close(self) -> None:
        """A session, with its tables, is about to end."""

    def running(self, session: Any, fetches: Any, feeds: Any, run: Callable[[Any], Any]) -> Any:
        """Return the result of `run(fetches)`, a whole run of a session."""
        return run(fetches)


def watch_sessions(watcher: Watcher) -> Callable[[], None]:
    """Let every session, Scaffold and finalization of a graph in this process tell `watcher`; return what ends that."""
    undo: list[tuple[Any, str, Any]] = []

    def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*arguments: Any, **named: Any) -> Any:
            return around(original, *arguments, **named)

        undo.append((owner, name, original))
        setattr(owner, name, wrapped)

    def run(
        original: Any, self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        watcher.before_run(self.graph, fetches)
        return watcher.running(
            self, fetches, feed_dict, lambda asked: original(self, asked, feed_dict, options, run_metadata)
        )

    def started(original: Any, self: Any, fetches: Any, *arguments: Any, **named: Any) -> Any:
        watcher.before_run(self.graph, fetches)
        return original(self, fetches, *arguments, **named)

    def prepared(original: Any, self: Any, options: Any) -> Any:
        watcher.before_run(self.graph, [*options.fetch, *options.target])
        return original(self, options)

    def complete(original: Any, self: Any) -> Any:
        watcher.before_finalize(ops.get_default_graph())
        return original(self)

    def finalized(original: Any, self: Any) -> None:
        if not self.finalized and not is_function_body(self):
            watcher.before_finalize(self)
        original(self)

    def mapped(original: Any, self: Any, fetches: Any, contraction: Any) -> None:
        original(self, fetches, contraction)
        self._unique_fetches = [watcher.fetched(one.graph, one) for one in self._unique_fetches]

    def closed(original: Any, self: Any) -> Any:
        watcher.before_close()
        return original(self)

    def derived(original: Any, ys: Any, xs: Any, *arguments: Any, **named: Any) -> Any:
        given = xs if isinstance(xs, list | tuple) else [xs]
        tensors = [one.handle if resource_variable_ops.is_resource_variable(one) else one for one in given]
        tensors = [getattr(one, "_ref", lambda one=one: one)() for one in tensors]
        groups = [watcher.sources(tensor) for tensor in tensors]
        found = iter(original(ys, [one for group in groups for one in group], *arguments, **named))
        return [
            watcher.gradient(tensor, list(itertools.islice(found, len(group))))
            for tensor, group in zip(tensors, groups, strict=True)
        ]

    def frozen(original: Any, self: Any, session: Any, graph_def: Any, *arguments: Any, **named: Any) -> None:
        original(self, session, watcher.frozen(session.graph, graph_def), *arguments, **named)

    def tensor(original: Any, self: Any, tensor_str: str) -> Any:
        return watcher.tensor_of(self, tensor_str, functools.partial(original, self))

    def shapes(original: Any, self: Any) -> dict[str, list[int]]:
        return watcher.shapes_of(original(self))

    wrap(py_checkpoint_reader.CheckpointReader, "get_tensor", tensor)
    wrap(py_checkpoint_reader.CheckpointReader, "get_variable_to_shape_map", shapes)

    def listed(original: Any, op_list: Any, *arguments: Any, **named: Any) -> Any:
        items = list(op_list)
        known = {id(one): one for one in items if isinstance(one, tf.Variable) and watcher.saves(one)}
        rest = original([one for one in items if id(one) not in known], *arguments, **named)
        return {**rest, **{one.op.name: one for one in known.values()}}

    def saved(original: Any, op: Any, name: str) -> Any:
        takes_place = isinstance(op, tf.Variable) and watcher.saves(op)
        yield from [watcher.saveable(op, name)] if takes_place else original(op, name)

    wrap(saveable_object_util, "op_list_to_dict", listed)
    wrap(saveable_object_util, "saveable_objects_for_op", saved)
    wrap(gradients_util, "_GradientsHelper", derived)
    wrap(convert_to_constants._SessionConverterData, "__init__", frozen)
    wrap(sessions.BaseSession, "run", run)
    wrap(sessions.BaseSession, "close", closed)
    for name in _STARTS[1:]:
        wrap(sessions.BaseSession, name, started)
    wrap(sessions.BaseSession, "_make_callable_from_options", prepared)
    wrap(monitored_session.Scaffold, "finalize", complete)
    wrap(ops.Graph, "finalize", finalized)
    wrap(sessions._ElementFetchMapper, "__init__", mapped)

    def end() -> None:
        while undo:
            setattr(*undo.pop())

    return end


def is_function_body(graph: tf.Graph) -> bool:
    """Whether a graph is the body of a function, which no session runs by itself."""
    return bool(graph.building_function)


def elements_of(graph: tf.Graph, fetches: Any) -> list[tf.Operation | tf.Tensor]:
    """Return what a session computes for a structure of fetches, as `Session.run` takes it; nothing for None.

    Raises:
        ValueError, TypeError: a session refuses it.
    """
    if fetches is None:
        return []
    with graph.as_default():
        return list(sessions._FetchMapper.for_fetch(fetches).unique_fetches())
