"""The only module that uses private names of tf.estimator, and of how it reads checkpoints.

Tests guard each of them. Nothing here imports tf.estimator, which is slow: a program that uses it has imported it.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import tensorflow as tf
from tensorflow.python.training import checkpoint_utils

_ESTIMATOR = "tensorflow_estimator.python.estimator.estimator"
_HOOKS = "tensorflow_estimator.python.estimator.hooks.hooks"
_TRAINING = "tensorflow_estimator.python.estimator.training"
_UNTRAINED = ("infer", "eval")  #: tf.estimator.ModeKeys.PREDICT and EVAL


#: Path of the checkpoint that an Estimator is exporting.
_exported: contextvars.ContextVar[str | None] = contextvars.ContextVar("exported", default=None)


def extend_exports(prepare: Callable[[tf.Graph, str], None]) -> None:
    """Let `prepare` change each graph that an Estimator exports, if the program uses tf.estimator.

    It gets the graph that model_fn has just built, and the path of the checkpoint that its Saver will restore.
    """
    kind: Any = getattr(sys.modules.get(_ESTIMATOR), "Estimator", None)
    if kind is None or hasattr(kind._add_meta_graph_for_mode, "__wrapped__"):
        return
    add, call = kind._add_meta_graph_for_mode, kind._call_model_fn

    @functools.wraps(add)
    def added(self: Any, builder: Any, receivers: Any, checkpoint_path: Any, *settings: Any, **named: Any) -> Any:
        token = _exported.set(str(checkpoint_path))
        try:
            return add(self, builder, receivers, checkpoint_path, *settings, **named)
        finally:
            _exported.reset(token)

    @functools.wraps(call)
    def called(self: Any, *arguments: Any, **named: Any) -> Any:
        spec = call(self, *arguments, **named)
        path = _exported.get()
        if path is not None:
            prepare(tf.compat.v1.get_default_graph(), path)
        return spec

    kind._add_meta_graph_for_mode, kind._call_model_fn = added, called


def exports_to_come() -> list[str]:
    """Return what an Estimator that is running exports, or will: an exporter of its EvalSpec, or a method.

    Whoever builds the graph is not told, so the frames of those that call it are asked.
    """
    if _ESTIMATOR not in sys.modules:
        return []
    for frame in _frames():
        module, name = frame.f_globals.get("__name__"), frame.f_code.co_name
        if module == _TRAINING:
            specification = getattr(frame.f_locals.get("self"), "_eval_spec", None)
            exports = [f"the exporter `{one.name}`" for one in getattr(specification, "exporters", ())]
            if exports:
                return exports
        if module == _ESTIMATOR and name.startswith("export_"):
            return [f"`{name}`"]
    return []


def builds_without_training() -> bool:
    """True while an Estimator builds a graph for evaluation or predictions, to be run here or exported."""
    if _ESTIMATOR not in sys.modules:
        return False
    return any(
        frame.f_code.co_name == "_call_model_fn" and frame.f_locals.get("mode") in _UNTRAINED
        for frame in _frames()
        if frame.f_globals.get("__name__") == _ESTIMATOR
    )


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def extend_in_memory_evaluators(hook: Callable[[Any, tf.Graph, set[str]], Any]) -> None:
    """Add a hook to every evaluation of an InMemoryEvaluatorHook, if the program uses tf.estimator.

    `hook` gets the training session, the evaluation graph, and the names of the variables that are copied.
    """
    kind: Any = getattr(sys.modules.get(_HOOKS), "InMemoryEvaluatorHook", None)
    if kind is None or hasattr(kind._evaluate, "__wrapped__"):
        return
    evaluate = kind._evaluate

    @functools.wraps(evaluate)
    def evaluated(self: Any, session: Any) -> None:
        own = self._all_hooks
        self._all_hooks = [*own, hook(session, self._graph, set(self._var_name_to_train_var))]
        try:
            evaluate(self, session)
        finally:
            self._all_hooks = own

    kind._evaluate = evaluated


def extend_load_variable(read: Callable[[Any, str], Any]) -> None:
    """Let `read(reader, name)` return what `load_variable` and `get_variable_value` return."""
    opened = checkpoint_utils.load_checkpoint

    class Reader:
        """A checkpoint reader that takes tensors from `read`."""

        def __init__(self, path: Any) -> None:
            self._reader = opened(path)

        def get_tensor(self, name: str) -> Any:
            return read(self._reader, name)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._reader, name)

    checkpoint_utils.load_checkpoint = Reader
