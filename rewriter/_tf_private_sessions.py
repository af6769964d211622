"""The private names of TensorFlow by which `rewriter.install` sees sessions before they run; a test guards each."""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import convert_to_constants, ops
from tensorflow.python.ops import gradients_util, resource_variable_ops, variables


class Wraps:
    """Functions of TensorFlow that are replaced for a while."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """Let `around(original, ...)` be called in the place of a function."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*arguments: Any, **named: Any) -> Any:
            return around(original, *arguments, **named)

        self._undo.append((owner, name, original))
        setattr(owner, name, wrapped)

    def end(self) -> None:
        """Put the functions back."""
        while self._undo:
            setattr(*self._undo.pop())


def watch_sessions(wraps: Wraps, watcher: Any) -> None:
    """Let every session and finalization of a graph in this process tell `watcher`; a Scaffold finalizes its graph.

    `watcher` is a `rewriter.installation.graphs.Graphs`.
    """

    def run(
        original: Any, self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        watcher.before_run(self.graph, fetches)
        return watcher.running(
            self, fetches, feed_dict, lambda asked, fed: original(self, asked, fed, options, run_metadata)
        )

    def started(original: Any, self: Any, fetches: Any, feeds: Any = None) -> Any:
        watcher.before_run(self.graph, fetches)
        more = watcher.feeds(self.graph).additions(
            None, dict.fromkeys(feeds or ()), lambda asked, _: [None] * len(asked)
        )
        return original(self, fetches, [*(feeds or ()), *more])

    def continued(original: Any, self: Any, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        more = watcher.feeds(self.graph).additions(None, feed_dict or {}, self.run)
        return original(self, handle, fetches, {**(feed_dict or {}), **more})

    def called(original: Any, self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        watcher.before_run(self.graph, fetches)
        if not feed_list or not watcher.feeds(self.graph).among(feed_list):
            return original(self, fetches, feed_list, accept_options)

        def call(*values: Any, **options: Any) -> Any:
            return self.run(fetches, dict(zip(feed_list, values, strict=True)), **options)

        return call

    def prepared(original: Any, self: Any, options: Any) -> Any:
        watcher.before_run(self.graph, [*options.fetch, *options.target])
        return original(self, options)

    def finalized(original: Any, self: Any) -> None:
        if not self.finalized and not is_function_body(self):
            watcher.before_finalize(self)
        original(self)

    def mapped(original: Any, self: Any, fetches: Any, contraction: Any) -> None:
        original(self, fetches, contraction)
        self._unique_fetches = [watcher.late_uses(one.graph).fetched(one) for one in self._unique_fetches]

    def closed(original: Any, self: Any) -> Any:
        watcher.before_close()
        return original(self)

    wraps.wrap(sessions.BaseSession, "run", run)
    wraps.wrap(sessions.BaseSession, "close", closed)
    wraps.wrap(sessions.BaseSession, "partial_run_setup", started)
    wraps.wrap(sessions.BaseSession, "partial_run", continued)
    wraps.wrap(sessions.BaseSession, "make_callable", called)
    wraps.wrap(sessions.BaseSession, "_make_callable_from_options", prepared)
    wraps.wrap(sessions._ElementFetchMapper, "__init__", mapped)
    wraps.wrap(ops.Graph, "finalize", finalized)


def watch_graphs(wraps: Wraps, watcher: Any) -> None:
    """Let gradients, freezing and groups of initializers ask `watcher` about variables that became tables."""

    def derived(original: Any, ys: Any, xs: Any, *arguments: Any, **named: Any) -> Any:
        inputs = xs if isinstance(xs, list | tuple) else [xs]
        tensors = [one.handle if resource_variable_ops.is_resource_variable(one) else one for one in inputs]
        tensors = [getattr(one, "_ref", lambda variable=one: variable)() for one in tensors]
        uses = [watcher.late_uses(one.graph) if isinstance(one, tf.Tensor) else None for one in tensors]
        groups = [[one] if use is None else use.sources(one) for use, one in zip(uses, tensors, strict=True)]
        gradients = iter(original(ys, [one for group in groups for one in group], *arguments, **named))
        return [
            next(gradients) if use is None else use.gradient(tensor, list(itertools.islice(gradients, len(group))))
            for use, tensor, group in zip(uses, tensors, groups, strict=True)
        ]

    def frozen(original: Any, self: Any, session: Any, graph_def: Any, *arguments: Any, **named: Any) -> None:
        original(self, session, watcher.frozen(session.graph, graph_def), *arguments, **named)

    def constant(original: Any, self: Any, func: Any, *arguments: Any, **named: Any) -> None:
        watcher.require_constants(func.graph)
        original(self, func, *arguments, **named)

    def initialized(original: Any, var_list: Any, name: str = "init") -> Any:
        graph, items = graph_of(var_list or ()), list(var_list or ())
        return original(items if graph is None else watcher.late_uses(graph).initialized(items), name)

    wraps.wrap(gradients_util, "_GradientsHelper", derived)
    wraps.wrap(convert_to_constants._SessionConverterData, "__init__", frozen)
    wraps.wrap(convert_to_constants._FunctionConverterData, "__init__", constant)
    wraps.wrap(variables, "variables_initializer", initialized)


def graph_of(items: Iterable[Any]) -> tf.Graph | None:
    """Return the graph of the first variable among some items; None in eager code."""
    variable = next((one for one in items if isinstance(one, tf.Variable)), None)
    return None if variable is None or tf.executing_eagerly() else variable.graph


def graphs_of_sessions() -> list[tf.Graph]:
    """Return the graphs of the sessions that are open now; which of these have run, TensorFlow does not say."""
    alive = gc.get_objects()
    kinds = {one for one in {*map(type, alive)} if issubclass(one, sessions.BaseSession)}
    return [one.graph for one in alive if type(one) in kinds and not one._closed] if kinds else []


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
