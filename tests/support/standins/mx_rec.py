"""Rec SDK for converted code: the façade of the runtime, what Rec SDK refuses besides, and what a program did with it.

What it refuses is read in the published sources of Ascend/RecSDK, below `training/tf_rec_v1/python`.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import tensorflow as tensorflow
from tensorflow.python.client.session import BaseSession
from tensorflow.python.eager.monitoring import BoolGauge

from runtime.compat import mx_rec
from runtime.compat.mx_rec import modules, state
from tests.support.standins import strict

#: The functions and classes of the modules that converted code imports.
NAMES = [
    one
    for module, found in modules.CONTENTS.items()
    if module.startswith(("mx_rec.core", "mx_rec.graph", "mx_rec.util"))
    for one in found.values()
    if inspect.isroutine(one) or inspect.isclass(one)
]


class Seen:
    """The graphs that a program built."""

    def __init__(self) -> None:
        self.graphs: list[state.GraphState] = []
        #: Calls of `do_merge_lookup` that the program makes itself.
        self.merges = 0

    @property
    def modified(self) -> bool:
        """Whether there are lookups, and the pipeline was started in each graph that has some."""
        started = [graph.started for graph in self.graphs if graph.lookups]
        return bool(started) and all(started)


tf = tensorflow.compat.v1
FETCHES = (str, tf.Operation, tensorflow.Variable, tf.Tensor, tf.SparseTensor, list, tuple, dict)
FEEDS = (tensorflow.Variable, tf.Tensor, tf.SparseTensor, list, tuple, dict, type(None))


def _run(stock: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        # graph/patch.py, `run`, which `patch_for_session` puts into BaseSession when mx_rec is imported: a ValueError
        # for values of other classes, and `ConfigInitializer.get_instance()`, before `init` an EnvironmentError.
        strict.check("fetches", fetches, *FETCHES)
        strict.check("feed_dict", feed_dict, *FEEDS)
        strict.check("options", options, tf.RunOptions, type(None))
        strict.check("run_metadata", run_metadata, tf.RunMetadata, type(None))
        state.ConfigInitializer.get_instance()
        return stock(self, fetches, feed_dict, options, run_metadata)

    return run


def _scale_loss(stock: Callable[..., Any]) -> Callable[..., Any]:
    def scale_loss(self: Any, loss_value: Any) -> Any:
        # graph/patch.py, `scale_loss`, in each `compute_gradients`.
        state.ConfigInitializer.get_instance()
        return stock(loss_value)

    return scale_loss


def _cell(stock: Callable[..., Any]) -> Callable[..., Any]:
    def get_cell(self: Any, *labels: Any) -> Any:
        # graph/patch.py, `get_cell`: an Estimator says by it whether it trains.
        if labels:
            state.ConfigInitializer.get_instance()
        return stock(self, *labels)

    return get_cell


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Refuse what Rec SDK refuses of programs that TensorFlow runs; the façade is installed."""
    with contextlib.ExitStack() as stack:
        for owner, name, made in (
            (tf.Session, "run", _run),
            (BaseSession, "run", _run),
            (tf.train.Optimizer, "_scale_loss", _scale_loss),
            (BoolGauge, "get_cell", _cell),
        ):
            stack.enter_context(mock.patch.object(owner, name, made(getattr(owner, name))))
        yield


@contextlib.contextmanager
def installed() -> Iterator[Seen]:
    """Make `mx_rec` importable, as strict as Rec SDK; gives what happened."""
    seen, make = Seen(), state.GraphState

    def noted() -> state.GraphState:
        seen.graphs.append(make())
        return seen.graphs[-1]

    mx_rec.install()
    try:
        module = sys.modules["mx_rec.graph.merge_lookup"]
        merge = module.do_merge_lookup

        def counted(is_train: Any = True) -> None:
            seen.merges += 1
            merge(is_train)

        note, count = mock.patch.object(state, "GraphState", noted), mock.patch.object(module, merge.__name__, counted)
        with refusing(), note, count:
            yield seen
    finally:
        mx_rec.uninstall()
